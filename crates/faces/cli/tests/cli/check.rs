//! `longfat check`: JSON, exit codes, a path taken from a capture. The findings depend on the machine, so the
//! tests check that they are consistent.

#![cfg(target_os = "linux")]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn longfat(args: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    Command::new(env!("CARGO_BIN_EXE_longfat")).current_dir(root).args(args).output().expect("it runs")
}

fn json(out: &Output) -> Value {
    serde_json::from_slice(&out.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&out.stderr)))
}

/// Returns the exit code that fits the findings.
fn code_of(report: &Value) -> i32 {
    let findings = report["findings"].as_array().expect("findings");
    i32::from(findings.iter().any(|f| f["level"] == "problem"))
}

#[test]
fn this_machine_is_checked() {
    let out = longfat(&["check", "--json"]);
    let report = json(&out);
    assert_eq!(report["schema"], "longfat-check/2");
    assert_eq!(out.status.code(), Some(code_of(&report)));
    let own = &report["namespaces"][0];
    let file = |name: &str| std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).expect("reads");
    if own["initial"] == true {
        assert_eq!(own["control"], file("tcp_congestion_control").trim());
    }
    assert!(own["devices"].as_array().expect("devices").iter().any(|d| d["name"] == "lo"));
    let findings = report["findings"].as_array().expect("findings");
    assert!(findings.iter().all(|f| f.get("cost").is_none()), "no cost is claimed without a path");
}

#[test]
fn costs_on_a_path_are_reported_and_invalid_paths_are_refused() {
    let out = longfat(&["check", "--json", "--rate", "10Gbit/s", "--rtt", "1ms", "--burst", "9kB"]);
    let report = json(&out);
    assert_eq!(
        (report["path"]["rate_mbps"].as_f64(), report["path"]["burst_bytes"].as_u64()),
        (Some(10_000.0), Some(9000))
    );
    assert_eq!(out.status.code(), Some(code_of(&report)));
    for bad in [
        &["check", "--rate", "20Mbit/s"][..],
        &["check", "--rate", "fast", "--rtt", "1ms"],
        &["check", "--rate", "20Mbit/s", "--rtt", "1h"],
        &["check", "--rate", "20Mbit/s", "--rtt", "1ms", "--burst", "9kB", "--queue", "9kB"],
        &["check", "--capture", "/nonexistent"],
        &["check", "--capture", "Cargo.toml"],
    ] {
        let out = longfat(bad);
        assert_eq!(out.status.code(), Some(2), "{bad:?}");
        assert!(!out.stderr.is_empty() && out.stdout.is_empty(), "{bad:?}");
    }
}

#[test]
fn a_capture_gives_the_rate_bucket_and_rtt_of_its_policer() {
    let folder = std::env::temp_dir().join(format!("longfat-check-{}", std::process::id()));
    let (out, pcap) = (folder.join("out"), folder.join("pcap"));
    let (out, pcap) = (out.to_str().expect("a name"), pcap.to_str().expect("a name"));
    let variant = ["--variant", "policing-cubic", "--pcap", pcap, "--out", out];
    let run = longfat(&[&["run", "scenarios/sdwan-limiter.toml"][..], &variant].concat());
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    let report =
        json(&longfat(&["check", "--json", "--capture", &format!("{pcap}/policing-cubic-up/pc.pcap")]));
    std::fs::remove_dir_all(&folder).expect("it is ours");
    let path = &report["path"];
    let near = |key: &str, truth: f64| {
        let found = path[key].as_f64().unwrap_or_else(|| panic!("no {key}: {path}"));
        assert!((found / truth - 1.0).abs() < 0.05, "{key}: {found} for {truth}");
    };
    near("rate_mbps", 20.0);
    near("burst_bytes", 9000.0);
    near("rtt_ms", 30.2);
}
