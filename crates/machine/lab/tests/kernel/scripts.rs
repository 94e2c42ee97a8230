//! Commands that run on hosts before a run, on the real kernel. Needs root; otherwise prints that it is
//! skipped.

use lab::{LabError, LabOptions, LabScript, try_scripts};
use scenario::{Experiment, Scenario};

const PATH: &str = r#"
duration = "2s"
sample = "0s"
[links.lan]
between = ["a", "r"]
[links.wan]
between = ["r", "b"]
forward = [{ kind = "delay", delay = "5ms" }]
backward = [{ kind = "delay", delay = "5ms" }]
[flows.f]
from = "a"
to = "b"
"#;

fn scenario() -> Scenario {
    Experiment::parse("t.toml", PATH, &[]).expect("a valid scenario").variants.remove(0).scenario
}

fn script(host: usize, towards: usize, line: &str) -> LabScript {
    LabScript { host, towards: Some(towards), lines: vec![line.into()] }
}

/// Returns `None` and prints the reason if this machine lacks the privileges.
fn goodput(scripts: &[LabScript], host_controls: bool) -> Option<f64> {
    let options = LabOptions { seed: 1, scripts, host_controls, ..LabOptions::default() };
    match lab::run("test", &scenario(), options) {
        Ok(outcome) => Some(outcome.variant.flows[0].goodput_mbps),
        Err(e @ LabError::Permission { .. }) => {
            eprintln!("SKIPPED, this needs root: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// Linux's own token bucket at the router limits the flow.
#[test]
fn a_tc_shaper_at_a_router_limits_the_flow() {
    let tbf =
        script(1, 2, "tc qdisc replace dev $DEV root handle 1: tbf rate 8000kbit burst 5000 limit 60000");
    let Some(limited) = goodput(&[tbf], false) else { return };
    // 1448 of 1500 bytes are payload.
    assert!((6.9..7.8).contains(&limited), "{limited} Mbit/s");
    let free = goodput(&[], false).expect("root");
    assert!(free > 100.0, "{free} Mbit/s without it");
}

/// A flow that sets no congestion control gets its route's.
#[test]
fn a_route_sets_the_congestion_control() {
    let line = "ip route replace $(ip -o route show to match $PEER | tail -n 1) congctl bbr; \
                ip route show to match $PEER | grep -q 'congctl bbr'";
    let Some(mbps) = goodput(&[script(0, 2, line)], true) else { return };
    assert!(mbps > 50.0, "{mbps}");
}

#[test]
fn failed_scripts_are_reported_with_the_shells_output() {
    if goodput(&[], false).is_none() {
        return;
    }
    let tried =
        try_scripts(&scenario(), &[script(0, 1, "true"), script(0, 1, "echo no such thing >&2; false")]);
    assert_eq!(tried.expect("a network"), [None, Some("no such thing".to_string())]);
    let failing = [script(1, 2, "echo broken >&2; exit 3")];
    let options = LabOptions { seed: 1, scripts: &failing, ..LabOptions::default() };
    let e = lab::run("test", &scenario(), options).expect_err("the run fails");
    assert!(e.to_string().contains("host r") && e.to_string().contains("broken"), "{e}");
}
