//! An interruption or a path MTU black hole: intervals without bytes.

use super::digest::{SeriesDigest, seconds};
use super::{SummaryVerdict, VerdictKind, rate, size};
use crate::series::{SeriesBin, median};

/// An interval with less than this share of the median bytes counts as empty.
const MAX_EMPTY_SHARE: f64 = 0.02;
/// An application that writes blocks leaves gaps as long as a block takes; longer ones than this many blocks
/// have another cause.
const MAX_GAP_BLOCKS: f64 = 3.0;
/// The shortest interruption that is reported, seconds: twice the least retransmission timeout of RFC 6298
/// section 2.4.
const MIN_INTERRUPTION_S: f64 = 2.0;
/// Bytes that an application may write into its socket before the first full-size packet is acknowledged: the
/// initial window of RFC 6928, and a first send buffer of 128 kB.
const MAX_FIRST_BYTES: f64 = 10.0 * 1448.0 + 131_072.0;

/// A run of intervals in which nothing passed.
struct Gap {
    from: usize,
    to: usize,
}

/// The verdict if nothing passed for a while.
pub fn verdict(d: &SeriesDigest) -> Option<SummaryVerdict> {
    let busy: Vec<f64> = d.bins.iter().map(|b| b.bytes).filter(|b| *b > 0.0).collect();
    let usual = median(busy)?;
    let gaps = gaps(&d.bins, usual);
    let longest = gaps.iter().max_by(|a, b| length(&d.bins, a).total_cmp(&length(&d.bins, b)))?;
    let lasted = length(&d.bins, longest);
    let paused: f64 = gaps.iter().map(|gap| length(&d.bins, gap)).sum();
    let all: f64 = d.bins.iter().map(|b| b.seconds).sum();
    let bytes: f64 = d.bins.iter().map(|b| b.bytes).sum();
    let of_a_block = d.series.block_bytes * (all - paused).max(0.0) / bytes.max(1.0);
    if lasted < MAX_GAP_BLOCKS * of_a_block {
        return None;
    }
    let before: f64 = d.bins[..longest.from].iter().map(|b| b.bytes).sum();
    let after = &d.bins[longest.to..];
    let at = [d.bins[longest.from].start_s, d.bins[longest.from].start_s + lasted];
    let after_bps = after.iter().map(SeriesBin::bps).fold(0.0, f64::max);
    let came_back = match after {
        [] => "nothing came after it".to_string(),
        _ => format!("then up to {}", rate(after_bps)),
    };
    let rest = "intervals without data show no rate: no rate limiter can be identified from this";
    let at_begin = before <= MAX_FIRST_BYTES.max(2.0 * d.series.block_bytes);
    if !at_begin {
        let headline = format!(
            "Probably an interruption of {} (from {} to {}): no rate limiter can be identified from it; {came_back}.",
            seconds(lasted),
            seconds(at[0]),
            seconds(at[1])
        );
        let facts = vec![
            rest.into(),
            "a failed link, a route that changed or a handover does this; so does a tunnel that was re-established with a smaller MTU"
                .into(),
        ];
        return Some(SummaryVerdict {
            kind: VerdictKind::Interruption,
            headline,
            facts,
            ..SummaryVerdict::default()
        });
    }
    let headline = format!(
        "Probably a path MTU black hole, or an interruption: after {} nothing passed for {}, {came_back}. No rate limiter can be identified.",
        size(before),
        seconds(lasted)
    );
    let mss = d.mss();
    let first = d.series.flows.first();
    let collapsed =
        first.is_some_and(|f| f.intervals.iter().any(|i| i.cwnd_bytes.is_some_and(|c| c <= 1.05 * mss)));
    let mut facts = vec![rest.to_string()];
    if collapsed {
        facts.push("the congestion window fell to one segment: repeated timeouts, as when every full-size packet is dropped".into());
    }
    facts.push(
        "if it is a black hole: `sysctl -w net.ipv4.tcp_mtu_probing=1` at the sender, or an MSS clamp at the tunnel \
         (`nft add rule inet filter forward tcp flags syn tcp option maxseg size set rt mtu`)"
            .into(),
    );
    Some(SummaryVerdict { kind: VerdictKind::BlackHole, headline, facts, ..SummaryVerdict::default() })
}

/// Seconds of a gap.
fn length(bins: &[SeriesBin], gap: &Gap) -> f64 {
    bins[gap.from..gap.to].iter().map(|b| b.seconds).sum()
}

/// Runs of empty intervals that last [`MIN_INTERRUPTION_S`] at least.
fn gaps(bins: &[SeriesBin], usual: f64) -> Vec<Gap> {
    let mut all = Vec::new();
    let mut from = None;
    for (i, nothing) in bins.iter().map(|b| b.bytes < MAX_EMPTY_SHARE * usual).chain([false]).enumerate() {
        match (nothing, from) {
            (true, None) => from = Some(i),
            (false, Some(begun)) => {
                all.push(Gap { from: begun, to: i });
                from = None;
            }
            _ => {}
        }
    }
    all.retain(|gap| length(bins, gap) >= MIN_INTERRUPTION_S - 1e-3);
    all
}
