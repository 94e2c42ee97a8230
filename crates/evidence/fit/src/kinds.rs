//! The kind of limiter: probabilities of the kinds from the costs of their best fits.
//!
//! The misfit would be minus twice a log-likelihood if its figures were independent and the trials exact.
//! They are not. The misfit of the best fit shows by which factor it exaggerates (quasi-likelihood: McCullagh
//! and Nelder 1989, "Generalized Linear Models", section 9.2); the factor is at least [`TEMPERATURE`].

use crate::figures::TEMPERATURE;
use crate::model::FitKind;
use crate::path_model::{FULL_PACKET, FittedLimiter, FittedPath};
use crate::search::{NEARLY_EQUAL_COST, TriedPath};

/// Cost of a fit that differs from the capture by chance only: its independent figures, and its numbers.
const COST_BY_CHANCE: f64 = 15.0;
/// Share of fits whose kind is wrong although the costs leave no alternative: what a fit does not model, such
/// as a queue counted in packets or a sender's own bursts, makes another kind fit better. Fitted on 298 drawn
/// cases so that kinds stated with probability p are right in a share p of them (`fit SET COUNT` of
/// `tests/diagnose` prints the table; sets 2026112716 and 2026112717).
const WRONG_KIND_SHARE: f64 = 0.08;
/// Policer, shaper, link.
const KIND_COUNT: f64 = 3.0;
/// Least probability of another kind that is reported.
const MIN_REPORTED_PROBABILITY: f64 = 0.03;

/// The name of a path's limiter; `none` if it does not limit.
pub fn kind_name(path: &FittedPath, named: bool) -> &'static str {
    match path.limiter {
        FittedLimiter::Link if !named || path.is_open => "none",
        limiter => limiter.name(),
    }
}

/// A shaper with a smaller bucket counts as a link: ten packets are what a host sends at once anyway (RFC
/// 6928).
const MIN_BUCKET: f64 = 10.0 * FULL_PACKET;

/// The kind of a path, and whether its line does not limit. A shaper with almost no bucket is a link.
fn kind(path: &FittedPath) -> (FittedLimiter, bool) {
    match path.limiter {
        FittedLimiter::Shaper if path.bucket < MIN_BUCKET => (FittedLimiter::Link, path.is_open),
        limiter => (limiter, path.is_open),
    }
}

/// The best path of each kind with the kind's probability, the best of all first. A link represents itself
/// and a shaper that counts as one if it fits nearly as well, because it has one number less.
pub fn kinds(sorted: &[TriedPath]) -> Vec<(&TriedPath, f64)> {
    let Some(cheapest) = sorted.first() else { return Vec::new() };
    let temperature = (cheapest.cost / COST_BY_CHANCE).max(TEMPERATURE);
    let is_link = |t: &&TriedPath| t.path.limiter == FittedLimiter::Link && !t.path.is_open;
    let equivalent_rates = |t: &&TriedPath| t.cost < cheapest.cost + NEARLY_EQUAL_COST * temperature;
    let counts_as_link = kind(&cheapest.path) == (FittedLimiter::Link, false);
    let link = sorted.iter().find(is_link).filter(|t| counts_as_link && equivalent_rates(t));
    let first = link.unwrap_or(cheapest);
    let mut best = vec![(first, 1.0)];
    for tried in sorted {
        if best.iter().all(|(b, _)| kind(&b.path) != kind(&tried.path)) {
            best.push((tried, ((cheapest.cost - tried.cost) / 2.0 / temperature).exp()));
        }
    }
    let sum: f64 = best.iter().map(|b| b.1).sum();
    best.iter_mut().for_each(|b| b.1 = (1.0 - WRONG_KIND_SHARE) * b.1 / sum + WRONG_KIND_SHARE / KIND_COUNT);
    best
}

/// The kinds after the first that are likely enough to be reported.
pub fn others<'a>(kinds: &[(&'a TriedPath, f64)]) -> Vec<(&'a TriedPath, f64)> {
    kinds.iter().skip(1).filter(|k| k.1 >= MIN_REPORTED_PROBABILITY).copied().collect()
}

/// Other paths of the best one's kind that fit nearly as well.
pub fn nearly<'a>(sorted: &'a [TriedPath], best: &TriedPath) -> Vec<&'a TriedPath> {
    let most = best.cost + NEARLY_EQUAL_COST * (best.cost / COST_BY_CHANCE).max(TEMPERATURE);
    let same = |t: &&TriedPath| kind(&t.path) == kind(&best.path) && t.path != best.path;
    sorted.iter().filter(same).filter(|t| t.cost < most).collect()
}

/// A kind as it is reported.
pub fn report(tried: &TriedPath, probability: f64, named: bool) -> FitKind {
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
