//! The registry: every kind reads, writes, names its keys and says what is wrong.

mod common;

use path::{Problem, Stage};
use serde_json::{Value, json};

/// The least one must write for each kind.
fn least(kind: &str) -> Value {
    let mut v = match kind {
        "delay" => json!({"delay": "1ms"}),
        "jitter" => json!({"jitter": "1ms"}),
        "rate-trace" => json!({"steps": [{"at": "0s", "rate": "1Mbit/s"}]}),
        "outage" | "handover" => json!({"every": "1s", "lasts": "10ms"}),
        "train" => json!({"rate": "20Mbit/s"}),
        "policer" | "shaper" => json!({"rate": "20Mbit/s"}),
        "htb" => json!({"classes": [{"name": "port", "rate": "20Mbit/s"}]}),
        "loss" | "duplicate" => json!({"probability": 0.01}),
        "reorder" => json!({"probability": 0.01, "delay": "1ms"}),
        "tunnel" => json!({"overhead": 24}),
        _ => json!({}),
    };
    v["kind"] = json!(kind);
    v
}

#[test]
fn every_kind_reads_writes_and_knows_its_keys() {
    for &kind in Stage::KINDS {
        let stage: Stage = serde_json::from_value(least(kind)).unwrap();
        stage.check().unwrap();
        assert_eq!(stage.kind(), kind);
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
    assert_eq!(Stage::fields("link"), ["rate", "delay", "mtu", "queue"]);
    assert!(Stage::fields("lnik").is_empty());
}

#[test]
fn unknown_keys_and_kinds_are_errors_that_name_what_is_known() {
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
    ] {
        let found = problem(stage.clone());
        assert_eq!(found.key, key, "{stage}: {found}");
    }
}

#[test]
fn the_schema_has_one_branch_per_kind_with_its_constant() {
    let schema = schemars::schema_for!(Stage).to_value();
    let branches = schema["oneOf"].as_array().unwrap();
    assert_eq!(branches.len(), Stage::KINDS.len());
    for (branch, kind) in branches.iter().zip(Stage::KINDS) {
        assert_eq!(branch["properties"]["kind"]["const"], json!(kind));
        for field in Stage::fields(kind) {
            let text = &branch["properties"][field]["description"];
            assert!(text.is_string(), "{kind}.{field} lacks a description: {branch}");
        }
    }
}
