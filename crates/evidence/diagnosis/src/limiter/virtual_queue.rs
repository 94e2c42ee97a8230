//! The model of a limiter that drops: a virtual queue.
//!
//! A token bucket of rate r and size B that starts full passes a packet of n bytes if it holds n tokens. Its
//! missing tokens behave as a queue: each packet that passes adds its bytes, and the queue drains at r. This
//! backlog can be computed for any r from the packets that were seen to pass. At the true r each lost packet
//! has backlog + n > B, and every other packet at most B. A drop-tail queue of B bytes before a link of rate
//! r drops by the same rule; delays distinguish the two ([`super::model::delays`]).
//!
//! Losses with another reason hit packets of any backlog, because the backlog depends on the past alone. So
//! the share of all packets beyond a threshold is what chance predicts for losses, and the share of lost
//! packets beyond it is what the bucket explains. The log likelihood ratio of the two is the bucket's gain.

use super::sort::{key, value_of};
use track::PackedSpan;

/// Packets that a coarse search uses; longer logs are thinned first.
pub(super) const COARSE_PACKETS: usize = 40_000;
/// Packets in the smallest bucket that counts: two packets in a row are not a burst.
pub(crate) const MIN_BURST_PACKETS: f32 = 3.5;
/// Losses that are enough for a verdict.
pub(super) const ENOUGH_LOSSES: usize = 600;
/// Gain that chance does not reach, nats: the best of some 150 rates and seven thresholds stays below it on
/// random losses.
pub(crate) const CHANCE_GAIN: f64 = 9.0;
/// Share of the gain that counts where the backlog was corrected, because the correction overfits.
const CORRECTED_GAIN_SHARE: f64 = 0.7;
/// A packet was nearly lost if the bucket lacked at least this share of its tokens.
pub(super) const NEARLY_LOST_SHARE: f64 = 0.7;
/// Share of the distance to the limit by which a loss raises the backlog.
pub(super) const PULL_SHARE: f64 = 0.3;

/// A time in seconds, or unknown, in the space of an `f32`: lists of arrivals are the most memory that a
/// diagnosis needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedSeconds(f32);

impl PackedSeconds {
    pub const UNKNOWN: PackedSeconds = PackedSeconds(f32::NAN);

    /// Stores `seconds`, which must not be NaN.
    #[inline]
    pub const fn known(seconds: f32) -> PackedSeconds {
        PackedSeconds(seconds)
    }

    /// Returns the seconds if they are known.
    #[inline]
    pub fn get(self) -> Option<f32> {
        self.is_known().then_some(self.0)
    }

    #[inline]
    pub fn is_known(self) -> bool {
        !self.0.is_nan()
    }

    /// Returns the time less `seconds`; unknown stays unknown.
    #[inline]
    pub fn less(self, seconds: f32) -> PackedSeconds {
        PackedSeconds(self.0 - seconds)
    }

    /// Returns this time, or `other` if this one is unknown.
    #[inline]
    pub fn or(self, other: PackedSeconds) -> PackedSeconds {
        if self.is_known() { self } else { other }
    }
}

impl From<PackedSpan> for PackedSeconds {
    fn from(span: PackedSpan) -> PackedSeconds {
        span.get().map_or(PackedSeconds::UNKNOWN, |span| PackedSeconds(span.as_micros() as f32 * 1e-6))
    }
}

/// A packet as it came to the limiter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketArrival {
    /// Arrival, seconds since any origin.
    pub at: f64,
    /// Bytes with headers, of all packets that were merged into this one.
    pub bytes: f32,
    /// Bytes of one packet.
    pub size: f32,
    pub lost: bool,
    /// RTT, or delay from the sender to the capture.
    pub delay: PackedSeconds,
    /// Index of its flow.
    pub flow: u16,
    /// Place of the packet in the flow's log.
    pub entry: u32,
}

#[cfg(test)]
impl PacketArrival {
    /// A packet of 1500 bytes of the first flow at `at` seconds. `delay`, in seconds, is unknown if the
    /// packet was lost.
    pub fn full(at: f64, delay: f64, lost: bool, entry: u32) -> PacketArrival {
        let delay = if lost { PackedSeconds::UNKNOWN } else { PackedSeconds::known(delay as f32) };
        PacketArrival { at, bytes: 1500.0, size: 1500.0, lost, delay, flow: 0, entry }
    }
}

/// Returns the size of the largest packet, bytes; 0 where there are none.
pub(super) fn largest(arrivals: &[PacketArrival]) -> f64 {
    arrivals.iter().map(|a| a.size).fold(0.0, f32::max) as f64
}

/// Returns the number of flows.
pub(super) fn flows(arrivals: &[PacketArrival]) -> usize {
    arrivals.iter().map(|a| a.flow).max().map_or(0, |f| f as usize + 1)
}

/// Whether the delay of any packet is known.
pub(super) fn has_delays(arrivals: &[PacketArrival]) -> bool {
    arrivals.iter().any(|a| a.delay.is_known())
}

/// Returns the times of the first and the last packet, seconds.
pub(super) fn span(arrivals: &[PacketArrival]) -> (f64, f64) {
    arrivals.first().zip(arrivals.last()).map_or((0.0, 0.0), |(first, last)| (first.at, last.at))
}

/// A token bucket that explains losses, and how well.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TokenBucketFit {
    /// Bytes a second.
    pub rate: f64,
    /// Bytes.
    pub burst: f64,
    /// Share of the losses at an empty bucket (a full virtual queue).
    pub explained: f64,
    /// Share of all packets at a bucket as empty.
    pub chance: f64,
    /// Log likelihood ratio against random losses, nats; a loss episode counts once.
    pub gain: f64,
    /// Share of lost packets below the limit, plus share of nearly lost packets above it.
    pub misclassified: f64,
    /// Median distance of lost packets' depth from the limit, bytes.
    pub spread: f64,
    /// The bucket went from full to empty at least once; otherwise its size is not known.
    pub emptied: bool,
    /// The backlog was corrected by passed and lost packets ([`super::corrected`]).
    pub corrected: bool,
    /// Least and greatest rate that explain the losses as well, where they are far apart. The rate does not
    /// show where the bucket fills up between bursts and a burst is shorter than a packet's time at the
    /// rate.
    pub equivalent_rates: Option<(f64, f64)>,
}

/// Returns the backlog after it has drained for `seconds` at `rate`, bytes a second.
///
/// Every model of a bucket or queue consists of this step and of adding the packets that pass.
#[inline(always)]
pub(super) fn drained(backlog: f64, rate: f64, seconds: f64) -> f64 {
    let left = backlog - rate * seconds;
    // Compiles to one instruction, unlike `f64::max`.
    if left > 0.0 { left } else { 0.0 }
}

/// Returns the depth of the virtual queue at each packet, with the packet in it, bytes.
pub(crate) fn depths_of(arrivals: &[PacketArrival], b: &TokenBucketFit) -> Vec<f32> {
    let mut out = Vec::with_capacity(arrivals.len());
    corrected_depths(arrivals, b.rate, b.burst, if b.corrected { PULL_SHARE } else { 0.0 }, &mut out);
    out
}

/// Computes the depths of [`depths_of`] into `out`. With `pull` above 0, packets that pass and losses correct
/// the backlog.
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

/// Thresholds that are tried, as quantiles of the depths at losses.
pub(crate) const THRESHOLD_QUANTILES: [f64; 7] = [0.01, 0.04, 0.1, 0.2, 0.35, 0.5, 0.65];

/// Returns the `q`-quantile of the values, and reorders them.
pub(crate) fn quantile(values: &mut [f32], q: f64) -> f32 {
    if values.is_empty() {
        return f32::NAN;
    }
    let at = ((values.len() - 1) as f64 * q).round() as usize;
    *values.select_nth_unstable_by(at, f32::total_cmp).1
}

/// Returns several quantiles. The largest is computed first, which leaves fewer values for the next.
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

/// Returns the gain, nats, of predicting losses by "depth above a threshold" over chance. `episodes` is the
/// number of losses that count.
pub(crate) fn gain(explained: f64, chance: f64, episodes: f64) -> f64 {
    // Half a loss more on either side: finite evidence never gives a share of exactly 0 or 1.
    let e = (explained * episodes + 0.5) / (episodes + 1.0);
    // A share is not known better than one packet of those that are used.
    let c = chance.max(1.0 / COARSE_PACKETS as f64);
    if e <= c {
        return 0.0;
    }
    episodes * (e * (e / c).ln() + (1.0 - e) * ((1.0 - e) / (1.0 - c)).ln())
}

/// Returns the number of loss episodes: spans of `width` seconds that contain a loss.
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

/// Returns the beginning of a long log that has enough losses. Merging packets instead would blur their
/// times.
pub(super) fn begin(arrivals: &[PacketArrival]) -> &[PacketArrival] {
    let mut losses = arrivals.iter().enumerate().filter(|(_, a)| a.lost);
    let enough = losses.nth(ENOUGH_LOSSES).map_or(arrivals.len(), |(i, _)| i).max(COARSE_PACKETS);
    if enough < arrivals.len() { &arrivals[..enough] } else { arrivals }
}

/// Returns how many packets passed far beyond the bucket's limit, for each lost packet. A policer passes
/// none: a flow that exceeds its rate loses packet after packet. A congestion window that is cut after each
/// loss (a round trip later) also moves around a limit, but loses one packet each time.
pub(crate) fn passed_beyond_limit(arrivals: &[PacketArrival], b: &TokenBucketFit) -> f64 {
    let arrivals = begin(arrivals);
    let (mut beyond, mut lost) = (0.0, 0.0f64);
    for (a, depth) in arrivals.iter().zip(depths_of(arrivals, b)) {
        match a.lost {
            true => lost += 1.0,
            false => beyond += f64::from(depth as f64 > b.burst + (MIN_BURST_PACKETS * a.size) as f64),
        }
    }
    beyond / lost.max(1.0)
}

/// Returns the gain when every packet, lost or not, is placed right behind its predecessor. Lost packets
/// whose time is not known are placed there, and that placement alone must not distinguish them.
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
    let total = sum[0][0] + sum[0][1] + sum[1][0] + sum[1][1];
    gain(explained, (sum[0][1] + sum[1][1]) / total.max(1.0), episodes)
}

impl TokenBucketFit {
    /// Returns the least and the greatest rate that fit the losses.
    pub(super) fn rates(&self) -> (f64, f64) {
        self.equivalent_rates.unwrap_or((self.rate, self.rate))
    }

    /// Returns the score that the search maximises: the gain, reduced by misclassified packets and by the
    /// spread of losses around the limit.
    pub(crate) fn score(&self) -> f64 {
        let blur = (self.spread / self.burst.max(1.0)).min(1.0);
        let counts = if self.corrected { CORRECTED_GAIN_SHARE } else { 1.0 };
        counts * self.gain * (1.0 - 0.5 * self.misclassified.min(1.0)) * (1.0 - 0.3 * blur)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_equal_those_computed_one_by_one() {
        let values = |n: usize| (0..n).map(|i| ((i * 7919) % 101) as f32).collect::<Vec<f32>>();
        for n in [1, 2, 5, 100, 1000] {
            let rising = [0.0, 0.01, 0.3, 0.3, 0.65, 1.0];
            assert_eq!(quantiles(&values(n), rising), rising.map(|q| quantile(&mut values(n), q)), "{n}");
        }
        assert!(quantiles(&[], [0.5])[0].is_nan());
    }
}
