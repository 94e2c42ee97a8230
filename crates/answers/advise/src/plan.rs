//! Makes a plan: screens cures, runs the finalists, measures side effects, ranks the cures, and writes the
//! advice.

use crate::choice::{self, Chooser};
use crate::cure::{self, CURES};
use crate::error::PlanError;
use crate::measure::{self, FigureChange, Yardstick};
use crate::model::{
    CureEffect, CureStep, PLAN_SCHEMA, Plan, PlanFigures, PlanRange, RankedCure, SimulatedRuns, UntriedCure,
    VoiceCost,
};
use crate::plan_options::PlanOptions;
use crate::runner::{Runner, screen_time};
use crate::search::{self, CureTrial, Screening};
use crate::situation::Situation;
use crate::story::{self, Capacity, StoryInput};
use crate::voice;
use experiment::Watcher;
use path::Stage;
use scenario::{PathLimits, Scenario};
use std::cmp::Ordering;
use units::{Goal, Span};

/// Number of seeds of screening runs.
const SCREEN_SEEDS: u32 = 3;
/// Number of seeds of runs with an added call.
const VOICE_SEEDS: u32 = 2;
/// Limit of the finalists that combine several cures.
const MAX_COMBINATIONS: usize = 3;
/// Smallest gain or loss that counts, as a share of the figure without the cure.
const MIN_EFFECT: f64 = 0.02;

/// A finished plan, with what a caller needs to run its cures again.
pub struct FinishedPlan {
    /// The plan.
    pub plan: Plan,
    /// The options of each finalist, in the order of [`Plan::cures`]; [`cure::cured`] applies them.
    pub options: Vec<Vec<cure::CureOption>>,
}

/// Tries cures on scenarios that are equally likely, and ranks them. The scenarios differ only in numbers:
/// hosts, links, stages and flows are the same. Cures are fitted to the first one.
///
/// # Errors
/// Fails with a [`PlanError`].
pub fn plan(
    variant: &str,
    scenarios: &[Scenario],
    plan_options: &PlanOptions,
    watch: Option<&mut Watcher<'_>>,
) -> Result<FinishedPlan, PlanError> {
    let Some(reference) = scenarios.first() else { return Err(PlanError::NoFlows) };
    let situation = Situation::new(scenarios);
    if situation.paths.is_empty() && situation.datagrams.is_empty() {
        return Err(PlanError::NoFlows);
    }
    check_names(plan_options, &situation)?;
    let yardstick = Yardstick::new(plan_options.objective, reference);
    let mut runner = Runner::new(plan_options, watch);
    let screening = Screening {
        yardstick: &yardstick,
        plan_options,
        time: screening_time(reference),
        seeds: SCREEN_SEEDS,
    };
    let mut now = CureTrial::none(scenarios);
    screening.run(&mut runner, std::slice::from_mut(&mut now), &[])?;
    let screened = screening.search(&mut runner, &now)?;
    let count = screened.len();
    let (screened, idle): (Vec<_>, Vec<_>) = screened.into_iter().partition(|t| t.runs != now.runs);
    let screened = without_duplicates(screened);
    let (finalists, rest) = choose(screened, plan_options.finalists);
    let full = Screening { time: reference.duration, seeds: plan_options.repeats.max(1), ..screening };
    let mut run = vec![CureTrial::none(scenarios)];
    run.extend(finalists);
    let (first, others) = run.split_at_mut(1);
    full.run(&mut runner, first, &[])?;
    full.run(&mut runner, others, &first[0].runs)?;
    let calls: Vec<String> =
        yardstick.users.iter().filter(|u| u.is_real_time).map(|u| u.name.clone()).collect();
    let guarded = plan_options.no_loss_for.iter().any(|n| n == "voice");
    // A call of the scenario itself is better evidence than an added one.
    let added = if calls.is_empty() || guarded {
        let sets: Vec<Vec<Scenario>> = run.iter().map(|t| t.scenarios.clone()).collect();
        voice::costs(&mut runner, &sets, screening.time, VOICE_SEEDS)?
    } else {
        vec![None; run.len()]
    };
    let base_runs = run[0].runs.clone();
    for (trial, voice) in run.iter_mut().zip(&added).skip(1) {
        if guarded && trial.violation.is_none() && voice.is_some_and(|v| v.lost > 0.0) {
            trial.violation = Some("an added call loses packets".into());
        }
        if calls.is_empty() {
            trial.merit = measure::merit(&yardstick, &base_runs, &trial.runs, [added[0], *voice]);
        }
    }
    let simulated = SimulatedRuns {
        scenarios: scenarios.len(),
        screened: count,
        screen_s: screening.time.as_secs_f64(),
        screen_seeds: SCREEN_SEEDS,
        finalists: run.len() - 1,
        final_s: reference.duration.as_secs_f64(),
        final_seeds: full.seeds,
        runs: runner.runs(),
    };
    let ranker = CureRanker { yardstick: &yardstick, base: reference };
    let base = run.remove(0);
    let mut untried = untried(plan_options, &situation);
    let why = "it changes no figure of any run";
    untried.extend(idle.iter().map(|t| UntriedCure { name: t.name(), why: why.into() }));
    let mut finalists: Vec<(RankedCure, CureTrial)> = Vec::new();
    let mut only_screened: Vec<RankedCure> = Vec::new();
    let all = run
        .into_iter()
        .zip(added.iter().skip(1))
        .map(|(t, voice)| (ranker.ranked(&t, &base, true, *voice), t));
    let rest = rest.into_iter().map(|t| (ranker.ranked(&t, &now, false, None), t));
    for (cure, trial) in all.chain(rest) {
        match &trial.violation {
            Some(why) => untried.push(UntriedCure { name: cure.name, why: why.clone() }),
            None if cure.finalist => finalists.push((cure, trial)),
            None => only_screened.push(cure),
        }
    }
    finalists.sort_by(|(a, x), (b, y)| order(a, b).then(y.merit.total_cmp(&x.merit)));
    only_screened.sort_by(order);
    pareto(&mut finalists);
    let options = finalists.iter().map(|(_, t)| t.steps.clone()).collect();
    let now = search::judged(&base);
    let capacity = capacity(&situation).filter(|_| plan_options.objective == Goal::Goodput);
    let share = capacity.map(|capacity| now / capacity.payload_mbps);
    let chooser = Chooser {
        goal: plan_options.objective,
        now,
        is_full: share.is_some_and(|share| share >= choice::FULL_SHARE),
        actors_are_given: !plan_options.only.is_empty(),
    };
    let chosen = chooser.choose(&finalists);
    let mut plan = Plan {
        schema: PLAN_SCHEMA.into(),
        scenario: reference.name.clone(),
        variant: variant.into(),
        other_variants: Vec::new(),
        objective: plan_options.objective,
        advice: String::new(),
        facts: Vec::new(),
        distrust: None,
        advised: chosen.as_ref().map(|c| finalists[c.index].0.name.clone()),
        calls,
        now: ranker.figures(&base, added[0]),
        cures: finalists.iter().map(|(c, _)| c.clone()).collect(),
        screened: only_screened,
        untried,
        simulated,
    };
    let chosen = chosen.as_ref();
    let input =
        StoryInput { plan: &plan, yardstick: &yardstick, finalists: &finalists, chooser, chosen, capacity };
    let story = story::write(&input);
    (plan.advice, plan.facts) = (story.advice, story.facts);
    Ok(FinishedPlan { plan, options })
}

/// Returns what all TCP flows together can carry through the stages that all of them pass; `None` where that
/// is unknown, and where flows run one at a time.
fn capacity(s: &Situation<'_>) -> Option<Capacity> {
    let reference = s.reference();
    let limit = PathLimits::new(reference, None).all.filter(|_| !reference.one_at_a_time)?;
    let path = s.paths.first()?;
    let shared = path.stages.iter().copied().filter(|p| s.paths.iter().all(|w| w.stages.contains(p)));
    let place = shared.filter_map(|p| Some((s.rate_of(p)?, p))).min_by_key(|(rate, _)| *rate)?.1;
    let [payload, outer] = path.sizes_at(reference, place).map(f64::from);
    let left = limit - s.taken_by_datagrams(place).as_mbps();
    (left > 0.0).then_some(Capacity { rate_mbps: left, payload_mbps: left * payload / outer })
}

/// Checks the names in the constraints.
fn check_names(plan_options: &PlanOptions, s: &Situation<'_>) -> Result<(), PlanError> {
    let reference = s.reference();
    let mut stages: Vec<String> = s.places(|_| true).into_iter().map(|p| s.stage_name(p)).collect();
    stages.splice(0..0, Stage::KINDS.iter().map(|k| k.to_string()));
    if let Some(name) = plan_options.keep.iter().find(|k| !stages.contains(k)) {
        return Err(PlanError::Unknown("stages to keep", name.clone(), stages));
    }
    let mut flows: Vec<String> = reference.flows.iter().map(|f| f.name.clone()).collect();
    flows.extend(["udp".to_string(), "voice".to_string()]);
    let unknown = plan_options.no_loss_for.iter().find(|n| !flows.contains(n));
    unknown.map_or(Ok(()), |name| Err(PlanError::Unknown("flows without loss", name.clone(), flows)))
}

/// Removes trials whose runs are identical to those of another trial that changes less, such as a queue in
/// both directions of which one never fills.
fn without_duplicates(screened: Vec<CureTrial>) -> Vec<CureTrial> {
    let touched = |t: &CureTrial| t.steps.iter().map(|s| s.touches.len()).sum::<usize>();
    let is_duplicate = |i: usize| {
        let same = |t: &CureTrial| t.runs == screened[i].runs && t.steps.len() <= screened[i].steps.len();
        screened.iter().any(|t| same(t) && touched(t) > 0 && touched(t) < touched(&screened[i]))
    };
    let keep: Vec<bool> = (0..screened.len()).map(|i| !is_duplicate(i)).collect();
    screened.into_iter().zip(keep).filter_map(|(t, keep)| keep.then_some(t)).collect()
}

/// Splits the trials into the finalists and the rest. Finalists are, in this order: at most
/// [`MAX_COMBINATIONS`] combinations of several cures, no two of which share a cure; the best trial for each
/// lever and party that can apply it; the best of the others.
fn choose(screened: Vec<CureTrial>, max: usize) -> (Vec<CureTrial>, Vec<CureTrial>) {
    let mut chosen = vec![false; screened.len()];
    let fit: Vec<usize> = (0..screened.len()).filter(|&i| screened[i].violation.is_none()).collect();
    let several = fit.iter().copied().filter(|&i| screened[i].steps.len() > 1);
    for i in several {
        let share =
            |&j: &usize| screened[j].steps.iter().any(|a| screened[i].steps.iter().any(|b| a.cure == b.cure));
        let joined: Vec<usize> = (0..i).filter(|&j| chosen[j]).collect();
        if joined.len() < MAX_COMBINATIONS.min(max / 2) && !joined.iter().any(share) {
            chosen[i] = true;
        }
    }
    let mut taken = chosen.iter().filter(|c| **c).count();
    let mut seen = Vec::new();
    for &i in &fit {
        let [step] = &screened[i].steps[..] else { continue };
        let kind = (cure::named(step.cure).map(|c| c.lever()), step.by.clone());
        if taken < max && !seen.contains(&kind) {
            seen.push(kind);
            chosen[i] = true;
            taken += 1;
        }
    }
    for &i in fit.iter().filter(|&&i| screened[i].steps.len() == 1) {
        if taken < max && !chosen[i] {
            chosen[i] = true;
            taken += 1;
        }
    }
    let (mut finalists, mut rest) = (Vec::new(), Vec::new());
    for (trial, chosen) in screened.into_iter().zip(chosen) {
        if chosen { finalists.push(trial) } else { rest.push(trial) }
    }
    (finalists, rest)
}

/// Returns the cures that have no option here, or none that the options of the plan allow.
fn untried(plan_options: &PlanOptions, s: &Situation<'_>) -> Vec<UntriedCure> {
    let mut left = Vec::new();
    for cure in CURES {
        let options = cure.options(s);
        if options.is_empty() {
            let why = format!("it is only for scenarios {}", cure.applies());
            left.push(UntriedCure { name: cure.name().into(), why });
        }
        let refused =
            options.iter().filter_map(|o| Some((o.name.clone(), plan_options.exclusion_reason(o)?)));
        left.extend(refused.map(|(name, why)| UntriedCure { name, why }));
    }
    left
}

/// Turns trials into ranked cures.
struct CureRanker<'s> {
    yardstick: &'s Yardstick,
    base: &'s Scenario,
}

impl CureRanker<'_> {
    /// Returns the figures of a trial. `added` is the quality of an added call.
    fn figures(&self, trial: &CureTrial, added: Option<VoiceCost>) -> PlanFigures {
        let figures = measure::figures(self.yardstick, &trial.runs);
        PlanFigures { voice: measure::own_call(self.yardstick, &figures).or(added), ..figures }
    }

    fn ranked(
        &self,
        trial: &CureTrial,
        now: &CureTrial,
        finalist: bool,
        added: Option<VoiceCost>,
    ) -> RankedCure {
        let mut by: Vec<_> = trial.steps.iter().flat_map(|s| s.by.clone()).collect();
        by.sort_unstable();
        by.dedup();
        let mut hosts: Vec<&str> = trial.steps.iter().flat_map(|s| s.hosts()).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let titles: Vec<&str> = trial.steps.iter().map(|s| s.title.as_str()).collect();
        let before = search::judged(now);
        let after = search::judged(trial);
        let step = |s: &cure::CureOption| CureStep {
            cure: s.cure.into(),
            title: s.title.clone(),
            by: s.by.clone(),
            hurts_when: cure::named(s.cure).map(|c| c.hurts().to_string()).unwrap_or_default(),
            remedies: s.remedies.clone(),
        };
        // The goal's own figure is reported separately.
        let noticed = || trial.changes.iter().filter(|c| !c.is_of_goal(self.yardstick.goal));
        let phrases = |wanted: &dyn Fn(&FigureChange) -> bool| {
            noticed().filter(|c| wanted(c)).map(story::phrase).collect()
        };
        RankedCure {
            name: trial.name(),
            title: titles.join("; "),
            parties: hosts.len().max(by.len()),
            by,
            steps: trial.steps.iter().map(step).collect(),
            changes: trial.scenarios[0].overrides_of(self.base),
            finalist,
            figures: self.figures(trial, added),
            gain: trial.gain,
            factor: (before > 0.0).then_some(after / before),
            effect: effect(trial.gain, before),
            improvements: phrases(&|c| c.is_better),
            deteriorations: phrases(&|c| !c.is_better && !c.ruins),
            ruined_flows: phrases(&|c| c.ruins),
            pareto: false,
            proof: None,
        }
    }
}

/// Returns whether a gain is significant and large enough to count.
fn effect(gain: PlanRange, before: f64) -> CureEffect {
    let is_large = gain.mean.abs() >= MIN_EFFECT * before.abs() && gain.mean != 0.0;
    match gain {
        g if g.low > 0.0 && is_large => CureEffect::Gains,
        g if g.high < 0.0 && is_large => CureEffect::Loses,
        _ => CureEffect::NoDifference,
    }
}

/// Orders cures: those that ruin a flow last; before them gains by size, then no difference, then losses.
fn order(a: &RankedCure, b: &RankedCure) -> Ordering {
    let class = |c: &RankedCure| match c.effect {
        CureEffect::Gains => 0,
        CureEffect::NoDifference => 1,
        CureEffect::Loses => 2,
    };
    let harmless = a.ruined_flows.is_empty().cmp(&b.ruined_flows.is_empty()).reverse();
    harmless.then(class(a).cmp(&class(b))).then_with(|| {
        if class(a) == 1 {
            return Ordering::Equal;
        }
        b.gain.mean.total_cmp(&a.gain.mean).then(a.steps.len().cmp(&b.steps.len()))
    })
}

/// Marks the finalists that no other beats in both goodput and round-trip time.
fn pareto(finalists: &mut [(RankedCure, CureTrial)]) {
    let points: Vec<(f64, f64)> =
        finalists.iter().map(|(c, _)| (c.figures.goodput_mbps.mean, c.figures.p95_delay_ms.mean)).collect();
    for (i, (cure, _)) in finalists.iter_mut().enumerate() {
        let (goodput, delay) = points[i];
        let beats = |&(g, d): &(f64, f64)| g >= goodput && d <= delay && (g > goodput || d < delay);
        cure.pareto = !points.iter().any(beats);
    }
}

/// Returns how long screening runs last, for callers that need to know in advance.
pub fn screening_time(scenario: &Scenario) -> Span {
    let situation = Situation::new(std::slice::from_ref(scenario));
    let rtt = situation.paths.iter().map(|w| w.rtt).max().unwrap_or_default();
    let rate = situation.paths.iter().filter_map(|w| w.rate).max();
    screen_time(scenario, rtt, rate)
}
