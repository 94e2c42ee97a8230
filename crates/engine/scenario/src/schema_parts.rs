//! JSON Schemas of values with their own syntax in the file.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::json;
use std::borrow::Cow;
use units::Goal;

/// A goal or a list of goals.
pub(crate) fn goals(generator: &mut SchemaGenerator) -> Schema {
    let one = generator.subschema_for::<Goal>();
    json_schema!({ "anyOf": [one, { "type": "array", "items": one, "uniqueItems": true }] })
}

/// A congestion control: its name, or a table of name and parameters.
pub(crate) fn controls(generator: &mut SchemaGenerator) -> Schema {
    let name = json!({ "type": "string", "enum": congestion::NAMES });
    let mut kinds = vec![
        name.clone(),
        json!({ "type": "object", "required": ["name"], "properties": { "name": name }, "additionalProperties": false }),
    ];
    for (name, mut table) in congestion::Control::schemas(generator) {
        table.insert("required".into(), json!(["name"]));
        if let Some(keys) = table.get_mut("properties").and_then(|keys| keys.as_object_mut()) {
            keys.insert("name".into(), json!({ "const": name }));
        }
        kinds.push(table.to_value());
    }
    json_schema!({ "anyOf": kinds })
}

/// A stage as the file writes it: [`path::Stage`] with `name` and `enabled`.
pub(crate) struct StageSchema;

impl JsonSchema for StageSchema {
    fn schema_name() -> Cow<'static, str> {
        "Stage".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        path::Stage::json_schema(generator)
    }
}
