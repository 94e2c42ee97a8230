//! Descriptions of tables and keys, from the JSON Schema.

use serde_json::Value;
use std::sync::LazyLock;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(crate::schema()).unwrap_or_default());

fn says(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Description of the file.
pub(crate) fn file() -> String {
    says(&SCHEMA)
}

/// Description of a top-level key.
pub(crate) fn key(name: &str) -> String {
    says(&SCHEMA["properties"][name])
}

/// Description of a table by its schema definition: `Host`, `Link`, `Relay`, `Flow`.
pub(crate) fn section(definition: &str) -> String {
    says(&SCHEMA["definitions"][definition])
}

/// Description of one `kind` of a definition with kinds: `Stage`, `App`.
pub(crate) fn kind(definition: &str, kind: &str) -> String {
    let all = SCHEMA["definitions"][definition]["oneOf"].as_array();
    let own = |one: &&Value| one["properties"]["kind"]["const"] == kind;
    all.and_then(|all| all.iter().find(own)).map(says).unwrap_or_default()
}
