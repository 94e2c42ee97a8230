//! The likelihood of losses under a limiter: which packets it predicts to be lost, and which to pass.
//!
//! A limiter of rate r and limit B loses a packet of n bytes if backlog + n > B, blurred by noise
//! ([`super::noise::lost`]). The alternative is chance: each packet is lost with the same probability. The
//! gain is the logarithm of the two likelihoods' ratio. All losses of an episode have one reason, so an
//! episode counts as one loss, and packets that passed count in proportion.
//!
//! A high backlog at losses is not enough: beyond its limit a limiter lets nothing pass. A congestion window
//! that is cut at each loss also falls and grows around a limit, but packets pass that limit freely.

use super::super::virtual_queue::{
    PacketArrival, THRESHOLD_QUANTILES, TokenBucketFit, begin, depths_of, episodes, flows, quantiles,
};
use super::noise::{far, lost as lost_at};
use std::collections::BTreeMap;
use std::iter::successors;

/// Greatest width of the blur around a limit, as a share of the limit. A limit that is blurred more is not a
/// limit.
const MAX_BLUR_SHARE: f64 = 0.125;
/// Width of a bin at the limit, packets.
const BIN_PACKETS: f64 = 0.25;
/// Width of a bin far from the limit, as a share of the distance.
const BIN_SHARE: f64 = 0.01;

/// Numbers of packets that were lost and that passed, by their distance from the limit.
struct LossTable {
    /// Distance from the limit in packets, lost, passed; without empty bins.
    bins: Vec<(f64, f64, f64)>,
    /// Packets, lost or not.
    all: f64,
    lost: f64,
    /// The limit in packets.
    limit: f64,
}

impl LossTable {
    fn new(arrivals: &[PacketArrival], bucket: &TokenBucketFit) -> LossTable {
        let size = arrivals.iter().map(|a| a.size).fold(1.0, f32::max) as f64;
        let limit = bucket.burst / size;
        let mut bins: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
        for (a, depth) in arrivals.iter().zip(depths_of(arrivals, bucket)) {
            let beyond = depth as f64 / size - limit;
            let bin = bins
                .entry(((beyond * BIN_SHARE / BIN_PACKETS).asinh() / BIN_SHARE).round() as i64)
                .or_default();
            match a.lost {
                true => bin.0 += 1.0,
                false => bin.1 += f64::from((a.bytes / a.size).max(1.0)),
            }
        }
        let (lost, passed) = bins.values().fold((0.0, 0.0), |s, b| (s.0 + b.0, s.1 + b.1));
        let place = |bin: i64| (bin as f64 * BIN_SHARE).sinh() * BIN_PACKETS / BIN_SHARE;
        let bins = bins.into_iter().map(|(bin, b)| (place(bin), b.0, b.1)).collect();
        LossTable { bins, all: lost + passed, lost, limit }
    }

    /// Returns the log likelihood ratio against chance, nats, with the limit moved by `shift` packets and
    /// blurred by `width` packets.
    fn ratio(&self, shift: f64, width: f64) -> f64 {
        let below = self.bins.iter().take_while(|b| b.0 < shift - far() * width).map(|b| b.1).sum::<f64>();
        let elsewhere = ((below + 0.5) / self.all).min(0.5);
        let mean = self.lost / self.all;
        let log_ratio = |(beyond, lost, passed): &(f64, f64, f64)| {
            let p = lost_at(beyond - shift, width, elsewhere);
            lost * (p / mean).ln() + passed * ((1.0 - p) / (1.0 - mean)).ln()
        };
        self.bins.iter().map(log_ratio).sum()
    }
}

/// Returns how much better the limiter predicts the losses than chance does: a log likelihood ratio, nats, in
/// which an episode of `width` seconds counts once.
pub(crate) fn gain(arrivals: &[PacketArrival], bucket: &TokenBucketFit, width: f64) -> f64 {
    let arrivals = begin(arrivals);
    let table = LossTable::new(arrivals, bucket);
    if table.lost == 0.0 || table.lost == table.all {
        return 0.0;
    }
    // Widths from exact times to the spacing that other links' queues make, around the proposed limit.
    let widths = successors(Some(BIN_PACKETS), |w| Some(2.0 * w))
        .take_while(|w| *w <= (MAX_BLUR_SHARE * table.limit).max(2.0 * BIN_PACKETS));
    let tried = widths.flat_map(|w| [-2.0, -1.0, 0.0, 1.0, 2.0].map(|s| (s * w, w)));
    let best = tried.map(|(shift, w)| table.ratio(shift, w)).fold(f64::NEG_INFINITY, f64::max);
    best * episodes(arrivals, width) as f64 / table.lost
}

/// Returns how much better a queue's delay predicts the losses than chance does, nats, regardless of the
/// queue's rate: packets are lost with one probability while the delay is above a threshold, and with another
/// below it.
pub(crate) fn gain_by_delay(arrivals: &[PacketArrival], width: f64) -> f64 {
    let arrivals = begin(arrivals);
    if !arrivals.iter().any(|a| a.lost) {
        return 0.0;
    }
    let mut last: Vec<Option<f32>> = vec![None; flows(arrivals)];
    let mut delays: Vec<(f32, f64, bool)> = Vec::new();
    for a in arrivals {
        let now = &mut last[a.flow as usize];
        if !a.lost {
            *now = a.delay.get().or(*now);
        }
        if let Some(delay) = *now {
            let count = if a.lost { 1.0 } else { f64::from((a.bytes / a.size).max(1.0)) };
            delays.push((delay, count, a.lost));
        }
    }
    let losses: Vec<f32> = delays.iter().filter(|s| s.2).map(|s| s.0).collect();
    let lost = losses.len() as f64;
    let thresholds = quantiles(&losses, THRESHOLD_QUANTILES);
    // Passed and lost, below and above each threshold. Both sides are added to, one of them zero, so that the
    // compiler computes all thresholds at once.
    let [mut below, mut above] = [[[0.0f64; THRESHOLD_QUANTILES.len()]; 2]; 2];
    for (delay, count, lost) in delays {
        let (below, above) = (&mut below[usize::from(lost)], &mut above[usize::from(lost)]);
        for (i, threshold) in thresholds.iter().enumerate() {
            let is_above = delay >= *threshold;
            below[i] += if is_above { 0.0 } else { count };
            above[i] += if is_above { count } else { 0.0 };
        }
    }
    let gain = |i: usize| {
        let [below, above] = [&below, &above].map(|side| [side[0][i], side[1][i]]);
        let all = [below[0] + above[0], below[1] + above[1]];
        if above[1] * (all[0] + all[1]) <= all[1] * (above[0] + above[1]) {
            return 0.0;
        }
        let log_likelihood = |part: [f64; 2]| {
            let each = |n: f64| if n > 0.0 { n * (n / (part[0] + part[1])).ln() } else { 0.0 };
            each(part[0]) + each(part[1])
        };
        log_likelihood(below) + log_likelihood(above) - log_likelihood(all)
    };
    let best = (0..thresholds.len()).map(gain).fold(0.0, f64::max);
    best * episodes(arrivals, width) as f64 / lost.max(1.0)
}
