//! Validates JSON values against a JSON Schema. The tests of the result crate include this file.

use serde_json::Value;

/// Validates `value` against a schema. Returns the first error.
pub fn validate(schema: &Value, value: &Value) -> Result<(), String> {
    check(schema, schema, value, "")
}

/// Implements the subset of JSON Schema draft 7 that longfat's schemas use.
fn check(root: &Value, schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    let Value::Object(rules) = schema else {
        return if *schema == Value::Bool(false) { Err(format!("{path}: nothing fits")) } else { Ok(()) };
    };
    let list = |rule: &Value| rule.as_array().cloned().unwrap_or_default();
    for (name, rule) in rules {
        let fits = match name.as_str() {
            "$ref" => {
                let target = rule.as_str().and_then(|r| r.strip_prefix('#'));
                let target = target.and_then(|p| root.pointer(p)).ok_or(format!("{path}: {rule}?"))?;
                check(root, target, value, path)?;
                true
            }
            "allOf" => {
                list(rule).iter().try_for_each(|s| check(root, s, value, path))?;
                true
            }
            "anyOf" => list(rule).iter().any(|s| check(root, s, value, path).is_ok()),
            "oneOf" => list(rule).iter().filter(|s| check(root, s, value, path).is_ok()).count() == 1,
            "type" => {
                let is = |t: &str| match t {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    other => panic!("unknown type {other}"),
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
                    check(root, rule, item, &format!("{path}.{i}"))?;
                }
                true
            }
            "properties" => {
                for (key, schema) in rule.as_object().into_iter().flatten() {
                    if let Some(value) = value.get(key) {
                        check(root, schema, value, &format!("{path}.{key}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (key, value) in value.as_object().into_iter().flatten() {
                    if !known.is_some_and(|k| k.contains_key(key)) {
                        check(root, rule, value, &format!("{path}.{key}"))?;
                    }
                }
                true
            }
            // The units' own tests cover text patterns; the other keywords do not restrict values.
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
