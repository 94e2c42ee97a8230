//! What to fit where there is no capture: results of a run, and what iperf3 tells of one (`-J`).
//!
//! Neither shows single packets: no limiter is known, and all kinds compete. iperf3 tells of round trips once an interval, and
//! smoothed; what is spread within an interval does not show.

use crate::FitError;
use crate::observed::{CapturedFacts, ObservedFlow, ObservedPath};
use result::diagnosis::{Guess, Measures};
use result::{FlowDiagnosis, RttSummary, VariantResult};
use serde_json::Value;

/// Bytes of IP and TCP headers with timestamps, and payload of a full segment beside them.
const FULL_SEGMENT: u32 = 1448;

/// A path as the variant of a result tells of it.
///
/// # Errors
/// No TCP flow in it carried anything.
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
            rtt_ms: f.rtt_ms,
            retransmitted_packets: f.retransmitted_packets,
            timeouts: f.timeouts,
            ..Measures::default()
        };
        let start_s = (v.measured_s[1] - f.active_s).max(0.0);
        let backward = f.from == first.to && f.to == first.from;
        flows.push(observed(id, &f.cc, start_s, f.active_s, measures, backward));
    }
    summed(flows)
}

/// A path as iperf3's JSON tells of it.
///
/// # Errors
/// It is none, it is of UDP, or iperf3 measured nothing.
pub fn of_iperf3(text: &str) -> Result<ObservedPath, FitError> {
    let all: Value = serde_json::from_str(text).map_err(|e| FitError::Failed(format!("not JSON: {e}")))?;
    let Some(streams) = all.pointer("/end/streams").and_then(Value::as_array) else {
        let said = all.get("error").and_then(Value::as_str).unwrap_or("no end.streams in it");
        return Err(FitError::Failed(format!("not what iperf3 -J prints of a finished test: {said}")));
    };
    let mss = all.pointer("/start/tcp_mss_default").and_then(Value::as_u64).unwrap_or(0) as u32;
    let mss = if (88..=9000).contains(&mss) { mss } else { FULL_SEGMENT };
    let cc = all.pointer("/end/sender_tcp_congestion").and_then(Value::as_str).unwrap_or("other");
    let mut flows = Vec::new();
    for (stream, id) in streams.iter().zip((0..).step_by(2)) {
        let (Some(sent), Some(received)) = (stream.get("sender"), stream.get("receiver")) else { continue };
        let number = |of: &Value, key: &str| of.get(key).and_then(Value::as_f64).filter(|x| *x >= 0.0);
        let (Some(bytes), Some(seconds)) = (number(received, "bytes"), number(sent, "seconds")) else {
            continue;
        };
        let socket = sent.get("socket").cloned().unwrap_or_default();
        let (rtts, most) = intervals(&all, &socket);
        let again = number(sent, "retransmits").unwrap_or(0.0);
        if seconds <= 0.0 || bytes <= 0.0 {
            continue;
        }
        let packets = (number(sent, "bytes").unwrap_or(bytes) / f64::from(mss)).ceil() + again;
        let measures = Measures {
            goodput_mbps: bytes * 8e-6 / seconds,
            max_delivery_mbps: most.max(bytes * 8e-6 / seconds),
            bytes: bytes as u64,
            data_packets: packets as u64,
            acks: (packets / 2.0) as u64 + 1,
            mss_bytes: mss,
            rtt_ms: spread(rtts),
            retransmitted_packets: again as u64,
            ..Measures::default()
        };
        flows.push(observed(id, cc, 0.0, seconds, measures, false));
    }
    summed(flows)
}

/// RTTs of a socket's intervals, ms, and the greatest rate of one, Mbit/s.
fn intervals(all: &Value, socket: &Value) -> (Vec<f64>, f64) {
    let (mut rtts, mut most) = (Vec::new(), 0.0f64);
    let lists = all.get("intervals").and_then(Value::as_array).into_iter().flatten();
    for stream in lists.filter_map(|i| i.get("streams").and_then(Value::as_array)).flatten() {
        if stream.get("socket") != Some(socket) {
            continue;
        }
        rtts.extend(stream.get("rtt").and_then(Value::as_f64).filter(|us| *us > 0.0).map(|us| us / 1e3));
        let rate = stream.get("bits_per_second").and_then(Value::as_f64).unwrap_or(0.0) / 1e6;
        most = most.max(rate);
    }
    (rtts, most)
}

/// Samples as a summary.
pub(crate) fn spread(mut samples: Vec<f64>) -> RttSummary {
    samples.sort_by(f64::total_cmp);
    let at = |q: f64| {
        let i = ((samples.len() as f64 * q) as usize).min(samples.len().saturating_sub(1));
        samples.get(i).copied().unwrap_or(0.0)
    };
    let mean = samples.iter().sum::<f64>() / samples.len().max(1) as f64;
    RttSummary::with((at(0.0), at(1.0)), mean, at)
}

fn observed(
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

/// Flows as a path of which no limiter is known.
pub(crate) fn summed(mut flows: Vec<ObservedFlow>) -> Result<ObservedPath, FitError> {
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
