//! Which cures are tried: each alone, then those together that gain.

use crate::cure::{CURES, CureOption};
use crate::error::PlanError;
use crate::measure::{self, FigureChange, ROUND_TRIP, RunFigures, Yardstick};
use crate::model::PlanRange;
use crate::runner::{Runner, for_runs};
use crate::situation::Situation;
use crate::wish::PlanWish;
use result::measure::is_connection_of;
use result::{FlowResult, VariantResult};
use scenario::Scenario;
use units::Span;

/// One or several options, and the scenarios with them.
#[derive(Clone)]
pub struct CureTrial {
    /// In the order in which they are made; none for the situation as it is.
    pub steps: Vec<CureOption>,
    /// The given scenarios with all steps made, in their order.
    pub scenarios: Vec<Scenario>,
    /// What came of it: by scenario, in it by seed.
    pub runs: Vec<Vec<RunFigures>>,
    /// How much better the goal's figure is.
    pub gain: PlanRange,
    /// What somebody notices of it.
    pub changes: Vec<FigureChange>,
    /// How much better all is but the goal ([`measure::merit`]).
    pub merit: f64,
    /// Why it breaks a constraint; empty where it breaks none.
    pub broken: Option<String>,
}

/// How many trials are extended, at each number of steps.
const BEAM: [usize; 2] = [3, 1];
/// A combination is worth its name where it gains this share of the objective beyond the best of its parts.
const BEYOND: f64 = 0.02;
/// What a doubling of anything but the goal counts, as a share of the goal's figure.
const MERIT_WEIGHT: f64 = 0.02;
/// A screened trial may exceed `--max-delay` by this factor and still be run in full.
const SCREENED_EXCESS: f64 = 1.2;

impl CureTrial {
    /// The situation as it is.
    pub fn none(scenarios: &[Scenario]) -> CureTrial {
        CureTrial {
            steps: Vec::new(),
            scenarios: scenarios.to_vec(),
            runs: Vec::new(),
            gain: PlanRange::default(),
            changes: Vec::new(),
            merit: 0.0,
            broken: None,
        }
    }

    /// Whether a flow of the scenario is ruined by it.
    pub fn ruins(&self) -> bool {
        self.changes.iter().any(|c| c.ruins)
    }

    /// By what trials are ordered: the gain as a share of `scale`, and a little for what else gets better, so that of cures
    /// that do nothing for the goal those come first that do something at all.
    fn utility(&self, scale: f64) -> f64 {
        self.gain.mean / scale + MERIT_WEIGHT * self.merit
    }

    /// With one more step.
    fn and(&self, option: CureOption) -> CureTrial {
        let scenarios: Vec<Scenario> = self.scenarios.iter().map(|s| option.applied(s)).collect();
        let steps = self.steps.iter().cloned().chain([option]).collect();
        CureTrial { steps, ..CureTrial::none(&scenarios) }
    }

    /// The names of its steps, joined by `+`.
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.steps.iter().map(|s| s.name.as_str()).collect();
        names.join("+")
    }

    /// Whether every step is of another lever than `option`.
    fn goes_with(&self, option: &CureOption) -> bool {
        let lever = |name: &str| crate::cure::named(name).map(|c| c.lever());
        self.steps.iter().all(|s| lever(s.cure) != lever(option.cure))
    }

    /// All options that may follow, as far as `wish` admits them. What no released kernel has is tried alone.
    fn next(&self, wish: &PlanWish) -> Vec<CureTrial> {
        let situation = Situation::new(&self.scenarios);
        let cures = CURES.iter().filter(|c| self.steps.is_empty() || c.is_released());
        let options = cures.flat_map(|c| c.options(&situation));
        let fit = options.filter(|o| self.goes_with(o) && wish.refuses(o).is_none());
        fit.map(|o| self.and(o)).filter(|t| t.scenarios != self.scenarios).collect()
    }
}

/// What is screened, and how.
pub struct Screening<'s> {
    /// What is measured.
    pub yardstick: &'s Yardstick,
    /// What is wanted.
    pub wish: &'s PlanWish,
    /// How long each run takes.
    pub time: Span,
    /// How many seeds.
    pub seeds: u32,
}

impl Screening<'_> {
    /// Runs these trials and works out what they gain over `now`.
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
            trial.broken = measured.iter().find_map(|m| self.broken(m, excess));
            trial.runs = measured.iter().map(|s| s.iter().map(|v| self.yardstick.of(v)).collect()).collect();
            let now = if now.is_empty() { &trial.runs } else { now };
            let gain = measure::gain(self.yardstick.larger_is_better(), now, &trial.runs);
            trial.gain = gain.ok_or(PlanError::NoFigure(self.yardstick.goal))?;
            trial.changes = measure::changes(self.yardstick, now, &trial.runs);
            trial.merit = measure::merit(self.yardstick, now, &trial.runs, [None, None]);
        }
        Ok(())
    }

    /// Each cure alone, then more of them together: all trials that were screened, the best first.
    pub fn search(&self, runner: &mut Runner<'_, '_>, now: &CureTrial) -> Result<Vec<CureTrial>, PlanError> {
        let mut level = now.next(self.wish);
        self.run(runner, &mut level, &now.runs)?;
        let scale = judged(now).abs();
        let ordered = |trials: &mut Vec<CureTrial>| {
            let most = trials.iter().map(|t| t.gain.mean).fold(scale, f64::max).max(f64::MIN_POSITIVE);
            let unfit = |t: &CureTrial| t.broken.is_some() || t.ruins();
            trials.sort_by(|a, b| unfit(a).cmp(&unfit(b)).then(b.utility(most).total_cmp(&a.utility(most))));
        };
        let mut all: Vec<CureTrial> = Vec::new();
        for beam in BEAM {
            ordered(&mut level);
            let parents = parents(&level, beam, BEYOND * scale);
            all.append(&mut level);
            let mut next: Vec<CureTrial> = Vec::new();
            for trial in parents.iter().flat_map(|p| p.next(self.wish)) {
                let known = |t: &CureTrial| t.scenarios == trial.scenarios;
                if !all.iter().any(known) && !next.iter().any(known) {
                    next.push(trial);
                }
            }
            self.run(runner, &mut next, &now.runs)?;
            // What together gains no more than a part alone is not worth the second change.
            let part = |t: &CureTrial| {
                let parts =
                    all.iter().filter(|p| p.steps.iter().all(|s| t.steps.iter().any(|o| o.name == s.name)));
                parts.map(|p| p.gain.mean).fold(0.0, f64::max)
            };
            next.retain(|t| t.gain.mean > part(t) + BEYOND * (scale + part(t)));
            level = next;
        }
        all.append(&mut level);
        ordered(&mut all);
        Ok(all)
    }

    /// Which constraint these runs break.
    fn broken(&self, runs: &[VariantResult], excess: f64) -> Option<String> {
        let wish = self.wish;
        if let Some(most) = wish.max_delay {
            let delays = runs.iter().filter_map(|r| self.yardstick.of(r).aims[ROUND_TRIP]);
            let mean = delays.sum::<f64>() / runs.len().max(1) as f64;
            if mean > most.as_millis_f64() * excess {
                return Some(format!("its p95 delay is {mean:.0} ms"));
            }
        }
        let wanted = |f: &FlowResult| {
            wish.no_loss_for.iter().any(|n| is_connection_of(&f.name, n) || (n == "udp" && f.is_udp()))
        };
        let lost = |f: &&FlowResult| {
            f.lost_packets.is_some_and(|n| n > 0) || f.real_time.is_some_and(|r| r.lost > 0.0)
        };
        let flows = runs.iter().flat_map(|r| &r.flows);
        flows.filter(|f| wanted(f)).find(lost).map(|f| format!("{} loses packets", f.name))
    }
}

/// The best of those that gain more than `least` and that a released kernel has, each of other levers than those before it.
fn parents(sorted: &[CureTrial], most: usize, least: f64) -> Vec<CureTrial> {
    let levers = |t: &CureTrial| -> Vec<_> {
        t.steps.iter().filter_map(|s| crate::cure::named(s.cure)).map(|c| c.lever()).collect()
    };
    let mut chosen: Vec<CureTrial> = Vec::new();
    let is_released =
        |t: &CureTrial| t.steps.iter().all(|s| crate::cure::named(s.cure).is_none_or(|c| c.is_released()));
    let fit = sorted.iter().filter(|t| t.broken.is_none() && !t.ruins() && is_released(t));
    for trial in fit.filter(|t| t.gain.mean > least) {
        if chosen.len() < most && chosen.iter().all(|c| levers(c) != levers(trial)) {
            chosen.push(trial.clone());
        }
    }
    chosen
}

/// The goal's figure, over all runs.
pub fn judged(trial: &CureTrial) -> f64 {
    measure::known(&trial.runs, |r| r.judged).map_or(0.0, |r| r.mean)
}

/// The scenarios, each for no longer than `time`.
pub fn shortened(scenarios: &[Scenario], time: Span) -> Vec<Scenario> {
    let short = |s: &Scenario| {
        let mut s = for_runs(s);
        s.duration = s.duration.min(time);
        s
    };
    scenarios.iter().map(short).collect()
}
