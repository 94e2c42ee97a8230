//! `longfat fit`: the scenario it writes behaves like the captured path, also with other congestion controls.

use crate::place::{Place, json, stderr, stdout};
use serde_json::Value;

/// Two flows between two hosts; each connection has its own policer of the same rate.
const ALIKE: &str = r#"
name = "alike"
duration = "20s"
[links.wan]
between = ["client", "server"]
forward = [
    { kind = "link", name = "line", rate = "100Mbit/s" },
    { kind = "policer", name = "limiter", rate = "8Mbit/s", burst = "20kB", per_flow = true },
    { kind = "delay", delay = "15ms" },
]
backward = [{ kind = "delay", delay = "15ms" }]
[flows.a]
from = "client"
to = "server"
[flows.b]
from = "client"
to = "server"
start = "700ms"
"#;

/// Two flows of one sender through different policers to different hosts, one of them farther away.
const UNLIKE: &str = r#"
name = "unlike"
duration = "20s"
[links.line]
between = ["client", "box"]
forward = [{ kind = "link", rate = "100Mbit/s" }, { kind = "delay", delay = "10ms" }]
backward = [{ kind = "delay", delay = "10ms" }]
[links.a]
between = ["box", "a"]
forward = [{ kind = "policer", rate = "8Mbit/s", burst = "20kB" }, { kind = "delay", delay = "5ms" }]
backward = [{ kind = "delay", delay = "5ms" }]
[links.b]
between = ["box", "b"]
forward = [{ kind = "policer", rate = "3Mbit/s", burst = "12kB" }, { kind = "delay", delay = "15ms" }]
backward = [{ kind = "delay", delay = "15ms" }]
[flows.a]
from = "client"
to = "a"
[flows.b]
from = "client"
to = "b"
start = "700ms"
"#;

/// The largest relative error of the goodput that a fit predicts for another congestion control.
const MAX_ERROR: f64 = 0.08;

/// Returns the goodput of each flow with a congestion control, Mbit/s, the mean of five runs.
fn goodputs(place: &Place, file: &str, flows: &[&str], cc: &str) -> Vec<f64> {
    let set: Vec<String> =
        flows.iter().flat_map(|f| ["--set".into(), format!("flows.{f}.cc={cc}")]).collect();
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    let out = format!("out-{file}-{cc}");
    let ran = place.longfat(&[&["run", file, "--repeat", "5", "--json", "--out", &out], &set[..]].concat());
    assert!(ran.status.success(), "{}", stderr(&ran));
    let flows = &json(&stdout(&ran))["variants"][0]["flows"];
    flows.as_array().unwrap().iter().map(|f| f["goodput_mbps"].as_f64().unwrap()).collect()
}

/// Captures a scenario with CUBIC at one of its hosts and fits the capture. The scenario goes to
/// `fitted.toml`.
fn fitted(place: &Place, scenario: &str, host: &str) -> Value {
    place.file("true.toml", scenario);
    let ran = place.longfat(&["run", "true.toml", "--pcap", "pcap", "--out", "captured"]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    let capture = format!("pcap/default/{host}.pcap");
    let done = place.longfat(&["fit", &capture, "-o", "fitted.toml", "--json"]);
    assert!(done.status.success(), "{}", stderr(&done));
    json(&stdout(&done))
}

/// Asserts that each number is within [`MAX_ERROR`] of its truth.
fn assert_near(what: &str, numbers: &[f64], truth: &[f64]) {
    assert_eq!(numbers.len(), truth.len(), "{what}: {numbers:?} {truth:?}");
    for (n, t) in numbers.iter().zip(truth) {
        assert!((n / t - 1.0).abs() < MAX_ERROR, "{what}: {numbers:?} for {truth:?}");
    }
}

fn numbers(fit: &Value, key: &str) -> Vec<f64> {
    fit["policers"].as_array().unwrap().iter().map(|p| p[key].as_f64().unwrap()).collect()
}

#[test]
fn two_flows_with_equal_policers_are_fitted_by_a_policer_per_flow() {
    for host in ["client", "server"] {
        let place = Place::new(&format!("fit-alike-{host}"));
        let fit = fitted(&place, ALIKE, host);
        assert_near("rate", &numbers(&fit, "rate_mbps"), &[8.0]);
        assert_near("bucket", &numbers(&fit, "bucket_kb"), &[20.0]);
        assert_eq!(fit["policers"][0]["per_flow"], true);
        let headline = fit["headline"].as_str().unwrap();
        assert!(headline.starts_with("The path is a policer for each flow, of "), "{headline}");
        let text = String::from_utf8(place.read("fitted.toml")).unwrap();
        assert!(text.contains("per_flow = true") && text.contains("count = 2"), "{text}");
        for cc in ["bbr", "reno"] {
            let truth = goodputs(&place, "true.toml", &["a", "b"], cc);
            assert_near(&format!("{host} {cc}"), &goodputs(&place, "fitted.toml", &["f1"], cc), &truth);
        }
    }
}

#[test]
fn two_flows_with_different_policers_are_fitted_by_two_links() {
    let place = Place::new("fit-unlike");
    let fit = fitted(&place, UNLIKE, "client");
    assert_near("rates", &numbers(&fit, "rate_mbps"), &[8.0, 3.0]);
    assert_near("buckets", &numbers(&fit, "bucket_kb"), &[20.0, 12.0]);
    let flows: Vec<&str> = (0..2).map(|i| fit["policers"][i]["flows"][0].as_str().unwrap()).collect();
    assert_eq!(flows, ["f1", "f2"]);
    let headline = fit["headline"].as_str().unwrap();
    assert!(headline.starts_with("The path is 2 policers, of "), "{headline}");
    for cc in ["bbr", "reno"] {
        let truth = goodputs(&place, "true.toml", &["a", "b"], cc);
        assert_near(cc, &goodputs(&place, "fitted.toml", &["f1", "f2"], cc), &truth);
    }
    // A plan for the capture changes both policers.
    let planned = place.longfat(&[
        "plan",
        "pcap/default/client.pcap",
        "--only",
        "limiter",
        "--finalists",
        "2",
        "--repeat",
        "2",
        "--json",
    ]);
    let planned = json(&stdout(&planned));
    let cures = planned["cures"].as_array().unwrap();
    let shaper = cures.iter().find(|c| c["name"].as_str().unwrap().starts_with("shaper-")).unwrap();
    let changes: Vec<&str> =
        shaper["changes"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    for link in ["links.to-receiver1.forward.limiter", "links.to-receiver2.forward.limiter"] {
        assert!(changes.iter().any(|c| c.starts_with(link)), "{link}: {changes:?}");
    }
}

#[test]
fn a_policer_shared_by_two_flows_is_fitted_by_one_policer() {
    let place = Place::new("fit-shared");
    let fit = fitted(&place, &ALIKE.replace(", per_flow = true", ""), "client");
    assert_eq!(fit["policers"], Value::Null);
    assert!(!String::from_utf8(place.read("fitted.toml")).unwrap().contains("per_flow"));
}
