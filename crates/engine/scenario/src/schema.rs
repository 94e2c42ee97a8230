//! Generates `docs/scenario.schema.json`, the JSON Schema of the scenario file, from its types.

use crate::file::{Named, Overrides, ScenarioFile};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The JSON Schema generated from the types; [`crate::schema`] is the committed copy.
pub fn generated_schema() -> String {
    let settings = SchemaSettings::draft07();
    let schema = settings.into_generator().into_root_schema_for::<ScenarioFile>();
    let mut value = Value::from(schema);
    without_null(&mut value);
    if let Some(stage) = value.pointer_mut("/definitions/Stage") {
        with_own_keys(stage);
    }
    // The order must not depend on serde_json's `preserve_order` feature, which other crates may enable.
    value.sort_all_objects();
    format!("{value:#}\n")
}

/// Removes null: TOML has none, an optional key is left out.
fn without_null(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(without_null);
            drop_null(map);
        }
        Value::Array(list) => list.iter_mut().for_each(without_null),
        _ => {}
    }
}

fn drop_null(map: &mut Map<String, Value>) {
    if map.get("default") == Some(&Value::Null) {
        map.remove("default");
    }
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|t| t != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(list)) = map.get_mut("enum") {
        list.retain(|v| !v.is_null());
    }
    if let Some(Value::Array(any)) = map.get_mut("anyOf") {
        any.retain(|v| *v != json!({ "type": "null" }));
        if any.len() == 1 && any[0].get("$ref").is_some() {
            // Draft 7 ignores keywords next to a `$ref`; `allOf` keeps the description.
            let only = any.remove(0);
            map.remove("anyOf");
            map.insert("allOf".into(), json!([only]));
        }
    }
}

/// Adds the keys that the scenario adds to every stage.
fn with_own_keys(stage: &mut Value) {
    let kinds = stage.get_mut("oneOf").and_then(Value::as_array_mut);
    for kind in kinds.into_iter().flatten() {
        let Some(properties) = kind.get_mut("properties").and_then(Value::as_object_mut) else {
            continue;
        };
        properties.insert("name".into(), json!({
            "type": "string",
            "description": "Name of the stage in overrides and results. Default: its kind, made unique within its direction of the link (`delay`, `delay-2`).",
        }));
        properties.insert(
            "enabled".into(),
            json!({
                "type": "boolean",
                "default": true,
                "description": "`false` leaves the stage out unless a variant enables it.",
            }),
        );
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Named{}", T::schema_name()).into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let entries = generator.subschema_for::<T>();
        json_schema!({ "type": "object", "additionalProperties": entries })
    }
}

impl JsonSchema for Overrides {
    fn schema_name() -> Cow<'static, str> {
        "Overrides".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "Dotted paths and their new values, applied in order. Stages are addressed by name or index: \"links.wan.forward.limiter.rate\" = \"10Mbit/s\".",
            "additionalProperties": true,
        })
    }
}
