//! Makes JSON Schemas of types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The JSON Schema (draft 7) of what is written of `T`, with keys in order.
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().for_serialize();
    let mut value = Value::from(settings.into_generator().into_root_schema_for::<T>());
    plain(&mut value);
    // Whatever order this build of serde_json keeps.
    value.sort_all_objects();
    value
}

/// [`schema_of`] as indented JSON, as the files in `docs/` hold it.
pub fn schema_text<T: JsonSchema>() -> String {
    format!("{:#}\n", schema_of::<T>())
}

/// Doc comments link to Rust items; readers of the schema see their names.
fn plain(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(text)) = map.get_mut("description") {
                *text = text.replace("[`", "`").replace("`]", "`");
            }
            map.values_mut().for_each(plain);
        }
        Value::Array(list) => list.iter_mut().for_each(plain),
        _ => {}
    }
}
