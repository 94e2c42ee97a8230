//! The JSON Schemas of `result.json` and `diagnosis.json`.

use crate::{Diagnosis, Run};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The JSON Schema (draft 7) of a result, as indented JSON; it is what `docs/result.schema.json` holds.
pub fn schema() -> String {
    of::<Run>()
}

/// The same of a diagnosis: `docs/diagnosis.schema.json`.
pub fn diagnosis_schema() -> String {
    of::<Diagnosis>()
}

fn of<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft07().for_serialize();
    let mut value = Value::from(settings.into_generator().into_root_schema_for::<T>());
    plain(&mut value);
    // Whatever order this build of serde_json keeps.
    value.sort_all_objects();
    format!("{value:#}\n")
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
