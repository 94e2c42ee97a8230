//! The likelihood of delays under a limiter that explains the losses: who waits there, and for how long.
//!
//! Losses alone cannot tell a policer of rate r and bucket L from a link of rate r with a queue of L bytes, or from a shaper
//! whose bucket and queue hold L together: all drop by the same rule. But a packet that finds a backlog of x bytes waits x / r
//! in the link's queue, max(0, x - B) / r behind the shaper's bucket of B bytes, and not at all at the policer.
//!
//! Delay elsewhere adds to that a constant and noise. Noise only adds, so of the packets with about the same backlog the quarter
//! that waited less speaks for all, and now and then all of them waited for something else: what a model leaves is distributed
//! as Laplace's, whose likelihood is the mean distance from the middle, once for each bin of backlog.

use super::super::virtual_queue::{PacketArrival, TokenBucketFit, depths_of, largest, quantile};

/// By how much delays differ at least, seconds: a host's clock and its interrupts.
pub(crate) const NOISE: f64 = 10e-6;
/// Bins of backlog up to the limit, and fewest packets of one.
const BINS: usize = 24;
const FEWEST: usize = 4;
/// Share of the packets of a bin that waited less than what speaks for them.
const QUARTER: f64 = 0.25;
/// The logarithm of how much likelier a model must be to be told: one in twenty is not true.
const SURE: f64 = 3.0;
/// So many slopes of delay against backlog, times the rate, are tried as a queue's: from halfway between nobody's wait and
/// everybody's as far to the other side, where others share its rate.
const SLOPES: usize = 11;
/// Fewer packets than this are no queue behind a bucket.
const QUEUE: f64 = 8.0;
/// Less than this, bytes, is no bucket: the packet on the wire, ACKs for several.
pub(crate) const LEAST_BUCKET: f64 = 15_000.0;
/// So many packets below the limit the backlog is near it, or this share of it.
const NEAR: f64 = 4.0;

/// Who waits at a limiter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Waits {
    /// Nobody: a policer.
    Nobody,
    /// All: a link's queue.
    All,
    /// Who is behind this many bytes: a shaper's queue.
    Behind(f64),
}

/// Delays of packets that passed a limiter, by the backlog that they found.
pub(crate) struct LimiterDelays {
    /// Backlog with the packet in it, bytes, and its delay, seconds.
    points: Vec<(f64, f32)>,
    /// Bytes of the largest packet.
    size: f64,
    /// Bytes a second, and the backlog beyond which it drops, bytes.
    rate: f64,
    limit: f64,
}

impl LimiterDelays {
    /// Of the packets whose delay is known.
    pub fn new(arrivals: &[PacketArrival], b: &TokenBucketFit) -> LimiterDelays {
        let known = arrivals.iter().zip(depths_of(arrivals, b)).filter(|(a, _)| !a.lost && a.rtt.is_finite());
        let points = known.map(|(a, depth)| (depth as f64, a.rtt)).collect();
        LimiterDelays { points, size: largest(arrivals), rate: b.rate, limit: b.burst }
    }

    /// The median delay above `base`, seconds, of packets that came near the limit; `None` where too few of them have one.
    pub fn at_limit(&self, base: f64) -> Option<f64> {
        let near = self.limit - (NEAR * self.size).min(QUARTER * self.limit);
        let mut delays: Vec<f32> = self.points.iter().filter(|p| p.0 > near).map(|p| p.1).collect();
        (delays.len() >= FEWEST).then(|| quantile(&mut delays, 0.5) as f64 - base)
    }

    /// Mean backlog, bytes, and the lower quartile of delay, seconds, of packets by their backlog.
    fn curve(&self) -> Vec<(f64, f64)> {
        let mut bins: Vec<(f64, Vec<f32>)> = vec![(0.0, Vec::new()); BINS];
        for (depth, delay) in &self.points {
            let bin = &mut bins[((depth / self.limit * BINS as f64) as usize).min(BINS - 1)];
            bin.0 += depth;
            bin.1.push(*delay);
        }
        let known = bins.into_iter().filter(|bin| bin.1.len() >= FEWEST);
        known.map(|(sum, mut d)| (sum / d.len() as f64, quantile(&mut d, QUARTER) as f64)).collect()
    }

    /// Which of the three the delays tell, where they tell one; `noise`, seconds: by how much they differ at least.
    pub fn who_waits(&self, noise: f64) -> Option<Waits> {
        let curve = self.curve();
        let count = curve.len() as f64;
        // Two points lie on a line.
        if curve.len() < 3 {
            return None;
        }
        // Of the packet that is on the wire any part may be gone: evenly distributed.
        let noise = noise.hypot(self.size / self.rate / 12f64.sqrt());
        let mut off = Vec::with_capacity(curve.len());
        let mut log_likelihood = |slope: f64, bucket: f64| {
            off.clear();
            off.extend(curve.iter().map(|(x, delay)| delay - slope * (x - bucket).max(0.0) / self.rate));
            off.sort_by(f64::total_cmp);
            let middle = off[off.len() / 2];
            let left = off.iter().map(|o| (o - middle).abs()).sum::<f64>() / count;
            -count * (left + noise).ln()
        };
        // What a number that is fitted costs (Schwarz 1978).
        let number = 0.5 * count.ln();
        let nobody = log_likelihood(0.0, 0.0);
        let mut queue = |bucket: f64| {
            let slopes = (0..SLOPES).map(|i| 0.5 + i as f64 / (SLOPES - 1) as f64);
            slopes.map(|slope| log_likelihood(slope, bucket)).fold(f64::NEG_INFINITY, f64::max) - number
        };
        let all = queue(0.0);
        let may_be = LEAST_BUCKET..=self.limit - QUEUE * self.size;
        let mut likeliest = |from: f64, step: f64| {
            let buckets = (1..BINS).map(|i| from + step * i as f64).filter(|bucket| may_be.contains(bucket));
            buckets.map(|bucket| (bucket, queue(bucket) - number)).max_by(|x, y| x.1.total_cmp(&y.1))
        };
        // A bucket and a queue behind it are two things for one: of what either alone leaves they leave less than 1/e, in the mean of
        // the bins. Buckets are tried one for each bin, then as many about the best.
        let step = self.limit / BINS as f64;
        let behind =
            likeliest(0.0, step).and_then(|(bucket, _)| likeliest(bucket - step, 2.0 * step / BINS as f64));
        match behind {
            Some((bucket, log)) if log > nobody.max(all) + count => Some(Waits::Behind(bucket)),
            _ if nobody > all + SURE => Some(Waits::Nobody),
            _ if all > nobody + SURE => Some(Waits::All),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 1e6;
    const BUCKET: f64 = 60e3;

    /// Bursts that overflow a bucket and a queue behind it of `queue` bytes; a queue alone where `bucket` is 0. `elsewhere`:
    /// seconds that packets wait for something else, by their number.
    fn dropped(bucket: f64, queue: f64, elsewhere: impl Fn(u32) -> f64) -> Vec<PacketArrival> {
        let (mut backlog, mut last, mut out) = (0.0f64, 0.0, Vec::new());
        for i in 0..4000u32 {
            let at = (i / 80) as f64 * 0.1 + (i % 80) as f64 * 1e-4;
            backlog = (backlog - RATE * (at - last)).max(0.0);
            last = at;
            let lost = backlog + 1500.0 > bucket + queue;
            backlog += if lost { 0.0 } else { 1500.0 };
            let rtt = (0.05 + (backlog - bucket).max(0.0) / RATE + elsewhere(i)) as f32;
            out.push(PacketArrival { at, bytes: 1500.0, size: 1500.0, lost, rtt, flow: 0, entry: i });
        }
        out
    }

    fn limit(burst: f64) -> TokenBucketFit {
        TokenBucketFit { rate: RATE, burst, ..TokenBucketFit::default() }
    }

    fn who(bucket: f64, queue: f64, elsewhere: impl Fn(u32) -> f64) -> Option<Waits> {
        LimiterDelays::new(&dropped(bucket, queue, elsewhere), &limit(bucket + queue)).who_waits(NOISE)
    }

    #[test]
    fn who_waits_tells_policer_queue_and_shaper_apart() {
        // Nothing else delays; something does all the same; now and then something does.
        let often = |i: u32| if i.wrapping_mul(2_654_435_761) >> 30 == 0 { 0.03 } else { 0.0 };
        let elsewhere: [&dyn Fn(u32) -> f64; 3] = [&|_| 0.0, &|_| 0.2, &often];
        for elsewhere in elsewhere {
            assert_eq!(who(BUCKET, 0.0, elsewhere), Some(Waits::Nobody));
            assert_eq!(who(0.0, BUCKET, elsewhere), Some(Waits::All));
            let shaper = who(BUCKET - 20e3, 20e3, elsewhere);
            assert!(matches!(shaper, Some(Waits::Behind(b)) if (b - 40e3).abs() < 3e3), "{shaper:?}");
        }
    }

    #[test]
    fn a_bucket_that_drains_within_the_noise_says_nothing() {
        let noise = 10.0 * BUCKET / RATE;
        let delays = |arrivals: &[PacketArrival]| LimiterDelays::new(arrivals, &limit(BUCKET));
        assert_eq!(delays(&dropped(BUCKET, 0.0, |_| 0.0)).who_waits(noise), None);
        assert_eq!(delays(&dropped(0.0, BUCKET, |_| 0.0)).who_waits(noise), None);
        assert_eq!(delays(&[]).who_waits(NOISE), None);
    }

    #[test]
    fn the_wait_near_the_limit_is_what_the_queue_there_takes() {
        let at_limit =
            |arrivals: &[PacketArrival]| LimiterDelays::new(arrivals, &limit(BUCKET)).at_limit(0.05);
        let queued = at_limit(&dropped(0.0, BUCKET, |_| 0.0)).unwrap_or_default();
        assert!((queued - 0.058).abs() < 0.004, "{queued}");
        let policed = at_limit(&dropped(BUCKET, 0.0, |_| 0.0)).unwrap_or(1.0);
        assert!(policed.abs() < 1e-6, "{policed}");
    }
}
