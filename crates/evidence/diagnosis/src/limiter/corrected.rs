//! The virtual queue's backlog, corrected by each packet's fate.
//!
//! The plain backlog adds up all bytes that passed since the start. Where the queue never runs empty, a small
//! error of the rate adds up, and so do bytes that the policer passed and another place lost. But a packet
//! that passes proves that there was room for it, and a loss suggests that there was none. Both correct the
//! backlog.

use super::virtual_queue::{
    MIN_BURST_PACKETS, PULL_SHARE, PacketArrival, TokenBucketFit, corrected_depths, gain, largest, quantile,
};

/// Losses at the beginning, before a small error of the rate adds up.
const EARLY_LOSSES: usize = 60;

/// Returns the best bucket near `start` with the backlog corrected.
pub(crate) fn fit_corrected(
    arrivals: &[PacketArrival],
    start: &TokenBucketFit,
    episodes: f64,
) -> TokenBucketFit {
    let mut space = Vec::with_capacity(arrivals.len());
    corrected_depths(arrivals, start.rate, start.burst, 0.0, &mut space);
    let mut early: Vec<f32> =
        arrivals.iter().zip(&space).filter(|(a, _)| a.lost).map(|(_, n)| *n).take(EARLY_LOSSES).collect();
    let size = largest(arrivals);
    let mut judge =
        |rate, burst, least| judge_corrected(arrivals, size, rate, burst, episodes, least, &mut space);
    let mut best = TokenBucketFit { rate: start.rate, ..TokenBucketFit::default() };
    let bursts = [start.burst, quantile(&mut early, 0.5) as f64];
    for burst in bursts {
        let b = judge(start.rate, burst, f64::NEG_INFINITY);
        best = if b.score() > best.score() || best.burst == 0.0 { b } else { best };
    }
    for (rate_step, burst_step) in [(0.02, 0.2), (0.006, 0.07), (0.002, 0.02)] {
        let middle = best;
        for (x, y) in [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0), (2.0, 0.0), (-2.0, 0.0)] {
            let (rate, burst) = (middle.rate * (1.0 + x * rate_step), middle.burst * (1.0 + y * burst_step));
            let b = judge(rate, burst, best.score());
            best = if b.score() > best.score() { b } else { best };
        }
    }
    best
}

/// Scores a bucket with the backlog corrected, and stops early where the score cannot exceed `least`. `size`
/// is the size of the largest packet, bytes.
fn judge_corrected(
    arrivals: &[PacketArrival],
    size: f64,
    rate: f64,
    burst: f64,
    episodes: f64,
    least: f64,
    space: &mut Vec<f32>,
) -> TokenBucketFit {
    let mut b = TokenBucketFit { rate, burst, corrected: true, ..TokenBucketFit::default() };
    if burst.is_nan() || burst < MIN_BURST_PACKETS as f64 * size {
        return b;
    }
    corrected_depths(arrivals, rate, burst, PULL_SHARE, space);
    let above = |depth: f32| depth as f64 > burst;
    let near = |depth: f32| depth as f64 > 0.7 * burst;
    // Bytes: lost and above, lost, passed and above, passed and near, passed.
    let mut sum = [0.0f64; 5];
    for (a, depth) in arrivals.iter().zip(space.iter()) {
        let bytes = a.bytes as f64;
        let at = if a.lost { 0 } else { 2 };
        sum[at] += if above(*depth) { bytes } else { 0.0 };
        sum[3] += if !a.lost && near(*depth) { bytes } else { 0.0 };
        sum[if a.lost { 1 } else { 4 }] += bytes;
        b.emptied |= !a.lost && (*depth as f64) < 0.25 * burst;
    }
    b.explained = sum[0] / sum[1].max(1.0);
    b.chance = (sum[0] + sum[2]) / (sum[1] + sum[4]);
    b.gain = gain(b.explained, b.chance, episodes);
    b.misclassified = 1.0 - b.explained + sum[2] / sum[3].max(1.0);
    if b.score() <= least {
        return b;
    }
    let mut distance: Vec<f32> = arrivals
        .iter()
        .zip(space.iter())
        .filter(|(a, _)| a.lost)
        .map(|(_, n)| (n - burst as f32).abs())
        .collect();
    b.spread = quantile(&mut distance, 0.5) as f64;
    b
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A policer that is never idle, and a second point behind it that loses one of `elsewhere` packets.
    fn overloaded(elsewhere: u32) -> Vec<PacketArrival> {
        let (rate, burst) = (1e6f64, 30e3f64);
        let (mut tokens, mut last, mut at, mut out) = (burst, 0.0, 0.0, Vec::new());
        for i in 0..20_000u32 {
            // Eight packets at once, every 10 ms: a fifth more than the rate.
            at += if i % 8 == 0 { 10e-3 - 70e-6 } else { 10e-6 };
            tokens = burst.min(tokens + rate * (at - last));
            last = at;
            let passes = tokens >= 1500.0;
            tokens -= if passes { 1500.0 } else { 0.0 };
            let lost = !passes || i % elsewhere == elsewhere - 1;
            out.push(PacketArrival::full(at, 0.05, lost, i));
        }
        out
    }

    #[test]
    fn losses_behind_a_policer_do_not_hide_it() {
        let arrivals = overloaded(700);
        let start = TokenBucketFit { rate: 1.003e6, burst: 30e3, ..TokenBucketFit::default() };
        let b = fit_corrected(&arrivals, &start, 2000.0);
        assert!((b.rate / 1e6 - 1.0).abs() < 0.02 && (b.burst / 30e3 - 1.0).abs() < 0.2, "{b:?}");
        assert!(b.explained > 0.9 && b.misclassified < 0.2, "{b:?}");
        let mut plain = Vec::new();
        corrected_depths(&arrivals, 1e6, 30e3, 0.0, &mut plain);
        let lost = || arrivals.iter().zip(&plain).filter(|(a, _)| a.lost);
        let above = lost().filter(|(_, n)| **n > 30e3).count() as f64 / lost().count() as f64;
        assert!(above < 0.5, "the uncorrected backlog separates the losses: {above}");
    }
}
