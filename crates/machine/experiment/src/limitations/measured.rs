//! The measures used to compute gains.

use super::{MAX_GAIN, MIN_GOODPUT_MBPS};
use result::measure::of_goal;
use result::{Measure, Quantity, Statistic, Subject, VariantResult};
use units::Goal;

/// By which factor the result without the suspect is better than the result with it; 1 if either has no
/// value.
pub(super) fn gain(measure: &Measure, with: &VariantResult, without: &VariantResult) -> f64 {
    let (Some(with), Some(without)) = (measure.of(with), measure.of(without)) else { return 1.0 };
    let floor = if measure.quantity == Quantity::Goodput { MIN_GOODPUT_MBPS } else { 0.0 };
    let (with, without) = (with.max(floor), without.max(floor));
    let (good, bad) = if measure.prefers_larger() { (without, with) } else { (with, without) };
    if good == bad {
        return 1.0;
    }
    let gain = if bad == 0.0 || good.is_infinite() { MAX_GAIN } else { good / bad };
    gain.clamp(1.0 / MAX_GAIN, MAX_GAIN)
}

fn first_measure(goal: Goal, v: &VariantResult) -> Option<Measure> {
    of_goal(goal).into_iter().find(|m| m.of(v).is_some())
}

/// The first goal for which something was measured, with its measure; otherwise goodput.
pub(super) fn primary_measure(goals: &[Goal], v: &VariantResult) -> Option<(Goal, Measure)> {
    goals.iter().chain([&Goal::Goodput]).find_map(|&goal| Some((goal, first_measure(goal, v)?)))
}

/// The primary measure, then those of the other goals, then goodput, round trips and delays.
pub(super) fn measures(primary_measure: &Measure, goals: &[Goal], v: &VariantResult) -> Vec<Measure> {
    let goodput = |subject| Measure::new(Quantity::Goodput).of_subject(subject);
    let p95 = |quantity| Measure::at(quantity, Statistic::P95);
    let usual = [
        goodput(Subject::Tcp),
        goodput(Subject::Datagrams),
        p95(Quantity::Rtt),
        p95(Quantity::Delay),
        p95(Quantity::Probe),
    ];
    let mut list = vec![primary_measure.clone()];
    for measure in goals.iter().filter_map(|&goal| first_measure(goal, v)).chain(usual) {
        if !list.contains(&measure) {
            list.push(measure);
        }
    }
    list
}
