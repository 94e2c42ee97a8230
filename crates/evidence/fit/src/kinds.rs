//! Which kind of limiter it is: what fits of each kind cost, as probabilities.
//!
//! The misfit is twice the negative logarithm of a likelihood as far as its figures are independent and the trials are right. They are
//! neither: by how much the misfit exaggerates shows in what the best fit leaves over (quasi-likelihood: McCullagh and Nelder 1989,
//! "Generalized Linear Models", section 9.2), and is [`TEMPERATURE`] at least.

use crate::model::FitKind;
use crate::path_model::{FULL_PACKET, FittedLimiter, FittedPath};
use crate::search::{NEARLY, TriedPath};

/// By how much the misfit exaggerates at least.
const TEMPERATURE: f64 = 2.0;
/// What a fit costs that leaves nothing over but chance: the figures as far as they are independent, and the penalty of its numbers.
const LEFT_OVER: f64 = 15.0;
/// How often a kind is taken that the costs speak for without a doubt, and is none of it: what a fit does not play, as a queue counted
/// in packets or a sender's own bursts, makes another kind fit better. Learned: with this share spread over all kinds those told with p
/// are right most nearly in p of 298 drawn cases (`fit SET COUNT` of `tests/diagnose` prints the table; sets 2026112716 and 2026112717).
const MISTAKEN: f64 = 0.08;
/// Policer, shaper, line.
const KINDS: f64 = 3.0;
/// Another kind is told of from this probability on.
const TOLD: f64 = 0.03;

/// What a path's limiter is called; one that nothing shows of is none.
pub fn kind_name(path: &FittedPath, named: bool) -> &'static str {
    match path.limiter {
        FittedLimiter::Link if !named || path.is_open => "none",
        limiter => limiter.name(),
    }
}

/// A shaper's bucket below this is as good as none: ten packets, which a host sends at once anyway (RFC 6928).
const LEAST_BUCKET: f64 = 10.0 * FULL_PACKET;

/// The kind, of which a shaper with next to no bucket is a line; and whether a line is open.
fn kind(path: &FittedPath) -> (FittedLimiter, bool) {
    match path.limiter {
        FittedLimiter::Shaper if path.bucket < LEAST_BUCKET => (FittedLimiter::Link, path.is_open),
        limiter => (limiter, path.is_open),
    }
}

/// The best of each kind with its probability, the best of all first. Of a line and a shaper that is as good as one, the line stands for
/// both where it fits nearly as well: it has a number less.
pub fn kinds(sorted: &[TriedPath]) -> Vec<(&TriedPath, f64)> {
    let Some(cheapest) = sorted.first() else { return Vec::new() };
    let temperature = (cheapest.cost / LEFT_OVER).max(TEMPERATURE);
    let line = || sorted.iter().find(|t| kind(&t.path) == (FittedLimiter::Link, false));
    let as_good = |t: &&TriedPath| t.cost < cheapest.cost + NEARLY * temperature;
    let stands_for_it =
        if kind(&cheapest.path) == (FittedLimiter::Link, false) { line().filter(as_good) } else { None };
    let first = stands_for_it.unwrap_or(cheapest);
    let mut best = vec![(first, 1.0)];
    for tried in sorted {
        if best.iter().all(|(b, _)| kind(&b.path) != kind(&tried.path)) {
            best.push((tried, ((cheapest.cost - tried.cost) / 2.0 / temperature).exp()));
        }
    }
    let sum: f64 = best.iter().map(|b| b.1).sum();
    best.iter_mut().for_each(|b| b.1 = (1.0 - MISTAKEN) * b.1 / sum + MISTAKEN / KINDS);
    best
}

/// Kinds beside the first that are told of.
pub fn others<'a>(kinds: &[(&'a TriedPath, f64)]) -> Vec<(&'a TriedPath, f64)> {
    kinds.iter().skip(1).filter(|k| k.1 >= TOLD).copied().collect()
}

/// Others of the best one's kind that fit nearly as well: elsewhere, not a step beside it.
pub fn nearly<'a>(sorted: &'a [TriedPath], best: &TriedPath) -> Vec<&'a TriedPath> {
    let most = best.cost + NEARLY * (best.cost / LEFT_OVER).max(TEMPERATURE);
    let same = |t: &&TriedPath| kind(&t.path) == kind(&best.path) && t.path != best.path;
    sorted.iter().filter(same).filter(|t| t.cost < most).collect()
}

/// One as data.
pub fn told(tried: &TriedPath, probability: f64, named: bool) -> FitKind {
    let path = &tried.path;
    let has = |no: FittedLimiter, value: f64| if path.limiter == no { 0.0 } else { value / 1e3 };
    FitKind {
        limiter: kind_name(path, named).into(),
        probability,
        rate_mbps: path.rate / 1e6,
        bucket_kb: has(FittedLimiter::Link, path.bucket),
        queue_kb: has(FittedLimiter::Policer, path.queue),
    }
}
