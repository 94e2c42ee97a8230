//! Which kind of limiter it is: what fits of each kind cost, as probabilities.
//!
//! The misfit is twice the negative logarithm of a likelihood as far as its figures are independent and the trials are right. They are
//! neither: by how much the misfit exaggerates shows in what the best fit leaves over (quasi-likelihood: McCullagh and Nelder 1989,
//! "Generalized Linear Models", section 9.2), and is [`TEMPERATURE`] at least.

use crate::model::FitKind;
use crate::path_model::{FittedLimiter, FittedPath};
use crate::search::{NEARLY, TriedPath};

/// By how much the misfit exaggerates at least.
const TEMPERATURE: f64 = 2.0;
/// What a fit costs that leaves nothing over but chance: the figures as far as they are independent, and the penalty of its numbers.
const LEFT_OVER: f64 = 15.0;
/// Another kind is told of from this probability on.
const TOLD: f64 = 0.03;

/// What a path's limiter is called; one that nothing shows of is none.
pub fn kind_name(path: &FittedPath, named: bool) -> &'static str {
    match path.limiter {
        FittedLimiter::Link if !named => "none",
        limiter => limiter.name(),
    }
}

/// The best of each kind with its probability, the best of all first.
pub fn kinds(sorted: &[TriedPath]) -> Vec<(&TriedPath, f64)> {
    let Some(first) = sorted.first() else { return Vec::new() };
    let temperature = (first.cost / LEFT_OVER).max(TEMPERATURE);
    let mut best: Vec<(&TriedPath, f64)> = Vec::new();
    for tried in sorted {
        if best.iter().all(|(b, _)| b.path.limiter != tried.path.limiter) {
            best.push((tried, ((first.cost - tried.cost) / 2.0 / temperature).exp()));
        }
    }
    let sum: f64 = best.iter().map(|b| b.1).sum();
    best.iter_mut().for_each(|b| b.1 /= sum);
    best
}

/// Kinds beside the first that are told of.
pub fn others<'a>(kinds: &[(&'a TriedPath, f64)]) -> Vec<(&'a TriedPath, f64)> {
    kinds.iter().skip(1).filter(|k| k.1 >= TOLD).copied().collect()
}

/// Others of the best one's kind that fit nearly as well: elsewhere, not a step beside it.
pub fn nearly<'a>(sorted: &'a [TriedPath], best: &TriedPath) -> Vec<&'a TriedPath> {
    let most = best.cost + NEARLY * (best.cost / LEFT_OVER).max(TEMPERATURE);
    let same = |t: &&TriedPath| t.path.limiter == best.path.limiter && t.path != best.path;
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
