//! Searches for cures: tries each alone, then combinations of those that gain.

use crate::cure::{CURES, CureOption};
use crate::error::PlanError;
use crate::measure::{self, FigureChange, ROUND_TRIP, RunFigures, Yardstick};
use crate::model::PlanRange;
use crate::plan_options::PlanOptions;
use crate::runner::{Runner, for_runs};
use crate::situation::Situation;
use result::measure::is_connection_of;
use result::{FlowResult, VariantResult};
use scenario::Scenario;
use units::Span;

/// One or several options, and the scenarios with them.
#[derive(Clone)]
pub struct CureTrial {
    /// The options in the order in which they are applied; none for the unchanged situation.
    pub steps: Vec<CureOption>,
    /// The given scenarios with all options applied.
    pub scenarios: Vec<Scenario>,
    /// Figures by scenario and seed.
    pub runs: Vec<Vec<RunFigures>>,
    /// Improvement of the goal's figure.
    pub gain: PlanRange,
    /// Noticeable changes of figures.
    pub changes: Vec<FigureChange>,
    /// Improvement of everything but the goal ([`measure::merit`]).
    pub merit: f64,
    /// Why it violates a constraint; `None` where it violates none.
    pub violation: Option<String>,
}

/// Number of trials that are extended, at each number of steps.
const BEAM_WIDTHS: [usize; 2] = [3, 1];
/// Gain over its best part that justifies a combination, as a share of the objective.
const MIN_EXTRA_GAIN: f64 = 0.02;
/// Weight of a doubling of anything but the goal, as a share of the goal's figure.
const MERIT_WEIGHT: f64 = 0.02;
/// Factor by which a screened trial may exceed `--max-delay` and still be run in full.
const SCREENED_EXCESS: f64 = 1.2;

impl CureTrial {
    /// Returns the trial of the unchanged situation.
    pub fn none(scenarios: &[Scenario]) -> CureTrial {
        CureTrial {
            steps: Vec::new(),
            scenarios: scenarios.to_vec(),
            runs: Vec::new(),
            gain: PlanRange::default(),
            changes: Vec::new(),
            merit: 0.0,
            violation: None,
        }
    }

    /// Whether it ruins a flow of the scenario.
    pub fn ruins(&self) -> bool {
        self.changes.iter().any(|c| c.ruins)
    }

    /// Returns the figure by which trials are ordered: the gain as a share of `scale`, plus a little for
    /// other improvements. Of cures that do nothing for the goal, those with another benefit come first.
    fn utility(&self, scale: f64) -> f64 {
        self.gain.mean / scale + MERIT_WEIGHT * self.merit
    }

    /// Adds another step.
    fn and(&self, option: CureOption) -> CureTrial {
        let scenarios: Vec<Scenario> = self.scenarios.iter().map(|s| option.applied(s)).collect();
        let steps = self.steps.iter().cloned().chain([option]).collect();
        CureTrial { steps, ..CureTrial::none(&scenarios) }
    }

    /// Returns the names of its steps, joined by `+`.
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.steps.iter().map(|s| s.name.as_str()).collect();
        names.join("+")
    }

    /// Whether no step changes the same lever as `option`.
    fn is_compatible_with(&self, option: &CureOption) -> bool {
        let lever = |name: &str| crate::cure::named(name).map(|c| c.lever());
        self.steps.iter().all(|s| lever(s.cure) != lever(option.cure))
    }

    /// Returns all trials with one more option that `plan_options` allows. Cures without a released kernel
    /// are only tried alone.
    fn next(&self, plan_options: &PlanOptions) -> Vec<CureTrial> {
        let situation = Situation::new(&self.scenarios);
        let cures = CURES.iter().filter(|c| self.steps.is_empty() || c.is_released());
        let options = cures.flat_map(|c| c.options(&situation));
        let fit =
            options.filter(|o| self.is_compatible_with(o) && plan_options.exclusion_reason(o).is_none());
        fit.map(|o| self.and(o)).filter(|t| t.scenarios != self.scenarios).collect()
    }
}

/// The settings of a series of runs.
pub struct Screening<'s> {
    /// The figures to measure.
    pub yardstick: &'s Yardstick,
    /// The user's options for a plan.
    pub plan_options: &'s PlanOptions,
    /// Duration of each run.
    pub time: Span,
    /// Number of seeds.
    pub seeds: u32,
}

impl Screening<'_> {
    /// Runs these trials and computes their gain over `now`.
    pub fn run(
        &self,
        runner: &mut Runner<'_, '_>,
        trials: &mut [CureTrial],
        now: &[Vec<RunFigures>],
    ) -> Result<(), PlanError> {
        let sets: Vec<Vec<Scenario>> = trials.iter().map(|t| shortened(&t.scenarios, self.time)).collect();
        let whole = trials.iter().all(|t| t.scenarios.iter().all(|s| s.duration <= self.time));
        let excess = if whole { 1.0 } else { SCREENED_EXCESS };
        for (trial, measured) in trials.iter_mut().zip(runner.run(&sets, self.seeds)?) {
            trial.violation = measured.iter().find_map(|m| self.violation(m, excess));
            trial.runs = measured.iter().map(|s| s.iter().map(|v| self.yardstick.of(v)).collect()).collect();
            let now = if now.is_empty() { &trial.runs } else { now };
            let gain = measure::gain(self.yardstick.larger_is_better(), now, &trial.runs);
            trial.gain = gain.ok_or(PlanError::NoFigure(self.yardstick.goal))?;
            trial.changes = measure::changes(self.yardstick, now, &trial.runs);
            trial.merit = measure::merit(self.yardstick, now, &trial.runs, [None, None]);
        }
        Ok(())
    }

    /// Screens each cure alone, then combinations. Returns all trials, the best first.
    pub fn search(&self, runner: &mut Runner<'_, '_>, now: &CureTrial) -> Result<Vec<CureTrial>, PlanError> {
        let mut level = now.next(self.plan_options);
        self.run(runner, &mut level, &now.runs)?;
        let scale = judged(now).abs();
        let ordered = |trials: &mut Vec<CureTrial>| {
            let largest_gain =
                trials.iter().map(|t| t.gain.mean).fold(scale, f64::max).max(f64::MIN_POSITIVE);
            let unfit = |t: &CureTrial| t.violation.is_some() || t.ruins();
            trials.sort_by(|a, b| {
                unfit(a).cmp(&unfit(b)).then(b.utility(largest_gain).total_cmp(&a.utility(largest_gain)))
            });
        };
        let mut all: Vec<CureTrial> = Vec::new();
        for beam in BEAM_WIDTHS {
            ordered(&mut level);
            let parents = parents(&level, beam, MIN_EXTRA_GAIN * scale);
            all.append(&mut level);
            let mut next: Vec<CureTrial> = Vec::new();
            for trial in parents.iter().flat_map(|p| p.next(self.plan_options)) {
                let known = |t: &CureTrial| t.scenarios == trial.scenarios;
                if !all.iter().any(known) && !next.iter().any(known) {
                    next.push(trial);
                }
            }
            self.run(runner, &mut next, &now.runs)?;
            // A combination that gains no more than one of its parts does not justify the second change.
            let part = |t: &CureTrial| {
                let parts =
                    all.iter().filter(|p| p.steps.iter().all(|s| t.steps.iter().any(|o| o.name == s.name)));
                parts.map(|p| p.gain.mean).fold(0.0, f64::max)
            };
            next.retain(|t| t.gain.mean > part(t) + MIN_EXTRA_GAIN * (scale + part(t)));
            level = next;
        }
        all.append(&mut level);
        ordered(&mut all);
        Ok(all)
    }

    /// Returns the constraint that these runs violate.
    fn violation(&self, runs: &[VariantResult], excess: f64) -> Option<String> {
        let plan_options = self.plan_options;
        if let Some(max_delay) = plan_options.max_delay {
            let delays = runs.iter().filter_map(|r| self.yardstick.of(r).aims[ROUND_TRIP]);
            let mean = delays.sum::<f64>() / runs.len().max(1) as f64;
            if mean > max_delay.as_millis_f64() * excess {
                return Some(format!("its p95 delay is {mean:.0} ms"));
            }
        }
        let wanted = |f: &FlowResult| {
            plan_options
                .no_loss_for
                .iter()
                .any(|n| is_connection_of(&f.name, n) || (n == "udp" && f.is_udp()))
        };
        let lost = |f: &&FlowResult| {
            f.lost_packets.is_some_and(|n| n > 0) || f.real_time.is_some_and(|r| r.lost > 0.0)
        };
        let flows = runs.iter().flat_map(|r| &r.flows);
        flows.filter(|f| wanted(f)).find(lost).map(|f| format!("{} loses packets", f.name))
    }
}

/// Returns the best trials that gain more than `min_gain` and need only released kernels, each with other
/// levers than those before it.
fn parents(sorted: &[CureTrial], max: usize, min_gain: f64) -> Vec<CureTrial> {
    let levers = |t: &CureTrial| -> Vec<_> {
        t.steps.iter().filter_map(|s| crate::cure::named(s.cure)).map(|c| c.lever()).collect()
    };
    let mut chosen: Vec<CureTrial> = Vec::new();
    let is_released =
        |t: &CureTrial| t.steps.iter().all(|s| crate::cure::named(s.cure).is_none_or(|c| c.is_released()));
    let fit = sorted.iter().filter(|t| t.violation.is_none() && !t.ruins() && is_released(t));
    for trial in fit.filter(|t| t.gain.mean > min_gain) {
        if chosen.len() < max && chosen.iter().all(|c| levers(c) != levers(trial)) {
            chosen.push(trial.clone());
        }
    }
    chosen
}

/// Returns the goal's figure, averaged over all runs.
pub fn judged(trial: &CureTrial) -> f64 {
    measure::known(&trial.runs, |r| r.judged).map_or(0.0, |r| r.mean)
}

/// Limits the duration of the scenarios to `time`.
pub fn shortened(scenarios: &[Scenario], time: Span) -> Vec<Scenario> {
    let short = |s: &Scenario| {
        let mut s = for_runs(s);
        s.duration = s.duration.min(time);
        s
    };
    scenarios.iter().map(short).collect()
}
