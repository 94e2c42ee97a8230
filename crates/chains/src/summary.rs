//! What a run is summed up to, whatever clock drove it.

use crate::topology;
use result::{Clock, ElementResult, FlowResult, RttSummary, VariantResult};
use scenario::{Flow, PathLimits, Scenario};
use units::Span;

/// What a clock has counted of one flow of the result.
#[derive(Clone, Debug, Default)]
pub struct FlowTally {
    /// Its name.
    pub name: String,
    /// Which of the scenario's flows it is (one of).
    pub of: usize,
    /// Congestion control, or `udp`.
    pub cc: String,
    /// Payload bytes that reached the receiving application.
    pub delivered_bytes: u64,
    /// The time over which they count.
    pub measured: Span,
    /// Round-trip times.
    pub rtt_ms: RttSummary,
    /// Data packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Retransmissions.
    pub retransmitted_packets: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Exchanges completed, of an application that counts them.
    pub completed: Option<u64>,
    /// Data packets the path dropped, where that is known.
    pub lost_packets: Option<u64>,
    /// Payload bytes of a full segment, once there is a connection.
    pub mss_bytes: Option<u32>,
}

/// The run as a whole.
pub struct Whole<'a> {
    /// The variant's name.
    pub name: &'a str,
    /// What drove it.
    pub clock: Clock,
    /// What was run.
    pub scenario: &'a Scenario,
    /// The flow that ran alone, as an index of the scenario's.
    pub only_flow: Option<usize>,
    /// How long it ran.
    pub duration: Span,
}

/// The summary of a run, but for what follows from its time series and sums over its flows
/// ([`result::Outcome::new`]).
pub fn variant(whole: Whole<'_>, tallies: Vec<FlowTally>, elements: Vec<ElementResult>) -> VariantResult {
    let Whole { name, clock, scenario, only_flow, duration } = whole;
    let limits = PathLimits::new(scenario, only_flow);
    VariantResult {
        name: name.into(),
        clock,
        duration_s: duration.as_secs_f64(),
        flows: tallies.into_iter().map(|tally| flow(scenario, &limits, tally)).collect(),
        elements,
        limit_mbps: limits.all,
        path: Some(topology(scenario)),
        ..VariantResult::default()
    }
}

fn flow(scenario: &Scenario, limits: &PathLimits, tally: FlowTally) -> FlowResult {
    let of = &scenario.flows[tally.of];
    let host = |i: usize| scenario.hosts[i].name.clone();
    FlowResult {
        name: tally.name,
        from: host(of.from),
        to: host(of.to),
        cc: tally.cc,
        app: kind(of),
        goodput_mbps: mbps(tally.delivered_bytes, tally.measured),
        sent_packets: tally.sent_packets,
        retransmitted_packets: tally.retransmitted_packets,
        rtt_ms: tally.rtt_ms,
        timeouts: tally.timeouts,
        delivered_bytes: tally.delivered_bytes,
        completed: tally.completed,
        lost_packets: tally.lost_packets,
        mss_bytes: tally.mss_bytes,
        limit_mbps: limits.flows[tally.of],
        ..FlowResult::default()
    }
}

/// The application's kind, as scenarios spell it.
fn kind(flow: &Flow) -> String {
    // Plain data: nothing in it can fail to serialise.
    let written = serde_json::to_value(&flow.app).unwrap_or_default();
    written.get("kind").and_then(serde_json::Value::as_str).unwrap_or_default().into()
}

/// Mbit/s of `bytes` in `span`; 0 in no time.
fn mbps(bytes: u64, span: Span) -> f64 {
    if span.is_zero() { 0.0 } else { bytes as f64 * 8.0 / span.as_secs_f64() / 1e6 }
}
