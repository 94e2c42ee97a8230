//! The sender's own line, between a capture at the sender and the limiter.
//!
//! A burst is seen as the host lets it go, but reaches a limiter behind a line of rate A no faster than A. Where the
//! limiter's rate is near A, that changes the bucket that the losses seem to have. What is sent at once arrives back to
//! back, so RTTs within a burst hold the wait for the line: A is the rate that explains most of their differences
//! ([`rates`]). With it each packet's time and RTT are those at the limiter ([`behind_line`]).

use super::delay_fit::commonest;
use super::virtual_queue::{PacketArrival, quantile};

/// Packets looked at, and RTTs that say enough.
const MOST: usize = 4_000;
const FEWEST: usize = 50;
/// Rates tried are this far apart; then, about the best, this share.
const STEP: f64 = 1.06;
const FINE: f64 = 0.005;
/// The greatest rate tried, bytes a second.
const FASTEST: f64 = 2.5e9;
/// A line is there for certain where it leaves this share of the differences of RTTs; where it leaves the second, none shows.
const LEFT: (f64, f64) = (0.57, 0.99);
/// Differences count up to so many times their mean: those have other reasons.
const FAR: f64 = 2.0;
/// Bytes between two packets of a burst whose RTTs are compared: these are known to a microsecond or so.
const APART: f64 = 18e3;
/// They were sent in this share of the time in which they arrived.
const AT_ONCE: f64 = 0.5;
/// Of rates of such pairs this share at least is one, within this share of itself.
const SHARE: f64 = 0.2;
const SAME: f32 = 0.04;

/// Rates that the line may have, bytes a second.
pub(super) fn rates(arrivals: &[PacketArrival]) -> Vec<f64> {
    let some = &arrivals[..arrivals.len().min(MOST)];
    match flattest(some) {
        Some((rate, left)) if left < LEFT.0 => vec![rate],
        flattest => {
            let shown = flattest.filter(|f| f.1 < LEFT.1).map(|f| f.0);
            shown.into_iter().chain(of_bursts(some)).collect()
        }
    }
}

/// The rate that leaves the least of RTTs' differences, and the share of them left.
fn flattest(arrivals: &[PacketArrival]) -> Option<(f64, f64)> {
    let (first, last) = (arrivals.first()?, arrivals.last()?);
    let bytes: f64 = arrivals.iter().map(|a| a.bytes as f64).sum();
    let slowest = STEP * bytes / (last.at - first.at).max(1e-6);
    let mut rtts = Vec::new();
    let most = FAR * differ(arrivals, f64::INFINITY, f64::INFINITY, &mut rtts);
    if rtts.len() < FEWEST || slowest >= FASTEST {
        return None;
    }
    let mut left = |rate: f64| differ(arrivals, rate, most, &mut rtts);
    let mut least = |rates: &mut dyn Iterator<Item = f64>| {
        rates.map(|rate| (rate, left(rate))).min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let steps = ((FASTEST / slowest).ln() / STEP.ln()) as i32;
    let (near, _) = least(&mut (0..=steps).map(|i| slowest * STEP.powi(i)))?;
    let (rate, remains) = least(&mut (-12..=12).map(|i| near * (1.0 + FINE * i as f64)))?;
    Some((rate, remains / left(f64::INFINITY)))
}

/// The rate at which most of what was sent in bursts arrived.
fn of_bursts(arrivals: &[PacketArrival]) -> Option<f64> {
    let (mut rates, mut to, mut between) = (Vec::<f32>::new(), 0, arrivals.first()?.bytes as f64);
    for (from, a) in arrivals.iter().enumerate() {
        // `between`: bytes of those behind `from`, up to `to`.
        between -= if to < from { between } else { a.bytes as f64 };
        to = to.max(from);
        while to + 1 < arrivals.len() && between < APART {
            to += 1;
            between += arrivals[to].bytes as f64;
        }
        let b = &arrivals[to];
        let (sent, later) = (b.at - a.at, (b.rtt - a.rtt) as f64);
        // Without RTTs neither holds.
        if between >= APART && a.flow == b.flow && sent < AT_ONCE * (sent + later) {
            rates.push((between / (sent + later)) as f32);
        }
    }
    rates.sort_unstable_by(f32::total_cmp);
    let (rate, share) = Some(&rates).filter(|r| r.len() >= FEWEST).map(|r| commonest(r, SAME))?;
    (share > SHARE).then_some(rate as f64)
}

/// By how much RTTs differ from the middle one when the wait for a line of `rate` is taken off, each by `most` at most: the
/// mean, seconds.
fn differ(arrivals: &[PacketArrival], rate: f64, most: f64, rtts: &mut Vec<f32>) -> f64 {
    rtts.clear();
    rtts.extend(behind_line(arrivals, rate).filter(|a| !a.lost && a.rtt.is_finite()).map(|a| a.rtt));
    let middle = quantile(rtts, 0.5) as f64;
    let sum: f64 = rtts.iter().map(|r| (*r as f64 - middle).abs().min(most)).sum();
    sum / rtts.len().max(1) as f64
}

/// Packets as they come out of a line of `rate` bytes a second, with RTTs as if they had not waited for it.
pub(super) fn behind_line(arrivals: &[PacketArrival], rate: f64) -> impl Iterator<Item = PacketArrival> {
    let mut free = f64::NEG_INFINITY;
    arrivals.iter().map(move |a| {
        free = free.max(a.at) + a.bytes as f64 / rate;
        PacketArrival { at: free, rtt: a.rtt - (free - a.at - a.size as f64 / rate) as f32, ..*a }
    })
}

#[cfg(test)]
mod tests {
    use super::super::rate_search::fit;
    use super::*;

    /// Bytes a second of a line and of a policer behind it, and the policer's bucket.
    const LINE: f64 = 1e7;
    const RATE: f64 = 6e6;
    const BURST: f64 = 30e3;

    /// Growing bursts of a fast host through the line and the policer, or the policer and the line.
    fn bursts(line_first: bool) -> Vec<PacketArrival> {
        let (mut out, mut free, mut backlog, mut last) = (Vec::new(), 0.0f64, 0.0f64, 0.0);
        for i in 0..6000u32 {
            let (burst, at) = (i / 60, (i / 60) as f64 * 0.05 + (i % 60) as f64 * 1e-6);
            if i % 60 > 10 + burst / 2 {
                continue;
            }
            let through = free.max(at) + 1500.0 / LINE;
            let come = if line_first { through } else { at };
            backlog = (backlog - RATE * (come - last)).max(0.0);
            last = come;
            let lost = backlog + 1500.0 > BURST;
            backlog += if lost { 0.0 } else { 1500.0 };
            free = if line_first || !lost { through } else { free };
            let rtt = if lost { f32::NAN } else { (through - at + 0.02) as f32 };
            out.push(PacketArrival { at, bytes: 1500.0, size: 1500.0, lost, rtt, flow: 0, entry: i });
        }
        out
    }

    #[test]
    fn rtts_of_bursts_tell_the_line_and_with_it_the_bucket() {
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
    fn a_line_behind_the_bucket_makes_nothing_clearer() {
        let arrivals = bursts(false);
        let plain = fit(&arrivals, 0.01, true).unwrap_or_default();
        for rate in rates(&arrivals) {
            let b = fit(&behind_line(&arrivals, rate).collect::<Vec<_>>(), 0.01, true).unwrap_or_default();
            assert!(b.score() < 0.95 * plain.score(), "{b:?} {plain:?}");
        }
        assert!(rates(&[]).is_empty());
    }
}
