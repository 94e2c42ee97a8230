//! The model of a limiter that drops: a virtual queue.
//!
//! A token bucket of rate r and size B that starts full passes a packet of n bytes if it holds n tokens. What it lacks
//! to be full behaves as a queue: it grows by each packet that passes, and drains at r. This backlog is computed from the
//! packets that were seen to pass, for any r. At the true r each lost packet has backlog + n > B, every other at most B.
//! A drop-tail queue of B bytes before a link of rate r drops by the same rule; delay tells the two apart
//! ([`super::model::delays`]).
//!
//! Losses that have another reason fall on packets of any backlog, because the backlog depends on the past alone. So the
//! share of all packets beyond a threshold is what chance would give, the share of the lost ones what the bucket explains;
//! the log likelihood ratio of the two is the bucket's gain.

use super::sort::{key, value_of};

/// Packets looked at; longer logs are thinned first.
pub(super) const COARSE: usize = 40_000;
/// Packets that the least bucket holds: two in a row are no burst.
pub(crate) const LEAST_BURST: f32 = 3.5;
/// Losses that say enough.
pub(super) const ENOUGH_LOSSES: usize = 600;
/// A gain above this is no accident: the best of some hundred and fifty rates and seven thresholds on losses that
/// know of no bucket stays below.
pub(crate) const CHANCE: f64 = 9.0;
/// The share of its gain that counts where the backlog was corrected: that fits more than it should.
const FREE: f64 = 0.7;
/// A packet nearly was lost where the bucket lacked this share of what it holds.
pub(super) const NEARLY: f64 = 0.7;
/// By how much of the way to the limit a loss corrects the backlog.
pub(super) const PULL: f64 = 0.3;

/// A packet as it came to the limiter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PacketArrival {
    /// When, seconds since any origin.
    pub at: f64,
    /// Bytes, headers included; of neighbours merged, of all.
    pub bytes: f32,
    /// Bytes of one packet.
    pub size: f32,
    /// It was lost.
    pub lost: bool,
    /// RTT, seconds; NaN where unknown.
    pub rtt: f32,
    /// The flow it belongs to, as an index of the caller's.
    pub flow: u16,
    /// Its place in the flow's log.
    pub entry: u32,
}

/// Bytes of the largest packet; 0 of none.
pub(super) fn largest(arrivals: &[PacketArrival]) -> f64 {
    arrivals.iter().map(|a| a.size).fold(0.0, f32::max) as f64
}

/// How many flows packets are of.
pub(super) fn flows(arrivals: &[PacketArrival]) -> usize {
    arrivals.iter().map(|a| a.flow).max().map_or(0, |f| f as usize + 1)
}

/// Whether the delay of any is known.
pub(super) fn has_delays(arrivals: &[PacketArrival]) -> bool {
    arrivals.iter().any(|a| a.rtt.is_finite())
}

/// When the first and the last of packets came, which are in order.
pub(super) fn span(arrivals: &[PacketArrival]) -> (f64, f64) {
    arrivals.first().zip(arrivals.last()).map_or((0.0, 0.0), |(first, last)| (first.at, last.at))
}

/// A bucket that explains losses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TokenBucketFit {
    /// Bytes a second.
    pub rate: f64,
    /// Bytes.
    pub burst: f64,
    /// Share of the losses that came with the bucket empty, which is the virtual queue full.
    pub explained: f64,
    /// Share of all packets that came with the bucket that empty.
    pub chance: f64,
    /// Log likelihood ratio against losses that know nothing of the bucket, a loss episode counting once.
    pub gain: f64,
    /// Share of lost packets below the limit and of nearly lost ones above it, together.
    pub misclassified: f64,
    /// Median distance of lost packets' depth from the limit, bytes.
    pub spread: f64,
    /// The bucket ran from full to empty at least once: only then the burst is known.
    pub emptied: bool,
    /// The backlog was corrected by what was seen ([`super::corrected`]).
    pub corrected: bool,
    /// Rates, least and greatest, that explain the losses as well, where they are far apart: where the bucket fills up between
    /// bursts and a burst takes less time than a packet does at the rate, nothing tells it.
    pub as_good: Option<(f64, f64)>,
}

/// What is left of a backlog after `seconds` at which it drained at `rate`, bytes a second.
///
/// Every model of a bucket or of a queue here is this step, and adding what passes.
#[inline(always)]
pub(super) fn drained(backlog: f64, rate: f64, seconds: f64) -> f64 {
    let left = backlog - rate * seconds;
    // One instruction, which `f64::max` is not.
    if left > 0.0 { left } else { 0.0 }
}

/// Depth of the virtual queue with each packet in it at this bucket.
pub(crate) fn depths_of(arrivals: &[PacketArrival], b: &TokenBucketFit) -> Vec<f32> {
    let mut out = Vec::with_capacity(arrivals.len());
    corrected_depths(arrivals, b.rate, b.burst, if b.corrected { PULL } else { 0.0 }, &mut out);
    out
}

/// The same; with `pull` above 0 what is seen corrects the backlog.
pub(super) fn corrected_depths(
    arrivals: &[PacketArrival],
    rate: f64,
    burst: f64,
    pull: f64,
    out: &mut Vec<f32>,
) {
    out.clear();
    let mut backlog = 0.0f64;
    let mut last = arrivals.first().map_or(0.0, |a| a.at);
    for a in arrivals {
        backlog = drained(backlog, rate, a.at - last);
        last = a.at;
        let size = if a.lost { a.size } else { a.bytes } as f64;
        let depth = backlog + size;
        out.push(depth as f32);
        if a.lost {
            backlog += pull * (burst - depth).max(0.0);
        } else {
            backlog = if pull > 0.0 { depth.min(burst) } else { depth };
        }
    }
}

/// Shares of the losses below a threshold that is tried.
pub(crate) const BELOW: [f64; 7] = [0.01, 0.04, 0.1, 0.2, 0.35, 0.5, 0.65];

/// The `q`-quantile of values, which are reordered.
pub(crate) fn quantile(values: &mut [f32], q: f64) -> f32 {
    if values.is_empty() {
        return f32::NAN;
    }
    let at = ((values.len() - 1) as f64 * q).round() as usize;
    *values.select_nth_unstable_by(at, f32::total_cmp).1
}

/// Some quantiles of values. The largest comes first: each leaves less to look through for the next.
pub(crate) fn quantiles<const N: usize>(values: &[f32], rising: [f64; N]) -> [f32; N] {
    let last = values.len().saturating_sub(1) as f64;
    let mut keys: Vec<i32> = values.iter().copied().map(key).collect();
    let (mut out, mut left) = ([f32::NAN; N], keys.len());
    for (out, q) in out.iter_mut().zip(rising).rev() {
        let at = (last * q).round() as usize;
        if let Some((_, key, _)) = (at < left).then(|| keys[..left].select_nth_unstable(at)) {
            (*out, left) = (value_of(*key), at + 1);
        }
    }
    out
}

/// How much better "depth above a threshold" foretells a loss than chance does; `episodes` is how many
/// losses count.
pub(crate) fn gain(explained: f64, chance: f64, episodes: f64) -> f64 {
    // Half a loss more on either side: no share is quite 0 or 1 on finite evidence.
    let e = (explained * episodes + 0.5) / (episodes + 1.0);
    // Of no more packets than are looked at.
    let c = chance.max(1.0 / COARSE as f64);
    if e <= c {
        return 0.0;
    }
    episodes * (e * (e / c).ln() + (1.0 - e) * ((1.0 - e) / (1.0 - c)).ln())
}

/// How many spans of `width` seconds contain a loss.
pub(crate) fn episodes(arrivals: &[PacketArrival], width: f64) -> usize {
    let mut count = 0;
    let mut until = f64::NEG_INFINITY;
    for a in arrivals.iter().filter(|a| a.lost) {
        if a.at > until {
            count += 1;
            until = a.at + width;
        }
    }
    count
}

/// As much of a long log as says enough: merging would blur it.
pub(super) fn begin(arrivals: &[PacketArrival]) -> &[PacketArrival] {
    let mut losses = arrivals.iter().enumerate().filter(|(_, a)| a.lost);
    let enough = losses.nth(ENOUGH_LOSSES).map_or(arrivals.len(), |(i, _)| i).max(COARSE);
    if enough < arrivals.len() { &arrivals[..enough] } else { arrivals }
}

/// Packets that passed though the bucket lacked far more than a packet for them, to each that was lost. A policer lets none:
/// who comes faster than its rate then loses what is too much, packet after packet. A window that is cut back at each loss
/// (and no sooner than a round trip later) falls and grows about a limit too, but loses one.
pub(crate) fn passed_beyond_limit(arrivals: &[PacketArrival], b: &TokenBucketFit) -> f64 {
    let arrivals = begin(arrivals);
    let (mut beyond, mut lost) = (0.0, 0.0f64);
    for (a, depth) in arrivals.iter().zip(depths_of(arrivals, b)) {
        match a.lost {
            true => lost += 1.0,
            false => beyond += f64::from(depth as f64 > b.burst + (LEAST_BURST * a.size) as f64),
        }
    }
    beyond / lost.max(1.0)
}

/// The gain when every packet, lost or not, counts as come right behind the one before it: where the time of lost
/// ones is not known, being placed there must not be what tells them apart.
pub(crate) fn gain_without_times(arrivals: &[PacketArrival], b: &TokenBucketFit, episodes: f64) -> f64 {
    let depths = depths_of(arrivals, b);
    let mut sum = [[0.0f64; 2]; 2];
    let mut backlog = 0.0f64;
    for (a, depth) in arrivals.iter().zip(&depths) {
        let size = a.size as f64;
        let above = backlog + size > b.burst;
        sum[usize::from(a.lost)][usize::from(above)] += a.bytes as f64;
        backlog = if a.lost { backlog.max(*depth as f64 - size) } else { *depth as f64 };
    }
    let explained = sum[1][1] / (sum[1][0] + sum[1][1]).max(1.0);
    let all = sum[0][0] + sum[0][1] + sum[1][0] + sum[1][1];
    gain(explained, (sum[0][1] + sum[1][1]) / all.max(1.0), episodes)
}

impl TokenBucketFit {
    /// Rates that fit the losses, least and greatest: its own where there is one.
    pub(super) fn rates(&self) -> (f64, f64) {
        self.as_good.unwrap_or((self.rate, self.rate))
    }

    /// What the search makes great: the gain, and among rates that gain alike the one that divides lost from
    /// passed with the fewest errors and closest together.
    pub(crate) fn score(&self) -> f64 {
        let apart = (self.spread / self.burst.max(1.0)).min(1.0);
        let free = if self.corrected { FREE } else { 1.0 };
        free * self.gain * (1.0 - 0.5 * self.misclassified.min(1.0)) * (1.0 - 0.3 * apart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_asked_together_are_those_asked_alone() {
        let of = |n: usize| (0..n).map(|i| ((i * 7919) % 101) as f32).collect::<Vec<f32>>();
        for n in [1, 2, 5, 100, 1000] {
            let rising = [0.0, 0.01, 0.3, 0.3, 0.65, 1.0];
            assert_eq!(quantiles(&of(n), rising), rising.map(|q| quantile(&mut of(n), q)), "{n}");
        }
        assert!(quantiles(&[], [0.5])[0].is_nan());
    }
}
