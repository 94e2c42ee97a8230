//! Which cure is advised.
//!
//! 1. What ruins a flow of the scenario ([`crate::measure::Change::ruins`]) is never advised.
//! 2. The goal decides where it gains more than a twentieth ([`BAND`]). Cures within that band of the best one are equally
//!    good (delays also within 5 ms), and within twice the band where the paired interval of their difference contains zero.
//! 3. Of equally good ones the first by: a released kernel has it; fewer parties; fewer steps; what it does to everything
//!    else ([`crate::measure::merit`], by half a doubling); fewer changes.
//! 4. Where the goal gains no more than a twentieth, that gain is not worth a change, but something else may be: of cures that
//!    do not harm the goal and make something noticeably better, those with the most merit, then as in 3.

use crate::cure;
use crate::measure;
use crate::model::{CureEffect, RankedCure};
use crate::search::CureTrial;
use units::Goal;

/// What is no more than this share of the goal's figure apart is equally good.
pub const BAND: f64 = 0.05;
/// Delays no further apart are equally good, ms: a user notices no less.
const LEAST_DELAY: f64 = 5.0;
/// Merit, in doublings, that a cure must have to be advised although it does not help the goal.
const LEAST_MERIT: f64 = 0.8;
/// Merits no further apart are equal.
const EQUAL_MERIT: f64 = 0.5;

/// The cure that is advised.
pub struct Choice {
    /// Its place among the finalists.
    pub index: usize,
    /// Places of those that are equally good, itself left out.
    pub equals: Vec<usize>,
    /// It is not advised for the goal but for something else.
    pub is_aside: bool,
}

/// Chooses among finalists; `now` is the goal's figure as it is.
pub fn choose(goal: Goal, now: f64, finalists: &[(RankedCure, CureTrial)]) -> Option<Choice> {
    let least = if goal == Goal::Delay { LEAST_DELAY } else { 0.0 };
    let fit: Vec<usize> = (0..finalists.len()).filter(|&i| finalists[i].0.ruins.is_empty()).collect();
    let gain = |i: usize| finalists[i].0.gain.mean;
    let gains = fit.iter().copied().filter(|&i| finalists[i].0.effect == CureEffect::Gains);
    let best = gains.clone().max_by(|&a, &b| gain(a).total_cmp(&gain(b)));
    let for_goal = best.map(|best| {
        let band = (BAND * finalists[best].0.figures.judged.mean.abs()).max(least);
        let is_equal = |i: usize| {
            let behind = gain(best) - gain(i);
            let by = measure::difference(&finalists[i].1.runs, &finalists[best].1.runs, |r| r.judged);
            let by_chance = by.is_some_and(|by| by.low <= 0.0 && by.high >= 0.0);
            behind <= band || (by_chance && behind <= 2.0 * band)
        };
        gains.filter(|&i| is_equal(i)).collect::<Vec<usize>>()
    });
    if let (Some(best), Some(equals)) = (best, &for_goal)
        && gain(best) > BAND * now.abs()
    {
        return first(finalists, equals, false);
    }
    let aside = |&i: &usize| {
        let (cure, trial) = &finalists[i];
        cure.effect != CureEffect::Loses && !cure.betters.is_empty() && trial.merit >= LEAST_MERIT
    };
    let others: Vec<usize> = fit.into_iter().filter(aside).collect();
    let most = others.iter().map(|&i| finalists[i].1.merit).fold(0.0, f64::max);
    let equals: Vec<usize> =
        others.into_iter().filter(|&i| finalists[i].1.merit >= most - EQUAL_MERIT).collect();
    first(finalists, &equals, true).or_else(|| first(finalists, &for_goal?, false))
}

/// What decides between equals, in this order; smaller is better.
fn effort(cure: &RankedCure) -> [usize; 3] {
    let unreleased = cure.steps.iter().any(|s| cure::named(&s.cure).is_some_and(|c| !c.is_released()));
    [usize::from(unreleased), cure.parties, cure.steps.len()]
}

fn first(finalists: &[(RankedCure, CureTrial)], equals: &[usize], is_aside: bool) -> Option<Choice> {
    let step = |i: usize| (finalists[i].1.merit / EQUAL_MERIT).round();
    let index = *equals.iter().min_by(|&&a, &&b| {
        let [x, y] = [&finalists[a], &finalists[b]];
        effort(&x.0)
            .cmp(&effort(&y.0))
            .then(step(b).total_cmp(&step(a)))
            .then(x.0.changes.len().cmp(&y.0.changes.len()))
            .then(y.1.merit.total_cmp(&x.1.merit))
    })?;
    let equals = equals.iter().copied().filter(|&i| i != index).collect();
    Some(Choice { index, equals, is_aside })
}

/// Why `chosen` and not `other`, which is equally good.
pub fn reason(chosen: &(RankedCure, CureTrial), other: &(RankedCure, CureTrial)) -> &'static str {
    let why = ["no released kernel has it", "it takes more parties", "it takes more steps"];
    let [a, b] = [effort(&chosen.0), effort(&other.0)];
    if let Some(i) = (0..why.len()).find(|&i| a[i] != b[i]) {
        return why[i];
    }
    if chosen.1.merit - other.1.merit >= EQUAL_MERIT / 2.0 {
        return "it loses or delays more";
    }
    if chosen.0.changes.len() < other.0.changes.len() { "it changes more" } else { "as good in all else" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::RunFigures;
    use crate::model::{CureStep, PlanFigures, PlanRange};

    /// A finalist that reaches these figures of the goal, seed by seed, over 100 each.
    fn finalist(cures: &[&str], parties: usize, seeds: [f64; 3], merit: f64) -> (RankedCure, CureTrial) {
        let runs = vec![seeds.map(|x| RunFigures { judged: Some(x), ..RunFigures::default() }).to_vec()];
        let judged = measure::known(&runs, |r| r.judged).unwrap();
        let gain =
            PlanRange { mean: judged.mean - 100.0, low: judged.low - 100.0, high: judged.high - 100.0 };
        let effect = if gain.low > 2.0 { CureEffect::Gains } else { CureEffect::NoDifference };
        let step = |c: &&str| CureStep { cure: c.to_string(), ..CureStep::default() };
        let cure = RankedCure {
            name: cures.join("+"),
            steps: cures.iter().map(step).collect(),
            parties,
            figures: PlanFigures { judged, ..PlanFigures::default() },
            gain,
            effect,
            ..RankedCure::default()
        };
        (cure, CureTrial { runs, merit, ..CureTrial::none(&[]) })
    }

    fn chosen(all: &[(RankedCure, CureTrial)]) -> Option<(&str, bool)> {
        choose(Goal::Goodput, 100.0, all).map(|c| (all[c.index].0.name.as_str(), c.is_aside))
    }

    #[test]
    fn within_the_band_effort_decides_and_beyond_it_the_gain() {
        let near = |x: f64| [x, x, x];
        let best = finalist(&["bbr3"], 1, near(200.0), 0.0);
        let released = finalist(&["bbr"], 1, near(195.0), -3.0);
        let two = finalist(&["mss"], 2, near(199.0), 2.0);
        let steps = finalist(&["mss", "bbr"], 1, near(199.0), 2.0);
        let all = [best.clone(), released.clone(), two, steps];
        assert_eq!(chosen(&all), Some(("bbr", false)), "a released kernel, one party, one step");
        let quiet = finalist(&["cubic"], 1, near(191.0), 0.0);
        assert_eq!(
            chosen(&[best.clone(), released.clone(), quiet.clone()]),
            Some(("cubic", false)),
            "less harm"
        );
        let far = finalist(&["cubic"], 1, near(150.0), 5.0);
        assert_eq!(chosen(&[best.clone(), far]), Some(("bbr3", false)), "the gain is what matters first");
        let mut ruinous = quiet;
        ruinous.0.ruins = vec!["call: loss 9.0 % instead of 0.0 %".into()];
        assert_eq!(chosen(&[best, ruinous]), Some(("bbr3", false)));
    }

    #[test]
    fn what_may_be_chance_is_no_difference() {
        // Twelve below in the mean, but not with every seed.
        let best = finalist(&["bbr3"], 1, [180.0, 200.0, 220.0], 0.0);
        let noisy = finalist(&["bbr"], 1, [185.0, 190.0, 189.0], 0.0);
        assert_eq!(chosen(&[best.clone(), noisy]), Some(("bbr", false)));
        // The same mean, and below with every seed alike: a difference.
        let sure = finalist(&["bbr"], 1, [168.0, 188.0, 208.0], 0.0);
        assert_eq!(chosen(&[best, sure]), Some(("bbr3", false)));
    }

    #[test]
    fn a_small_gain_is_advised_only_where_nothing_else_gets_better() {
        let small = finalist(&["bbr"], 1, [104.0; 3], 0.0);
        let mut fair = finalist(&["fq-codel"], 1, [100.5; 3], 2.0);
        fair.0.betters = vec!["Jain index 1.00 instead of 0.51".into()];
        assert_eq!(chosen(&[small.clone(), fair.clone()]), Some(("fq-codel", true)));
        assert_eq!(chosen(&[small]), Some(("bbr", false)));
        fair.0.effect = CureEffect::Loses;
        assert_eq!(chosen(&[fair]), None, "not at the goal's cost");
    }
}
