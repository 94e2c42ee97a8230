//! What a result tells of a scenario's path, and of the elements built from it: one place for the simulator
//! and the lab.

use crate::{NamedStage, Scenario};
use path::Chain;
use result::topology::{Link, Relay, Stage};
use result::{DelaySummary, Element, ElementPoint, ElementSeries, Topology};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use units::Time;

/// The scenario's hosts, links and relays as a result tells them.
pub fn outline(scenario: &Scenario) -> Topology {
    let host = |i: usize| scenario.hosts[i].name.clone();
    let links = scenario.links.iter().map(|link| Link {
        name: link.name.clone(),
        between: link.between.map(host),
        forward: link.forward.iter().map(stage).collect(),
        backward: link.backward.iter().map(stage).collect(),
    });
    Topology {
        hosts: scenario.hosts.iter().map(|h| h.name.clone()).collect(),
        links: links.collect(),
        relays: scenario.relays.iter().map(|r| Relay { name: r.name.clone(), host: host(r.host) }).collect(),
    }
}

fn stage(named: &NamedStage) -> Stage {
    let mut settings = BTreeMap::new();
    // Plain data: nothing in it can fail to serialise.
    let written = serde_json::to_value(&named.stage).unwrap_or_default();
    let table = written.as_object().cloned().unwrap_or_default();
    for (key, value) in table.iter().filter(|(key, _)| *key != "kind") {
        // A file's content came in as lists, and may be long.
        let of_file = named.file.is_some() && value.is_array();
        if !of_file && !is_default(&named.stage, &table, key) {
            spell(key, value, &mut settings);
        }
    }
    settings.extend(named.file.clone().map(|file| ("file".into(), file)));
    Stage { name: named.name.clone(), kind: named.stage.kind().into(), settings }
}

/// Whether the stage is the same without the key: its default says as much.
fn is_default(stage: &path::Stage, table: &Map<String, Value>, key: &str) -> bool {
    let mut without = table.clone();
    without.remove(key);
    serde_json::from_value::<path::Stage>(Value::Object(without)).is_ok_and(|other| other == *stage)
}

/// Adds `value` under `key`, each key of a table under a key of its own: `queue.packets`.
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

/// What a run's summary says of one direction of a link: the elements of `chain`, which are of these
/// `kinds`; `way` is `link.direction`.
pub fn elements<B>(way: &str, kinds: &[&str], chain: &Chain<B>) -> impl Iterator<Item = Element> {
    chain.names().zip(kinds).enumerate().map(move |(i, (name, kind))| {
        let a = chain.account(i);
        debug_assert!(a.balances(), "{way}.{name}: {a:?}");
        Element {
            name: format!("{way}.{name}"),
            kind: (*kind).into(),
            passed_packets: a.passed,
            dropped_packets: a.dropped,
            marked_packets: a.marked,
            max_queue_packets: a.max_queue,
            delay_ms: DelaySummary {
                mean: a.delay_sum.as_millis_f64() / a.passed.max(1) as f64,
                max: a.delay_max.as_millis_f64(),
            },
        }
    })
}

/// Time series of one direction's elements, named as in [`elements`], without a row.
pub fn element_series<B>(way: &str, chain: &Chain<B>) -> impl Iterator<Item = ElementSeries> {
    chain.names().map(move |name| ElementSeries { name: format!("{way}.{name}"), ..ElementSeries::default() })
}

/// Adds to `series` a row of the chain's element `i` for the time `t`; the chain has caught up to `now`.
pub fn sample_element<B>(series: &mut ElementSeries, t: Time, chain: &Chain<B>, i: usize, now: Time) {
    let (gauge, account) = (chain.gauge(i, now), chain.account(i));
    series.push(ElementPoint {
        time_s: t.as_secs_f64(),
        queue_packets: gauge.queue_packets,
        queue_bytes: gauge.queue_bytes,
        tokens_bytes: gauge.tokens_bytes.map(|n| n as f64),
        dropped: account.dropped,
        marked: account.marked,
    });
}
