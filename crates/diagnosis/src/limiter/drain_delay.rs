//! How long packets waited when the virtual queue was nearly full: what tells a policer from a queue that overflows.
//!
//! Losses alone cannot tell a policer of rate r and bucket B from a link of rate r with a queue of B bytes: both drop by
//! the same rule. But a packet that just got through waits B / r, the drain time, behind the queue, and not at all
//! behind the policer. Behind a shaper of bucket b with a queue of B - b bytes it waits (B - b) / r. Delay elsewhere only
//! adds, so the least delays count.

use super::virtual_queue::depths_of;
use super::virtual_queue::{PacketArrival, TokenBucketFit, quantile};

/// Delay of packets that just got through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DelayNearLimit {
    /// A tenth of them waited less, seconds.
    pub least: f64,
    /// Half of them did.
    pub median: f64,
    /// A tenth of the packets that found the bucket more than half full waited less.
    pub before: f64,
    /// Half of those did.
    pub usual: f64,
    /// By so much these differ for reasons that do not concern us, seconds.
    pub noise: f64,
}

/// Who waits when the virtual queue is nearly full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum WaitPattern {
    /// Nobody: a policer. `true`: that is certain.
    Nobody(bool),
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

/// Packets from the burst at which the bucket is all but empty.
const NEAR: f64 = 4.0;
/// Packets near the limit that say enough.
const FEWEST: usize = 6;
/// Packets with the bucket more than half full that tell how much delays differ, and the least that they can.
const STEADY_FROM: usize = 30;
const LEAST_NOISE: f64 = 10e-6;
/// A queue holds more packets than this.
const QUEUED: f64 = 8.0;
/// Share of the bucket that waits behind a queue, least and most; and most behind a policer.
const QUEUE: (f64, f64) = (0.5, 1.25);
/// Behind a shaper all that get through wait alike: the least delay is this much of the common one.
const STEADY: f64 = 0.6;
const POLICER: f64 = 0.35;
/// At a queue's end all wait alike: nobody less than this share of the half of them.
const ALIKE: f64 = 0.5;
/// A gain that makes a bucket certain.
const CERTAIN: f64 = 100.0;
/// Share of the time that a bucket takes to drain which is as long as that.
const HIDDEN: f64 = 0.75;
/// Misclassified packets of a bucket whose backlog is known well.
const KNOWN: f64 = 0.2;
/// Below this share of the drain time a wait is none, for certain.
const SURE: f64 = 0.1;

/// Delays of `arrivals`, above `base` (seconds), where the bucket leaves a few packets' room.
/// `None` where too few of these have a delay.
pub(crate) fn delays_near_limit(
    arrivals: &[PacketArrival],
    bucket: &TokenBucketFit,
    base: f64,
) -> Option<DelayNearLimit> {
    let size = arrivals.iter().map(|a| a.size).fold(0.0, f32::max) as f64;
    let near = bucket.burst - (NEAR * size).min(0.25 * bucket.burst);
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
        least: quantile(&mut at, 0.1) as f64,
        median: quantile(&mut at, 0.5) as f64,
        before: if low.len() < FEWEST { 0.0 } else { quantile(&mut low, 0.1) as f64 },
        usual: if low.len() < FEWEST { 0.0 } else { quantile(&mut low, 0.5) as f64 },
        noise: if low.len() < STEADY_FROM { f64::INFINITY } else { spread(&mut low).max(LEAST_NOISE) },
    })
}

/// What most of them differ by; outliers are left out.
fn spread(delays: &mut [f32]) -> f64 {
    (quantile(delays, 0.75) - quantile(delays, 0.1)) as f64
}

/// Says who waits near the limit of `bucket`, from the delays there; `noise` (seconds) is the most that delays differ by anyway,
/// `size` bytes of a packet. `None` where delays do not tell: the bucket drains within the noise.
pub(crate) fn who_waits(
    d: &DelayNearLimit,
    bucket: &TokenBucketFit,
    size: f64,
    noise: f64,
) -> Option<WaitPattern> {
    let drains = bucket.burst / bucket.rate;
    // The rate of a bucket of few packets, and so how long it drains, is too uncertain for less than that.
    let noise = if bucket.burst > QUEUED * size { noise.min(d.noise) } else { noise };
    if drains <= 2.0 * noise {
        return None;
    }
    let (more, least) = (d.median - d.before, d.least - d.before);
    // Jitter makes the half of them wait, whatever the backlog.
    let risen = d.median - d.usual;
    let share = d.median / drains;
    let queued = least > STEADY * more && more * bucket.rate > QUEUED * size;
    // One in ten that did not wait at all is enough where the backlog is known well.
    let little = noise.max(SURE * drains);
    let none =
        least < little && (risen < POLICER * drains || bucket.misclassified < KNOWN && d.least < little);
    let passes = more < noise || none && !queued;
    let alike = d.least > ALIKE * d.median;
    Some(match () {
        // Packets wait for the drain time even when the virtual queue is less than half full: another queue hides this one.
        () if passes && d.before > HIDDEN * drains => WaitPattern::Unclear,
        () if passes => WaitPattern::Nobody(more < SURE * drains),
        () if share > QUEUE.0 && share < QUEUE.1 && least > 0.2 * drains && alike => {
            WaitPattern::DrainTime(d.median)
        }
        () if share < QUEUE.0 && queued => WaitPattern::Less(d.median),
        () if least > QUEUE.0 * drains => WaitPattern::Longer,
        // Some waited for so much less that none waits there, and others elsewhere; the losses make the bucket certain.
        () if share < QUEUE.1 && !alike && bucket.gain > CERTAIN => WaitPattern::Nobody(false),
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
        assert_eq!(who(BUCKET, 0.0), Some(WaitPattern::Nobody(true)));
        let queue = who(0.0, BUCKET);
        assert!(matches!(queue, Some(WaitPattern::DrainTime(d)) if (d - 0.058).abs() < 0.004), "{queue:?}");
        let shaper = who(BUCKET - 20e3, 20e3);
        assert!(matches!(shaper, Some(WaitPattern::Less(d)) if (d - 0.018).abs() < 0.003), "{shaper:?}");
    }

    #[test]
    fn where_all_wait_for_another_queue_nobody_knows() {
        let all = TokenBucketFit { rate: RATE, burst: BUCKET, ..TokenBucketFit::default() };
        let d = delays_near_limit(&dropped(BUCKET, 0.0), &all, 0.05).expect("packets near the limit");
        let elsewhere =
            |s: f64| DelayNearLimit { least: d.least + s, median: d.median + s, before: d.before + s, ..d };
        assert_eq!(who_waits(&elsewhere(0.03), &all, 1500.0, 0.0002), Some(WaitPattern::Nobody(true)));
        assert_eq!(who_waits(&elsewhere(0.05), &all, 1500.0, 0.0002), Some(WaitPattern::Unclear));
    }

    #[test]
    fn a_bucket_that_drains_within_the_noise_says_nothing() {
        let all = TokenBucketFit { rate: RATE, burst: BUCKET, ..TokenBucketFit::default() };
        let d = delays_near_limit(&dropped(BUCKET, 0.0), &all, 0.05).expect("packets near the limit");
        assert_eq!(who_waits(&DelayNearLimit { noise: 0.04, ..d }, &all, 1500.0, 0.04), None);
        // Delays that are known to be steady say more.
        assert_eq!(who_waits(&d, &all, 1500.0, 0.04), Some(WaitPattern::Nobody(true)));
        // Not of a bucket of few packets.
        let few = TokenBucketFit { burst: 9e3, ..all };
        assert_eq!(who_waits(&d, &few, 1500.0, 0.04), None);
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
        let of = |least, median| {
            let d = DelayNearLimit { least, median, before: 0.01, usual: 0.02, noise: 0.001 };
            move |gain| who_waits(&d, &bucket(gain), 1500.0, 0.0002)
        };
        assert_eq!(of(0.05, 0.055)(200.0), Some(WaitPattern::DrainTime(0.055)));
        assert_eq!(of(0.025, 0.055)(200.0), Some(WaitPattern::Nobody(false)));
        assert_eq!(of(0.025, 0.055)(20.0), Some(WaitPattern::Unclear));
    }
}
