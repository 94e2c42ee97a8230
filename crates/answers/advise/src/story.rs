//! One sentence: what to do.

use crate::measure::larger_is_better;
use crate::model::{CureEffect, Plan, PlanFigures, RankedCure, VoiceCost};
use print::three_digits;
use units::Goal;

/// A simpler cure is advised where it gains this share of the best one's gain.
const NEARLY: f64 = 0.95;
/// What a share of packets sent again weighs against a point of the opinion score.
const RESENT_WEIGHT: f64 = 10.0;
/// The score of a call of which nothing is known.
const UNKNOWN_SCORE: f64 = 1.0;

/// What a cure does to others: packets sent again, and how much worse than perfect a call beside it is.
pub fn harm(c: &RankedCure) -> f64 {
    let score = c.figures.voice.map_or(UNKNOWN_SCORE, |v| v.mos.unwrap_or(UNKNOWN_SCORE));
    RESENT_WEIGHT * c.figures.resent - score
}

/// The cure that the sentence is about: of those that gain nearly as much as the best the one with the fewest steps and
/// people, and of these the one that harms others least.
pub fn advised(plan: &Plan) -> Option<&RankedCure> {
    let gains = || plan.cures.iter().filter(|c| c.finalist && c.effect == CureEffect::Gains);
    let most = gains().map(|c| c.gain.mean).fold(0.0, f64::max);
    let near = gains().filter(|c| c.gain.mean >= NEARLY * most);
    near.min_by(|a, b| {
        let effort = |c: &RankedCure| (c.steps.len(), c.by.len());
        effort(a).cmp(&effort(b)).then(harm(a).total_cmp(&harm(b)))
    })
}

/// What to do, in one sentence.
pub fn advice(plan: &Plan) -> String {
    let goal = plan.objective;
    let Some(best) = advised(plan) else { return nothing(plan) };
    let [now, then] = [&plan.now, &best.figures].map(|f| figure(goal, f));
    let times = best.factor.filter(|f| goal == Goal::Goodput && *f >= 1.1);
    let times = times.map(|f| format!(", {f:.1} times as much")).unwrap_or_default();
    let who: Vec<&str> = best.by.iter().map(|a| a.name()).collect();
    let voice = best.figures.voice.zip(plan.now.voice).map(|(v, n)| beside(n, v)).unwrap_or_default();
    let delay = if goal == Goal::Delay {
        format!(
            ", and {} instead of {}",
            figure(Goal::Goodput, &best.figures),
            figure(Goal::Goodput, &plan.now)
        )
    } else {
        let [now, then] = [&plan.now, &best.figures].map(|f| f.p95_delay_ms.mean);
        format!(", p95 delay {} instead of {}", ms(then), ms(now))
    };
    format!("Do this ({}): {}: {then} instead of {now}{times}{delay}{voice}.", who.join(", "), best.title)
}

/// Where nothing gains: what at least loses less.
fn nothing(plan: &Plan) -> String {
    let goal = plan.objective;
    let verb = if larger_is_better(goal) { "raises" } else { "lowers" };
    let now = figure(goal, &plan.now);
    let quieter = plan
        .cures
        .iter()
        .filter(|c| c.finalist && c.effect == CureEffect::NoDifference)
        .filter(|c| c.figures.resent < plan.now.resent / 2.0 && plan.now.resent > 0.001)
        .min_by(|a, b| harm(a).total_cmp(&harm(b)));
    let less = quieter.map(|c| {
        let [now, then] = [plan.now.resent, c.figures.resent].map(|r| format!("{:.1} %", 100.0 * r));
        let [before, after] = [&plan.now, &c.figures].map(|f| ms(f.p95_delay_ms.mean));
        let voice = c.figures.voice.zip(plan.now.voice).map(|(v, n)| beside(n, v)).unwrap_or_default();
        format!(
            "; {} keeps it and sends {then} of the packets again instead of {now}, p95 delay {after} instead of {before}{voice}",
            c.title
        )
    });
    format!("Nothing that was tried {verb} {} ({now}){}.", goal.name(), less.unwrap_or_default())
}

/// What a call beside it notices.
fn beside(now: VoiceCost, then: VoiceCost) -> String {
    let score = |v: VoiceCost| v.mos.map(|m| format!("{m:.1}"));
    match (score(now), score(then)) {
        (Some(a), Some(b)) if a != b => format!("; a call beside it scores {b} instead of {a}"),
        _ => String::new(),
    }
}

/// The objective's figure with its unit.
pub fn figure(goal: Goal, f: &PlanFigures) -> String {
    let secs = |r: Option<crate::model::PlanRange>| r.map_or("–".into(), |r| format!("{:.3} s", r.mean));
    match goal {
        Goal::Goodput => format!("{} Mbit/s", three_digits(f.goodput_mbps.mean)),
        Goal::Delay => ms(f.p95_delay_ms.mean),
        Goal::Completion => secs(f.completion_s),
        Goal::Page => secs(f.page_s),
        Goal::Fairness => f.fairness.map_or("–".into(), |r| format!("Jain index {:.3}", r.mean)),
    }
}

fn ms(value: f64) -> String {
    format!("{} ms", three_digits(value))
}
