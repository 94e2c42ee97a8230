//! The committed JSON Schema is the generated one, and says of the examples what the parser says.

use scenario::Experiment;
use serde_json::Value;
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `LONGFAT_BLESS=1 cargo test -p longfat-scenario` writes the file anew.
#[test]
fn the_committed_schema_is_the_generated_one() {
    let path = root().join("docs/scenario.schema.json");
    let generated = scenario::schema();
    if std::env::var_os("LONGFAT_BLESS").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == generated,
        "docs/scenario.schema.json is out of date: LONGFAT_BLESS=1 cargo test -p longfat-scenario"
    );
}

/// The part of JSON Schema, draft 7, that ours uses. Returns the first thing that is wrong.
fn validate(root: &Value, schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    let Value::Object(rules) = schema else {
        return if *schema == Value::Bool(false) { Err(format!("{path}: nothing fits")) } else { Ok(()) };
    };
    let list = |rule: &Value| rule.as_array().cloned().unwrap_or_default();
    for (name, rule) in rules {
        let fits = match name.as_str() {
            "$ref" => {
                let target = rule.as_str().and_then(|r| r.strip_prefix('#'));
                let target = target.and_then(|p| root.pointer(p)).ok_or(format!("{path}: {rule}?"))?;
                validate(root, target, value, path)?;
                true
            }
            "allOf" => {
                list(rule).iter().try_for_each(|s| validate(root, s, value, path))?;
                true
            }
            "anyOf" => list(rule).iter().any(|s| validate(root, s, value, path).is_ok()),
            "oneOf" => list(rule).iter().filter(|s| validate(root, s, value, path).is_ok()).count() == 1,
            "type" => {
                let is = |t: &str| match t {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    other => panic!("type {other}"),
                };
                match rule {
                    Value::String(t) => is(t),
                    _ => list(rule).iter().filter_map(Value::as_str).any(is),
                }
            }
            "const" => value == rule,
            "enum" => list(rule).contains(value),
            "minimum" => value.as_f64().is_none_or(|n| n >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|n| n <= rule.as_f64().unwrap()),
            "minItems" => value.as_array().is_none_or(|a| a.len() >= rule.as_u64().unwrap() as usize),
            "maxItems" => value.as_array().is_none_or(|a| a.len() <= rule.as_u64().unwrap() as usize),
            "required" => value
                .as_object()
                .is_none_or(|o| list(rule).iter().filter_map(Value::as_str).all(|key| o.contains_key(key))),
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    validate(root, rule, item, &format!("{path}.{i}"))?;
                }
                true
            }
            "properties" => {
                for (key, schema) in rule.as_object().into_iter().flatten() {
                    if let Some(value) = value.get(key) {
                        validate(root, schema, value, &format!("{path}.{key}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (key, value) in value.as_object().into_iter().flatten() {
                    if !known.is_some_and(|k| k.contains_key(key)) {
                        validate(root, rule, value, &format!("{path}.{key}"))?;
                    }
                }
                true
            }
            // Text patterns are the units' own business; the rest says nothing of the value.
            "$schema" | "title" | "description" | "default" | "definitions" | "examples" | "format"
            | "pattern" => true,
            other => panic!("the schema uses `{other}`, which this check does not know"),
        };
        if !fits {
            return Err(format!("{path}: {name} {rule}, but it is {value}"));
        }
    }
    Ok(())
}

fn validates(text: &str) -> Result<(), String> {
    let schema: Value = serde_json::from_str(&scenario::schema()).unwrap();
    validate(&schema, &schema, &toml::from_str(text).unwrap(), "")
}

#[test]
fn the_examples_validate() {
    let mut seen = 0;
    for file in std::fs::read_dir(root().join("scenarios")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            validates(&std::fs::read_to_string(&path).unwrap()).unwrap_or_else(|e| panic!("{path:?}{e}"));
            seen += 1;
        }
    }
    assert!(seen >= 2);
}

/// What the parser refuses for its shape, an editor underlines.
#[test]
fn the_schema_refuses_what_the_parser_refuses() {
    let good = r#"
        [links.l]
        between = ["a", "b"]
        forward = [{ kind = "policer", name = "x", rate = "1Mbit/s", enabled = true }]
        [flows.f]
        from = "a"
        to = "b"
        app = { kind = "udp", rate = "1Mbit/s" }
        [variants.v]
        "flows.f.count" = 2
    "#;
    validates(good).unwrap();
    for (from, to) in [
        ("between = [\"a\", \"b\"]", "between = [\"a\"]"),
        ("policer", "polcier"),
        ("rate = \"1Mbit/s\", enabled", "rate = 1, enabled"),
        ("name = \"x\"", "names = \"x\""),
        ("enabled = true", "enabled = 1"),
        ("from", "form"),
        ("to = \"b\"", "to = \"b\"\ncc = \"cubik\""),
        ("to = \"b\"", "to = \"b\"\ndscp = 64"),
        ("to = \"b\"", "to = \"b\"\ncount = 0"),
        ("\"udp\"", "\"upd\""),
        ("[flows.f]", "[flow.f]"),
    ] {
        let bad = good.replacen(from, to, 1);
        let parsed =
            Experiment::parse("t.toml", &bad.replace("[variants.v]\n        \"flows.f.count\" = 2", ""), &[]);
        assert!(parsed.is_err(), "the parser takes {to}");
        assert!(validates(&bad).is_err(), "the schema takes {to}");
    }
}
