//! Limiters as forward models: what each foretells of every packet, held against what was seen.
//!
//! What drops by the rule of a bucket is a policer, a link's queue or a shaper's: the likelihoods of the delays that each foretells
//! ([`delays::LimiterDelays`]) are held against each other. Where a queue is found by delays and a policer by losses, these are one
//! thing or two: a policer drops and the link before it delays, or a link does both. A policer that foretells the losses
//! ([`loss_gain`]) must do so better than the delay at the queue does ([`losses::gain_by_delay`]).

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

use super::virtual_queue::{CHANCE, PacketArrival, TokenBucketFit, episodes};
use none::NoLimiterModel;
use shaper::ShaperModel;
use tail_drop::TailDropModel;

/// What a limiter foretells of packets.
pub(super) trait LimiterModel {
    /// Numbers of it that are fitted to delays.
    fn numbers(&self) -> f64;
    /// Seconds that a packet waits there which finds so many bytes, its own among them.
    fn wait(&self, backlog: f64) -> f64;
}

/// The logarithm of how much likelier a model must be to be told: one in twenty is not true.
pub(super) const SURE: f64 = 3.0;
/// Parameters of a limiter that drops: its rate and its bucket.
const PARAMETERS: f64 = 2.0;

/// How much better than chance a limiter that drops foretells losses, less what it costs: the logarithm of a likelihood ratio. It costs
/// half the logarithm of the loss episodes for each of its parameters (Schwarz 1978), and what the best of many rates gains on
/// losses that know of no limiter.
///
/// `arrivals` are packets as they came to it, `width` is half a round trip in seconds.
pub(super) fn loss_gain(arrivals: &[PacketArrival], bucket: &TokenBucketFit, width: f64) -> f64 {
    let penalty = CHANCE + PARAMETERS / 2.0 * (episodes(arrivals, width) as f64).max(1.0).ln();
    losses::gain(arrivals, bucket, width) - penalty
}
