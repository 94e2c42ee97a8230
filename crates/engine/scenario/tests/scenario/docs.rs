//! `docs/scenario.md`: the second half is generated from the schema, the first half must name every key.

use congestion::Control;
use serde_json::{Map, Value};

const PAGE: &str = "docs/scenario.md";
const MARK: &str = "<!-- What follows is generated: cargo xtask bless -->\n";

struct Docs {
    schema: Value,
    text: String,
}

impl Docs {
    fn new() -> Docs {
        Docs { schema: serde_json::from_str(&scenario::generated_schema()).unwrap(), text: String::new() }
    }

    fn definition(&self, name: &str) -> &Value {
        &self.schema["definitions"][name]
    }

    /// The type of a schema's values, in a few words.
    fn takes(&self, schema: &Value) -> String {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.rsplit('/').next().unwrap();
            return match name {
                "Span" => "time".into(),
                "Bytes" => "size".into(),
                "Rate" => "rate".into(),
                "Speed" => "speed".into(),
                "Length" => "distance".into(),
                "Frequency" => "frequency".into(),
                "SpanOrNone" => "time, or `\"none\"`".into(),
                "RateOrHeld" => "rate, or `\"held\"`".into(),
                "QueueConfig" => "a [queue](#queues)".into(),
                _ => self.takes(self.definition(name)),
            };
        }
        if let Some(value) = schema["const"].as_str() {
            return format!("`\"{value}\"`");
        }
        if let Some(values) = schema["enum"].as_array() {
            let values: Vec<String> = values.iter().map(|v| format!("`{v}`")).collect();
            return values.join(", ");
        }
        for combinator in ["allOf", "anyOf", "oneOf"] {
            if let Some(list) = schema[combinator].as_array() {
                let list: Vec<String> = list.iter().map(|s| self.takes(s)).collect();
                return list.join(", ");
            }
        }
        match schema["type"].as_str().unwrap_or("any") {
            "integer" => "whole number".into(),
            "number" => "number".into(),
            "boolean" => "`true`, `false`".into(),
            "string" => "text".into(),
            "array" => format!("list of: {}", self.takes(&schema["items"])),
            "object" => {
                let keys: Vec<String> = properties(schema).keys().map(|k| format!("`{k}`")).collect();
                format!("table of {}", keys.join(", "))
            }
            other => other.into(),
        }
    }

    fn table(&mut self, schema: &Value) {
        let hidden = ["kind", "name", "enabled"];
        let own: Vec<(&String, &Value)> =
            properties(schema).iter().filter(|(k, _)| !hidden.contains(&k.as_str())).collect();
        if own.is_empty() {
            return;
        }
        self.text += "\n| key | takes | meaning |\n|---|---|---|\n";
        let required = |key: &str| {
            let list = schema["required"].as_array();
            list.is_some_and(|list| list.iter().any(|k| k == key))
        };
        // Required keys come first.
        for pass in [true, false] {
            for (key, value) in own.iter().filter(|(k, _)| required(k) == pass) {
                let needed = if pass { "Required. " } else { "" };
                let row = format!("| `{key}` | {} | {needed}{} |\n", self.takes(value), says(value));
                self.text += &row;
            }
        }
    }

    fn kinds(&mut self, definition: &str) {
        let all = self.definition(definition)["oneOf"].as_array().unwrap().clone();
        self.text += "\n| `kind` | is |\n|---|---|\n";
        for one in &all {
            let kind = properties(one)["kind"]["const"].as_str().unwrap();
            self.text += &format!("| [`{kind}`](#{kind}) | {} |\n", says(one));
        }
        for one in &all {
            let kind = properties(one)["kind"]["const"].as_str().unwrap();
            self.text += &format!("\n### `{kind}`\n\n{}\n", says(one));
            self.table(one);
        }
    }

    /// A table of the congestion controls, and the parameters of those that have any.
    fn controls(&mut self) {
        self.text += "\n| name | is |\n|---|---|\n";
        for control in congestion::NAMES.iter().filter_map(|name| Control::named(name)) {
            let row = format!("| `{}` | {}: {} |\n", control.name(), control.label().en, control.about());
            self.text += &row;
        }
        let mut generator = schemars::SchemaGenerator::new(schemars::generate::SchemaSettings::draft07());
        for (name, schema) in Control::schemas(&mut generator) {
            self.text += &format!("\n### `{name}`\n");
            self.table(&schema.to_value());
        }
    }
}

fn properties(schema: &Value) -> &Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    schema["properties"].as_object().unwrap_or(&NONE)
}

fn says(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn generated() -> String {
    let mut docs = Docs::new();
    docs.text += "\n## Stack\n\n";
    docs.text += "The keys of a host's `stack`. The defaults depend on the profile.\n";
    let stack = docs.definition("Stack").clone();
    docs.table(&stack);
    docs.text += "\n## Congestion controls\n\nValues of `cc`: a name, or a table of `name` and parameters. They apply to the \
                  simulator and the kernel.\n";
    docs.controls();
    docs.text += "\n## Applications\n\nValues of a flow's `app`.\n";
    docs.kinds("App");
    docs.text += "\n## Stages\n\nEntries of a link's `forward` and `backward`.\n";
    docs.kinds("Stage");
    docs.text += "\n## Services\n\nEntries of a host's `services`.\n";
    docs.kinds("Service");
    docs.text += "\n## Queues\n\nValues of the `queue` of a link, a shaper and other stages.\n";
    docs.kinds("QueueConfig");
    docs.text
}

#[test]
fn the_generated_half_is_up_to_date() {
    let committed = std::fs::read_to_string(xtask::path(PAGE)).unwrap();
    let (hand, _) = committed.split_once(MARK).expect("the mark above the generated part");
    xtask::compare(PAGE, &format!("{hand}{MARK}{}", generated()));
}

#[test]
fn the_hand_written_half_names_every_key() {
    let docs = Docs::new();
    let committed = std::fs::read_to_string(xtask::path(PAGE)).unwrap();
    let (hand, _) = committed.split_once(MARK).expect("the mark above the generated part");
    let tables = ["Host", "Link", "Relay", "Flow", "Fault"].map(|t| docs.definition(t));
    for table in tables {
        for key in properties(table).keys() {
            assert!(hand.contains(&format!("| `{key}` |")), "{key}");
        }
    }
    let run = [
        "name",
        "description",
        "duration",
        "seed",
        "sample",
        "one_at_a_time",
        "measure",
        "host_jitter",
        "goal",
        "baseline",
    ];
    for key in properties(&docs.schema).keys() {
        let named = if run.contains(&key.as_str()) { "| `{}` |" } else { "## `[{}.NAME]`" };
        assert!(hand.contains(&named.replace("{}", key)), "{key}");
    }
}

/// The TOML blocks of the document must parse. The second block is an excerpt that continues the first.
#[test]
fn the_examples_in_the_document_parse() {
    let text = std::fs::read_to_string(xtask::path(PAGE)).unwrap();
    let mut blocks = text.split("```toml\n").skip(1).map(|b| b.split("```").next().unwrap());
    let first = blocks.next().unwrap();
    scenario::Experiment::parse("docs.toml", first, &[]).unwrap();
    let udp =
        "[flows.udp]\nfrom = \"client\"\nto = \"server\"\napp = { kind = \"udp\", rate = \"1Mbit/s\" }\n";
    let second = format!("{first}\n{udp}\n{}", blocks.next().unwrap());
    scenario::Experiment::parse("docs.toml", &second, &[]).unwrap_or_else(|e| panic!("{}", e.render()));
}
