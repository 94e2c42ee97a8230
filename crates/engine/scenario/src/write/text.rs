//! Writes the text of a file, table by table.

use super::docs;
use super::tree::Tree;
use crate::model::HostJitter;
use document::written::{Table, Written, get, spell_key};

/// Maximum width of a comment line, in characters.
const WIDTH: usize = 100;

/// The text of a file while it is written.
#[derive(Default)]
pub(crate) struct ScenarioText {
    pub text: String,
    /// Whether a variant has been written.
    varied: bool,
}

impl ScenarioText {
    /// Writes everything except the variants.
    pub fn scenario(&mut self, tree: &Tree, shared: &Table) {
        self.comment("", &docs::file());
        self.comment("", "Every key: docs/scenario.md.");
        self.text += "\n";
        for (key, value) in &tree.run {
            if !is_default(key, value) {
                self.described_entry(key, value);
            }
            if key == "name" {
                for (key, value) in shared {
                    // A description needs no comment.
                    if key == "description" {
                        self.entry(key, value)
                    } else {
                        self.described_entry(key, value)
                    }
                }
            }
        }
        for (section, definition, table) in [
            ("hosts", "Host", &tree.hosts),
            ("links", "Link", &tree.links),
            ("relays", "Relay", &tree.relays),
            ("flows", "Flow", &tree.flows),
            ("faults", "Fault", &tree.faults),
            ("attach", "Attach", &tree.attachments),
        ] {
            for (name, value) in table {
                self.text += "\n";
                self.comment("", &docs::section(definition));
                self.header(section, name);
                value.as_table().into_iter().flatten().for_each(|(key, value)| self.entry(key, value));
            }
        }
    }

    /// Writes a top-level key with its description as a comment.
    fn described_entry(&mut self, key: &str, value: &Written) {
        self.entry(key, value);
        self.text.pop();
        self.text += &format!("  # {}\n", docs::key(key));
    }

    /// Writes a variant with its overrides.
    pub fn variant(&mut self, name: &str, overrides: &Table) {
        self.text += "\n";
        if !self.varied {
            self.comment("", &docs::key("variants"));
        }
        self.varied = true;
        self.header("variants", name);
        overrides.iter().for_each(|(path, value)| self.entry(path, value));
    }

    fn header(&mut self, section: &str, name: &str) {
        self.text += &format!("[{section}.");
        spell_key(name, &mut self.text);
        self.text += "]\n";
    }

    /// Writes a key and its value; an application with its description, a list of stages one per line.
    fn entry(&mut self, key: &str, value: &Written) {
        let kind = value.as_table().filter(|_| key == "app").and_then(|t| get(t, "kind"));
        if let Some(Written::Text(kind)) = kind {
            self.comment("", &docs::kind("App", kind));
        }
        spell_key(key, &mut self.text);
        self.text += " = ";
        match value {
            Written::List(list) if list.iter().any(|v| kind_of(v).is_some()) => {
                self.kinds(if key == "services" { "Service" } else { "Stage" }, list);
            }
            other => other.spell(&mut self.text),
        }
        self.text += "\n";
    }

    fn kinds(&mut self, definition: &str, list: &[Written]) {
        const INDENT: &str = "    ";
        self.text += "[\n";
        for stage in list {
            self.comment(INDENT, &docs::kind(definition, kind_of(stage).unwrap_or_default()));
            self.text += INDENT;
            stage.spell(&mut self.text);
            self.text += ",\n";
        }
        self.text += "]";
    }

    /// Writes a comment, broken into lines of at most [`WIDTH`]; nothing if `says` is empty.
    fn comment(&mut self, indent: &str, says: &str) {
        let mut line = String::new();
        for word in says.split_whitespace() {
            if !line.is_empty() && line.chars().count() + word.chars().count() >= WIDTH {
                self.text += &format!("{indent}#{line}\n");
                line.clear();
            }
            line += " ";
            line += word;
        }
        if !line.is_empty() {
            self.text += &format!("{indent}#{line}\n");
        }
    }
}

/// Whether a top-level key has its default value and is one of those that are left out then.
fn is_default(key: &str, value: &Written) -> bool {
    match key {
        "one_at_a_time" => *value == Written::Bool(false),
        "measure" => *value == Written::text("all"),
        "host_jitter" => *value == Written::of(&HostJitter::default()),
        _ => false,
    }
}

fn kind_of(value: &Written) -> Option<&str> {
    match get(value.as_table()?, "kind")? {
        Written::Text(kind) => Some(kind),
        _ => None,
    }
}
