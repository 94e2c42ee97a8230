//! Observed paths from summaries, which show no single packets: results of a run, and what iperf3 and ss
//! print (`iperf3.rs`, `ss_log.rs`). A series gives a verdict first (`verdict.rs`); the kinds of limiters
//! that it leaves open compete.

use crate::error::FitError;
use crate::observed::{CapturedFacts, ObservedFlow, ObservedPath};
use crate::series::SummarySeries;
use crate::verdict::SummaryVerdict;
use result::diagnosis::{Guess, Measures};
use result::{FlowDiagnosis, VariantResult};

/// Payload of a full segment with timestamps, bytes.
pub(crate) const FULL_SEGMENT: u32 = 1448;

/// The path that the variant of a result shows.
///
/// # Errors
/// Fails if no TCP flow of the variant carried data.
pub fn of_result(v: &VariantResult) -> Result<ObservedPath, FitError> {
    let tcp = v.flows.iter().filter(|f| !f.is_udp() && f.delivered_bytes > 0);
    let Some(first) = tcp.clone().max_by_key(|f| f.delivered_bytes) else { return Err(FitError::NoFlow) };
    let mut flows = Vec::new();
    for (f, id) in tcp.zip((0..).step_by(2)) {
        let measures = Measures {
            goodput_mbps: f.own_goodput_mbps(),
            max_delivery_mbps: f.own_goodput_mbps(),
            bytes: f.delivered_bytes,
            data_packets: f.sent_packets,
            acks: f.sent_packets / 2 + 1,
            mss_bytes: f.mss_bytes.unwrap_or(FULL_SEGMENT),
            rtt_ms: f.rtt_acks_ms,
            retransmitted_packets: f.retransmitted_packets,
            timeouts: f.timeouts,
            ..Measures::default()
        };
        let start_s = (v.measured_s[1] - f.active_s).max(0.0);
        let backward = f.from == first.to && f.to == first.from;
        flows.push(observed(id, &f.cc, start_s, f.active_s, measures, backward));
    }
    path_of(flows)
}

/// A flow without packets.
pub(crate) fn observed(
    id: u32,
    cc: &str,
    start_s: f64,
    duration_s: f64,
    measures: Measures,
    backward: bool,
) -> ObservedFlow {
    let cc = Guess { name: cc.into(), confidence: if cc == "other" { 0.0 } else { 1.0 } };
    let flow = FlowDiagnosis { id, start_s, duration_s, measures, cc, ..FlowDiagnosis::default() };
    let facts = CapturedFacts { id, timestamps: true, sack: true, loss_run: 1.0, ..CapturedFacts::default() };
    ObservedFlow { flow, facts, backward, policer: None }
}

/// The path that `observe` makes of a series, with the verdict on it.
///
/// # Errors
/// Fails with the verdict if no scenario can reproduce the series.
pub(crate) fn judged(
    series: SummarySeries,
    observe: impl FnOnce(&SummarySeries) -> Result<ObservedPath, FitError>,
) -> Result<ObservedPath, FitError> {
    let verdict = Box::new(SummaryVerdict::of(&series));
    if !verdict.can_be_simulated() || series.udp.is_some() {
        return Err(FitError::CannotTell(verdict));
    }
    match observe(&series) {
        Ok(seen) => Ok(ObservedPath { verdict: Some(*verdict), ..seen }),
        Err(_) => Err(FitError::CannotTell(verdict)),
    }
}

/// The path of these flows, without a known limiter.
pub(crate) fn path_of(mut flows: Vec<ObservedFlow>) -> Result<ObservedPath, FitError> {
    flows.sort_by_key(|f| std::cmp::Reverse(f.flow.measures.bytes));
    let Some(first) = flows.first() else { return Err(FitError::NoFlow) };
    if first.flow.measures.rtt_ms.p50 <= 0.0 {
        return Err(FitError::NoRtt);
    }
    let start_s = flows.iter().map(|f| f.flow.start_s).fold(f64::INFINITY, f64::min);
    let end = flows.iter().map(ObservedFlow::end_s).fold(0.0, f64::max);
    let span_s = (end - start_s).max(0.01);
    Ok(ObservedPath { flows, start_s, span_s, summary: true, ..ObservedPath::default() })
}
