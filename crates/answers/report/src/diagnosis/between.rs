//! Facts from two captures of the same path: losses and delay between them, and notes on their timestamps.

use super::group::FlowGroup;
use super::words::fact;
use crate::number::{bytes, count, millis, percent};
use crate::spark;
use crate::strings::Lang;
use crate::width::{clip, printable};
use result::diagnosis::{BetweenEnds, BothEndsInfo, DelayVariationPart, UdpFlowDiagnosis};

/// Characters of the curve over time.
const CURVE_WIDTH: usize = 40;
/// Width of the other file's name, in columns.
const MAX_NAME_WIDTH: usize = 60;

/// Whether both captures have all flows of the group.
pub(super) fn known(g: &FlowGroup) -> bool {
    g.flows.iter().all(|f| f.between_ends.is_some())
}

/// Losses and unnecessary retransmissions between the captures.
pub(super) fn losses(g: &FlowGroup, lang: Lang) -> Option<String> {
    if !known(g) {
        return None;
    }
    let sum =
        |field: fn(&BetweenEnds) -> u64| g.sum(|f| f.between_ends.as_ref().map_or(0, field) as f64) as u64;
    let values = [
        ("n", count(g.sum(|f| f.measures.lost_down as f64) as u64)),
        ("all", count(g.sum(|f| f.measures.data_packets as f64) as u64)),
        ("acks", count(sum(|b| b.lost_without_payload))),
        ("bare", count(sum(|b| b.packets_without_payload))),
        ("needless", bytes(sum(|b| b.spurious_bytes) as f64)),
    ];
    let unknown = sum(|b| b.unknown_packets);
    let known = fact("between", &values, lang);
    let more = (unknown > 0).then(|| fact("between-unknown", &[("n", count(unknown))], lang));
    Some(known + &more.unwrap_or_default())
}

/// One-way queueing delay of the data, with its curve over time.
pub(super) fn late(g: &FlowGroup, lang: Lang) -> Option<String> {
    let between = g.lead().between_ends.as_ref().filter(|b| b.min_delay_ms.is_some())?;
    let late = between.delay_variation_ms;
    let values = [
        ("p50", millis(late.p50)),
        ("p95", millis(late.p95)),
        ("max", millis(late.max)),
        ("curve", curve(&between.over_time, late.max)),
    ];
    Some(fact("late", &values, lang))
}

/// Losses, jitter and delay of a UDP flow between the captures.
pub(super) fn datagrams(f: &UdpFlowDiagnosis, lang: Lang) -> Option<String> {
    let b = f.between_ends.as_ref()?;
    let judged = b.arrived_packets + b.lost_packets;
    let lost = [
        ("n", count(b.lost_packets)),
        ("all", count(judged)),
        ("percent", percent(b.lost_packets as f64 / judged.max(1) as f64)),
        ("run", count(b.longest_loss_packets)),
    ];
    let mut line = match b.joined_by_offload {
        true => fact("udp-joined", &[], lang),
        false => fact("udp-between", &lost, lang),
    };
    let spread = [
        ("jitter", b.jitter_ms.map_or_else(|| "–".into(), jitter)),
        ("most", b.max_jitter_ms.map_or_else(|| "–".into(), jitter)),
        ("p50", millis(b.delay_variation_ms.p50)),
        ("p95", millis(b.delay_variation_ms.p95)),
        ("max", millis(b.delay_variation_ms.max)),
        ("curve", curve(&b.over_time, b.delay_variation_ms.max)),
    ];
    line += &fact("udp-spread", &spread, lang);
    let counts = [("udp-reordered", b.reordered_packets), ("udp-twice", b.duplicated_packets)];
    for (key, n) in counts.into_iter().filter(|c| c.1 > 0) {
        line += &fact(key, &[("n", count(n))], lang);
    }
    Some(line)
}

/// Jitter, ms: with two decimals below 10 ms, as voice needs it.
fn jitter(ms: f64) -> String {
    if ms < 9.995 { format!("{ms:.2}") } else { millis(ms) }
}

/// The maximum delay in equal parts of the time, as a sparkline.
fn curve(over_time: &[DelayVariationPart], most_ms: f64) -> String {
    let (Some(first), Some(last)) = (over_time.first(), over_time.last()) else {
        return String::new();
    };
    let whole = (last.from_s - first.from_s).max(1e-9);
    let mut parts = vec![0.0; CURVE_WIDTH.min(over_time.len())];
    let most = parts.len() - 1;
    for part in over_time {
        let at = ((part.from_s - first.from_s) / whole * parts.len() as f64) as usize;
        let slot: &mut f64 = &mut parts[at.min(most)];
        *slot = slot.max(part.max_ms);
    }
    spark::line(&parts, most_ms)
}

/// Notes on the timestamps and on the pairing of flows: keys of [`crate::strings`] and their values.
pub(super) fn notes(info: &BothEndsInfo) -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let mut values = vec![
        ("file", clip(&printable(&info.other_file), MAX_NAME_WIDTH)),
        ("n", count(info.paired_connections)),
        ("udp", count(info.paired_udp_flows)),
        ("offset", format!("{:.3}", rounded(info.clock_offset_ms, 1e3))),
        ("drift", format!("{:.1}", rounded(info.clock_drift_ppm, 10.0))),
        ("range", format!("{:.1}", info.clock_drift_error_ppm)),
    ];
    let key = match info.clock_offset_error_ms {
        Some(error) => {
            values.push(("error", millis(error)));
            "both-ends"
        }
        None => "both-ends-one-way",
    };
    let mut list = vec![(key, values)];
    let numbers = [
        ("both-ends-nat", info.translated_connections),
        ("both-ends-first", info.only_first),
        ("both-ends-second", info.only_second),
        ("both-ends-nat-udp", info.translated_udp_flows),
        ("both-ends-first-udp", info.only_first_udp),
        ("both-ends-second-udp", info.only_second_udp),
        ("both-ends-missed-first", info.missed_first),
        ("both-ends-missed-second", info.missed_second),
    ];
    list.extend(numbers.into_iter().filter(|n| n.1 > 0).map(|(key, n)| (key, vec![("n", count(n))])));
    list
}

/// Rounds to `1 / parts`, and turns -0 into 0.
fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts + 0.0
}
