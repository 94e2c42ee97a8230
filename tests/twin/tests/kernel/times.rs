//! Durations of transfers, exchanges and pages on this machine's kernel and in the simulator, on a simple
//! path. Needs root (or user namespaces and access to /dev/net/tun); skipped with a message otherwise.

use result::{Outcome, TimesSummary};
use scenario::Experiment;

/// 10 Mbit/s and 40 ms, with a queue above the bandwidth-delay product.
const PATH: &str = r#"
duration = "5s"
[links.path]
between = ["user", "web"]
forward = [{ kind = "link", rate = "10Mbit/s", delay = "20ms", queue = { kind = "fifo", packets = 100 } }]
backward = [{ kind = "link", rate = "10Mbit/s", delay = "20ms", queue = { kind = "fifo", packets = 100 } }]
[flows.f]
from = "user"
to = "web"
cc = "reno"
"#;

/// Results of simulator and kernel; `None` without the privileges for the kernel.
fn both(app: &str) -> Option<[Outcome; 2]> {
    run(&format!("{PATH}app = {app}\n"))
}

fn run(text: &str) -> Option<[Outcome; 2]> {
    let experiment = Experiment::parse("times.toml", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let scenario = &experiment.variants[0].scenario;
    let sim = sim::run("v", scenario, sim::SimOptions::default());
    match lab::trusted(5, || lab::run("v", scenario, lab::LabOptions::default())) {
        Ok(kernel) => Some([sim, kernel]),
        Err(e @ lab::LabError::Permission { .. }) => {
            eprintln!("SKIPPED, this needs root: {e}");
            None
        }
        Err(e) => panic!("{text}: {e}"),
    }
}

fn near(what: &str, [sim, kernel]: [f64; 2], within: f64) {
    println!("{what}: simulator {sim:.4} s, kernel {kernel:.4} s, {:+.2} %", (sim / kernel - 1.0) * 100.0);
    assert!((sim / kernel - 1.0).abs() <= within, "{what}: {sim} {kernel}");
}

fn compare(what: &str, of: [Option<TimesSummary>; 2]) {
    let [sim, kernel] = of.map(|times| times.expect("times"));
    near(&format!("{what}, median of {} and {}", sim.count, kernel.count), [sim.p50, kernel.p50], 0.03);
    near(&format!("{what}, longest"), [sim.max, kernel.max], 0.08);
}

#[test]
fn a_transfer_takes_equally_long() {
    let Some(o) = both("{ kind = \"bulk\", bytes = \"2MB\" }") else { return };
    near("2 MB", o.each_ref().map(|o| o.variant.flows[0].completion_s.expect("it ended")), 0.03);
}

#[test]
fn responses_take_equally_long() {
    let app = "{ kind = \"request\", request = \"400B\", response = \"60kB\", think = \"100ms\" }";
    let Some(o) = both(app) else { return };
    compare("answers", o.each_ref().map(|o| o.variant.response_s));
    let flows = o.each_ref().map(|o| &o.variant.flows[0]);
    // The responding side's windows, on both.
    let most = o.each_ref().map(|o| o.flow_series[0].cwnd.iter().max().copied().unwrap_or(0));
    println!("largest window: {most:?}; round trips {:?} {:?}", flows[0].rtt_ms, flows[1].rtt_ms);
    assert!(most.iter().all(|&w| w > 20), "{most:?}");
    assert!(flows.iter().all(|f| f.delivered_bytes >= 60_000 * f.completed.unwrap()));
}

#[test]
fn pages_take_equally_long() {
    let app = "{ kind = \"page\", html = \"20kB\", objects = 12, size = \"20kB\", connections = 6, think = \"200ms\" }";
    let Some(o) = both(app) else { return };
    compare("pages", o.each_ref().map(|o| o.variant.page_s));
    compare("objects", o.each_ref().map(|o| o.variant.response_s));
}

/// The first response is lost completely, and so are its first retransmissions: only a timeout of the
/// responding side helps.
#[test]
fn timeouts_of_the_responding_side_are_reported() {
    let app = "{ kind = \"request\", request = \"400B\", response = \"4kB\", think = \"100ms\", count = 5 }";
    let lost = "backward = [{ kind = \"loss\", model = \"list\", packets = [2, 3, 4, 5, 6] }, ";
    let text = format!("{PATH}app = {app}\n").replace("backward = [", lost);
    let Some(o) = run(&text) else { return };
    let flows = o.each_ref().map(|o| &o.variant.flows[0]);
    println!("timeouts: simulator {}, kernel {}", flows[0].timeouts, flows[1].timeouts);
    assert!(flows.iter().all(|f| f.timeouts > 0 && f.states.iter().any(|s| s.state == "loss")), "{flows:?}");
    assert_eq!(flows[0].timeouts, flows[1].timeouts);
    near("the longest", flows.map(|f| f.response_s.expect("answers").max), 0.05);
}
