//! What two captures of one path say together: the evidence, and what should be known of their clocks.

use super::facts::said;
use super::told::FlowGroup;
use super::words::bytes;
use crate::number::{count, millis};
use crate::spark;
use crate::strings::Lang;
use crate::table::{clip, printable};
use result::diagnosis::{BetweenEnds, BothEndsInfo};

/// Blocks of the curve over time.
const BLOCKS: usize = 40;
/// Columns of the other file's name.
const NAME: usize = 60;

/// Both captures have all of these flows.
pub(super) fn known(g: &FlowGroup) -> bool {
    g.flows.iter().all(|f| f.between_ends.is_some())
}

/// What was lost between the captures, and what else is known for it.
pub(super) fn losses(g: &FlowGroup, lang: Lang) -> Option<String> {
    if !known(g) {
        return None;
    }
    let sum = |of: fn(&BetweenEnds) -> u64| g.sum(|f| f.between_ends.as_ref().map_or(0, of) as f64) as u64;
    let values = [
        ("n", count(g.sum(|f| f.measures.lost_down as f64) as u64)),
        ("all", count(g.sum(|f| f.measures.data_packets as f64) as u64)),
        ("acks", count(sum(|b| b.bare_lost))),
        ("bare", count(sum(|b| b.bare_packets))),
        ("needless", bytes(sum(|b| b.needless_bytes) as f64)),
    ];
    let unknown = sum(|b| b.unknown_packets);
    let known = said("between", &values, lang);
    let more = (unknown > 0).then(|| said("between-unknown", &[("n", count(unknown))], lang));
    Some(known + &more.unwrap_or_default())
}

/// Queueing on the way there, and its curve.
pub(super) fn late(g: &FlowGroup, lang: Lang) -> Option<String> {
    let between = g.lead().between_ends.as_ref().filter(|b| b.least_ms.is_some())?;
    let late = between.late_ms;
    let values = [
        ("p50", millis(late.p50)),
        ("p95", millis(late.p95)),
        ("max", millis(late.max)),
        ("curve", curve(between)),
    ];
    Some(said("late", &values, lang))
}

/// The most that packets were late, in equal parts of the time.
fn curve(between: &BetweenEnds) -> String {
    let (Some(first), Some(last)) = (between.over_time.first(), between.over_time.last()) else {
        return String::new();
    };
    let whole = (last.from_s - first.from_s).max(1e-9);
    let mut parts = vec![0.0; BLOCKS.min(between.over_time.len())];
    let most = parts.len() - 1;
    for part in &between.over_time {
        let at = ((part.from_s - first.from_s) / whole * parts.len() as f64) as usize;
        let slot: &mut f64 = &mut parts[at.min(most)];
        *slot = slot.max(part.max_ms);
    }
    spark::line(&parts, between.late_ms.max)
}

/// What is said of the clocks and of the pairing: keys of [`crate::strings`] and their values.
pub(super) fn notes(info: &BothEndsInfo) -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let mut list = vec![(
        "both-ends",
        vec![
            ("file", clip(&printable(&info.other_file), NAME)),
            ("n", count(info.paired_connections)),
            ("offset", format!("{:.3}", rounded(info.clock_offset_ms, 1e3))),
            ("error", millis(info.clock_offset_error_ms)),
            ("drift", format!("{:.1}", rounded(info.clock_drift_ppm, 10.0))),
            ("range", format!("{:.1}", info.clock_drift_error_ppm)),
        ],
    )];
    let numbers = [
        ("both-ends-nat", info.translated_connections),
        ("both-ends-first", info.only_first),
        ("both-ends-second", info.only_second),
        ("both-ends-missed-first", info.missed_first),
        ("both-ends-missed-second", info.missed_second),
    ];
    list.extend(numbers.into_iter().filter(|n| n.1 > 0).map(|(key, n)| (key, vec![("n", count(n))])));
    list
}

/// To so many parts of one; nothing is no less than nothing.
fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts + 0.0
}
