//! Generates JSON Schemas of types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The JSON Schema (draft 7) of `T` as it is serialised, with sorted keys.
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().for_serialize();
    let mut value = Value::from(settings.into_generator().into_root_schema_for::<T>());
    unlink_descriptions(&mut value);
    // The order must not depend on serde_json's features in this build.
    value.sort_all_objects();
    value
}

/// [`schema_of`] as indented JSON, the content of the files in `docs/`.
pub fn schema_text<T: JsonSchema>() -> String {
    format!("{:#}\n", schema_of::<T>())
}

/// Replaces links to Rust items in descriptions by plain names.
fn unlink_descriptions(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(text)) = map.get_mut("description") {
                *text = text.replace("[`", "`").replace("`]", "`");
            }
            map.values_mut().for_each(unlink_descriptions);
        }
        Value::Array(list) => list.iter_mut().for_each(unlink_descriptions),
        _ => {}
    }
}
