//! The registry: every kind is deserialised, serialised and checked, and has names and a schema.

use path::{Problem, QueueConfig, Stage};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use units::{Choices, Label, Stream};

/// Enough random draws to include each kind.
const DRAWS: u64 = 4000;

fn bytes(seed: u64) -> Vec<u8> {
    let mut stream = Stream::new(seed, "bytes");
    (0..400).map(|_| stream.below(256) as u8).collect()
}

/// Random valid stages of every kind, as the property tests and the fuzzer draw them.
fn drawn() -> BTreeMap<&'static str, Vec<Stage>> {
    let mut all: BTreeMap<&str, Vec<Stage>> = BTreeMap::new();
    for seed in 0..DRAWS {
        let stage = Stage::draw(&mut Choices(&bytes(seed)));
        if stage.check().is_ok() {
            all.entry(stage.kind()).or_default().push(stage);
        }
    }
    all
}

/// Every kind must occur in the property tests.
#[test]
fn every_kind_is_drawn_and_most_draws_are_valid() {
    let drawn = drawn();
    for kind in Stage::KINDS {
        let valid = drawn.get(kind).map_or(0, Vec::len);
        let fair = DRAWS as usize / Stage::KINDS.len();
        assert!(valid > fair / 3, "{kind}: {valid} valid draws of about {fair}");
    }
    let mut queues: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..DRAWS {
        let queue = QueueConfig::draw(&mut Choices(&bytes(seed)));
        queue.check().unwrap_or_else(|e| panic!("{queue:?}: {e}"));
        *queues.entry(queue.kind()).or_default() += 1;
    }
    for kind in QueueConfig::KINDS {
        assert!(queues.get(kind).is_some_and(|&n| n > DRAWS / 3 / QueueConfig::KINDS.len() as u64), "{kind}");
    }
}

#[test]
fn every_kind_has_a_unique_name_in_each_language() {
    let words = Stage::DISPLAY_NAMES
        .iter()
        .flat_map(|(kind, w)| [(*kind, w.label), (*kind, w.one), (*kind, w.dropper)]);
    let labels: Vec<(&str, Label)> = words.chain(QueueConfig::LABELS.iter().copied()).collect();
    for (kind, label) in &labels {
        for text in [label.en, label.zh] {
            assert!(
                !text.is_empty() && text.trim() == text && !text.contains(['{', '}']),
                "{kind}: {text:?}"
            );
        }
    }
    let labels =
        |pick: fn(&path::DisplayNames) -> Label| Stage::DISPLAY_NAMES.iter().map(move |(_, w)| pick(w));
    let queues = QueueConfig::LABELS.iter().map(|(_, label)| *label);
    for list in [labels(|w| w.label).collect(), labels(|w| w.one).collect(), queues.collect::<Vec<Label>>()] {
        for (i, a) in list.iter().enumerate() {
            assert!(list[..i].iter().all(|b| a.en != b.en && a.zh != b.zh), "{a:?} twice");
        }
    }
}

#[test]
fn every_kind_survives_serialisation_and_lists_its_keys() {
    for (kind, stage) in drawn().into_iter().flat_map(|(kind, list)| list.into_iter().map(move |s| (kind, s)))
    {
        let written = serde_json::to_value(&stage).unwrap();
        assert_eq!(serde_json::from_value::<Stage>(written.clone()).unwrap(), stage);
        for key in written.as_object().unwrap().keys().filter(|k| *k != "kind") {
            assert!(Stage::fields(kind).contains(&key.as_str()), "{kind}: {key}");
        }
        let mut bare = written.as_object().unwrap().clone();
        bare.remove("kind");
        assert_eq!(Stage::deserialize_kind(kind, Value::Object(bare)).unwrap(), stage);
        assert!(stage.build::<()>(1, "x").account().balances());
    }
    assert_eq!(Stage::fields("link"), ["rate", "delay", "mtu", "icmp", "queue"]);
    assert!(Stage::fields("lnik").is_empty());
}

#[test]
fn errors_about_unknown_keys_and_kinds_list_the_known_ones() {
    let wrong = |v| serde_json::from_value::<Stage>(v).unwrap_err().to_string();
    let e = wrong(json!({"kind": "link", "speed": "1Mbit/s"}));
    assert!(e.contains("unknown field `speed`") && e.contains("`rate`"), "{e}");
    assert!(wrong(json!({"kind": "lnik"})).contains("`tunnel-end`"));
    let e = wrong(json!({"kind": "link", "rate": "20"}));
    assert!(e.contains("no unit"), "{e}");
    let e = Stage::deserialize_kind("lnik", json!({})).unwrap_err().to_string();
    assert!(e.contains("`link`"), "{e}");
}

fn problem(v: Value) -> Problem {
    serde_json::from_value::<Stage>(v).unwrap().check().unwrap_err()
}

#[test]
fn problems_name_their_key() {
    for (stage, key) in [
        (json!({"kind": "link", "rate": "0bit/s"}), "rate"),
        (json!({"kind": "link", "queue": {"kind": "fifo", "packets": 0}}), "queue.packets"),
        (json!({"kind": "link", "mtu": 20}), "mtu"),
        (json!({"kind": "link", "icmp": false}), "icmp"),
        (json!({"kind": "loss", "probability": 1.5}), "probability"),
        (json!({"kind": "loss"}), "probability"),
        (json!({"kind": "loss", "model": "every", "probability": 0.1}), "probability"),
        (json!({"kind": "loss", "model": "gilbert-elliott", "p": 0.1}), "r"),
        (json!({"kind": "policer", "rate": "1Mbit/s", "peak_rate": "2Mbit/s"}), "peak_rate"),
        (json!({"kind": "policer", "meter": "trtcm", "rate": "2Mbit/s"}), "peak_rate"),
        (json!({"kind": "policer", "rate": "1Mbit/s", "red": {"dscp": 64}}), "red"),
        (json!({"kind": "shaper", "rate": "1Mbit/s", "excess_burst": "1kB"}), "excess_burst"),
        (
            json!({"kind": "shaper", "rate": "1Mbit/s", "latency": "1ms",
                "queue": {"kind": "fifo"}}),
            "latency",
        ),
        (json!({"kind": "outage", "lasts": "1s"}), "at"),
        (json!({"kind": "outage", "at": ["2s", "1s"], "lasts": "100ms"}), "at"),
        (json!({"kind": "outage", "every": "1s", "lasts": "1s"}), "every"),
        (json!({"kind": "outage", "every": "1s", "lasts": "10ms", "buffer": "left-behind"}), "buffer"),
        (json!({"kind": "handover", "every": "2s", "lasts": "10ms", "failures": 1}), "among"),
        (json!({"kind": "handover", "every": "2s", "lasts": "10ms", "failures": 3, "among": 2}), "failures"),
        (json!({"kind": "handover", "every": "2s", "lasts": "10ms", "failed": [0]}), "failed"),
        (json!({"kind": "handover", "every": "2s", "lasts": "10ms", "failed": [1]}), "every"),
        (json!({"kind": "handover", "every": "9s", "lasts": "10ms", "fate": "radio"}), "fate"),
        (
            json!({"kind": "handover", "every": "9s", "lasts": "10ms", "failed": [1], "failure_probability": 0.1}),
            "failures",
        ),
        (json!({"kind": "train"}), "rate"),
        (json!({"kind": "train", "rate": "1Mbit/s", "cell": "100m"}), "cell"),
        (json!({"kind": "train", "rate": "1Mbit/s", "residual": 2.0}), "residual"),
        (json!({"kind": "train", "rate": "1Mbit/s", "start": "800m"}), "start"),
        (json!({"kind": "jitter", "jitter": "1ms", "every": "0s"}), "every"),
        (json!({"kind": "rate-trace"}), "steps"),
        (json!({"kind": "rate-trace", "opportunities": [0]}), "opportunities"),
        (json!({"kind": "rate-trace", "steps": [{"at": "0s", "rate": "0bit/s"}]}), "steps"),
        (
            json!({"kind": "htb", "classes": [{"name": "a", "rate": "1Mbit/s", "parent": "b"}]}),
            "classes[0].parent",
        ),
        (json!({"kind": "tunnel", "overhead": 24, "fragment": true}), "fragment"),
        (json!({"kind": "tunnel", "overhead": 24, "mtu": 1500, "fragment": true, "icmp": true}), "icmp"),
    ] {
        let found = problem(stage.clone());
        assert_eq!(found.key, key, "{stage}: {found}");
    }
}

/// Checks that the schema has one branch per kind, with descriptions of the kind and of each key.
fn check_schema(schema: &Value, kinds: &[&str]) {
    let branches = schema["oneOf"].as_array().unwrap();
    assert_eq!(branches.len(), kinds.len());
    for (branch, kind) in branches.iter().zip(kinds) {
        assert_eq!(branch["properties"]["kind"]["const"], json!(kind));
        assert!(branch["description"].is_string(), "{kind} lacks a description: {branch}");
        for (field, schema) in branch["properties"].as_object().unwrap() {
            let said = field == "kind" || schema["description"].is_string();
            assert!(said, "{kind}.{field} lacks a description: {branch}");
        }
    }
}

#[test]
fn the_schema_describes_each_kind_and_each_key() {
    check_schema(&schemars::schema_for!(Stage).to_value(), Stage::KINDS);
    check_schema(&schemars::schema_for!(QueueConfig).to_value(), QueueConfig::KINDS);
}
