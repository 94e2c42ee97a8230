//! Chooses the cure to recommend, one that the user can apply.
//!
//! 1. A cure that ruins a flow of the scenario ([`crate::measure::FigureChange::ruins`]) is never
//!    recommended, and neither is one that no released kernel has. A fact names the latter, for users who
//!    build their own kernel.
//! 2. The goal decides if a cure gains more than [`EQUAL_GAIN_SHARE`] of it. Cures within that band of the
//!    best one count as equally good (for delays also those within 5 ms).
//! 3. Equally good cures are ranked by: the limiter stays unchanged, unless the plan options allow its
//!    change; fewer parties; fewer steps; the effect on everything else ([`crate::measure::merit`], in steps
//!    of half a doubling); fewer changes.
//! 4. If no cure gains more than [`EQUAL_GAIN_SHARE`], the goal does not justify a change, but another
//!    improvement may. Of the cures that do not harm the goal and noticeably improve something else, those
//!    with the largest merit are ranked as in 3. Fewer retransmissions do not count, because no user notices
//!    them.
//! 5. If the goal's figure is already all that the path can carry ([`FULL_SHARE`]), only rule 4 applies.

use crate::cure;
use crate::model::{CureEffect, RankedCure};
use crate::search::CureTrial;
use result::ChangePlace;
use units::Goal;

/// Cures whose figures of the goal differ by no more than this share are equally good.
pub const EQUAL_GAIN_SHARE: f64 = 0.05;
/// Delays that differ by no more than this are equally good, in ms: users do not notice it.
const EQUAL_DELAY_MS: f64 = 5.0;
/// Merit, in doublings, that justifies recommending a cure that does not help the goal.
const MIN_MERIT: f64 = 0.8;
/// Merits that differ by no more than this are equal.
const EQUAL_MERIT: f64 = 0.5;

/// A flow whose goodput reaches this share of the path's capacity has nothing left to gain.
pub const FULL_SHARE: f64 = 0.95;

/// Why an equally good cure is not the recommended one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EqualReason {
    /// A phrase.
    Stated(&'static str),
    /// Its delay, loss, score or fairness is worse.
    OtherFigures,
}

/// The recommended cure.
pub struct Choice {
    /// Index of the cure among the finalists.
    pub index: usize,
    /// Indexes of the other cures that are equally good.
    pub equals: Vec<usize>,
    /// Whether it is recommended for another improvement than the goal.
    pub is_side_benefit: bool,
}

/// Chooses one of the finalists.
#[derive(Clone, Copy, Debug)]
pub struct Chooser {
    /// The goal that cures are ranked by.
    pub goal: Goal,
    /// The goal's figure without a change.
    pub now: f64,
    /// Whether that figure is already all that the path can carry.
    pub is_full: bool,
    /// Whether the plan options name who can act. A change of the limiter then counts like any other.
    pub actors_are_given: bool,
}

/// Whether a released kernel has everything that the cure needs.
pub fn is_released(cure: &RankedCure) -> bool {
    cure.steps.iter().all(|s| cure::named(&s.cure).is_none_or(|c| c.is_released()))
}

impl Chooser {
    /// Chooses among the finalists.
    pub fn choose(&self, finalists: &[(RankedCure, CureTrial)]) -> Option<Choice> {
        let can_be_applied = |c: &RankedCure| c.ruined_flows.is_empty() && is_released(c);
        let fit: Vec<usize> = (0..finalists.len()).filter(|&i| can_be_applied(&finalists[i].0)).collect();
        let gain = |i: usize| finalists[i].0.gain.mean;
        let gains = fit.iter().copied().filter(|&i| finalists[i].0.effect == CureEffect::Gains);
        let best = gains.clone().max_by(|&a, &b| gain(a).total_cmp(&gain(b))).filter(|_| !self.is_full);
        let for_goal = best.map(|best| {
            let band = self.band(&finalists[best].0);
            gains.filter(|&i| gain(best) - gain(i) <= band).collect::<Vec<usize>>()
        });
        if let (Some(best), Some(equals)) = (best, &for_goal)
            && gain(best) > EQUAL_GAIN_SHARE * self.now.abs()
        {
            return self.first(finalists, equals, false);
        }
        let aside = |&i: &usize| {
            let (cure, trial) = &finalists[i];
            cure.effect != CureEffect::Loses
                && trial.changes.iter().any(|c| c.is_side_benefit(self.goal))
                && trial.merit >= MIN_MERIT
        };
        let others: Vec<usize> = fit.into_iter().filter(aside).collect();
        let best_merit = others.iter().map(|&i| finalists[i].1.merit).fold(0.0, f64::max);
        let equals: Vec<usize> =
            others.into_iter().filter(|&i| finalists[i].1.merit >= best_merit - EQUAL_MERIT).collect();
        self.first(finalists, &equals, true).or_else(|| self.first(finalists, &for_goal?, false))
    }

    /// Returns by how much a cure may be worse than the best one and still be equally good.
    pub fn band(&self, best: &RankedCure) -> f64 {
        let min_difference = if self.goal == Goal::Delay { EQUAL_DELAY_MS } else { 0.0 };
        (EQUAL_GAIN_SHARE * best.figures.goal_value.mean.abs()).max(min_difference)
    }

    /// Returns the criteria that rank equally good cures, the most important first; smaller is better.
    fn rank(&self, cure: &RankedCure) -> [usize; 3] {
        let limiter = !self.actors_are_given && cure.by.contains(&ChangePlace::Limiter);
        [usize::from(limiter), cure.parties, cure.steps.len()]
    }

    fn first(
        &self,
        finalists: &[(RankedCure, CureTrial)],
        equals: &[usize],
        is_side_benefit: bool,
    ) -> Option<Choice> {
        let step = |i: usize| (finalists[i].1.merit / EQUAL_MERIT).round();
        let index = *equals.iter().min_by(|&&a, &&b| {
            let [x, y] = [&finalists[a], &finalists[b]];
            self.rank(&x.0)
                .cmp(&self.rank(&y.0))
                .then(step(b).total_cmp(&step(a)))
                .then(x.0.changes.len().cmp(&y.0.changes.len()))
                .then(y.1.merit.total_cmp(&x.1.merit))
        })?;
        let equals = equals.iter().copied().filter(|&i| i != index).collect();
        Some(Choice { index, equals, is_side_benefit })
    }

    /// Returns why `chosen` is preferred to `other`, which is equally good.
    pub fn reason(&self, chosen: &(RankedCure, CureTrial), other: &(RankedCure, CureTrial)) -> EqualReason {
        let why = ["the limiter would have to change", "it takes more parties", "it takes more steps"];
        let [a, b] = [self.rank(&chosen.0), self.rank(&other.0)];
        if let Some(i) = (0..why.len()).find(|&i| a[i] != b[i]) {
            return EqualReason::Stated(why[i]);
        }
        if chosen.1.merit - other.1.merit >= EQUAL_MERIT / 2.0 {
            return EqualReason::OtherFigures;
        }
        if chosen.0.changes.len() < other.0.changes.len() {
            EqualReason::Stated("it changes more")
        } else {
            EqualReason::Stated("it is equally good in everything else")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{self, FigureChange, RunFigures};
    use crate::model::{CureStep, PlanFigures, PlanRange};
    use result::{Measure, Quantity, Statistic};

    /// Returns a finalist with the figures of the goal for each seed; they are 100 without a change.
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
            figures: PlanFigures { goal_value: judged, ..PlanFigures::default() },
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
        chooser.choose(all).map(|c| (all[c.index].0.name.as_str(), c.is_side_benefit))
    }

    fn better(measure: Measure) -> FigureChange {
        FigureChange { measure, user: String::new(), now: 1.0, then: 2.0, is_better: true, ruins: false }
    }

    #[test]
    fn effort_decides_within_the_band_and_the_gain_beyond_it() {
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
        ruinous.0.ruined_flows = vec!["call: loss 9.0 % instead of 0.0 %".into()];
        assert_eq!(chosen(&[best, ruinous]), Some(("connections", false)));
    }

    #[test]
    fn a_cure_without_a_released_kernel_is_never_recommended() {
        let own = finalist(&["bbr3"], 1, [300.0; 3], 5.0);
        let joined = finalist(&["pace-fq", "bbr3"], 1, [400.0; 3], 5.0);
        let released = finalist(&["bbr"], 1, [120.0; 3], -3.0);
        assert_eq!(chosen(&[joined.clone(), own.clone(), released]), Some(("bbr", false)));
        assert_eq!(chosen(&[joined, own]), None);
    }

    #[test]
    fn the_limiter_is_changed_only_for_more_gain_or_by_wish() {
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
    fn nothing_is_recommended_for_a_goal_without_room() {
        let small = finalist(&["bbr"], 1, [104.0; 3], 0.0);
        let full = Chooser { is_full: true, ..PLAIN };
        assert_eq!(chosen_by(full, std::slice::from_ref(&small)), None);
        // Fewer retransmissions do not justify a change; a shorter round-trip time does.
        let mut quiet = finalist(&["fq-codel"], 1, [100.5; 3], 2.0);
        quiet.1.changes = vec![better(Measure::new(Quantity::ResentShare))];
        assert_eq!(chosen_by(full, &[small.clone(), quiet.clone()]), None);
        quiet.1.changes.push(better(Measure::at(Quantity::Rtt, Statistic::P95)));
        assert_eq!(chosen_by(full, &[small, quiet]), Some(("fq-codel", true)));
    }

    #[test]
    fn a_small_gain_is_recommended_only_without_another_improvement() {
        let small = finalist(&["bbr"], 1, [104.0; 3], 0.0);
        let mut fair = finalist(&["fq-codel"], 1, [100.5; 3], 2.0);
        fair.1.changes = vec![better(Measure::new(Quantity::Jain))];
        assert_eq!(chosen(&[small.clone(), fair.clone()]), Some(("fq-codel", true)));
        assert_eq!(chosen(&[small]), Some(("bbr", false)));
        fair.0.effect = CureEffect::Loses;
        assert_eq!(chosen(&[fair]), None, "not at the goal's cost");
    }
}
