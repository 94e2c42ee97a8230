//! The noise between what a limiter predicts and what a capture shows.
//!
//! *Delays.* Other links, hosts and delayed ACKs only add to a packet's delay. Among packets of about the
//! same backlog the lower quartile ([`LIMITER_QUANTILE`]) therefore represents the limiter. Occasionally all
//! packets of a bin waited elsewhere, so the residuals have the heavy tails of a Laplace distribution, whose
//! likelihood depends on their mean distance from the middle ([`log_likelihood`]).
//!
//! *Losses.* The times at which packets came to the limiter are known to within some packets, because other
//! links space them and hosts send several at once: the limit is blurred by a width ([`lost`]). The rest of
//! the path loses a share of all packets, and a share passes against the model because the capture shows it
//! out of order.

/// The quantile of the delays of a bin that represents the limiter.
pub(crate) const LIMITER_QUANTILE: f64 = 0.25;
/// Share of packets that pass against the model: one of fifty is captured out of order.
pub(super) const PASSES_AGAINST_MODEL: f64 = 0.02;

/// Returns the multiple of its mean that Laplace noise exceeds as rarely as a packet passes against the model
/// (derived: the share e^-x exceeds x times the mean).
pub(super) fn far() -> f64 {
    -PASSES_AGAINST_MODEL.ln()
}

/// Returns the Laplace log likelihood of a model's residuals (seconds), up to a constant that is the same for
/// all models. The residuals are around `middle`, or around their median where that is unknown. `least` is
/// the least spread of delays, seconds.
pub(super) fn log_likelihood(residuals: &mut [f64], middle: Option<f64>, least: f64) -> f64 {
    residuals.sort_unstable_by(f64::total_cmp);
    let count = residuals.len() as f64;
    let middle = middle.unwrap_or(residuals[residuals.len() / 2]);
    let mean = residuals.iter().map(|l| (l - middle).abs()).sum::<f64>() / count;
    -count * (mean + least).ln()
}

/// Returns the penalty, nats, of a parameter that is fitted to this many observations (Schwarz 1978).
pub(super) fn cost_of_number(count: f64) -> f64 {
    0.5 * count.ln()
}

/// Returns the probability that a packet `beyond` the limit is lost, where the rest of the path loses the
/// share `elsewhere` and the limit is blurred by `width`, in the unit of `beyond`.
pub(super) fn lost(beyond: f64, width: f64, elsewhere: f64) -> f64 {
    let soft = 1.0 / (1.0 + (-beyond / width).exp());
    elsewhere + (1.0 - elsewhere - PASSES_AGAINST_MODEL) * soft
}
