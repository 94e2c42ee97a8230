//! `longfat measure` without a server, and `longfat report` of measurements.

#![cfg(target_os = "linux")]

use crate::place::Place;
use serde_json::{Value, json};

/// A series with these uploads, Mbit/s.
fn series(uploads: &[f64]) -> String {
    let run = |mbps: &f64| -> Value {
        let test = json!({
            "name": "up", "direction": "up", "connections": 1, "seconds": 5.0, "bytes": 1_000_000, "goodput_mbps": mbps,
            "control": "reno", "retransmitted_share": 0.01, "timeouts": 0, "mss": 1448,
        });
        let measurement = json!({
            "schema": "longfat-measure/1", "longfat": "0.2.0", "at": "2026-11-30T14:00:00Z", "seconds": 60.0,
            "server": "192.0.2.1:4717", "client": "192.0.2.2", "headline": "", "facts": [], "cannot_tell": [],
            "tests": [test], "up": {}, "down": {}, "cures": [],
        });
        json!({ "at": "2026-11-30T14:00:00Z", "measurement": measurement })
    };
    let runs: Vec<Value> = uploads.iter().map(run).collect();
    json!({ "schema": "longfat-measure-series/1", "headline": "", "figures": [], "runs": runs }).to_string()
}

#[test]
fn two_measurements_are_compared_beyond_their_spread() {
    let place = Place::new("measure-compare");
    place.file("before.json", series(&[4.9, 5.1, 5.0])).file("after.json", series(&[18.7, 18.6, 18.8]));
    let out = place.longfat(&["report", "before.json", "after.json", "-o", "page.html"]);
    let text = String::from_utf8_lossy(&out.stdout).replace('\n', " ");
    assert!(text.starts_with("Changed beyond the spread: up.goodput from 5.00 to 18.7 Mbit/s."), "{out:?}");
    let page = std::fs::read_to_string(place.0.join("page.html")).expect("a page");
    assert!(page.contains("Before and after") && page.contains("Welch"));
    let out = place.longfat(&["report", "before.json", "after.json", "--json"]);
    let json: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(json["quantities"][0]["changed"], true, "{json}");
    let one = place.longfat(&["report", "after.json"]);
    assert_eq!(one.status.code(), Some(0), "{one:?}");
    assert!(place.0.join("report.html").is_file());
}

#[test]
fn what_is_no_measurement_is_refused() {
    let place = Place::new("measure-wrong");
    place.file("a.json", series(&[1.0])).file("b.json", "{\"schema\": \"longfat-plan/3\"}");
    let out = place.longfat(&["report", "a.json", "b.json"]);
    let error = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2));
    assert!(error.contains("b.json: `longfat-plan/3` is not a measurement"), "{error}");
    let out = place.longfat(&["report", "a.json", "a.json", "a.json"]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("3 measurements"), "{out:?}");
    let out = place.longfat(&["report", "a.json", "-o", "a.json"]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("would overwrite it"), "{out:?}");
}

#[test]
fn an_expectation_is_checked_before_anything_runs() {
    let place = Place::new("measure-expect");
    let out = place.longfat(&["measure", "192.0.2.1", "--expect", "x.goodput > 1Mbit/s"]);
    let error = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2));
    assert!(error.contains("`x` is not a test: one of idle, up, up-4, down, down-4"), "{error}");
}

#[test]
fn a_missing_iperf3_is_named_with_its_package() {
    let place = Place::new("measure-iperf3");
    let out =
        place.command().args(["measure", "127.0.0.1", "--iperf3"]).env("PATH", "").output().expect("it runs");
    let error = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{error}");
    assert!(
        error.contains("iperf3 is not installed") && error.contains("the package is `iperf3`"),
        "{error}"
    );
}
