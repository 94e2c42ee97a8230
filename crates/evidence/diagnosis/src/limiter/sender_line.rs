//! The sender's own line, between a capture at the sender and the limiter.
//!
//! A capture at the sender sees a burst as the host sends it, but the burst reaches a limiter behind a line
//! of rate A no faster than A. Where the limiter's rate is near A, that changes the bucket that the losses
//! seem to have. Packets that are sent at once arrive back to back, so their RTTs contain the wait for the
//! line, and A is the rate that explains most of the differences between RTTs ([`rates`]). With A known, each
//! packet's time and RTT can be computed as they are at the limiter ([`behind_line`]).

use super::delay_fit::commonest;
use super::virtual_queue::{PacketArrival, quantile};

/// Packets that are used, from the beginning.
const MAX_PACKETS: usize = 4_000;
/// Least number of RTTs.
const MIN_RTTS: usize = 50;
/// Ratio of neighbouring rates of the grid.
const RATE_RATIO: f64 = 1.06;
/// Relative distance of the rates that are tried around the best.
const FINE_STEP: f64 = 0.005;
/// Greatest rate that is tried, bytes a second.
const MAX_RATE: f64 = 2.5e9;
/// A line that leaves less than the first share of the differences between RTTs certainly exists; one that
/// leaves more than the second does not show.
const RESIDUAL_SHARES: (f64, f64) = (0.57, 0.99);
/// Cap on a difference, in means of all differences: larger ones have other reasons.
const MAX_DIFFERENCE: f64 = 2.0;
/// Least number of bytes between two packets of a burst whose RTTs are compared, because RTTs are known to
/// about a microsecond.
const MIN_DISTANCE_BYTES: f64 = 18e3;
/// Packets of a burst are sent within this share of the time in which they arrive.
const BURST_SHARE: f64 = 0.5;
/// Least share of such pairs that must agree on the rate.
const MIN_AGREEING_SHARE: f64 = 0.2;
/// Rates agree if they differ by at most this share.
const RATE_TOLERANCE: f32 = 0.04;

/// Returns the rates that the line may have, bytes a second.
pub(super) fn rates(arrivals: &[PacketArrival]) -> Vec<f64> {
    let some = &arrivals[..arrivals.len().min(MAX_PACKETS)];
    match flattest(some) {
        Some((rate, left)) if left < RESIDUAL_SHARES.0 => vec![rate],
        flattest => {
            let shown = flattest.filter(|f| f.1 < RESIDUAL_SHARES.1).map(|f| f.0);
            shown.into_iter().chain(of_bursts(some)).collect()
        }
    }
}

/// Returns the rate that explains most of the differences between RTTs, and the share of them that it leaves.
fn flattest(arrivals: &[PacketArrival]) -> Option<(f64, f64)> {
    let (first, last) = (arrivals.first()?, arrivals.last()?);
    let bytes: f64 = arrivals.iter().map(|a| a.bytes as f64).sum();
    let slowest = RATE_RATIO * bytes / (last.at - first.at).max(1e-6);
    let mut rtts = Vec::new();
    let max_difference = MAX_DIFFERENCE * differ(arrivals, f64::INFINITY, f64::INFINITY, &mut rtts);
    if rtts.len() < MIN_RTTS || slowest >= MAX_RATE {
        return None;
    }
    let mut left = |rate: f64| differ(arrivals, rate, max_difference, &mut rtts);
    let mut best = |rates: &mut dyn Iterator<Item = f64>| {
        rates.map(|rate| (rate, left(rate))).min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let steps = ((MAX_RATE / slowest).ln() / RATE_RATIO.ln()) as i32;
    let (near, _) = best(&mut (0..=steps).map(|i| slowest * RATE_RATIO.powi(i)))?;
    let (rate, remains) = best(&mut (-12..=12).map(|i| near * (1.0 + FINE_STEP * i as f64)))?;
    Some((rate, remains / left(f64::INFINITY)))
}

/// Returns the rate, bytes a second, at which most bursts arrived.
fn of_bursts(arrivals: &[PacketArrival]) -> Option<f64> {
    let (mut rates, mut to, mut between) = (Vec::<f32>::new(), 0, arrivals.first()?.bytes as f64);
    for (from, a) in arrivals.iter().enumerate() {
        // `between`: bytes of the packets after `from`, up to `to`.
        between -= if to < from { between } else { a.bytes as f64 };
        to = to.max(from);
        while to + 1 < arrivals.len() && between < MIN_DISTANCE_BYTES {
            to += 1;
            between += arrivals[to].bytes as f64;
        }
        let b = &arrivals[to];
        let Some((first, last)) = a.delay.get().zip(b.delay.get()) else { continue };
        let (sent, later) = (b.at - a.at, (last - first) as f64);
        if between >= MIN_DISTANCE_BYTES && a.flow == b.flow && sent < BURST_SHARE * (sent + later) {
            rates.push((between / (sent + later)) as f32);
        }
    }
    rates.sort_unstable_by(f32::total_cmp);
    let (rate, share) = Some(&rates).filter(|r| r.len() >= MIN_RTTS).map(|r| commonest(r, RATE_TOLERANCE))?;
    (share > MIN_AGREEING_SHARE).then_some(rate as f64)
}

/// Returns the mean difference of RTTs from their median, seconds, without the wait for a line of `rate`
/// bytes a second. Each difference is capped at `most`.
fn differ(arrivals: &[PacketArrival], rate: f64, most: f64, rtts: &mut Vec<f32>) -> f64 {
    rtts.clear();
    rtts.extend(behind_line(arrivals, rate).filter(|a| !a.lost).filter_map(|a| a.delay.get()));
    let middle = quantile(rtts, 0.5) as f64;
    let sum: f64 = rtts.iter().map(|r| (*r as f64 - middle).abs().min(most)).sum();
    sum / rtts.len().max(1) as f64
}

/// Returns packets as they leave a line of `rate` bytes a second, with RTTs that exclude their wait for it.
pub(super) fn behind_line(arrivals: &[PacketArrival], rate: f64) -> impl Iterator<Item = PacketArrival> {
    let mut free = f64::NEG_INFINITY;
    arrivals.iter().map(move |a| {
        free = free.max(a.at) + a.bytes as f64 / rate;
        let waited = free - a.at - a.size as f64 / rate;
        PacketArrival { at: free, delay: a.delay.less(waited as f32), ..*a }
    })
}

#[cfg(test)]
mod tests {
    use super::super::rate_search::fit;
    use super::*;

    /// Rate of the line, bytes a second.
    const LINE: f64 = 1e7;
    /// Rate of the policer behind it, bytes a second.
    const RATE: f64 = 6e6;
    const BURST: f64 = 30e3;

    /// Growing bursts of a fast host through the line and then the policer, or the other way round.
    fn bursts(line_first: bool) -> Vec<PacketArrival> {
        let (mut out, mut free, mut backlog, mut last) = (Vec::new(), 0.0f64, 0.0f64, 0.0);
        for i in 0..6000u32 {
            let (burst, at) = (i / 60, (i / 60) as f64 * 0.05 + (i % 60) as f64 * 1e-6);
            if i % 60 > 10 + burst / 2 {
                continue;
            }
            let through = free.max(at) + 1500.0 / LINE;
            let arrival = if line_first { through } else { at };
            backlog = (backlog - RATE * (arrival - last)).max(0.0);
            last = arrival;
            let lost = backlog + 1500.0 > BURST;
            backlog += if lost { 0.0 } else { 1500.0 };
            free = if line_first || !lost { through } else { free };
            out.push(PacketArrival::full(at, through - at + 0.02, lost, i));
        }
        out
    }

    #[test]
    fn rtts_of_bursts_show_the_senders_line_and_improve_the_bucket() {
        let arrivals = bursts(true);
        let rates = rates(&arrivals);
        assert!(matches!(rates[..], [rate] if (rate / LINE - 1.0).abs() < 0.02), "{rates:?}");
        let plain = fit(&arrivals, 0.01, true).unwrap_or_default();
        let b = fit(&behind_line(&arrivals, rates[0]).collect::<Vec<_>>(), 0.01, true).unwrap_or_default();
        assert!((b.rate / RATE - 1.0).abs() < 0.06 && (b.burst / BURST - 1.0).abs() < 0.1, "{b:?}");
        assert!(b.score() > plain.score(), "{b:?} {plain:?}");
        assert_eq!(of_bursts(&arrivals).map(|r| (r / LINE * 50.0).round()), Some(50.0));
    }

    #[test]
    fn a_line_behind_the_policer_explains_nothing() {
        let arrivals = bursts(false);
        let plain = fit(&arrivals, 0.01, true).unwrap_or_default();
        for rate in rates(&arrivals) {
            let b = fit(&behind_line(&arrivals, rate).collect::<Vec<_>>(), 0.01, true).unwrap_or_default();
            assert!(b.score() < 0.95 * plain.score(), "{b:?} {plain:?}");
        }
        assert!(rates(&[]).is_empty());
    }
}
