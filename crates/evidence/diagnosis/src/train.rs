//! Tells a policer from a shaper or link by a train of datagrams that was sent faster than the path's rate.
//!
//! A policer passes its bucket at once, then drops everything above its rate, and delays nothing. A queue
//! delays, and drops when it is full. Both are one model: a buffer of B bytes that empties at rate r. With
//! P(t) the bytes that have passed by time t, a packet of s bytes passes if B + r t >= P + s, and is lost
//! otherwise (`bucket.rs` finds r and B from who passed). Of those B bytes the first b pass without delay:
//! all at a policer, none at a link, and a shaper's bucket at a shaper. The delay of a packet is therefore
//!
//! ```text
//! d = c + max(0, P + s - r t - b) / r
//! ```
//!
//! and the best b (`delays.rs`) says which of them it is. Where the data does not decide between "no queue"
//! and "a queue", the answer is [`TrainFinding::Unknown`].
//!
//! Times are in seconds from any two origins, so the clocks of both ends need not agree; rates count the
//! bytes given, usually those of whole IP packets.

mod bucket;
mod delays;

use bucket::{BucketFit, Sample};
use serde::{Deserialize, Serialize};

/// A datagram of a train.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainPacket {
    /// Time of sending, s.
    pub sent: f64,
    /// Time of arrival, s; `None` if it was lost.
    pub arrived: Option<f64>,
    /// Size, bytes.
    pub bytes: u32,
}

/// Finding about the path from a train.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrainFinding {
    /// Drops what exceeds a token bucket and delays nothing.
    Policer {
        /// Rate, bit/s.
        rate: f64,
        /// Size of the bucket, bytes.
        bucket: f64,
    },
    /// Delays what exceeds its rate: a shaper, or a link with a queue.
    Queue {
        /// Rate, bit/s.
        rate: f64,
        /// Bytes that pass without delay before the queue begins to fill, the bucket of a shaper; `None`
        /// where the delays show no such bucket.
        bucket: Option<f64>,
        /// Longest queue that was seen, bytes.
        queue: f64,
        /// Whether the queue dropped packets because it was full, so that `queue` is its size.
        full: bool,
    },
    /// Nothing limits the rate below the train's own.
    Unlimited {
        /// The train's rate, or that of its arrival where delay grew all the same, bit/s.
        above: f64,
    },
    /// The train does not decide.
    Unknown(TrainDoubt),
}

/// Why a train does not decide. Its form in JSON is the end of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrainDoubt {
    /// Too few datagrams arrived.
    #[serde(rename = "too few datagrams arrived")]
    TooFew,
    /// Losses do not follow a rate: they are random, or several limits overlap.
    #[serde(rename = "datagrams were lost, but not by a limit of the rate")]
    NoRate,
    /// The losses began too late in the train to know their rate.
    #[serde(rename = "losses began too late in the train")]
    TooShort,
    /// Delays vary too much, or a buffer is too small, to tell whether a queue filled.
    #[serde(rename = "delays vary too much to tell a policer from a queue")]
    Jitter,
}

impl TrainDoubt {
    /// All reasons.
    pub const ALL: [TrainDoubt; 4] =
        [TrainDoubt::TooFew, TrainDoubt::NoRate, TrainDoubt::TooShort, TrainDoubt::Jitter];
}

/// Minimum number of datagrams that must arrive.
const MIN_ARRIVED: usize = 40;
/// Minimum number of lost datagrams from which a rate is computed, and minimum that pass after the first of
/// them.
const MIN_LOST: usize = 12;
const MIN_PASSED_AFTER: usize = 60;
/// Maximum share of the train's rate that counts as a limit.
const LIMITED_SHARE: f64 = 0.93;
/// Maximum share of losses, from the first on, at which a path counts as unlimited.
const STRAY_LOSS: f64 = 0.02;
/// Ratio of likelihoods, as a logarithm, from which on one of two models is named.
const DECISIVE: f64 = 8.0;
/// Time in which hosts and devices gather packets and hand them on together, s. A buffer that empties sooner
/// loses packets to such a batch and delays others, whatever it is.
const BATCH: f64 = 100e-6;
/// A queue below this share of the buffer makes a shaper that behaves as a policer.
const LEAST_QUEUE_SHARE: f64 = 0.1;
/// Minimum number of packets that show a shaper's bucket by passing without delay.
const MIN_WITHIN: usize = 8;

/// Evaluates a train. The datagrams are in the order in which they were sent. A host whose own device is the
/// limit holds its sender back by a full send buffer (`is_held_back`), so that the train is as slow as the
/// limit.
pub fn evaluate(train: &[TrainPacket], is_held_back: bool) -> TrainFinding {
    let samples = samples(train);
    let passed = samples.iter().filter(|s| s.delay.is_some()).count();
    let Some(offered) = offered(&samples).filter(|_| passed >= MIN_ARRIVED) else {
        return TrainFinding::Unknown(TrainDoubt::TooFew);
    };
    let lost = samples.len() - passed;
    let growth = delays::growth(&samples, is_held_back);
    let first_lost = samples.iter().position(|s| s.delay.is_none()).unwrap_or(0);
    // A large bucket is used up late: the share counts from the first loss on.
    if lost < MIN_LOST || (lost as f64) < STRAY_LOSS * (samples.len() - first_lost) as f64 {
        return match growth.filter(|g| is_held_back || g.rate < LIMITED_SHARE * offered) {
            Some(g) if is_held_back => queue_alone(g),
            Some(growth) => queue_without_loss(&samples, growth),
            None => TrainFinding::Unlimited { above: 8.0 * growth.map_or(offered, |g| g.rate.min(offered)) },
        };
    }
    let after = samples[first_lost..].iter().filter(|s| s.delay.is_some()).count();
    let is_limit = |fit: &BucketFit| fit.rate < LIMITED_SHARE * offered;
    let fit = bucket::fit(&samples).filter(is_limit);
    // A queue delays most of all when it drops, so lateness explains nothing where delay grows.
    let fit = fit.or_else(|| bucket::fit_late(&samples).filter(|fit| growth.is_none() && is_limit(fit)));
    match fit {
        Some(_) if after < MIN_PASSED_AFTER => TrainFinding::Unknown(TrainDoubt::TooShort),
        Some(fit) => with_bucket(&samples, fit),
        // An active queue drops before it is full; delays show it all the same.
        None => match growth.filter(|g| is_held_back || g.rate < LIMITED_SHARE * offered) {
            Some(g) => queue_alone(g),
            None => TrainFinding::Unknown(TrainDoubt::NoRate),
        },
    }
}

/// Returns the datagrams with times from the first one on.
fn samples(train: &[TrainPacket]) -> Vec<Sample> {
    let Some(first) = train.first() else { return Vec::new() };
    let mut passed = 0.0;
    let sample = |p: &TrainPacket| {
        let bytes = f64::from(p.bytes);
        let delay = p.arrived.map(|arrived| arrived - p.sent);
        let sample = Sample { at: p.sent - first.sent, before: passed, bytes, delay };
        if delay.is_some() {
            passed += bytes;
        }
        sample
    };
    let all: Vec<Sample> = train.iter().map(sample).collect();
    let is_finite = |s: &Sample| s.at.is_finite() && s.at >= 0.0 && s.delay.is_none_or(f64::is_finite);
    if all.iter().all(is_finite) { all } else { Vec::new() }
}

/// Returns the train's rate, bytes per second.
fn offered(samples: &[Sample]) -> Option<f64> {
    let (last, rest) = samples.split_last()?;
    let bytes: f64 = rest.iter().map(|s| s.bytes).sum();
    Some(bytes / last.at).filter(|rate| rate.is_finite() && *rate > 0.0)
}

/// Decides between policer and queue where the losses fit a buffer.
fn with_bucket(samples: &[Sample], fit: BucketFit) -> TrainFinding {
    if fit.bucket < BATCH * fit.rate {
        return TrainFinding::Unknown(TrainDoubt::Jitter);
    }
    let packet = samples.iter().map(|s| s.bytes).sum::<f64>() / samples.len() as f64;
    let search = delays::Search::new(samples, fit.rate);
    let flat = search.of(fit.bucket);
    let least_queue = (LEAST_QUEUE_SHARE * fit.bucket).max(packet);
    let (at, queued) = search.best(0.0, fit.bucket - packet);
    let (_, real_queue) = search.best(0.0, (fit.bucket - least_queue).max(0.0));
    let noise = flat.noise.min(queued.noise);
    let rate = 8.0 * fit.rate;
    // A queue of a packet behind a large bucket is the noise of a policer, or behaves as one.
    let is_small = fit.bucket - at < least_queue;
    if !is_small && search.ratio(&queued, &flat, noise) > DECISIVE {
        let bucket = bucket_shown(&search, at, packet);
        let queue = fit.bucket - bucket.unwrap_or(0.0);
        return TrainFinding::Queue { rate, bucket, queue, full: true };
    }
    let without_queue = if is_small { &queued } else { &flat };
    if search.ratio(without_queue, &real_queue, noise) > DECISIVE {
        return TrainFinding::Policer { rate, bucket: fit.bucket };
    }
    TrainFinding::Unknown(TrainDoubt::Jitter)
}

/// A queue of which only rate and length are known.
fn queue_alone(g: delays::Growth) -> TrainFinding {
    TrainFinding::Queue { rate: 8.0 * g.rate, bucket: None, queue: g.queue, full: false }
}

/// Finds the bucket of a queue that dropped nothing.
fn queue_without_loss(samples: &[Sample], growth: delays::Growth) -> TrainFinding {
    let packet = samples.iter().map(|s| s.bytes).sum::<f64>() / samples.len() as f64;
    let search = delays::Search::new(samples, growth.rate);
    let (at, _) = search.best(0.0, search.longest());
    let bucket = bucket_shown(&search, at, packet);
    let queue = (search.longest() - bucket.unwrap_or(0.0)).max(0.0);
    TrainFinding::Queue { rate: 8.0 * growth.rate, bucket, queue, full: false }
}

/// Returns the bytes without delay if they are more than two packets and enough packets show that they had
/// none: after a device stood still while they passed, too few do.
fn bucket_shown(search: &delays::Search, bytes: f64, packet: f64) -> Option<f64> {
    Some(bytes).filter(|b| *b > 2.0 * packet && search.within(*b) >= MIN_WITHIN)
}
