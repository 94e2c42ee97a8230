//! A scenario's topology in the form of the result.

use result::Topology;
use result::topology::{PathLink, PathRelay, PathStage, Setting};
use scenario::{NamedStage, Scenario};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The scenario's hosts, links and relays in the form of the result.
pub fn topology(scenario: &Scenario) -> Topology {
    let host = |i: usize| scenario.hosts[i].name.clone();
    let links = scenario.links.iter().map(|link| PathLink {
        name: link.name.clone(),
        between: link.between.map(host),
        forward: link.forward.iter().map(stage).collect(),
        backward: link.backward.iter().map(stage).collect(),
    });
    Topology {
        hosts: scenario.hosts.iter().map(|h| h.name.clone()).collect(),
        links: links.collect(),
        relays: scenario
            .relays
            .iter()
            .map(|r| PathRelay { name: r.name.clone(), host: host(r.host) })
            .collect(),
    }
}

/// The scenario's settings other than stages, in the form of the result.
pub fn settings(scenario: &Scenario) -> Vec<Setting> {
    let all = scenario.settings().into_iter();
    all.map(|s| Setting { section: s.section.into(), name: s.name, key: s.key, value: s.value }).collect()
}

fn stage(named: &NamedStage) -> PathStage {
    let mut settings = BTreeMap::new();
    // Serialising plain data cannot fail.
    let written = serde_json::to_value(&named.stage).unwrap_or_default();
    let table = written.as_object().cloned().unwrap_or_default();
    for (key, value) in table.iter().filter(|(key, _)| *key != "kind") {
        // The lists hold the file's data and may be long.
        let of_file = named.file.is_some() && value.is_array();
        if !of_file && !is_default(&named.stage, &table, key) {
            spell(key, value, &mut settings);
        }
    }
    settings.extend(named.file.clone().map(|file| ("file".into(), file)));
    PathStage { name: named.name.clone(), kind: named.stage.kind().into(), settings, assumed: named.assumed }
}

/// Whether a key has its default value: without the key the stage is the same.
fn is_default(stage: &path::Stage, table: &Map<String, Value>, key: &str) -> bool {
    let mut without = table.clone();
    without.remove(key);
    serde_json::from_value::<path::Stage>(Value::Object(without)).is_ok_and(|other| other == *stage)
}

/// Adds `value` under `key`; the keys of a table are added with dots: `queue.packets`.
fn spell(key: &str, value: &Value, settings: &mut BTreeMap<String, String>) {
    match value {
        Value::Null => {}
        Value::Object(table) => {
            table.iter().for_each(|(inner, value)| spell(&format!("{key}.{inner}"), value, settings));
        }
        Value::String(text) => {
            settings.insert(key.into(), text.clone());
        }
        other => {
            settings.insert(key.into(), other.to_string());
        }
    }
}
