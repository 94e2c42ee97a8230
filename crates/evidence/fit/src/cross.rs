//! Cross traffic that does not react, as a rate over time.
//!
//! While packets wait at a link it is full, and cross traffic gets what the captured flows do not get. In
//! spans of time in which the round trip never falls to its base, the rate of the captured flows is the
//! link's minus that of the cross traffic. Spans of constant rate are found by penalised least squares
//! (optimal partitioning: Jackson et al. 2005, "An algorithm for optimal partitioning of data on an
//! interval", IEEE Signal Processing Letters 12(2); penalty: Schwarz 1978). The rate of the fastest span is
//! taken for the link's: constant cross traffic cannot be distinguished from a slower link. While no packets
//! wait, the previous rate is assumed to continue.

use crate::signature::{SignatureFrame, arrivals};
use track::LoggedPacket;

/// Cross traffic at a constant rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CrossSpan {
    /// Start, seconds after the first packet.
    pub from: f64,
    /// End, seconds after the first packet.
    pub to: f64,
    /// Rate of IP bytes, bit/s.
    pub rate: f64,
}

/// Least length of a bin, in seconds and in round trips, and the least and largest number of bins.
const MIN_BIN_S: f64 = 0.2;
const BIN_ROUND_TRIPS: f64 = 6.0;
const MIN_BINS: usize = 12;
const MAX_BINS: f64 = 240.0;
/// Packets wait if the round trip is above its base by this share and this many seconds.
const MIN_WAIT: (f64, f64) = (0.05, 1e-3);
/// Least share of the bins in which packets wait: otherwise the link does not limit.
const MIN_WAITING_SHARE: f64 = 0.6;
/// Least relative error of the rate of a bin.
const MIN_RATE_ERROR: f64 = 0.015;
/// Least share of the link that counts as cross traffic.
const MIN_CROSS_SHARE: f64 = 0.1;
/// With more spans the rate is noise.
const MAX_SPANS: usize = 12;

/// A bin of time.
#[derive(Clone, Copy, Default)]
struct RateBin {
    bytes: f64,
    least: f64,
}

/// The link's rate, bit/s, and the cross traffic on it; `None` if the capture shows none.
pub fn cross(flows: &[&[LoggedPacket]], frame: &SignatureFrame) -> Option<(f64, Vec<CrossSpan>)> {
    let mut all = arrivals(flows, frame);
    let first = all.first()?.at;
    // Later packets are not simulated.
    all.retain(|a| a.at < first + frame.seconds);
    let last = all.last()?.at;
    let width = MIN_BIN_S.max(BIN_ROUND_TRIPS * frame.rtt).max((last - first) / MAX_BINS);
    let count = ((last - first) / width) as usize;
    if count < MIN_BINS {
        return None;
    }
    let mut bins = vec![RateBin { bytes: 0.0, least: f64::INFINITY }; count];
    let mut base = f64::INFINITY;
    for a in &all {
        base = base.min(a.rtt);
        if let Some(bin) = bins.get_mut(((a.at - first) / width) as usize) {
            bin.bytes += a.bytes;
            bin.least = bin.least.min(a.rtt);
        }
    }
    let waits = |b: &RateBin| b.least.is_finite() && b.least > base * (1.0 + MIN_WAIT.0) + MIN_WAIT.1;
    let known: Vec<(usize, f64)> =
        bins.iter().enumerate().filter(|(_, b)| waits(b)).map(|(i, b)| (i, b.bytes * 8.0 / width)).collect();
    if known.len() < MIN_BINS || (known.len() as f64) < MIN_WAITING_SHARE * count as f64 {
        return None;
    }
    let rates: Vec<f64> = known.iter().map(|k| k.1).collect();
    let spans = partition(&rates);
    let mean = |s: &[f64]| s.iter().sum::<f64>() / s.len() as f64;
    let line =
        spans.windows(2).filter(|w| w[1] - w[0] > 1).map(|w| mean(&rates[w[0]..w[1]])).fold(0.0, f64::max);
    let mut out = Vec::new();
    for w in spans.windows(2) {
        let rate = line - mean(&rates[w[0]..w[1]]);
        let from = if w[0] == 0 { 0.0 } else { known[w[0]].0 as f64 * width };
        let to = known.get(w[1]).map_or(last - first, |k| k.0 as f64 * width);
        if rate > MIN_CROSS_SHARE * line {
            out.push(CrossSpan { from, to, rate });
        }
    }
    (!out.is_empty() && out.len() <= MAX_SPANS).then_some((line, out))
}

/// Partitions values into spans of constant mean: minimises the squared error plus a penalty for each span.
/// Returns the start of each span, and the end of the last.
fn partition(values: &[f64]) -> Vec<usize> {
    let n = values.len();
    let mut steps: Vec<f64> = values.windows(2).map(|w| (w[1] - w[0]).abs()).collect();
    steps.sort_by(f64::total_cmp);
    let most = values.iter().fold(0.0f64, |a, b| a.max(*b));
    // The median absolute difference of neighbours is 0.954 standard deviations of normal noise.
    let noise = (steps.get(steps.len() / 2).copied().unwrap_or(0.0) / 0.954).max(MIN_RATE_ERROR * most);
    let penalty = 3.0 * (n as f64).ln() * noise * noise;
    let (mut sums, mut squares) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    for (i, v) in values.iter().enumerate() {
        sums[i + 1] = sums[i] + v;
        squares[i + 1] = squares[i] + v * v;
    }
    let cost = |from: usize, to: usize| {
        let sum: f64 = sums[to] - sums[from];
        squares[to] - squares[from] - sum * sum / (to - from) as f64
    };
    let mut best = vec![(0.0, 0usize); n + 1];
    best[0].0 = -penalty;
    for to in 1..=n {
        let all = (0..to).map(|from| (best[from].0 + cost(from, to) + penalty, from));
        best[to] = all.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0));
    }
    let (mut ends, mut at) = (vec![n], n);
    while at > 0 {
        at = best[at].1;
        ends.push(at);
    }
    ends.reverse();
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use track::PackedSpan;
    use units::{Span, Time};

    /// A flow that always waits at a link of 10 Mbit/s, of which cross traffic takes `taken` from the fifth
    /// to the eighth second.
    fn flow(taken: f64) -> Vec<LoggedPacket> {
        let (mut packets, mut at) = (vec![], 0.0);
        while at < 12.0 {
            let left = if (5.0..8.0).contains(&at) { 10e6 - taken } else { 10e6 };
            at += 12_000.0 / left;
            // The first packet finds the link empty.
            let rtt = Span::from_millis(if packets.is_empty() { 20 } else { 50 });
            packets.push(LoggedPacket {
                time: Time::ZERO + Span::from_secs_f64(at),
                bytes: 1500,
                payload: 1448,
                rtt: PackedSpan::known(rtt),
                segments: 1,
                ..LoggedPacket::default()
            });
        }
        packets
    }

    #[test]
    fn cross_traffic_gets_what_a_waiting_flow_does_not() {
        let frame = SignatureFrame { seconds: 12.0, rtt: 0.02, before: false };
        let (line, spans) = cross(&[&flow(4e6)], &frame).unwrap();
        assert!((line / 10e6 - 1.0).abs() < 0.02, "{line}");
        assert_eq!(spans.len(), 1, "{spans:?}");
        let s = spans[0];
        assert!((s.from - 5.0).abs() < 0.25 && (s.to - 8.0).abs() < 0.25, "{s:?}");
        assert!((s.rate / 4e6 - 1.0).abs() < 0.1, "{s:?}");
        // No span exceeds the simulated time.
        let (_, spans) = cross(&[&flow(4e6)], &SignatureFrame { seconds: 6.0, ..frame }).unwrap();
        assert!(spans.iter().all(|s| s.from < 6.0 && s.to <= 6.0), "{spans:?}");
        assert_eq!(cross(&[&flow(0.0)], &frame), None);
    }
}
