//! The JSON Schema of the file, for editors.

use crate::file::ScenarioFile;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The JSON Schema (draft 7, which editors' TOML plug-ins understand) of a scenario file, as
/// indented JSON; it is what `docs/scenario.schema.json` holds.
pub fn schema() -> String {
    let settings = SchemaSettings::draft07();
    let schema = settings.into_generator().into_root_schema_for::<ScenarioFile>();
    let mut value = Value::from(schema);
    without_null(&mut value);
    if let Some(stage) = value.pointer_mut("/definitions/Stage") {
        with_own_keys(stage);
    }
    // Whatever order this build of serde_json keeps.
    value.sort_all_objects();
    format!("{value:#}\n")
}

/// TOML has no null: an optional key is left out.
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
            // Draft 7 ignores what stands beside a `$ref`; `allOf` keeps the description.
            let only = any.remove(0);
            map.remove("anyOf");
            map.insert("allOf".into(), json!([only]));
        }
    }
}

/// Adds what a scenario gives every stage.
fn with_own_keys(stage: &mut Value) {
    let kinds = stage.get_mut("oneOf").and_then(Value::as_array_mut);
    for kind in kinds.into_iter().flatten() {
        let Some(properties) = kind.get_mut("properties").and_then(Value::as_object_mut) else {
            continue;
        };
        properties.insert("name".into(), json!({
            "type": "string",
            "description": "What overrides and results call it. Default: its kind, made unique in its direction of the link (`delay`, `delay-2`).",
        }));
        properties.insert(
            "enabled".into(),
            json!({
                "type": "boolean",
                "default": true,
                "description": "`false` leaves the stage out, until a variant enables it.",
            }),
        );
    }
}
