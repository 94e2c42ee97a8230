//! Tests of experiments on both clocks, in real time. They need root, or user namespaces and an accessible
//! /dev/net/tun. Without either they print a message and skip.
#![cfg(target_os = "linux")]

use experiment::{Failure, Hooks, Order, Outcomes, Progress, run};
use result::Clock;
use scenario::Experiment;
use std::ops::ControlFlow;
use std::sync::Mutex;

static SERIAL: Mutex<()> = Mutex::new(());

const TWO: &str = r#"
duration = "1s"
[links.path]
between = ["a", "b"]
forward = [{ kind = "link", rate = "20Mbit/s", delay = "10ms" }]
backward = [{ kind = "delay", delay = "10ms" }]
[flows.f]
from = "a"
to = "b"
[variants.half]
"links.path.forward.link.rate" = "10Mbit/s"
[variants.whole]
"#;

/// Returns `None` and prints a message if this machine does not permit the runs.
fn unless_denied(outcomes: Outcomes) -> Option<Outcomes> {
    let denied = |f: &Failure| matches!(f, Failure::Lab(lab::LabError::Permission { .. }));
    match outcomes.failed.iter().find(|f| denied(&f.failure)) {
        Some(failed) => {
            eprintln!("SKIPPED, this needs root: {failed}");
            None
        }
        None => Some(outcomes),
    }
}

#[test]
fn each_variant_runs_on_both_clocks() {
    let _guard = SERIAL.lock().unwrap_or_else(|e| e.into_inner());
    let experiment = Experiment::parse("two.toml", TWO, &[]).unwrap();
    let order = Order { clocks: vec![Clock::Sim, Clock::Kernel], ..Order::default() };
    let mut clocks = Vec::new();
    let mut progress = |p: &Progress| {
        clocks.push(p.clock);
        ControlFlow::Continue(())
    };
    let hooks = Hooks { progress: Some(&mut progress), ..Hooks::default() };
    let Some(outcomes) = unless_denied(run(&experiment, &order, hooks)) else { return };
    assert!(outcomes.is_complete(), "{:?}", outcomes.failed);
    clocks.dedup();
    assert_eq!(clocks, [Clock::Sim, Clock::Kernel], "one after the other");
    let variants = outcomes.run().variants;
    let named: Vec<(&str, Clock)> = variants.iter().map(|v| (&v.name[..], v.clock)).collect();
    let both = |name| [(name, Clock::Sim), (name, Clock::Kernel)];
    assert_eq!(named, [both("half"), both("whole")].concat());
    for (pair, rate) in variants.chunks(2).zip([10.0, 20.0]) {
        for v in pair {
            assert!(
                (0.7..=1.0).contains(&(v.total_goodput_mbps / rate)),
                "{} {}",
                v.name,
                v.total_goodput_mbps
            );
        }
    }
    assert!(outcomes.notices.iter().any(|n| n.variant == "whole" && n.text.contains("engine")));
}

#[test]
fn a_caller_can_stop_a_run_on_the_kernel() {
    let _guard = SERIAL.lock().unwrap_or_else(|e| e.into_inner());
    let experiment = Experiment::parse("two.toml", &TWO.replace("\"1s\"", "\"1h\""), &[]).unwrap();
    let order = Order { clocks: vec![Clock::Kernel], ..Order::default() };
    let mut stop =
        |p: &Progress| if p.played_ms >= 300 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let hooks = Hooks { progress: Some(&mut stop), ..Hooks::default() };
    let Some(outcomes) = unless_denied(run(&experiment, &order, hooks)) else { return };
    assert_eq!((outcomes.stopped.len(), outcomes.failed.len()), (2, 0));
    assert!(outcomes.run().variants.is_empty());
}
