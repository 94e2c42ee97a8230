//! Lists the settings of a scenario, except its stages.

use super::tree::Tree;
use document::written::{Table, Written};

/// A key of a scenario and its value. Default values are left out, except of top-level keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioSetting {
    /// The table that contains the key: `hosts`, `links`, `relays`, `flows`, `faults`, `attach`; empty for
    /// top-level keys.
    pub section: &'static str,
    /// Name of the host, link, relay, flow, fault or attachment; empty for top-level keys.
    pub name: String,
    /// The key, with a dot for nested tables: `stack.mss`.
    pub key: String,
    /// The value without quotes; a list of names is joined by commas.
    pub value: String,
}

/// All settings of a scenario except its name and stages.
pub(crate) fn list(tree: &Tree) -> Vec<ScenarioSetting> {
    let mut settings = Vec::new();
    for (key, value) in tree.run.iter().filter(|(key, _)| key != "name") {
        spell("", "", key, value, &mut settings);
    }
    let sections: [(&str, &Table); 6] = [
        ("hosts", &tree.hosts),
        ("links", &tree.links),
        ("relays", &tree.relays),
        ("flows", &tree.flows),
        ("faults", &tree.faults),
        ("attach", &tree.attachments),
    ];
    for (section, table) in sections {
        for (name, value) in table {
            let stages = |key: &str| section == "links" && ["forward", "backward"].contains(&key);
            for (key, value) in value.as_table().into_iter().flatten().filter(|(key, _)| !stages(key)) {
                spell(section, name, key, value, &mut settings);
            }
        }
    }
    settings
}

fn spell(section: &'static str, name: &str, key: &str, value: &Written, list: &mut Vec<ScenarioSetting>) {
    if let Some(table) = value.as_table() {
        table.iter().for_each(|(inner, v)| spell(section, name, &format!("{key}.{inner}"), v, list));
        return;
    }
    list.push(ScenarioSetting { section, name: name.into(), key: key.into(), value: plain(value) });
}

fn plain(value: &Written) -> String {
    match value {
        Written::Text(text) => text.clone(),
        Written::List(all) if all.iter().all(|v| matches!(v, Written::Text(_))) => {
            all.iter().map(plain).collect::<Vec<_>>().join(", ")
        }
        other => {
            let mut text = String::new();
            other.spell(&mut text);
            text
        }
    }
}
