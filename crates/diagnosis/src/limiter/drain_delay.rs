//! How long packets waited when the virtual queue was nearly full: what tells a policer from a queue that overflows.
//!
//! Losses alone cannot tell a policer of rate r and bucket B from a link of rate r with a queue of B bytes: both drop by
//! the same rule. But a packet that just got through waits B / r, the drain time, behind the queue, and not at all
//! behind the policer. Behind a shaper of bucket b with a queue of B - b bytes it waits (B - b) / r. Delay elsewhere only
//! adds, so the least delays count.

use super::virtual_queue::depths_of;
use super::virtual_queue::{PacketArrival, TokenBucketFit, quantile};

/// Delays of packets that passed when the virtual queue was nearly full (near) and less than half full (low), seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DelayNearLimit {
    /// A tenth of those near the limit waited less.
    pub near_p10: f64,
    /// Half of them did.
    pub near_p50: f64,
    /// A tenth of those at a low backlog waited less.
    pub low_p10: f64,
    /// Half of those did.
    pub low_p50: f64,
    /// By so much delays differ at a low backlog, for other reasons than this queue.
    pub noise: f64,
}

/// Who waits when the virtual queue is nearly full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum WaitPattern {
    /// Nobody: a policer.
    Nobody,
    /// As long as all of the bucket takes to drain, seconds: a queue.
    DrainTime(f64),
    /// Less: a shaper's queue behind its bucket.
    Less(f64),
    /// Seconds, behind an empty bucket of this size: a shaper's queue.
    BehindBucket(f64),
    /// Longer than that, all of them: a queue, and delay elsewhere.
    Longer,
    /// Delay elsewhere is greater than what is asked for.
    Unclear,
}

/// So many packets below its limit the virtual queue is nearly full.
const NEAR: f64 = 4.0;
/// Depths are known to so many times what lost packets' depths differ from the limit by.
const UNSURE: f64 = 2.0;
/// Packets near the limit that say enough.
const FEWEST: usize = 6;
/// Packets at a low backlog that tell how much delays differ; and the least that they do, seconds.
const STEADY_FROM: usize = 30;
const LEAST_NOISE: f64 = 10e-6;
/// Fewer packets than this are no queue.
const QUEUED: f64 = 8.0;
/// Behind a queue packets wait for this share of the drain time, least and most.
const QUEUE: (f64, f64) = (0.5, 1.25);
/// Behind a shaper all that get through wait alike: the least wait is at least this share of the common one.
const STEADY: f64 = 0.6;
/// Behind a policer the delay near the limit is above that at a low backlog by less than this share of the drain time.
const POLICER: f64 = 0.35;
/// At a full queue all wait alike: the tenth that waits least waits at least this share of the median.
const ALIKE: f64 = 0.5;
/// A gain that makes a bucket certain.
const CERTAIN: f64 = 100.0;
/// A wait of this share of the drain time hides the queue in question.
const HIDDEN: f64 = 0.75;
/// Misclassified packets of a bucket whose backlog is known well.
const KNOWN: f64 = 0.2;
/// Below this share of the drain time a wait is none, for certain.
const SURE: f64 = 0.1;

/// Delays above `base`, seconds, near the limit and at a low backlog. `None` where too few packets near the limit have one.
pub(crate) fn delays_near_limit(
    arrivals: &[PacketArrival],
    bucket: &TokenBucketFit,
    base: f64,
) -> Option<DelayNearLimit> {
    let size = arrivals.iter().map(|a| a.size).fold(0.0, f32::max) as f64;
    let near = near_depth(bucket, size);
    let (mut at, mut low): (Vec<f32>, Vec<f32>) = Default::default();
    for (a, depth) in
        arrivals.iter().zip(depths_of(arrivals, bucket)).filter(|(a, _)| !a.lost && a.rtt.is_finite())
    {
        let delay = (a.rtt as f64 - base) as f32;
        if depth as f64 > near {
            at.push(delay);
        } else if (depth as f64) < 0.5 * bucket.burst {
            low.push(delay);
        }
    }
    (at.len() >= FEWEST).then(|| DelayNearLimit {
        near_p10: quantile(&mut at, 0.1) as f64,
        near_p50: quantile(&mut at, 0.5) as f64,
        low_p10: if low.len() < FEWEST { 0.0 } else { quantile(&mut low, 0.1) as f64 },
        low_p50: if low.len() < FEWEST { 0.0 } else { quantile(&mut low, 0.5) as f64 },
        noise: if low.len() < STEADY_FROM { f64::INFINITY } else { spread(&mut low).max(LEAST_NOISE) },
    })
}

/// What most of them differ by; outliers are left out.
fn spread(delays: &mut [f32]) -> f64 {
    (quantile(delays, 0.75) - quantile(delays, 0.1)) as f64
}

/// Whether a tenth of the packets near the limit waited less than a queue as deep as they found would have made them, at any
/// rate that fits. What else delays packets only adds to that, so it needs no look at how much they differ.
fn waits_for_nothing(d: &DelayNearLimit, bucket: &TokenBucketFit, size: f64) -> bool {
    let before = near_depth(bucket, size) - size - UNSURE * bucket.spread;
    d.near_p10 < before / bucket.rates().1
}

/// From this depth on, bytes, the virtual queue is nearly full.
fn near_depth(bucket: &TokenBucketFit, size: f64) -> f64 {
    bucket.burst - (NEAR * size).min(0.25 * bucket.burst)
}

/// Says who waits near the limit of `bucket`, from the delays there. `noise`, seconds, is the most that delays differ for
/// other reasons; `size` the bytes of a packet. `None` where the drain time is within the noise: delays do not tell.
pub(crate) fn who_waits(
    d: &DelayNearLimit,
    bucket: &TokenBucketFit,
    size: f64,
    noise: f64,
) -> Option<WaitPattern> {
    let drains = bucket.burst / bucket.rate;
    // Of a bucket of few packets the drain time is too uncertain for a smaller noise.
    let noise = if bucket.burst > QUEUED * size { noise.min(d.noise) } else { noise };
    if drains <= 2.0 * noise {
        return waits_for_nothing(d, bucket, size).then_some(WaitPattern::Nobody);
    }
    // What packets near the limit wait above those at a low backlog: the half of them, and the tenth that waits least.
    let (half, least) = (d.near_p50 - d.low_p10, d.near_p10 - d.low_p10);
    // Jitter makes half of the packets wait, whatever the backlog.
    let risen = d.near_p50 - d.low_p50;
    let share = d.near_p50 / drains;
    let queued = least > STEADY * half && half * bucket.rate > QUEUED * size;
    // One in ten that did not wait at all is enough where the backlog is known well.
    let little = noise.max(SURE * drains);
    let none =
        least < little && (risen < POLICER * drains || bucket.misclassified < KNOWN && d.near_p10 < little);
    let passes = half < noise || none && !queued;
    let alike = d.near_p10 > ALIKE * d.near_p50;
    Some(match () {
        // Packets wait for the drain time even when the virtual queue is less than half full: another queue hides this one.
        () if passes && d.low_p10 > HIDDEN * drains => WaitPattern::Unclear,
        () if passes => WaitPattern::Nobody,
        () if share > QUEUE.0 && share < QUEUE.1 && least > 0.2 * drains && alike => {
            WaitPattern::DrainTime(d.near_p50)
        }
        () if share < QUEUE.0 && queued => WaitPattern::Less(d.near_p50),
        () if least > QUEUE.0 * drains => WaitPattern::Longer,
        // Some waited for so much less that none waits there, and others elsewhere; the losses make the bucket certain.
        () if share < QUEUE.1 && !alike && bucket.gain > CERTAIN => WaitPattern::Nobody,
        () => WaitPattern::Unclear,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 1e6;
    const BUCKET: f64 = 60e3;

    /// Bursts that overflow a bucket and a queue behind it of `queue` bytes; a queue alone where `bucket` is 0.
    fn dropped(bucket: f64, queue: f64) -> Vec<PacketArrival> {
        let (mut backlog, mut last, mut out) = (0.0f64, 0.0, Vec::new());
        for i in 0..4000 {
            let at = (i / 80) as f64 * 0.1 + (i % 80) as f64 * 1e-4;
            backlog = (backlog - RATE * (at - last)).max(0.0);
            last = at;
            let lost = backlog + 1500.0 > bucket + queue;
            backlog += if lost { 0.0 } else { 1500.0 };
            let rtt = (0.05 + (backlog - bucket).max(0.0) / RATE) as f32;
            out.push(PacketArrival { at, bytes: 1500.0, size: 1500.0, lost, rtt, flow: 0, entry: i as u32 });
        }
        out
    }

    fn who(bucket: f64, queue: f64) -> Option<WaitPattern> {
        let all = TokenBucketFit { rate: RATE, burst: bucket + queue, ..TokenBucketFit::default() };
        who_waits(&delays_near_limit(&dropped(bucket, queue), &all, 0.05)?, &all, 1500.0, 0.0002)
    }

    #[test]
    fn who_waits_near_the_limit_tells_policer_queue_and_shaper_apart() {
        assert_eq!(who(BUCKET, 0.0), Some(WaitPattern::Nobody));
        let queue = who(0.0, BUCKET);
        assert!(matches!(queue, Some(WaitPattern::DrainTime(d)) if (d - 0.058).abs() < 0.004), "{queue:?}");
        let shaper = who(BUCKET - 20e3, 20e3);
        assert!(matches!(shaper, Some(WaitPattern::Less(d)) if (d - 0.018).abs() < 0.003), "{shaper:?}");
    }

    #[test]
    fn where_all_wait_for_another_queue_nobody_knows() {
        let all = TokenBucketFit { rate: RATE, burst: BUCKET, ..TokenBucketFit::default() };
        let d = delays_near_limit(&dropped(BUCKET, 0.0), &all, 0.05).expect("packets near the limit");
        let elsewhere = |s: f64| DelayNearLimit {
            near_p10: d.near_p10 + s,
            near_p50: d.near_p50 + s,
            low_p10: d.low_p10 + s,
            ..d
        };
        assert_eq!(who_waits(&elsewhere(0.03), &all, 1500.0, 0.0002), Some(WaitPattern::Nobody));
        assert_eq!(who_waits(&elsewhere(0.05), &all, 1500.0, 0.0002), Some(WaitPattern::Unclear));
    }

    #[test]
    fn a_bucket_that_drains_within_the_noise_says_nothing() {
        let all = TokenBucketFit { rate: RATE, burst: BUCKET, ..TokenBucketFit::default() };
        let d = delays_near_limit(&dropped(BUCKET, 0.0), &all, 0.05).expect("packets near the limit");
        let long = DelayNearLimit { near_p10: 0.058, near_p50: 0.06, ..d };
        assert_eq!(who_waits(&DelayNearLimit { noise: 0.04, ..long }, &all, 1500.0, 0.04), None);
        // Delays that are known to be steady say more.
        assert_eq!(who_waits(&d, &all, 1500.0, 0.04), Some(WaitPattern::Nobody));
        // Not of a bucket of few packets.
        let few = TokenBucketFit { burst: 9e3, ..all };
        assert_eq!(who_waits(&DelayNearLimit { near_p10: 0.006, ..d }, &few, 1500.0, 0.04), None);
    }

    #[test]
    fn who_waited_less_than_the_queue_before_it_was_at_none_whatever_the_noise() {
        let d = delays_near_limit(
            &dropped(BUCKET, 0.0),
            &TokenBucketFit { rate: RATE, burst: BUCKET, ..TokenBucketFit::default() },
            0.05,
        )
        .expect("packets near the limit");
        // From three quarters of it on a queue of six packets holds three and a half before a packet: 5.25 ms.
        let few = TokenBucketFit { rate: RATE, burst: 9e3, ..TokenBucketFit::default() };
        let who =
            |near_p10, b: &TokenBucketFit| who_waits(&DelayNearLimit { near_p10, ..d }, b, 1500.0, 0.04);
        assert_eq!(who(0.005, &few), Some(WaitPattern::Nobody));
        assert_eq!(who(0.0055, &few), None);
        // At the greatest rate that fits, and with depths as unsure as they are.
        assert_eq!(who(0.005, &TokenBucketFit { as_good: Some((RATE, 2.0 * RATE)), ..few }), None);
        assert_eq!(who(0.005, &TokenBucketFit { spread: 500.0, ..few }), None);
    }

    #[test]
    fn who_waits_much_less_than_others_at_the_end_of_a_queue_is_at_no_queue() {
        // Packets of a burst wait for each other elsewhere, as behind jitter, up to as long as the bucket takes to drain.
        let bucket = |gain| TokenBucketFit {
            rate: RATE,
            burst: BUCKET,
            gain,
            misclassified: 0.3,
            ..TokenBucketFit::default()
        };
        let of = |near_p10, near_p50| {
            let d = DelayNearLimit { near_p10, near_p50, low_p10: 0.01, low_p50: 0.02, noise: 0.001 };
            move |gain| who_waits(&d, &bucket(gain), 1500.0, 0.0002)
        };
        assert_eq!(of(0.05, 0.055)(200.0), Some(WaitPattern::DrainTime(0.055)));
        assert_eq!(of(0.025, 0.055)(200.0), Some(WaitPattern::Nobody));
        assert_eq!(of(0.025, 0.055)(20.0), Some(WaitPattern::Unclear));
    }
}
