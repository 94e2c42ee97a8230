//! Finds how many bytes pass a buffer without delay: all of them at a policer, none at a link.

use super::bucket::Sample;
use crate::verdict::median;

/// Candidates for the bytes without delay that are tried.
const CANDIDATES: usize = 60;
/// Resolution of the times, s: less noise than this is not believed.
const LEAST_NOISE: f64 = 5e-6;
/// Noise of neighbours is alike: this many packets count as one independent one.
const ALIKE: f64 = 4.0;
/// Residuals beyond this many times the noise count linearly (Huber), so that a few late packets decide
/// little.
const LINEAR: f64 = 3.0;
/// MAD of a normal distribution, as a share of its standard deviation.
const MAD: f64 = 0.6745;
/// Growth of the delay that is not noise, in standard deviations.
const GROWTH_NOISE: f64 = 6.0;
/// Quantile of the delays at the train's end that has grown if a queue stands.
const LATE_QUANTILE: f64 = 0.02;
/// A packet that arrives sooner after an earlier one than this share of the time between their sending shows
/// that the earlier one was late. Packets of a queue arrive further apart than they were sent, those of a
/// policer just as far.
const SOON: f64 = 0.5;
/// Parts of a train at whose begin and end its delay is looked at.
const HEAD_PARTS: usize = 20;
const TAIL_PARTS: usize = 4;

/// How well a number of bytes without delay explains the delays.
pub struct DelayFit {
    residuals: Vec<f64>,
    /// Standard deviation of the delays around it, s.
    pub noise: f64,
}

/// The delays of the packets that passed, and the level of the buffer after each. Packets that were late, as
/// those that arrive together after a device stood still for a moment, are left out.
pub struct Search {
    points: Vec<(f64, f64)>,
    rate: f64,
    /// Standard deviation of the delays of neighbours, s.
    noise: f64,
}

impl Search {
    /// Prepares the search for a buffer that empties at `rate` bytes per second.
    pub fn new(samples: &[Sample], rate: f64) -> Search {
        let mut lowest = f64::INFINITY;
        let mut points: Vec<(f64, f64)> = Vec::new();
        // Times of arrival less `SOON` of those of sending, which grow.
        let mut arrivals: Vec<f64> = Vec::new();
        for sample in samples {
            // A buffer that has emptied does not get emptier.
            lowest = lowest.min(sample.level(rate) - sample.bytes).min(0.0);
            let Some(delay) = sample.delay else { continue };
            let arrival = delay + (1.0 - SOON) * sample.at;
            while arrivals.last().is_some_and(|earlier| *earlier >= arrival) {
                arrivals.pop();
                points.pop();
            }
            arrivals.push(arrival);
            points.push((sample.level(rate) - lowest, delay));
        }
        let noise = noise(points.iter().map(|p| p.1));
        Search { points, rate, noise }
    }

    /// The highest level of the buffer, bytes.
    pub fn longest(&self) -> f64 {
        self.points.iter().map(|p| p.0).fold(0.0, f64::max)
    }

    /// The number of packets that passed while the level was at most `bytes`.
    pub fn within(&self, bytes: f64) -> usize {
        self.points.iter().filter(|p| p.0 <= bytes).count()
    }

    /// Evaluates a number of bytes without delay.
    pub fn of(&self, bytes: f64) -> DelayFit {
        let predicted = |level: f64| (level - bytes).max(0.0) / self.rate;
        let mut residuals: Vec<f64> = self.points.iter().map(|(level, d)| d - predicted(*level)).collect();
        let centre = median(&residuals);
        residuals.iter_mut().for_each(|r| *r -= centre);
        let spread = median(&residuals.iter().map(|r| r.abs()).collect::<Vec<_>>());
        DelayFit { residuals, noise: (spread / MAD).max(LEAST_NOISE) }
    }

    /// Returns the best number of bytes without delay in a range.
    pub fn best(&self, from: f64, to: f64) -> (f64, DelayFit) {
        let to = to.max(from);
        let mut best: Option<(f64, DelayFit)> = None;
        let try_one = |bytes: f64, best: &mut Option<(f64, DelayFit)>| {
            let fit = self.of(bytes);
            if best.as_ref().is_none_or(|(_, old)| cost(&fit, self.noise) < cost(old, self.noise)) {
                *best = Some((bytes, fit));
            }
        };
        for i in 0..=CANDIDATES {
            try_one(from + (to - from) * i as f64 / CANDIDATES as f64, &mut best);
        }
        // A second, finer round around the best.
        let around = best.as_ref().map_or(from, |b| b.0);
        let step = (to - from) / CANDIDATES as f64;
        for i in 1..10 {
            for side in [-1.0, 1.0] {
                try_one((around + side * step * f64::from(i) / 10.0).clamp(from, to), &mut best);
            }
        }
        best.unwrap_or_else(|| (from, self.of(from)))
    }

    /// Logarithm of the ratio of the likelihoods of two fits, with the same noise.
    pub fn ratio(&self, of: &DelayFit, to: &DelayFit, noise: f64) -> f64 {
        (cost(to, noise) - cost(of, noise)) / ALIKE
    }
}

/// Half the sum of the squared residuals in units of the noise, large ones linearly.
fn cost(fit: &DelayFit, noise: f64) -> f64 {
    let one = |r: &f64| match (r / noise).abs() {
        x if x > LINEAR => LINEAR * (x - LINEAR / 2.0),
        x => x * x / 2.0,
    };
    fit.residuals.iter().map(one).sum()
}

/// Standard deviation of delays around a smooth line, s. Differences of differences leave out what grows
/// evenly; their deviation is √6 of the noise's.
fn noise(delays: impl Iterator<Item = f64>) -> f64 {
    let delays: Vec<f64> = delays.collect();
    let bends: Vec<f64> = delays.windows(3).map(|d| (d[2] - 2.0 * d[1] + d[0]).abs()).collect();
    (median(&bends) / MAD / 6f64.sqrt()).max(LEAST_NOISE)
}

fn quantile(values: impl Iterator<Item = f64>, q: f64) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get((q * sorted.len().saturating_sub(1) as f64) as usize).copied().unwrap_or(0.0)
}

/// Delay that grows while the train is sent.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// Rate at which packets arrived in the last part of the train, bytes per second.
    pub rate: f64,
    /// Longest queue, bytes.
    pub queue: f64,
}

/// Returns the growth of the delay; `None` where it does not grow beyond its noise and two packets.
pub fn growth(samples: &[Sample], is_held_back: bool) -> Option<Growth> {
    let arrived: Vec<(f64, f64, f64)> =
        samples.iter().filter_map(|s| Some((s.at + s.delay?, s.delay?, s.bytes))).collect();
    let delays: Vec<f64> = arrived.iter().map(|a| a.1).collect();
    let noise = noise(delays.iter().copied());
    let head = &delays[..(delays.len() / HEAD_PARTS).max(3).min(delays.len())];
    let tail = &arrived[arrived.len() - arrived.len() / TAIL_PARTS..];
    // A queue that stands delays all packets, lateness only some of them.
    let late = quantile(tail.iter().map(|a| a.1), LATE_QUANTILE);
    // Of packets that come in batches a policer passes the first, which have waited longest: not longer,
    // though, than some did before.
    // The queue of a device that holds its sender back, however, fills at once.
    let before = match is_held_back {
        true => head.iter().copied().fold(f64::INFINITY, f64::min),
        false => head.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    };
    let grown = late - before;
    let (first, rest) = tail.split_first()?;
    let time = rest.last()?.0 - first.0;
    let rate = rest.iter().map(|a| a.2).sum::<f64>() / time;
    let two_packets = 2.0 * first.2 / rate;
    let is_growth = rate.is_finite() && rate > 0.0 && grown > GROWTH_NOISE * noise && grown > two_packets;
    is_growth.then_some(Growth { rate, queue: grown * rate })
}
