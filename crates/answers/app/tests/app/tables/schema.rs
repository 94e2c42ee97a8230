//! `docs/result.schema.json`, the second half of `docs/result-schema.md`, `docs/diagnosis.schema.json` and
//! `docs/diagnosis-schema.md` are generated from the model and the lists of columns by `cargo xtask bless
//! result`.

use app::tables::{CAPTURE_FILES, FILES, File};
use result::{Clocks, Column, ColumnKind, Growth, Unit};
use serde_json::Value;

const MARK: &str = "<!-- What follows is generated: cargo xtask bless -->\n";

#[test]
fn the_committed_schemas_are_the_generated_ones() {
    xtask::compare("docs/result.schema.json", &result::schema_text::<result::Run>());
    xtask::compare("docs/diagnosis.schema.json", &result::schema_text::<result::Diagnosis>());
    xtask::compare("docs/watch.schema.json", &result::schema_text::<result::watch::WatchReport>());
}

/// Number of words up to which an enum is listed inline; longer ones have their own table.
const FEW_WORDS: usize = 5;

/// Returns the name of the object that a key holds, or a list of; empty for plain values.
fn object(schema: &Value) -> &str {
    let found = schema["$ref"].as_str().and_then(|r| r.rsplit('/').next());
    let inner = ["allOf", "anyOf"].iter().filter_map(|key| schema[key].as_array()).flatten();
    let inner = inner.chain(schema.get("items")).map(object).find(|name| !name.is_empty());
    found.or(inner).unwrap_or_default()
}

/// Returns the type of a value of this schema, in a few words.
fn takes(root: &Value, schema: &Value) -> String {
    let name = object(schema);
    let is = |kind: &str| {
        schema["type"] == kind || schema["type"].as_array().is_some_and(|t| t.contains(&kind.into()))
    };
    if let Some(text) = schema["const"].as_str() {
        return format!("`\"{text}\"`");
    }
    if let Some(words) = root["definitions"][name]["oneOf"].as_array().filter(|all| all.len() <= FEW_WORDS) {
        let words = words.iter().filter_map(|o| o["const"].as_str());
        return words.map(|w| format!("`\"{w}\"`")).collect::<Vec<_>>().join(", ");
    }
    match name {
        "" if is("array") => format!("list of: {}", takes(root, &schema["items"])),
        "" if is("object") => format!("table of: {}", takes(root, &schema["additionalProperties"])),
        "" => match ["integer", "number", "boolean", "string"].into_iter().find(|kind| is(kind)) {
            Some("integer") => "whole number".into(),
            Some("number") => "number".into(),
            Some("boolean") => "`true`, `false`".into(),
            Some("string") => "text".into(),
            _ => panic!("{schema}"),
        },
        name if is("array") => format!("list of [{name}](#{})", name.to_lowercase()),
        name => format!("[{name}](#{})", name.to_lowercase()),
    }
}

fn says(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_else(|| panic!("a key without a meaning: {schema}"));
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// Returns a heading and a table of an object's keys.
fn keys(root: &Value, name: &str, schema: &Value) -> String {
    let description = schema["description"].as_str().unwrap_or_default();
    let mut text = format!("\n### {name}\n\n{description}\n\n| key | is | meaning |\n|---|---|---|\n");
    for (key, value) in schema["properties"].as_object().unwrap() {
        let always = schema["required"].as_array().is_some_and(|list| list.contains(&key.as_str().into()));
        let absent = if always { "" } else { "; may be absent" };
        text += &format!("| `{key}` | {}{absent} | {} |\n", takes(root, value), says(value));
    }
    text
}

/// Returns a heading and a table of an enum's words.
fn words(name: &str, schema: &Value) -> String {
    let mut text = format!("\n### {name}\n\n{}\n\n| word | meaning |\n|---|---|\n", says(schema));
    for word in schema["oneOf"].as_array().into_iter().flatten() {
        text += &format!("| `\"{}\"` | {} |\n", word["const"].as_str().unwrap(), says(word));
    }
    text
}

/// Returns a table of a file's columns, with a column of units if any of them declares one.
fn columns(all: &[Column]) -> String {
    let units = all.iter().any(|c| c.unit.is_some());
    let unit = |text: &str| if units { format!(" {text} |") } else { String::new() };
    let rule = if units { "---|" } else { "" };
    let mut text = format!("\n| column | type |{} meaning |\n|---|---|{rule}---|\n", unit("unit"));
    for column in all {
        let kind = match column.kind {
            ColumnKind::Text | ColumnKind::TextOrNull => "string",
            ColumnKind::Int | ColumnKind::IntOrNull => "int64",
            ColumnKind::Real | ColumnKind::RealOrNull => "double",
        };
        let null = if column.kind.nullable() { ", nullable" } else { "" };
        let clocks = match column.clocks {
            Clocks::Both => "",
            Clocks::Sim => "; null on the kernel",
            Clocks::Kernel => "; null on the simulator",
        };
        let about = column.about.to_string() + clocks;
        assert_eq!(column.kind.nullable(), about.contains("null"), "{}", column.name);
        let so_far = if column.growth == Growth::Total { " so far" } else { "" };
        let unit = unit(&(column.unit.map_or("", Unit::symbol).to_string() + so_far));
        text += &format!("| `{}` | {kind}{null} |{unit} {about} |\n", column.name);
    }
    text
}

/// Returns the tables of an object's keys, of the objects in it, and of the files next to it.
fn generated(title: &str, name: &str, schema: &str, files: &[File]) -> String {
    let root: Value = serde_json::from_str(schema).unwrap();
    let mut text = format!("\n## `{title}`\n");
    text += &keys(&root, name, &root);
    for (name, schema) in root["definitions"].as_object().unwrap() {
        if schema.get("properties").is_some() {
            text += &keys(&root, name, schema);
        } else if schema["oneOf"].as_array().is_some_and(|all| all.len() > FEW_WORDS) {
            text += &words(name, schema);
        }
    }
    for file in files {
        text += &format!("\n## `{}`\n\nA row is {}.\n", file.name, file.about);
        text += &columns(file.columns);
    }
    text
}

/// Checks that the part of a document after the mark is up to date.
fn check(document: &str, generated: &str, files: &[File]) {
    let committed = std::fs::read_to_string(xtask::path(document)).unwrap();
    let (hand, _) = committed.split_once(MARK).expect("the mark");
    xtask::compare(document, &format!("{hand}{MARK}{generated}"));
    for file in files {
        assert!(hand.contains(&format!("`{}`", file.name)), "{} is not introduced", file.name);
    }
}

#[test]
fn the_generated_halves_are_up_to_date() {
    check(
        "docs/result-schema.md",
        &generated("result.json", "Run", &result::schema_text::<result::Run>(), &FILES),
        &FILES,
    );
    let made =
        generated("diagnosis.json", "Diagnosis", &result::schema_text::<result::Diagnosis>(), &CAPTURE_FILES);
    check("docs/diagnosis-schema.md", &made, &CAPTURE_FILES);
}
