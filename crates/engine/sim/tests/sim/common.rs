//! Runs scenario texts, and accessors for their outcomes.

use result::{ElementResult, ElementSeries, FlowResult, FlowSeries, Outcome};
use scenario::{Experiment, Scenario};

pub fn parse(text: &str) -> Scenario {
    match Experiment::parse("test.toml", text, &[]) {
        Ok(mut e) => e.variants.remove(0).scenario,
        Err(e) => panic!("{e}\n{text}"),
    }
}

pub fn run_seed(text: &str, seed: u64) -> Outcome {
    sim::run("test", &parse(text), sim::SimOptions { seed, ..sim::SimOptions::default() })
}

pub fn run(text: &str) -> Outcome {
    run_seed(text, 1)
}

/// A scenario with hosts `a` and `b`: `head` in front, these stages from `a` to `b`, followed by half the
/// RTT, the other half on the return path, and the flows at the end.
pub fn path(head: &str, stages: &str, rtt_ms: f64, flows: &str) -> String {
    let half = rtt_ms / 2.0;
    let stages = if stages.is_empty() { String::new() } else { format!("{stages}, ") };
    format!(
        r#"{head}
[links.path]
between = ["a", "b"]
forward = [{stages}{{ kind = "delay", delay = "{half}ms" }}]
backward = [{{ kind = "delay", delay = "{half}ms" }}]
{flows}"#
    )
}

/// A bulk flow from `a` to `b`.
pub fn bulk(cc: &str) -> String {
    format!("[flows.f]\nfrom = \"a\"\nto = \"b\"\ncc = \"{cc}\"\n")
}

pub fn flow<'a>(o: &'a Outcome, name: &str) -> &'a FlowResult {
    o.variant.flows.iter().find(|f| f.name == name).expect("a flow of that name")
}

/// An element by the end of its name.
pub fn element<'a>(o: &'a Outcome, name: &str) -> &'a ElementResult {
    o.variant.elements.iter().find(|e| e.name.ends_with(name)).expect("an element of that name")
}

pub fn series<'a>(o: &'a Outcome, name: &str) -> &'a FlowSeries {
    o.flow_series.iter().find(|f| f.name == name).expect("a flow's series")
}

pub fn element_series<'a>(o: &'a Outcome, name: &str) -> &'a ElementSeries {
    o.element_series.iter().find(|e| e.name.ends_with(name)).expect("an element's series")
}

/// Goodput between two times, Mbit/s.
pub fn goodput(s: &FlowSeries, from: f64, to: f64) -> f64 {
    let at = |t: f64| s.time_s.partition_point(|&x| x < t - 1e-9).min(s.time_s.len() - 1);
    let (i, j) = (at(from), at(to));
    (s.delivered_bytes[j] - s.delivered_bytes[i]) as f64 * 8e-6 / (s.time_s[j] - s.time_s[i])
}

pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0u64), |(s, n), x| (s + x, n + 1));
    sum / n as f64
}

/// Asserts that `got` is within `percent` of `truth`, and prints both (`--nocapture` shows the table).
pub fn close(what: &str, got: f64, truth: f64, percent: f64) {
    let off = (got / truth - 1.0) * 100.0;
    println!("{what}: {got:.4}, expected {truth:.4}, {off:+.2} %");
    assert!(off.abs() <= percent, "{what}: {got:.4}, expected {truth:.4} within {percent} %, is {off:+.2} %");
}

/// Mean window of a flow that loses every n-th packet on an empty path, packets: goodput times RTT.
pub fn window(cc: &str, every: u64, rtt_ms: f64) -> f64 {
    // Epochs last about sqrt(n) RTTs (Reno), longer where CUBIC is flat.
    let epoch = every as f64 / (1.2 * (every as f64).sqrt()) * rtt_ms / 1e3;
    let duration = (40.0 * epoch).max(60.0);
    let head = format!(
        "duration = \"{duration:.0}s\"\nsample = \"100ms\"\n[hosts.a]\nstack = {{ send_buffer = \"1GB\" }}\n[hosts.b]\nstack = {{ receive_buffer = \"1GB\" }}"
    );
    // The first losses end slow start early, so the window approaches its mean from below.
    let stages = format!(
        "{{ kind = \"loss\", model = \"list\", packets = [40, 60, 80, 100] }}, {{ kind = \"loss\", model = \"every\", every = {every} }}"
    );
    let o = run(&path(&head, &stages, rtt_ms, &bulk(cc)));
    assert_eq!(flow(&o, "f").timeouts, 0, "{cc} 1/{every}");
    let rate = goodput(series(&o, "f"), duration * 0.25, duration);
    rate * 1e6 / 8.0 / 1448.0 * rtt_ms / 1e3
}
