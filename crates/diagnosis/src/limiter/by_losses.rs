//! A limiter found by its losses: a policer, or a queue that overflows.
//!
//! 1. The token bucket that explains the losses best ([`super::rate_search`]) must do so by more than chance, and be likelier
//!    a limiter's than none ([`super::sure`]).
//! 2. What was lost before the capture has no time of its own; it is placed right behind the packet before it. That
//!    placing must not be what explains the losses, and gaps must not say that a queue lost them ([`super::loss_gaps`]).
//! 3. Who waits, by how full the virtual queue is, says what it is ([`super::model::delays`]).

use super::model::delays::{LimiterDelays, NOISE, Waits};
use super::rate_search::fit;
use super::sure::sure;
use super::virtual_queue::{self, CHANCE, PacketArrival, TokenBucketFit};
use super::{CLOCK, FoundLimiter, PathFacts, loss_gaps, model, sender_line};
use result::diagnosis::LimiterKind;

/// Share of the losses the bucket has to explain; others may have been lost elsewhere.
const LEAST_EXPLAINED: f64 = 0.35;
/// A bucket of fewer packets depends on where within a burst a packet was lost.
const FEW_PACKETS: f64 = 20.0;
/// The largest bucket, bytes: ten seconds at 25 Mbit/s. What takes longer to fill one drops for another reason.
const LARGEST_BUCKET: f64 = 32e6;
/// Less than this share of the gain is left without times where lost and passed packets alike come near the limit.
const NOT_ALIKE: f64 = 0.1;
/// At least this share of the gain is left without times where it does not matter how losses are placed.
const NOT_PLACED: f64 = 0.8;
/// Packets that wait at a shaper, at least.
const LEAST_WAITING: f64 = 3.0;
/// A link this many times faster than the bucket's rate is another thing.
const FAR_FASTER: f64 = 4.0;
/// Below this gain the sender's line is not asked for.
const LEAST_GAIN: f64 = 4.0;
/// At the line's end a bucket's score must be so many times as high, where that is certain and where not; have fewer errors
/// than this; and be slower than this share of the line, whose own queue loses at its rate.
const HIGHER_SCORE: (f64, f64) = (0.95, 1.05);
const FEW_ERRORS: f64 = 0.5;
const BELOW_LINE: f64 = 0.85;
/// Packets that pass far beyond the limit to each that is lost, at most.
const PASSED_BEYOND: f64 = 1.2;
/// A bucket that is this likely to be a limiter's ([`sure`]) is one for certain.
const CERTAIN: f64 = 0.9;
/// Rates that differ by less than this share are the same.
const SAME_RATE: f64 = 0.15;

/// Finds it; `clocked` are the same packets with their delays to the capture, where timestamps tell them. Behind the capture
/// the sender's own line may be between it and a policer: then `arrivals` become those at its end.
pub(super) fn limiter_by_losses<'a>(
    arrivals: &mut Vec<PacketArrival>,
    clocked: impl Fn() -> Option<&'a [PacketArrival]>,
    path: PathFacts,
    found: FoundLimiter,
) -> Option<FoundLimiter> {
    let width = path.episode();
    let bucket = fit(arrivals, width, path.behind)?;
    let mut best = classify(bucket, arrivals, clocked, path, found);
    if !path.behind || bucket.gain < LEAST_GAIN {
        return best;
    }
    let (mut score, mut kept) = (bucket.score(), None);
    let lines = sender_line::rates(arrivals);
    if let Some(line) = lines.iter().map(|line| line.0).find(|rate| explains_as_well(&bucket, *rate)) {
        return best.map(|f| if f.kind == LimiterKind::Policer { queue_before(line, f) } else { f });
    }
    for (rate, certain) in lines {
        let after: Vec<PacketArrival> = sender_line::behind_line(arrivals, rate).collect();
        let clearer = score * if certain { HIGHER_SCORE.0 } else { HIGHER_SCORE.1 };
        let is = |b: &TokenBucketFit| {
            b.score() > clearer && b.misclassified < FEW_ERRORS && b.rate < BELOW_LINE * rate
        };
        let Some(b) = fit(&after, width, true).filter(is) else { continue };
        let at_its_end = classify(b, &after, || None, path, found);
        if at_its_end.is_some_and(|f| f.kind == LimiterKind::Policer) {
            (best, score, kept) = (at_its_end, b.score(), Some(after));
        }
    }
    *arrivals = kept.unwrap_or_else(|| std::mem::take(arrivals));
    best
}

/// Whether the bucket would explain the losses as well at this rate.
fn explains_as_well(b: &TokenBucketFit, rate: f64) -> bool {
    let (least, most) = b.rates();
    rate > least * (1.0 - SAME_RATE) && rate < most * (1.0 + SAME_RATE)
}

/// What looked like a policer drops at the rate of a line that packets wait for: it is the end of the line's queue, which is so
/// short that the wait for it is lost among others.
fn queue_before(line: f64, policer: FoundLimiter) -> FoundLimiter {
    let queue = policer.bucket.map_or(0.0, |b| b.burst);
    let delay = queue / line;
    FoundLimiter { kind: LimiterKind::Bottleneck, rate: line, burst: None, queue, delay, ..policer }
}

/// Losses that know of no bucket do not make one of this gain, and it is no larger than buckets are.
pub(super) fn is_proposed(b: &TokenBucketFit) -> bool {
    b.gain > CHANCE && b.explained > LEAST_EXPLAINED && b.burst < LARGEST_BUCKET
}

/// What the bucket that explains losses best is, if it explains them well.
fn classify<'a>(
    b: TokenBucketFit,
    arrivals: &[PacketArrival],
    clocked: impl Fn() -> Option<&'a [PacketArrival]>,
    path: PathFacts,
    mut found: FoundLimiter,
) -> Option<FoundLimiter> {
    let width = path.episode();
    found.bucket = Some(b);
    // Likelier a limiter's than none.
    let sure = is_proposed(&b).then(|| sure(&b, arrivals)).filter(|sure| *sure > 0.5)?;
    let size = virtual_queue::largest(arrivals);
    let gain_without_times = match path.behind {
        true => b.gain,
        false => {
            virtual_queue::gain_without_times(arrivals, &b, virtual_queue::episodes(arrivals, width) as f64)
        }
    };
    let placed = gain_without_times < CHANCE.min(NOT_PLACED * b.gain)
        && (b.burst < FEW_PACKETS * size || b.gain < 4.0 * CHANCE && sure < CERTAIN);
    // Of losses at the end of a link's queue the wait there tells as much.
    let is_second = || {
        let delayed = clocked().filter(|c| virtual_queue::has_delays(c));
        delayed.is_some_and(|delayed| model::is_second_limiter(arrivals, &b, delayed, width))
    };
    if placed || !path.behind && is_queue_of_a_link(arrivals, &b, || sure > CERTAIN || is_second()) {
        return None;
    }
    found.rate = b.rate;
    found.burst = b.emptied.then_some(b.burst);
    // Better than chance, and by how much: what the best of many rates gains by chance is worth nothing.
    found.confidence = (1.0 - (-b.gain / CHANCE).exp()) * (1.0 - 0.5 * b.misclassified.min(1.0));
    let shaper = |bucket, delay| FoundLimiter {
        kind: LimiterKind::Shaper,
        burst: Some(bucket),
        queue: delay * b.rate,
        delay,
        ..found
    };
    // Delay to the capture alone where timestamps tell it; else the RTT's.
    let (delayed, base, noise) = clocked().map_or((arrivals, path.base, NOISE), |c| (c, 0.0, CLOCK));
    let delays = LimiterDelays::new(delayed, &b, noise);
    let near = delays.at_limit(base);
    // Seen behind it, a shaper's bucket is empty for as long as its queue is not: lost or not, packets come at the limit, and
    // some wait.
    let is_behind = |wait: f64| {
        gain_without_times < CHANCE.max(NOT_ALIKE * b.gain)
            && wait > noise
            && wait * b.rate > LEAST_WAITING * size
    };
    match near {
        Some(wait) if is_behind(wait) => return Some(shaper(b.burst, wait)),
        // No clock tells who waited before the capture.
        None if !path.behind && loss_gaps::back_to_back(arrivals, &b) => return Some(shaper(b.burst, 0.0)),
        _ => {}
    }
    let told = near.and_then(|_| delays.who_waits());
    let kind = match told.map(|(waits, _)| waits) {
        Some(Waits::All) => Some(FoundLimiter {
            kind: LimiterKind::Bottleneck,
            burst: None,
            queue: b.burst,
            delay: b.burst / b.rate,
            ..found
        }),
        Some(Waits::Behind(bucket)) => Some(shaper(bucket, (b.burst - bucket) / b.rate)),
        // What drains within the noise of delays may be a queue as well as a policer.
        None if path.behind => None,
        _ if virtual_queue::passed_beyond_limit(arrivals, &b) > PASSED_BEYOND => None,
        _ => Some(FoundLimiter { kind: LimiterKind::Policer, ..found }),
    };
    let posterior = told.map_or(1.0, |(_, posterior)| posterior);
    kind.map(|f| FoundLimiter { confidence: f.confidence * posterior, ..f })
}

/// Packets were lost before a link that spaced what came through: most often at its queue, which overflows at the link's
/// rate. A policer before a link has another rate, far below it or such that it `surely` drops besides.
fn is_queue_of_a_link(arrivals: &[PacketArrival], b: &TokenBucketFit, surely: impl Fn() -> bool) -> bool {
    let at = |link: f64| (b.rate / link - 1.0).abs() < SAME_RATE || b.rate > link / FAR_FASTER && !surely();
    loss_gaps::link_rate(arrivals).is_some_and(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 2.5e6;

    /// Growing bursts each 100 ms to a shaper of `bucket` bytes and a queue of `queue` bytes behind it, seen before both.
    fn bursts(bucket: f64, queue: f64) -> Vec<PacketArrival> {
        let (mut backlog, mut last, mut out) = (0.0f64, 0.0, Vec::new());
        for i in 0..12_000u32 {
            let (burst, k) = (i / 300, i % 300);
            if k > 150 + 3 * (burst * 7 % 40) {
                continue;
            }
            let at = burst as f64 * 0.15 + k as f64 * 1e-4;
            backlog = (backlog - RATE * (at - last)).max(0.0);
            last = at;
            let lost = backlog + 1500.0 > bucket + queue;
            backlog += if lost { 0.0 } else { 1500.0 };
            let rtt = (0.02 + (backlog - bucket).max(0.0) / RATE) as f32;
            out.push(PacketArrival { at, bytes: 1500.0, size: 1500.0, lost, rtt, flow: 0, entry: i });
        }
        out
    }

    #[test]
    fn what_drops_at_the_rate_of_a_line_that_packets_wait_for_is_its_queue() {
        let bucket = TokenBucketFit { rate: 70e6, burst: 12e3, ..TokenBucketFit::default() };
        assert!(explains_as_well(&bucket, 72e6) && !explains_as_well(&bucket, 140e6));
        let open = TokenBucketFit { as_good: Some((60e6, 150e6)), ..bucket };
        assert!(explains_as_well(&open, 140e6) && !explains_as_well(&open, 200e6));
        let policer =
            FoundLimiter { rate: 70e6, burst: Some(12e3), bucket: Some(bucket), ..FoundLimiter::default() };
        let queue = queue_before(72e6, policer);
        assert_eq!((queue.kind, queue.rate, queue.burst), (LimiterKind::Bottleneck, 72e6, None));
        assert!((queue.delay - 12e3 / 72e6).abs() < 1e-9, "{queue:?}");
    }

    #[test]
    fn a_bucket_is_what_is_lacking_at_the_end_of_the_queue_behind_it() {
        let path = PathFacts { base: 0.02, rtt: 0.05, behind: true, merged: false, sender: true };
        let found = |bucket, queue| {
            limiter_by_losses(&mut bursts(bucket, queue), || None, path, FoundLimiter::default())
        };
        let shaper = found(60e3, 150e3).unwrap_or_default();
        assert_eq!(shaper.kind, LimiterKind::Shaper, "{shaper:?}");
        assert!(shaper.burst.is_some_and(|b| (b / 60e3 - 1.0).abs() < 0.1), "{shaper:?}");
        assert!((shaper.rate / RATE - 1.0).abs() < 0.02, "{shaper:?}");
        let link = found(0.0, 210e3).unwrap_or_default();
        assert!(link.kind == LimiterKind::Bottleneck && link.burst.is_none(), "{link:?}");
        let policer = found(210e3, 0.0).unwrap_or_default();
        assert!(policer.kind == LimiterKind::Policer, "{policer:?}");
    }
}
