//! The committed JSON Schema is up to date, and agrees with the parser.

use crate::validate::validate;
use scenario::Experiment;
use serde_json::Value;

#[test]
fn the_committed_schema_is_the_generated_one() {
    xtask::compare("docs/scenario.schema.json", &scenario::generated_schema());
}

fn validates(text: &str) -> Result<(), String> {
    let schema: Value = serde_json::from_str(scenario::schema()).unwrap();
    validate(&schema, &toml::from_str(text).unwrap())
}

#[test]
fn the_examples_validate() {
    let mut seen = 0;
    for file in std::fs::read_dir(xtask::path("scenarios")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            validates(&std::fs::read_to_string(&path).unwrap()).unwrap_or_else(|e| panic!("{path:?}{e}"));
            seen += 1;
        }
    }
    assert!(seen >= 2);
}

/// Errors of structure that the parser reports, editors must be able to underline.
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
