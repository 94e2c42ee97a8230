//! Limiters as forward models: each predicts which packets are lost and how long the others wait, and
//! likelihood compares that with the capture.
//!
//! A policer, a link's queue and a shaper's queue all drop by the rule of a bucket. They differ in the delays
//! that they predict, whose likelihoods are compared ([`delays::LimiterDelays`]). Where delays show a queue
//! and losses show a policer, there may be one thing or two: a link that does both, or a policer that drops
//! behind a link that delays. A policer is only reported if its rule predicts the losses ([`loss_gain`])
//! better than the delay at the queue does ([`losses::gain_by_delay`]).

pub(super) mod aqm;
pub(super) mod delays;
mod fair_queue;
pub(super) mod losses;
pub(super) mod noise;
mod none;
pub(super) mod refilled;
mod shaper;
mod tail_drop;
#[cfg(test)]
mod tests;

use super::virtual_queue::{CHANCE_GAIN, PacketArrival, TokenBucketFit, episodes};
use none::NoLimiterModel;
use shaper::ShaperModel;
use tail_drop::TailDropModel;

/// The delays that a limiter predicts.
pub(super) trait LimiterModel {
    /// Returns how many numbers of the model are fitted to delays.
    fn numbers(&self) -> f64;
    /// Returns the wait, in seconds, of a packet at this backlog in bytes, the packet included.
    fn wait(&self, backlog: f64) -> f64;
}

/// The lead, nats, that a model needs over the others: odds of twenty to one.
pub(super) const SURE_LEAD: f64 = 3.0;
/// Fitted parameters of a limiter that drops: its rate and its bucket.
const PARAMETERS: f64 = 2.0;

/// Returns how much better than chance a limiter that drops predicts the losses: a log likelihood ratio,
/// nats, less a penalty. The penalty is half the logarithm of the number of loss episodes for each parameter
/// (Schwarz 1978), and the gain that the best of many rates has by chance.
///
/// `arrivals` are the packets as they came to the limiter, `width` is half a round trip in seconds.
pub(super) fn loss_gain(arrivals: &[PacketArrival], bucket: &TokenBucketFit, width: f64) -> f64 {
    let penalty = CHANCE_GAIN + PARAMETERS / 2.0 * (episodes(arrivals, width) as f64).max(1.0).ln();
    losses::gain(arrivals, bucket, width) - penalty
}
