//! The likelihood of packets' delays under a limiter that explains their losses: which packets wait, and for
//! how long.
//!
//! A policer of rate r and bucket L, a link of rate r with a queue of L bytes, and a shaper whose bucket and
//! queue together hold L bytes all drop by the same rule. Losses alone cannot distinguish them. Delays can. A
//! packet that finds a backlog of x bytes waits x / r in the link's queue, max(0, x - B) / r behind the
//! shaper's bucket of B bytes, and not at all at the policer.
//!
//! Delay on the rest of the path adds a constant and noise ([`super::noise`]). The noise counts once for each
//! bin of backlog.
//!
//! Where nothing is lost, delays alone show a queue. Its rate is the rate at which packets leave while some
//! wait, and the constant is the least delay of all packets.

use super::super::virtual_queue::{
    PacketArrival, TokenBucketFit, depths_of, drained, flows, largest, quantile,
};
use super::fair_queue::FairQueue;
use super::noise::{LIMITER_QUANTILE, cost_of_number, log_likelihood};
use super::{LimiterModel, NoLimiterModel, SURE_LEAD, ShaperModel, TailDropModel};

/// Least spread of delays, seconds, from a host's clock and its interrupts.
pub(crate) const NOISE: f64 = 10e-6;
/// Bins of backlog up to the limit.
const BINS: usize = 24;
/// Fewest packets of a bin that counts.
const MIN_BIN_PACKETS: usize = 4;
/// A bucket, or the queue behind it, holds at least this many packets. The packet on the wire, and ACKs that
/// cover several packets, look like smaller ones.
pub(crate) const FEW_PACKETS: f64 = 10.0;
/// The quantile that represents the greatest value, without outliers.
pub(crate) const MAX_QUANTILE: f64 = 0.99;

/// The delays of packets that passed a limiter, with the backlog that each found.
pub(crate) struct LimiterDelays {
    /// Backlog with the packet in it, bytes, and its delay, seconds.
    points: Vec<(f64, f32)>,
    /// Bytes of the largest packet.
    size: f64,
    /// Bytes a second.
    rate: f64,
    /// Backlog beyond which the limiter drops, bytes.
    limit: f64,
    /// Delay without waiting, seconds, where it is known.
    base: Option<f64>,
    /// Least spread of delays, seconds.
    noise: f64,
    /// Greatest delay without outliers, seconds, of all packets that are not lost.
    pub max_delay: f64,
    /// Bins of backlog ([`curve`]).
    pub curve: Vec<CurveBin>,
}

/// The mean backlog of a bin, bytes, and the lower quartile of its delays, seconds: first as they are, then
/// with each delay reduced to the mean backlog, as is right where packets wait for their backlog.
type CurveBin = (f64, [f64; 2]);

impl LimiterDelays {
    /// Takes the packets whose delay is known.
    pub fn new(arrivals: &[PacketArrival], b: &TokenBucketFit, noise: f64) -> LimiterDelays {
        let passed = arrivals.iter().zip(depths_of(arrivals, b)).filter(|(a, _)| !a.lost);
        let points: Vec<(f64, f32)> =
            passed.filter_map(|(a, depth)| Some((depth as f64, a.delay.get()?))).collect();
        let (rate, limit) = (b.rate, b.burst);
        let (max_delay, curve) = (max_delay(&points), curve(&points, limit, rate));
        LimiterDelays { points, size: largest(arrivals), rate, limit, base: None, noise, max_delay, curve }
    }

    /// Computes the backlog at a queue of `rate` bytes a second, for packets that came in the first `span`
    /// seconds after the start and after each pause. Over longer times the error of the rate adds up.
    pub fn since_pauses(
        arrivals: &[PacketArrival],
        rate: f64,
        (span, merged): (f64, bool),
        base: f64,
        noise: f64,
    ) -> LimiterDelays {
        let points = backlogs(arrivals, rate, span, merged);
        LimiterDelays::of_points(points, largest(arrivals), rate, base, noise)
    }

    /// Takes backlog (bytes, with the packet in it) and delay (seconds) of each packet.
    pub fn of_points(
        mut points: Vec<(f64, f32)>,
        size: f64,
        rate: f64,
        base: f64,
        noise: f64,
    ) -> LimiterDelays {
        let mut backlogs: Vec<f32> = points.iter().map(|p| p.0 as f32).collect();
        let limit = quantile(&mut backlogs, MAX_QUANTILE) as f64;
        let max_delay = max_delay(&points);
        points.retain(|p| p.0 <= limit);
        let curve = curve(&points, limit, rate);
        LimiterDelays { points, size, rate, limit, base: Some(base), noise, max_delay, curve }
    }

    /// Whether each flow has a queue of its own: whether that predicts the delays better than one queue for
    /// all, with a bucket or without, and than no queue. The two models sort packets into different bins,
    /// so the smaller number of bins counts for both.
    pub fn is_fair(&self, arrivals: &[PacketArrival], (span, merged): (f64, bool)) -> bool {
        let count = flows(arrivals);
        let several = (count > 1).then(|| self.likelihoods().zip(self.base)).flatten();
        let Some((common, base)) = several else { return false };
        let points = points(arrivals, self.rate, span, merged, &mut FairQueue::new(self.rate));
        // Each flow has a packet on the wire or none.
        let noise = self.noise.hypot(count as f64 * self.size / self.rate / 12f64.sqrt());
        let fair = LimiterDelays::of_points(points, self.size, self.rate, base, noise).likelihoods();
        let best = common.behind.map_or(common.all, |b| b.1.max(common.all)).max(common.no_wait);
        let likelier =
            |fair: &Likelihoods| (fair.all / fair.count - best / common.count) * fair.count.min(common.count);
        fair.is_some_and(|fair| likelier(&fair) > SURE_LEAD)
    }

    /// Returns the median delay above `base`, seconds, of packets that came near the limit; `None` where too
    /// few of them have a delay.
    pub fn at_limit(&self, base: f64) -> Option<f64> {
        let near = self.limit - (FEW_PACKETS * self.size).min(LIMITER_QUANTILE * self.limit);
        let mut delays: Vec<f32> = self.points.iter().filter(|p| p.0 > near).map(|p| p.1).collect();
        (delays.len() >= MIN_BIN_PACKETS).then(|| quantile(&mut delays, 0.5) as f64 - base)
    }

    /// Returns the log likelihood of the bins' delays under each model; `None` where no bin has enough
    /// packets.
    pub fn likelihoods(&self) -> Option<Likelihoods> {
        let curve = &self.curve;
        if curve.is_empty() {
            return None;
        }
        let count = curve.len() as f64;
        // Any part of the packet on the wire may have left already, evenly distributed.
        let noise = self.noise.hypot(self.size / self.rate / 12f64.sqrt());
        let mut left = Vec::with_capacity(curve.len());
        let mut log_likelihood = |model: &dyn LimiterModel, middle: Option<f64>| {
            left.clear();
            left.extend(curve.iter().map(|(x, delays)| {
                let wait = model.wait(*x);
                delays[usize::from(wait > 0.0)] - wait
            }));
            log_likelihood(&mut left, middle, noise) - model.numbers() * cost_of_number(count)
        };
        let no_wait = log_likelihood(&NoLimiterModel, None);
        let mut queue = |bucket: f64| {
            let mut at = |slope: f64| {
                let queue = TailDropModel { rate: self.rate, slope };
                match bucket {
                    0.0 => log_likelihood(&queue, self.base),
                    _ => log_likelihood(&ShaperModel { bucket, queue }, self.base),
                }
            };
            match self.base {
                Some(_) => at(1.0),
                None => {
                    // Other traffic shares the rate, so the delay may rise faster or slower with the backlog.
                    let slopes = (0..=BINS).map(|i| 0.5 + i as f64 / BINS as f64);
                    slopes.map(at).fold(f64::NEG_INFINITY, f64::max)
                }
            }
        };
        let all = queue(0.0);
        let may_be = FEW_PACKETS * self.size..=self.limit - FEW_PACKETS * self.size;
        let mut most_probable = |from: f64, step: f64| {
            let buckets = (1..BINS).map(|i| from + step * i as f64).filter(|bucket| may_be.contains(bucket));
            buckets.map(|bucket| (bucket, queue(bucket))).max_by(|x, y| x.1.total_cmp(&y.1))
        };
        // Try a bucket at each bin, then the same number around the best.
        let step = self.limit / BINS as f64;
        let behind = most_probable(0.0, step)
            .and_then(|(bucket, _)| most_probable(bucket - step, 2.0 * step / BINS as f64));
        Some(Likelihoods { count, no_wait, all, behind })
    }

    /// Returns the bucket, bytes, more exactly than the width of a bin allows: the backlog less what the
    /// packet's wait takes at the rate, in the median over packets that find more than `bucket` bytes.
    pub fn passed_without_wait(&self, bucket: f64) -> f64 {
        let Some(base) = self.base else { return bucket };
        let waiting = self.points.iter().filter(|p| p.0 > bucket + FEW_PACKETS * self.size);
        let mut without: Vec<f32> = waiting.map(|p| (p.0 - self.rate * (p.1 as f64 - base)) as f32).collect();
        if without.is_empty() { bucket } else { quantile(&mut without, 0.5) as f64 }
    }
}

/// Returns the greatest delay without outliers, seconds.
fn max_delay(points: &[(f64, f32)]) -> f64 {
    let mut delays: Vec<f32> = points.iter().map(|p| p.1).collect();
    quantile(&mut delays, MAX_QUANTILE) as f64
}

/// Sorts packets into bins of backlog up to `limit` bytes. `rate` is that of the limiter, bytes a second.
fn curve(points: &[(f64, f32)], limit: f64, rate: f64) -> Vec<CurveBin> {
    let mut bins: Vec<(f64, Vec<(f64, f32)>)> = vec![(0.0, Vec::new()); BINS];
    for point in points {
        let bin = &mut bins[((point.0 / limit * BINS as f64) as usize).min(BINS - 1)];
        bin.0 += point.0;
        bin.1.push(*point);
    }
    let known = bins.into_iter().filter(|bin| bin.1.len() >= MIN_BIN_PACKETS);
    let typical = |(sum, points): (f64, Vec<(f64, f32)>)| {
        let mean = sum / points.len() as f64;
        let mut delays: Vec<f32> = points.iter().map(|p| p.1).collect();
        let flat = quantile(&mut delays, LIMITER_QUANTILE) as f64;
        let longer = |p: &(f64, f32)| p.1 - ((p.0 - mean) / rate) as f32;
        delays.clear();
        delays.extend(points.iter().map(longer));
        (mean, [flat, quantile(&mut delays, LIMITER_QUANTILE) as f64])
    };
    known.map(typical).collect()
}

/// Log likelihoods of the models, each less the cost of its fitted numbers.
pub(crate) struct Likelihoods {
    /// Observations: bins of backlog.
    pub count: f64,
    /// No packet waits, as at a policer.
    pub no_wait: f64,
    /// Every packet waits in a link's queue.
    pub all: f64,
    /// Packets wait behind a bucket, as at a shaper: the most likely bucket, bytes, and its log likelihood.
    pub behind: Option<(f64, f64)>,
}

impl Likelihoods {
    /// Returns how much more likely a model is than the best of the others, nats per bin, at most
    /// [`SURE_LEAD`]. The mean over the bins counts and not their sum, because neighbouring bins depend on
    /// each other.
    pub fn than_others(&self, likely: f64) -> f64 {
        let all = [self.no_wait, self.all, self.behind.map_or(f64::NEG_INFINITY, |b| b.1)];
        let others = all.into_iter().filter(|other| *other != likely).fold(f64::NEG_INFINITY, f64::max);
        ((likely - others) / self.count).clamp(-SURE_LEAD, SURE_LEAD)
    }
}

/// The queue of a limiter as a model keeps it.
pub(super) trait LimiterQueue {
    /// Lets time pass.
    fn drain(&mut self, seconds: f64);
    /// Returns the backlog, bytes.
    fn backlog(&self) -> f64;
    /// Returns the bytes that leave until a packet of `own` bytes that arrives now has left, including the
    /// packet.
    fn before(&self, flow: u16, own: f64) -> f64;
    /// Adds a packet.
    fn add(&mut self, flow: u16, bytes: f64);
}

/// One queue for all flows.
struct CommonQueue {
    rate: f64,
    backlog: f64,
}

impl LimiterQueue for CommonQueue {
    fn drain(&mut self, seconds: f64) {
        self.backlog = drained(self.backlog, self.rate, seconds);
    }

    fn backlog(&self) -> f64 {
        self.backlog
    }

    fn before(&self, _flow: u16, own: f64) -> f64 {
        self.backlog + own
    }

    fn add(&mut self, _flow: u16, bytes: f64) {
        self.backlog += bytes;
    }
}

/// Returns the backlog (bytes, including the packet) and the delay (seconds) of each packet that has a delay
/// and came in the first `span` seconds after the start or after a pause. Over longer times the error of the
/// rate adds up.
fn backlogs(arrivals: &[PacketArrival], rate: f64, span: f64, merged: bool) -> Vec<(f64, f32)> {
    points(arrivals, rate, span, merged, &mut CommonQueue { rate, backlog: 0.0 })
}

/// Returns backlog and delay as [`backlogs`] does, for any model of a queue.
fn points(
    arrivals: &[PacketArrival],
    rate: f64,
    span: f64,
    merged: bool,
    queue: &mut impl LimiterQueue,
) -> Vec<(f64, f32)> {
    let mut points = Vec::new();
    let mut last = arrivals.first().map_or(0.0, |a| a.at);
    let mut began = last;
    for a in arrivals {
        let gap = a.at - last;
        if gap > 2.0 * queue.backlog() / rate {
            began = a.at;
        }
        queue.drain(gap);
        last = a.at;
        if a.lost {
            continue;
        }
        // The delay of merged packets is the mean of theirs.
        let own = if merged { 0.5 * (a.size + a.bytes) } else { a.bytes };
        if let Some(delay) = a.delay.get().filter(|_| a.at - began <= span) {
            points.push((queue.before(a.flow, own as f64), delay));
        }
        queue.add(a.flow, a.bytes as f64);
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 1e6;
    const BUCKET: f64 = 60e3;

    /// Bursts that overflow a bucket and a queue behind it of `queue` bytes, or a queue alone where `bucket`
    /// is 0. `elsewhere` gives the seconds that a packet waits on the rest of the path, by its number.
    fn dropped(bucket: f64, queue: f64, elsewhere: impl Fn(u32) -> f64) -> Vec<PacketArrival> {
        let (mut backlog, mut last, mut out) = (0.0f64, 0.0, Vec::new());
        for i in 0..4000u32 {
            let at = (i / 80) as f64 * 0.1 + (i % 80) as f64 * 1e-4;
            backlog = (backlog - RATE * (at - last)).max(0.0);
            last = at;
            let lost = backlog + 1500.0 > bucket + queue;
            backlog += if lost { 0.0 } else { 1500.0 };
            let delay = 0.05 + (backlog - bucket).max(0.0) / RATE + elsewhere(i);
            out.push(PacketArrival::full(at, delay, lost, i));
        }
        out
    }

    fn limit(burst: f64) -> TokenBucketFit {
        TokenBucketFit { rate: RATE, burst, ..TokenBucketFit::default() }
    }

    /// The most likely model (0: no packet waits, 1: all wait, 2: behind a bucket), its lead in nats per bin,
    /// and the bucket in bytes.
    fn most_likely(arrivals: &[PacketArrival], noise: f64, limit_bytes: f64) -> Option<(usize, f64, f64)> {
        let likely = LimiterDelays::new(arrivals, &limit(limit_bytes), noise).likelihoods()?;
        let (bucket, behind) = likely.behind.unwrap_or((0.0, f64::NEG_INFINITY));
        let all = [likely.no_wait, likely.all, behind];
        let best = (0..3).max_by(|a, b| all[*a].total_cmp(&all[*b]))?;
        Some((best, likely.than_others(all[best]), bucket))
    }

    #[test]
    fn delays_distinguish_policer_queue_and_shaper() {
        // The rest of the path adds nothing, a constant, or occasional delays.
        let often = |i: u32| if i.wrapping_mul(2_654_435_761) >> 30 == 0 { 0.03 } else { 0.0 };
        let elsewhere: [&dyn Fn(u32) -> f64; 3] = [&|_| 0.0, &|_| 0.2, &often];
        for elsewhere in elsewhere {
            let model = |bucket: f64, queue: f64| {
                most_likely(&dropped(bucket, queue, elsewhere), NOISE, bucket + queue)
            };
            let policer = model(BUCKET, 0.0);
            assert!(matches!(policer, Some((0, likelier, _)) if likelier > 0.1), "{policer:?}");
            let queue = model(0.0, BUCKET);
            assert!(matches!(queue, Some((1, likelier, _)) if likelier > 0.1), "{queue:?}");
            let shaper = model(BUCKET - 20e3, 20e3);
            assert!(
                matches!(shaper, Some((2, likelier, b)) if likelier > 0.1 && (b - 40e3).abs() < 3e3),
                "{shaper:?}"
            );
        }
    }

    #[test]
    fn a_bucket_that_drains_within_the_noise_decides_nothing() {
        let noise = 10.0 * BUCKET / RATE;
        for (bucket, queue) in [(BUCKET, 0.0), (0.0, BUCKET)] {
            let likely = most_likely(&dropped(bucket, queue, |_| 0.0), noise, BUCKET);
            assert!(likely.is_none_or(|(_, lead, _)| lead < 0.1), "{likely:?}");
        }
        assert_eq!(most_likely(&[], noise, BUCKET), None);
    }

    #[test]
    fn the_delay_near_the_limit_is_the_time_a_full_queue_takes_to_drain() {
        let at_limit =
            |arrivals: &[PacketArrival]| LimiterDelays::new(arrivals, &limit(BUCKET), NOISE).at_limit(0.05);
        let queued = at_limit(&dropped(0.0, BUCKET, |_| 0.0)).unwrap_or_default();
        assert!((queued - 0.058).abs() < 0.004, "{queued}");
        let policed = at_limit(&dropped(BUCKET, 0.0, |_| 0.0)).unwrap_or(1.0);
        assert!(policed.abs() < 1e-6, "{policed}");
    }
}
