//! The rise of delay with the backlog, which distinguishes a queue from a policer.
//!
//! The backlog is what has arrived less what has drained at the rate. Behind a queue of rate r each byte of
//! backlog adds 1/r: RTT - RTprop = (backlog - B) / r, where B is the shaper's bucket (0 for a plain link).
//! Behind a policer the RTT does not depend on the backlog.

use super::SAME_RATE;
use super::departures::Departures;
use super::model::delays::LimiterDelays;
use super::model::noise::LIMITER_QUANTILE;
use super::virtual_queue::PacketArrival;

/// The line that RTT makes against backlog.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct DelayFit {
    /// RTT times rate, per byte of backlog: 1 behind a queue, 0 behind a policer.
    pub slope: f64,
    /// Greatest delay without outliers, seconds.
    pub most: f64,
    /// Share of the delay's variance that the line leaves unexplained.
    pub left: f64,
}

/// Regresses the RTT on the backlog at `rate` (bytes a second). `base` is the RTT without waiting, seconds.
pub(crate) fn fit_to_backlog(delays: &LimiterDelays, rate: f64, base: f64) -> Option<DelayFit> {
    let curve: Vec<(f64, f64)> =
        delays.curve.iter().map(|(backlog, [delay, _])| (*backlog, delay - base)).collect();
    let (slope, left) = line(&curve, rate)?;
    Some(DelayFit { slope, most: delays.max_delay - base, left })
}

/// Fits a line that is flat up to a point (the bucket) and rises from there. Returns its slope times the
/// rate, and the share of the variance that it leaves.
fn line(curve: &[(f64, f64)], rate: f64) -> Option<(f64, f64)> {
    // Any two points lie on such a line, so the last two are not candidates for the bucket.
    let buckets = [0.0].into_iter().chain(curve.iter().rev().skip(2).rev().map(|c| c.0));
    let mean = curve.iter().map(|c| c.1).sum::<f64>() / curve.len() as f64;
    let variance: f64 = curve.iter().map(|c| (c.1 - mean).powi(2)).sum::<f64>().max(1e-18);
    let lines = buckets.map(|bucket| {
        let x = |backlog: f64| (backlog - bucket).max(0.0) / rate;
        let (mut xx, mut xy) = (1e-18, 0.0);
        for (backlog, delay) in curve {
            xx += x(*backlog).powi(2);
            xy += x(*backlog) * delay;
        }
        let slope = xy / xx;
        let error: f64 = curve.iter().map(|(backlog, delay)| (delay - slope * x(*backlog)).powi(2)).sum();
        (slope, (error / variance).min(1.0))
    });
    lines.filter(|_| curve.len() > 2).min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The rate at which packets leave while some wait.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct DrainRate {
    /// Bytes a second, median over windows.
    pub rate: f64,
    /// Half the distance between its quartiles, as a share.
    pub spread: f64,
    /// Share of the packets that left while some waited.
    pub busy: f64,
}

/// Finds the rate at which a queue drains, from the windows of `width` seconds in which packets waited longer
/// than `floor` seconds.
pub(super) fn drain(departures: &Departures, floor: f64, width: f64) -> Option<DrainRate> {
    let (mut rates, mut waited, mut from) = (Vec::new(), 0usize, 0);
    for to in 0..departures.len() {
        let span = departures.get(to).at - departures.get(from).at;
        if span < width || to - from < 8 {
            continue;
        }
        let busy = (from..=to).filter(|i| departures.get(*i).wait.is_some_and(|wait| wait > floor)).count();
        // A packet here and there has no delay sample.
        if busy * 10 >= (to - from + 1) * 8 {
            waited += to - from;
            let bytes: f64 = (from + 1..=to).map(|i| departures.get(i).bytes).sum();
            rates.push((bytes / span) as f32);
        }
        from = to;
    }
    if rates.len() < 3 {
        return None;
    }
    rates.sort_unstable_by(f32::total_cmp);
    let at = |q: f64| rates[((rates.len() - 1) as f64 * q).round() as usize];
    let busy = waited as f64 / departures.len() as f64;
    let spread = ((at(1.0 - LIMITER_QUANTILE) - at(LIMITER_QUANTILE)) / (2.0 * at(0.5))) as f64;
    Some(DrainRate { rate: at(0.5) as f64, spread, busy })
}

/// Returns the rate, bytes a second, that most windows of `width` seconds have, and the share of those
/// windows.
pub(crate) fn commonest_rate(arrivals: &[PacketArrival], width: f64) -> Option<(f64, f64)> {
    let mut passed = arrivals.iter().filter(|a| !a.lost);
    let mut rates: Vec<f32> = Vec::new();
    let (mut from, mut count, mut sum) = (passed.next()?.at, 0, 0.0);
    for a in passed {
        (count, sum) = (count + 1, sum + a.bytes as f64);
        let span = a.at - from;
        if span > 0.0 && span >= width && count >= 24 {
            rates.push((sum / span) as f32);
            (from, count, sum) = (a.at, 0, 0.0);
        }
    }
    if rates.len() < 10 {
        return None;
    }
    rates.sort_unstable_by(f32::total_cmp);
    let (rate, share) = commonest(&rates, SAME_RATE as f32);
    Some((rate as f64, share))
}

/// Returns the middle of the largest group of `rates` that differ by no more than the share `same`, and that
/// group's share of all. `rates` are in order.
pub(super) fn commonest(rates: &[f32], same: f32) -> (f32, f64) {
    let within = |i: usize| rates.partition_point(|r| *r <= rates[i] * (1.0 + same)) - i;
    let best = (0..rates.len()).max_by_key(|i| within(*i)).unwrap_or(0);
    let count = within(best);
    (rates[best + count / 2], count as f64 / rates.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::super::PackedSeconds;
    use super::super::model::delays::NOISE;
    use super::*;

    /// Bursts through a bucket of `burst` bytes and then a queue of any length, RTprop 50 ms.
    fn queued(rate: f64, burst: f64) -> Vec<PacketArrival> {
        let (mut backlog, mut last, mut now) = (0.0f64, 0.0, 0.0);
        let mut out = Vec::new();
        for round in 0..60 {
            for _ in 0..(10 + round * 7 % 90) {
                now += 30e-6;
                backlog = (backlog - rate * (now - last)).max(0.0) + 1500.0;
                last = now;
                let delay = 0.05 + (backlog - burst).max(0.0) / rate;
                out.push(PacketArrival::full(now, delay, false, 0));
            }
            now += 0.05;
        }
        out
    }

    fn fit(arrivals: &[PacketArrival], rate: f64) -> DelayFit {
        let delays = LimiterDelays::since_pauses(arrivals, rate, (10.0, false), 0.05, NOISE);
        fit_to_backlog(&delays, rate, 0.05).unwrap_or_default()
    }

    #[test]
    fn delay_rises_with_the_backlog_of_a_queue_and_not_with_that_of_a_bucket() {
        for (rate, burst) in [(2.5e6, 0.0), (2.5e6, 40e3), (1e6, 20e3)] {
            let arrivals = queued(rate, burst);
            let d = fit(&arrivals, rate);
            assert!((d.slope - 1.0).abs() < 0.1, "{rate} {burst}: {d:?}");
        }
        let flat: Vec<PacketArrival> = queued(2.5e6, 0.0)
            .into_iter()
            .map(|a| PacketArrival { delay: PackedSeconds::known(0.05), ..a })
            .collect();
        let d = fit(&flat, 2.5e6);
        assert!(d.slope.abs() < 0.05, "{d:?}");
    }

    #[test]
    fn a_queue_drains_at_its_rate() {
        let arrivals = queued(5e5, 0.0);
        let d = drain(&Departures::new(&arrivals, true, 0.05), 0.002, 0.1).unwrap_or_default();
        assert!((d.rate / 5e5 - 1.0).abs() < 0.02 && d.busy > 0.5, "{d:?}");
    }
}
