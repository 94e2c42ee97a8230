//! The noise between what a limiter foretells and what a capture shows.
//!
//! *Delays.* Elsewhere packets wait too, for other links, hosts and ACKs that are held back: noise only adds. So of packets with
//! about the same backlog the quarter that waited less speaks for all ([`QUARTER`]); and now and then all of them waited for
//! something else, so what a model leaves of those quarters is distributed as Laplace's, whose likelihood is the mean distance
//! from the middle ([`log_likelihood`]).
//!
//! *Losses.* When packets came to the limiter is known to some packets only, because other links space them and hosts send several
//! at once: the limit is blurred by a width ([`lost`]). Other places lose a share of all packets, and a share passes against the
//! model, seen out of its order or place.

/// Share of the packets of about one backlog that waited less than what speaks for them.
pub(crate) const QUARTER: f64 = 0.25;
/// Share that passes against the model: of fifty packets one is seen out of its order or place.
pub(super) const PASSES: f64 = 0.02;

/// How many times its mean Laplace's noise exceeds as rarely as a packet passes against the model (derived: e^-x of it is beyond x).
pub(super) fn far() -> f64 {
    -PASSES.ln()
}

/// The logarithm of how likely it is that a model leaves these differences, seconds, up to what is the same for all models. They
/// are about `middle`, or, where that is not known, about their median. `least`: by how much delays differ at least, seconds.
pub(super) fn log_likelihood(left: &mut [f64], middle: Option<f64>, least: f64) -> f64 {
    left.sort_unstable_by(f64::total_cmp);
    let count = left.len() as f64;
    let middle = middle.unwrap_or(left[left.len() / 2]);
    let mean = left.iter().map(|l| (l - middle).abs()).sum::<f64>() / count;
    -count * (mean + least).ln()
}

/// What a number that is fitted to so many differences costs (Schwarz 1978).
pub(super) fn cost_of_number(count: f64) -> f64 {
    0.5 * count.ln()
}

/// The probability that a packet is lost which comes so far beyond the limit, where other places lose the share `elsewhere`;
/// `width` is how far the limit is blurred, in the same unit.
pub(super) fn lost(beyond: f64, width: f64, elsewhere: f64) -> f64 {
    let soft = 1.0 / (1.0 + (-beyond / width).exp());
    elsewhere + (1.0 - elsewhere - PASSES) * soft
}
