//! The virtual queue at several rates at once: one pass over the packets computes a lane for each rate.
//!
//! 1. [`RateLanesLog`] holds the effect of each packet on a backlog: the seconds since the packet before it,
//!    the room that it needs, and the bytes that it adds. Backlogs are 32-bit: the rounding, a part in 16
//!    million a packet, is far below a packet's size.
//! 2. [`RateLanesLog::judge`] computes the depth at each packet for each rate, takes thresholds from the
//!    depths at losses, and adds up the bytes beyond each. The threshold that gains most is the bucket's
//!    size.
//! 3. [`RateLanesLog::measure`] examines one lane: how well its threshold separates lost packets from those
//!    that passed.

use super::sort::floats;
use super::virtual_queue::{
    ENOUGH_LOSSES, MIN_BURST_PACKETS, NEARLY_LOST_SHARE, PacketArrival, THRESHOLD_QUANTILES, TokenBucketFit,
    gain, largest, quantile, quantiles,
};

/// Number of rates that are tried at once: the 32-bit numbers in a register of 256 bits (derived).
pub(super) const LANES: usize = 8;

/// A number for each rate.
type RateLanes = [f32; LANES];
/// Bytes beyond each threshold, for each rate.
type LaneSums = [RateLanes; THRESHOLD_QUANTILES.len()];

/// The effect of a packet on the backlog.
struct LaneStep {
    /// Seconds since the packet before it.
    gap: f32,
    /// Bytes that need room.
    size: f32,
    /// Bytes that it adds: 0 where it was lost.
    passed: f32,
}

/// Packets as a search over many rates reads them.
pub(super) struct RateLanesLog {
    steps: Vec<LaneStep>,
    /// Indices of the lost packets, and their bytes.
    lost: Vec<(u32, f32)>,
    /// Bytes of lost packets, and of packets that passed.
    pub sums: [f64; 2],
    /// Size of the largest packet and of the first, bytes.
    pub sizes: [f32; 2],
    /// Loss episodes.
    episodes: f64,
    /// Depth (backlog and own size) at every packet for the rates of the last call.
    depths: Vec<RateLanes>,
}

/// Returns a mask of the lanes in which the depth reaches the threshold. A mask lets one instruction serve
/// all lanes, which a branch would not.
#[inline(always)]
fn reaches(depth: &RateLanes, threshold: &RateLanes) -> [u32; LANES] {
    std::array::from_fn(|lane| if depth[lane] >= threshold[lane] { u32::MAX } else { 0 })
}

/// Adds up the bytes of packets whose depth reaches each threshold. Thresholds are in rising order.
#[inline(always)]
fn beyond<'a>(packets: impl Iterator<Item = (&'a RateLanes, f32)>, at: &LaneSums) -> LaneSums {
    let mut sums = LaneSums::default();
    for (depth, bytes) in packets {
        for (sum, threshold) in sums.iter_mut().zip(at) {
            let counts = reaches(depth, threshold);
            // Most packets are below all thresholds, or all except the first.
            if counts.iter().fold(0, |all, bits| all | bits) == 0 {
                break;
            }
            for lane in 0..LANES {
                sum[lane] += f32::from_bits(bytes.to_bits() & counts[lane]);
            }
        }
    }
    sums
}

impl RateLanesLog {
    /// Takes the packets, and the number of loss episodes.
    pub fn new(arrivals: &[PacketArrival], episodes: f64) -> RateLanesLog {
        let mut sums = [0.0f64; 2];
        arrivals.iter().for_each(|a| sums[usize::from(!a.lost)] += a.bytes as f64);
        let mut last = arrivals.first().map_or(0.0, |a| a.at);
        let steps = arrivals.iter().map(|a| {
            let gap = (a.at - std::mem::replace(&mut last, a.at)) as f32;
            let (size, passed) = if a.lost { (a.size, 0.0) } else { (a.bytes, a.bytes) };
            LaneStep { gap, size, passed }
        });
        let lost = (0u32..).zip(arrivals).filter(|(_, a)| a.lost).map(|(i, a)| (i, a.bytes));
        let largest = largest(arrivals) as f32;
        RateLanesLog {
            steps: steps.collect(),
            lost: lost.collect(),
            sums,
            sizes: [largest, arrivals.first().map_or(0.0, |a| a.size)],
            episodes,
            depths: Vec::with_capacity(arrivals.len()),
        }
    }

    /// Computes the depths at these rates.
    fn fill(&mut self, rates: &[f64; LANES]) {
        let rates: RateLanes = rates.map(|rate| rate as f32);
        let mut backlog = [0.0f32; LANES];
        self.depths.clear();
        self.depths.extend(self.steps.iter().map(|s| {
            std::array::from_fn(|lane| {
                let left = backlog[lane] - rates[lane] * s.gap;
                let left = if left > 0.0 { left } else { 0.0 };
                backlog[lane] = left + s.passed;
                left + s.size
            })
        }));
    }

    /// Returns the depths at lost packets in a lane, thinned to a sufficient number.
    fn lost_depths(&self, lane: usize) -> impl Iterator<Item = f32> {
        let each = self.lost.len().div_ceil(ENOUGH_LOSSES).max(1);
        self.lost.iter().step_by(each).map(move |(i, _)| self.depths[*i as usize][lane])
    }

    /// Returns the best threshold at each rate.
    pub fn judge(&mut self, rates: &[f64; LANES]) -> [TokenBucketFit; LANES] {
        self.fill(rates);
        let mut at: LaneSums = Default::default();
        let mut column: Vec<f32> = Vec::with_capacity(ENOUGH_LOSSES);
        for lane in 0..LANES {
            column.clear();
            column.extend(self.lost_depths(lane));
            for (row, depth) in at.iter_mut().zip(quantiles(&column, THRESHOLD_QUANTILES)) {
                row[lane] = depth * 0.999;
            }
        }
        let lost = beyond(self.lost.iter().map(|(i, bytes)| (&self.depths[*i as usize], *bytes)), &at);
        let passed = beyond(self.depths.iter().zip(self.steps.iter().map(|s| s.passed)), &at);
        let [all_lost, all_passed] = self.sums;
        std::array::from_fn(|lane| {
            let mut best = TokenBucketFit { rate: rates[lane], ..TokenBucketFit::default() };
            for (i, threshold) in
                at.iter().enumerate().filter(|(_, t)| t[lane] > MIN_BURST_PACKETS * self.sizes[0])
            {
                let (lost, passed) = (lost[i][lane] as f64, passed[i][lane] as f64);
                let explained = lost / all_lost;
                let chance = (lost + passed) / (all_lost + all_passed);
                let gain = gain(explained, chance, self.episodes);
                if gain > best.gain {
                    best = TokenBucketFit { burst: threshold[lane] as f64, explained, chance, gain, ..best };
                }
            }
            best
        })
    }

    /// Examines one of the rates of the last call to [`RateLanesLog::judge`].
    pub fn measure(&self, lane: usize, mut b: TokenBucketFit) -> TokenBucketFit {
        let lost = floats(self.lost_depths(lane));
        let near = (NEARLY_LOST_SHARE * b.burst) as f32;
        let of_passed = |(depth, step): (&RateLanes, &LaneStep)| {
            if step.passed > 0.0 { depth[lane] } else { f32::NAN }
        };
        let passed = || self.depths.iter().zip(&self.steps).map(of_passed);
        (b.misclassified, b.burst) = divide(&lost, passed().filter(|n| *n > near), self.sizes[0]);
        let mut distance: Vec<f32> = lost.iter().map(|n| (n - b.burst as f32).abs()).collect();
        b.spread = quantile(&mut distance, 0.5) as f64;
        let low = 0.25 * b.burst as f32;
        b.emptied = passed().any(|n| n < low);
        b
    }
}

/// Returns the depth that separates lost packets from those that passed with the fewest errors: the sum of
/// the shares of errors on either side, and the depth. `lost` is in order; `size` is the size of the largest
/// packet, bytes.
fn divide(lost: &[f32], near: impl Iterator<Item = f32>, size: f32) -> (f64, f64) {
    let thresholds = &lost[..lost.len().div_ceil(2)];
    let (Some(least), Some(most)) = (thresholds.first(), thresholds.last()) else { return (1.0, 0.0) };
    // For each threshold: how many packets passed between it and the one before, and the largest depth of
    // those. Sorting all depths would be most of the search's work.
    let (mut between, mut passed) = (vec![(0usize, f32::NEG_INFINITY); thresholds.len()], 0);
    for n in near {
        passed += 1;
        if n <= *most {
            let i = if n <= *least { 0 } else { thresholds.partition_point(|t| *t < n) };
            between[i] = (between[i].0 + 1, between[i].1.max(n));
        }
    }
    let (l, p) = (lost.len() as f64, passed.max(1) as f64);
    let mut best = (f64::INFINITY, 0.0);
    let (mut below, mut under) = (0, f32::NEG_INFINITY);
    for (i, (threshold, (count, largest))) in thresholds.iter().zip(between).enumerate() {
        below += count;
        under = under.max(largest);
        let misclassified = i as f64 / l + (passed - below) as f64 / p;
        if misclassified < best.0 {
            // The limit is between the largest depth that passed and the least that did not, at most a packet
            // apart.
            best = (misclassified, (under.max(threshold - size) + threshold) as f64 / 2.0);
        }
    }
    best
}
