//! longfat's eBPF congestion controls on the sockets of a run: loaded for it, unloaded after it. Needs root;
//! otherwise prints that it is skipped.

use kernel_cc::{Kernel, owner};
use lab::{LabError, LabOptions};
use result::Outcome;
use scenario::Experiment;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

static ALONE: Mutex<()> = Mutex::new(());

const PATH: &str = r#"
sample = "100ms"
[links.path]
between = ["a", "b"]
forward = [{ kind = "link", rate = "20Mbit/s", delay = "10ms", queue = { kind = "fifo", packets = 100 } }]
backward = [{ kind = "delay", delay = "10ms" }]
"#;

/// Returns the controls in the kernel that this process loaded.
fn loaded_controls() -> Vec<String> {
    let all = Kernel::now().available;
    all.into_iter().filter(|name| owner(name) == Some(std::process::id())).collect()
}

/// Returns the outcome, its notices, and the controls loaded meanwhile; `None` if this machine lacks the
/// privileges, with the reason printed.
fn run(seconds: u32, flows: &str) -> Option<(Outcome, Vec<String>, Vec<String>)> {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let parsed = Experiment::parse("t.toml", &format!("duration = \"{seconds}s\"{PATH}{flows}"), &[])
        .unwrap_or_else(|e| panic!("{}", e.render()));
    let mut notices = Vec::new();
    let mut notice = |text: &str| notices.push(text.to_string());
    let is_over = AtomicBool::new(false);
    let (run, seen) = std::thread::scope(|s| {
        let watch = s.spawn(|| {
            let mut seen = Vec::new();
            while !is_over.load(Relaxed) {
                seen.extend(loaded_controls());
                std::thread::sleep(Duration::from_millis(50));
            }
            seen.sort();
            seen.dedup();
            seen
        });
        let options = LabOptions { seed: 1, notice: Some(&mut notice), ..LabOptions::default() };
        let run = lab::run("test", &parsed.variants[0].scenario, options);
        is_over.store(true, Relaxed);
        (run, watch.join().expect("the watching thread"))
    });
    notices.iter().for_each(|n| eprintln!("  {n}"));
    match run {
        Err(LabError::Congestion { why, .. }) if why.contains("missing CAP_") => {
            eprintln!("SKIPPED, this needs root: {why}");
            None
        }
        Err(e @ LabError::Permission { .. }) => {
            eprintln!("SKIPPED, this needs root: {e}");
            None
        }
        run => Some((run.unwrap_or_else(|e| panic!("{e}")), notices, seen)),
    }
}

#[test]
fn every_ebpf_control_carries_a_flow() {
    for entry in kernel_cc::REGISTRY.iter().filter(|e| congestion::NAMES.contains(&e.name)) {
        let name = entry.name;
        let flow = format!("[flows.f]\nfrom = \"a\"\nto = \"b\"\ncc = \"{name}\"\n");
        let Some((outcome, notices, seen)) = run(2, &flow) else { return };
        let flow = &outcome.variant.flows[0];
        assert_eq!(flow.cc, name);
        assert!(flow.goodput_mbps > 10.0 && flow.goodput_mbps < 20.0, "{name}: {} Mbit/s", flow.goodput_mbps);
        // If the kernel has its own implementation, that one is used.
        assert_eq!(seen.len(), usize::from(!Kernel::now().has(name)), "{name}: {seen:?}");
        assert!(!notices.iter().any(|n| n.contains("used")), "{notices:?}");
        let paced = outcome.flow_series[0].pacing_mbps.iter().flatten().any(|rate| *rate > 0.0);
        assert_eq!(paced, entry.paces, "{name}");
        assert!(loaded_controls().is_empty(), "{:?}", loaded_controls());
    }
}

/// Unprivileged programs choose a control by `{cc}`, next to a flow between the same hosts with another one.
#[test]
fn user_programs_can_choose_an_ebpf_control() {
    let entry = kernel_cc::REGISTRY.iter().find(|e| congestion::NAMES.contains(&e.name)).expect("a program");
    let ends = format!("from = \"a\"\nto = \"b\"\ncc = \"{}\"", entry.name);
    let flows = format!(
        "[flows.known]\n{ends}\ntool = \"iperf3\"\n\
         [flows.own]\n{ends}\ntool = \"iperf3 -c {{to}} -p {{port}} -t 3 -C {{cc}}\"\n\
         server = \"iperf3 -s -1 -p {{port}}\"\n\
         [flows.other]\nfrom = \"a\"\nto = \"b\"\ncc = \"reno\"\n"
    );
    let Some((outcome, notices, _)) = run(4, &flows) else { return };
    // A notice would report a program that used another control.
    assert!(!notices.iter().any(|n| n.contains("it used") || n.contains("iperf3")), "{notices:?}");
    for flow in &outcome.variant.flows {
        assert!(flow.delivered_bytes > 100_000, "{}: {} B", flow.name, flow.delivered_bytes);
        assert_eq!(flow.cc, if flow.name == "other" { "reno" } else { entry.name });
    }
    assert!(loaded_controls().is_empty(), "{:?}", loaded_controls());
}
