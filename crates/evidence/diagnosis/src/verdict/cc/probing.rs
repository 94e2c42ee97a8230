//! The signs of BBR (draft-cardwell-iccrg-bbr-congestion-control-00): four segments in flight for 200 ms
//! every ten seconds (ProbeRTT, section 4.3.5), and a quarter more in flight for one round trip in eight
//! (section 4.3.4.3).

use super::super::round_trips::RoundTripSpan;
use super::likelihood::median;

/// Segments in flight during ProbeRTT: `BBRMinPipeCwnd` is 4, and a delayed ACK adds or removes one.
const PROBE_RTT_INFLIGHT: std::ops::RangeInclusive<f64> = 3.0..=5.0;
/// Least time between two ProbeRTTs, seconds; `RTpropFilterLen` is 10 s.
const MIN_PROBE_INTERVAL_S: f64 = 8.0;
/// Longest ProbeRTT, seconds: `ProbeRTTDuration` and half as much again.
const MAX_PROBE_RTT_S: f64 = 0.3;

/// Returns how often the bytes in flight fell from far more to four segments and came back, without a loss.
pub(super) fn probe_rtts(spans: &[RoundTripSpan], mss: f64, rtt: f64) -> usize {
    let mut count = 0;
    let mut last = f64::NEG_INFINITY;
    for (i, r) in spans.iter().enumerate().skip(4) {
        let flight = r.inflight / mss;
        let near = &spans[i - 3..(i + 2).min(spans.len())];
        let calm = near.iter().all(|r| r.resent == 0.0 && r.timeout == 0.0 && r.silence == 0.0);
        if !PROBE_RTT_INFLIGHT.contains(&flight) || r.from - last < MIN_PROBE_INTERVAL_S || !calm {
            continue;
        }
        let max_inflight =
            |spans: &[RoundTripSpan]| spans.iter().map(|r| r.inflight / mss).fold(0.0, f64::max);
        let before = max_inflight(&spans[i - 3..i]);
        let soon =
            spans[i + 1..].iter().take_while(|n| n.from < r.from + MAX_PROBE_RTT_S + 3.0 * rtt).count();
        if before >= 2.5 * flight && max_inflight(&spans[i + 1..i + 1 + soon]) >= 0.56 * before {
            count += 1;
            last = r.from;
        }
    }
    count
}

/// Whether flat bytes in flight rise by about a quarter once in eight least RTTs.
pub(super) fn is_cycling(spans: &[RoundTripSpan], mss: f64, min_rtt: f64) -> bool {
    let flight = |i: usize| spans[i].inflight / mss;
    let mut begins = Vec::new();
    let mut i = 3;
    while i + 1 < spans.len() {
        let before: Vec<f64> = (i - 3..i).map(flight).collect();
        let level = median(&before);
        let spread = before.iter().fold(0.0, |m: f64, f| m.max((f - level).abs()));
        let clean = |i: usize| spans[i].resent == 0.0;
        let rises = if clean(i + 1) { flight(i).max(flight(i + 1)) } else { flight(i) };
        let flat = spread <= (0.05 * level).max(1.0) && (i - 3..=i).all(clean);
        if flat && flight(i) > level + 0.5 && rises >= (1.15 * level).max(level + 2.5) {
            begins.push(spans[i].from);
            i += 3;
        }
        i += 1;
    }
    let gaps = || begins.windows(2).map(|b| (b[1] - b[0]) / min_rtt);
    let regular = gaps().filter(|g| (5.5..=12.0).contains(g)).count();
    gaps().count() >= 3 && 2 * regular > gaps().count()
}
