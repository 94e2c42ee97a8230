//! What things are, in the words of the JSON Schema, which are those of the reference.

use serde_json::Value;
use std::sync::LazyLock;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(crate::schema()).unwrap_or_default());

fn says(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Of the file itself.
pub(crate) fn file() -> String {
    says(&SCHEMA)
}

/// Of a key of the run, or of the tables by name.
pub(crate) fn key(name: &str) -> String {
    says(&SCHEMA["properties"][name])
}

/// Of a section, by its definition: `Host`, `Link`, `Relay`, `Flow`.
pub(crate) fn section(definition: &str) -> String {
    says(&SCHEMA["definitions"][definition])
}

/// Of one `kind` of a definition that has kinds: `Stage`, `App`.
pub(crate) fn kind(definition: &str, kind: &str) -> String {
    let all = SCHEMA["definitions"][definition]["oneOf"].as_array();
    let own = |one: &&Value| one["properties"]["kind"]["const"] == kind;
    all.and_then(|all| all.iter().find(own)).map(says).unwrap_or_default()
}
