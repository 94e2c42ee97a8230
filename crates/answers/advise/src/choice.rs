//! Chooses the cure that is advised: one that the user can follow.
//!
//! 1. A cure that ruins a flow of the scenario ([`crate::measure::FigureChange::ruins`]) is never advised, and neither is one that no
//!    released kernel has: it is named in a fact, for users who build their own.
//! 2. The goal decides where it gains more than a twentieth ([`BAND`]). Cures within that band of the best one are equally
//!    good (delays also within 5 ms).
//! 3. Of equally good ones the first by: the limiter stays as it is, unless the wish says that it can change; fewer parties; fewer
//!    steps; what it does to everything else ([`crate::measure::merit`], by half a doubling); fewer changes.
//! 4. Where the goal gains no more than a twentieth, that gain is not worth a change, but something else may be: of cures that
//!    do not harm the goal and make something noticeably better, those with the most merit, then as in 3. Fewer packets sent
//!    again are not such a thing: no user notices them.
//! 5. Where the goal is all that the path can carry ([`FULL`]), only a cure as in 4 is left.

use crate::cure;
use crate::model::{CureEffect, RankedCure};
use crate::search::CureTrial;
use result::ChangePlace;
use units::Goal;

/// What is no more than this share of the goal's figure apart is equally good.
pub const BAND: f64 = 0.05;
/// Delays no further apart are equally good, ms: a user notices no less.
const LEAST_DELAY: f64 = 5.0;
/// Merit, in doublings, that a cure must have to be advised although it does not help the goal.
const LEAST_MERIT: f64 = 0.8;
/// Merits no further apart are equal.
const EQUAL_MERIT: f64 = 0.5;

/// Goodput of this share of what the path can carry leaves nothing to gain.
pub const FULL: f64 = 0.95;

/// The cure that is advised.
pub struct Choice {
    /// Its place among the finalists.
    pub index: usize,
    /// Places of those that are equally good, itself left out.
    pub equals: Vec<usize>,
    /// It is not advised for the goal but for something else.
    pub is_aside: bool,
}

/// The rule by which one of the finalists is chosen.
#[derive(Clone, Copy, Debug)]
pub struct Chooser {
    /// What cures are ranked by.
    pub goal: Goal,
    /// The goal's figure as it is.
    pub now: f64,
    /// The goal is all that the path can carry.
    pub is_full: bool,
    /// The wish names who can act: the limiter, if it is among them, is as near as the others.
    pub actors_are_given: bool,
}

/// Whether a released kernel has all that the cure needs.
pub fn is_released(cure: &RankedCure) -> bool {
    cure.steps.iter().all(|s| cure::named(&s.cure).is_none_or(|c| c.is_released()))
}

impl Chooser {
    /// Chooses among finalists.
    pub fn choose(&self, finalists: &[(RankedCure, CureTrial)]) -> Option<Choice> {
        let can_be_followed = |c: &RankedCure| c.ruins.is_empty() && is_released(c);
        let fit: Vec<usize> = (0..finalists.len()).filter(|&i| can_be_followed(&finalists[i].0)).collect();
        let gain = |i: usize| finalists[i].0.gain.mean;
        let gains = fit.iter().copied().filter(|&i| finalists[i].0.effect == CureEffect::Gains);
        let best = gains.clone().max_by(|&a, &b| gain(a).total_cmp(&gain(b))).filter(|_| !self.is_full);
        let for_goal = best.map(|best| {
            let band = self.band(&finalists[best].0);
            gains.filter(|&i| gain(best) - gain(i) <= band).collect::<Vec<usize>>()
        });
        if let (Some(best), Some(equals)) = (best, &for_goal)
            && gain(best) > BAND * self.now.abs()
        {
            return self.first(finalists, equals, false);
        }
        let aside = |&i: &usize| {
            let (cure, trial) = &finalists[i];
            cure.effect != CureEffect::Loses
                && trial.changes.iter().any(|c| c.is_aside(self.goal))
                && trial.merit >= LEAST_MERIT
        };
        let others: Vec<usize> = fit.into_iter().filter(aside).collect();
        let most = others.iter().map(|&i| finalists[i].1.merit).fold(0.0, f64::max);
        let equals: Vec<usize> =
            others.into_iter().filter(|&i| finalists[i].1.merit >= most - EQUAL_MERIT).collect();
        self.first(finalists, &equals, true).or_else(|| self.first(finalists, &for_goal?, false))
    }

    /// How far behind the best one a cure may be and still be equally good.
    pub fn band(&self, best: &RankedCure) -> f64 {
        let least = if self.goal == Goal::Delay { LEAST_DELAY } else { 0.0 };
        (BAND * best.figures.judged.mean.abs()).max(least)
    }

    /// What decides between equals, in this order; smaller is better.
    fn effort(&self, cure: &RankedCure) -> [usize; 3] {
        let limiter = !self.actors_are_given && cure.by.contains(&ChangePlace::Limiter);
        [usize::from(limiter), cure.parties, cure.steps.len()]
    }

    fn first(
        &self,
        finalists: &[(RankedCure, CureTrial)],
        equals: &[usize],
        is_aside: bool,
    ) -> Option<Choice> {
        let step = |i: usize| (finalists[i].1.merit / EQUAL_MERIT).round();
        let index = *equals.iter().min_by(|&&a, &&b| {
            let [x, y] = [&finalists[a], &finalists[b]];
            self.effort(&x.0)
                .cmp(&self.effort(&y.0))
                .then(step(b).total_cmp(&step(a)))
                .then(x.0.changes.len().cmp(&y.0.changes.len()))
                .then(y.1.merit.total_cmp(&x.1.merit))
        })?;
        let equals = equals.iter().copied().filter(|&i| i != index).collect();
        Some(Choice { index, equals, is_aside })
    }

    /// Why `chosen` and not `other`, which is equally good.
    pub fn reason(&self, chosen: &(RankedCure, CureTrial), other: &(RankedCure, CureTrial)) -> &'static str {
        let why = ["the limiter would have to change", "it takes more parties", "it takes more steps"];
        let [a, b] = [self.effort(&chosen.0), self.effort(&other.0)];
        if let Some(i) = (0..why.len()).find(|&i| a[i] != b[i]) {
            return why[i];
        }
        if chosen.1.merit - other.1.merit >= EQUAL_MERIT / 2.0 {
            return "it loses or delays more";
        }
        if chosen.0.changes.len() < other.0.changes.len() { "it changes more" } else { "as good in all else" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{self, FigureChange, RunFigures};
    use crate::model::{CureStep, PlanFigures, PlanRange};
    use result::{Measure, Quantity, Statistic};

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

    const PLAIN: Chooser =
        Chooser { goal: Goal::Goodput, now: 100.0, is_full: false, actors_are_given: false };

    fn chosen(all: &[(RankedCure, CureTrial)]) -> Option<(&str, bool)> {
        chosen_by(PLAIN, all)
    }

    fn chosen_by(chooser: Chooser, all: &[(RankedCure, CureTrial)]) -> Option<(&str, bool)> {
        chooser.choose(all).map(|c| (all[c.index].0.name.as_str(), c.is_aside))
    }

    fn better(measure: Measure) -> FigureChange {
        FigureChange { measure, user: String::new(), now: 1.0, then: 2.0, is_better: true, ruins: false }
    }

    #[test]
    fn within_the_band_effort_decides_and_beyond_it_the_gain() {
        let near = |x: f64| [x, x, x];
        let best = finalist(&["connections"], 1, near(200.0), -3.0);
        let two = finalist(&["mss"], 2, near(199.0), 2.0);
        let steps = finalist(&["mss", "bbr"], 1, near(199.0), 2.0);
        let quiet = finalist(&["cubic"], 1, near(191.0), 0.0);
        let all = [best.clone(), two, steps, quiet.clone()];
        assert_eq!(chosen(&all), Some(("cubic", false)), "one party, one step, less harm");
        let far = finalist(&["cubic"], 1, near(189.0), 5.0);
        assert_eq!(
            chosen(&[best.clone(), far]),
            Some(("connections", false)),
            "more than a twentieth behind"
        );
        let mut ruinous = quiet;
        ruinous.0.ruins = vec!["call: loss 9.0 % instead of 0.0 %".into()];
        assert_eq!(chosen(&[best, ruinous]), Some(("connections", false)));
    }

    #[test]
    fn what_no_released_kernel_has_is_never_advised_however_much_it_gains() {
        let own = finalist(&["bbr3"], 1, [300.0; 3], 5.0);
        let joined = finalist(&["pace-fq", "bbr3"], 1, [400.0; 3], 5.0);
        let released = finalist(&["bbr"], 1, [120.0; 3], -3.0);
        assert_eq!(chosen(&[joined.clone(), own.clone(), released]), Some(("bbr", false)));
        assert_eq!(chosen(&[joined, own]), None);
    }

    #[test]
    fn the_limiter_changes_only_where_that_gains_more_or_the_wish_says_so() {
        let at_the_limiter = |x: f64| {
            let mut cure = finalist(&["wfq"], 1, [x; 3], 3.0);
            cure.0.by = vec![ChangePlace::Limiter];
            cure
        };
        let own = finalist(&["bbr"], 1, [195.0; 3], -1.0);
        assert_eq!(chosen(&[at_the_limiter(200.0), own.clone()]), Some(("bbr", false)));
        assert_eq!(chosen(&[at_the_limiter(220.0), own.clone()]), Some(("wfq", false)));
        let given = Chooser { actors_are_given: true, ..PLAIN };
        assert_eq!(chosen_by(given, &[at_the_limiter(200.0), own]), Some(("wfq", false)));
    }

    #[test]
    fn nothing_is_advised_for_a_goal_that_is_full() {
        let small = finalist(&["bbr"], 1, [104.0; 3], 0.0);
        let full = Chooser { is_full: true, ..PLAIN };
        assert_eq!(chosen_by(full, std::slice::from_ref(&small)), None);
        // Fewer packets sent again are no reason; a shorter round trip is one.
        let mut quiet = finalist(&["fq-codel"], 1, [100.5; 3], 2.0);
        quiet.1.changes = vec![better(Measure::new(Quantity::ResentShare))];
        assert_eq!(chosen_by(full, &[small.clone(), quiet.clone()]), None);
        quiet.1.changes.push(better(Measure::at(Quantity::Rtt, Statistic::P95)));
        assert_eq!(chosen_by(full, &[small, quiet]), Some(("fq-codel", true)));
    }

    #[test]
    fn a_small_gain_is_advised_only_where_nothing_else_gets_better() {
        let small = finalist(&["bbr"], 1, [104.0; 3], 0.0);
        let mut fair = finalist(&["fq-codel"], 1, [100.5; 3], 2.0);
        fair.1.changes = vec![better(Measure::new(Quantity::Jain))];
        assert_eq!(chosen(&[small.clone(), fair.clone()]), Some(("fq-codel", true)));
        assert_eq!(chosen(&[small]), Some(("bbr", false)));
        fair.0.effect = CureEffect::Loses;
        assert_eq!(chosen(&[fair]), None, "not at the goal's cost");
    }
}
