//! The whole: screening, finalists, what they cost others, the order, the sentence.

use crate::cure::{self, CURES};
use crate::error::PlanError;
use crate::measure;
use crate::model::{
    CureEffect, CureStep, LeftOutCure, PLAN_SCHEMA, Plan, PlanFigures, PlanRange, RankedCure, SimulatedRuns,
};
use crate::runner::{Runner, screen_time};
use crate::search::{self, CureTrial, Screening};
use crate::situation::Situation;
use crate::story;
use crate::voice;
use crate::wish::PlanWish;
use experiment::Watcher;
use path::Stage;
use scenario::Scenario;
use std::cmp::Ordering;
use units::Span;

/// Seeds of what is screened.
const SCREEN_SEEDS: u32 = 3;
/// Seeds of runs with a call.
const VOICE_SEEDS: u32 = 2;
/// Finalists that are several cures together.
const MOST_TOGETHER: usize = 3;
/// A difference below this share of what there was is none.
const WORTH: f64 = 0.01;

/// A finished plan, and what of it a caller may want to run again.
pub struct MadePlan {
    /// As data.
    pub plan: Plan,
    /// What was done for each of the plan's finalists, in the order of [`Plan::cures`]; [`cure::cured`] does it.
    pub options: Vec<Vec<cure::CureOption>>,
}

/// Tries cures on scenarios that are equally likely to be the truth, and ranks them. They differ in numbers only: hosts,
/// links, stages and flows are the same; cures are fitted to the first.
///
/// # Errors
/// See [`PlanError`].
pub fn plan(
    variant: &str,
    scenarios: &[Scenario],
    wish: &PlanWish,
    watch: Option<&mut Watcher<'_>>,
) -> Result<MadePlan, PlanError> {
    let Some(reference) = scenarios.first() else { return Err(PlanError::NoFlows) };
    let situation = Situation::new(scenarios);
    if situation.ways.is_empty() {
        return Err(PlanError::NoFlows);
    }
    check(wish, &situation)?;
    let mut runner = Runner::new(wish, watch);
    let screening = Screening { wish, time: screening_time(reference), seeds: SCREEN_SEEDS };
    let mut now = CureTrial::none(scenarios);
    screening.run(&mut runner, std::slice::from_mut(&mut now), &[])?;
    let screened = screening.search(&mut runner, &now)?;
    let count = screened.len();
    let (finalists, rest) = choose(screened, wish.finalists);
    let full = Screening { wish, time: reference.duration, seeds: wish.repeats.max(1) };
    let mut run = vec![CureTrial::none(scenarios)];
    run.extend(finalists);
    let (first, others) = run.split_at_mut(1);
    full.run(&mut runner, first, &[])?;
    full.run(&mut runner, others, &first[0].runs)?;
    let sets: Vec<Vec<Scenario>> = run.iter().map(|t| t.scenarios.clone()).collect();
    let voices = voice::costs(&mut runner, &sets, screening.time, VOICE_SEEDS)?;
    for (trial, voice) in run.iter_mut().zip(&voices).skip(1) {
        let wanted = wish.no_loss_for.iter().any(|n| n == "voice");
        if wanted && trial.broken.is_none() && voice.is_some_and(|v| v.lost > 0.0) {
            trial.broken = Some("a call beside it loses packets".into());
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
    let teller = Teller { wish, base: reference };
    let base = run.remove(0);
    let figures = PlanFigures { voice: voices[0], ..measure::figures(&base.runs) };
    let mut made: Vec<(RankedCure, CureTrial)> = Vec::new();
    let mut left_out = left_out(wish, &situation);
    let beside = |t: CureTrial, finalist: bool, voice| (teller.ranked(&t, &base, finalist, voice), t);
    let all = run.into_iter().zip(voices.into_iter().skip(1)).map(|(t, voice)| beside(t, true, voice));
    let screened = rest.into_iter().map(|t| (teller.ranked(&t, &now, false, None), t));
    for (cure, trial) in all.chain(screened) {
        match &trial.broken {
            Some(why) => left_out.push(LeftOutCure { name: cure.name, why: why.clone() }),
            None => made.push((cure, trial)),
        }
    }
    made.sort_by(|(a, _), (b, _)| order(a, b));
    pareto(&mut made);
    let options = made.iter().filter(|(c, _)| c.finalist).map(|(_, t)| t.steps.clone()).collect();
    let mut plan = Plan {
        schema: PLAN_SCHEMA.into(),
        scenario: reference.name.clone(),
        variant: variant.into(),
        objective: wish.objective,
        advice: String::new(),
        now: figures,
        cures: made.into_iter().map(|(c, _)| c).collect(),
        left_out,
        simulated,
    };
    plan.advice = story::advice(&plan);
    Ok(MadePlan { plan, options })
}

/// Names of constraints mean something.
fn check(wish: &PlanWish, s: &Situation<'_>) -> Result<(), PlanError> {
    let reference = s.reference();
    let mut stages: Vec<String> = s.places(|_| true).into_iter().map(|p| s.stage_name(p)).collect();
    stages.splice(0..0, Stage::KINDS.iter().map(|k| k.to_string()));
    if let Some(name) = wish.keep.iter().find(|k| !stages.contains(k)) {
        return Err(PlanError::Unknown("what is to be kept", name.clone(), stages));
    }
    let mut flows: Vec<String> = reference.flows.iter().map(|f| f.name.clone()).collect();
    flows.extend(["udp".to_string(), "voice".to_string()]);
    let unknown = wish.no_loss_for.iter().find(|n| !flows.contains(n));
    unknown.map_or(Ok(()), |name| Err(PlanError::Unknown("what must lose nothing", name.clone(), flows)))
}

/// Those that are run in full, and the rest: the best of each lever and of each who can move it, at most
/// [`MOST_TOGETHER`] of several together, no two of which share a cure, then the best of all.
fn choose(screened: Vec<CureTrial>, most: usize) -> (Vec<CureTrial>, Vec<CureTrial>) {
    let mut chosen = vec![false; screened.len()];
    let fit: Vec<usize> = (0..screened.len()).filter(|&i| screened[i].broken.is_none()).collect();
    let several = fit.iter().copied().filter(|&i| screened[i].steps.len() > 1);
    for i in several {
        let share =
            |&j: &usize| screened[j].steps.iter().any(|a| screened[i].steps.iter().any(|b| a.cure == b.cure));
        let joined: Vec<usize> = (0..i).filter(|&j| chosen[j]).collect();
        if joined.len() < MOST_TOGETHER.min(most / 2) && !joined.iter().any(share) {
            chosen[i] = true;
        }
    }
    let mut taken = chosen.iter().filter(|c| **c).count();
    let mut seen = Vec::new();
    for &i in &fit {
        let [step] = &screened[i].steps[..] else { continue };
        let kind = (cure::named(step.cure).map(|c| c.lever()), step.by.clone());
        if taken < most && !seen.contains(&kind) {
            seen.push(kind);
            chosen[i] = true;
            taken += 1;
        }
    }
    for &i in fit.iter().filter(|&&i| screened[i].steps.len() == 1) {
        if taken < most && !chosen[i] {
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

/// Cures that offer nothing here, or nothing that the wish admits.
fn left_out(wish: &PlanWish, s: &Situation<'_>) -> Vec<LeftOutCure> {
    let mut left = Vec::new();
    for cure in CURES {
        let options = cure.options(s);
        if options.is_empty() {
            let why = format!("it makes sense only {}", cure.applies());
            left.push(LeftOutCure { name: cure.name().into(), why });
        }
        let refused = options.iter().filter_map(|o| Some((o.name.clone(), wish.refuses(o)?)));
        left.extend(refused.map(|(name, why)| LeftOutCure { name, why }));
    }
    left
}

/// Makes rows of trials.
struct Teller<'s> {
    wish: &'s PlanWish,
    base: &'s Scenario,
}

impl Teller<'_> {
    fn ranked(
        &self,
        trial: &CureTrial,
        now: &CureTrial,
        finalist: bool,
        voice: Option<crate::model::VoiceCost>,
    ) -> RankedCure {
        let mut by: Vec<_> = trial.steps.iter().flat_map(|s| s.by.clone()).collect();
        by.sort_unstable();
        by.dedup();
        let titles: Vec<&str> = trial.steps.iter().map(|s| s.title.as_str()).collect();
        let before = search::judged(self.wish, now);
        let after = search::judged(self.wish, trial);
        let step = |s: &cure::CureOption| CureStep {
            cure: s.cure.into(),
            title: s.title.clone(),
            by: s.by.clone(),
            hurts: cure::named(s.cure).map(|c| c.hurts().to_string()).unwrap_or_default(),
            commands: s.commands.clone(),
        };
        RankedCure {
            name: trial.name(),
            title: titles.join("; "),
            by,
            steps: trial.steps.iter().map(step).collect(),
            changes: trial.scenarios[0].overrides_of(self.base),
            finalist,
            figures: PlanFigures { voice, ..measure::figures(&trial.runs) },
            gain: trial.gain,
            factor: (before > 0.0).then_some(after / before),
            effect: effect(trial.gain, before),
            pareto: false,
            proof: None,
        }
    }
}

/// Whether that is a difference.
fn effect(gain: PlanRange, before: f64) -> CureEffect {
    let worth = gain.mean.abs() >= WORTH * before.abs();
    match gain {
        g if g.low > 0.0 && worth => CureEffect::Gains,
        g if g.high < 0.0 && worth => CureEffect::Loses,
        _ => CureEffect::NoDifference,
    }
}

/// Finalists first; what gains by how much; what makes no difference by the harm that it does.
fn order(a: &RankedCure, b: &RankedCure) -> Ordering {
    let class = |c: &RankedCure| match c.effect {
        CureEffect::Gains => 0,
        CureEffect::NoDifference => 1,
        CureEffect::Loses => 2,
    };
    b.finalist.cmp(&a.finalist).then(class(a).cmp(&class(b))).then_with(|| {
        if class(a) == 1 {
            return story::harm(a).total_cmp(&story::harm(b));
        }
        b.gain.mean.total_cmp(&a.gain.mean).then(a.steps.len().cmp(&b.steps.len()))
    })
}

/// Marks finalists that no other beats in goodput and delay both.
fn pareto(made: &mut [(RankedCure, CureTrial)]) {
    let points: Vec<(f64, f64)> =
        made.iter().map(|(c, _)| (c.figures.goodput_mbps.mean, c.figures.p95_delay_ms.mean)).collect();
    let finalists: Vec<bool> = made.iter().map(|(c, _)| c.finalist).collect();
    for (i, (cure, _)) in made.iter_mut().enumerate() {
        let (goodput, delay) = points[i];
        let beaten = points
            .iter()
            .zip(&finalists)
            .any(|(&(g, d), &finalist)| finalist && g >= goodput && d <= delay && (g > goodput || d < delay));
        cure.pareto = cure.finalist && !beaten;
    }
}

/// How long screening takes, for who wants to know ahead.
pub fn screening_time(scenario: &Scenario) -> Span {
    let situation = Situation::new(std::slice::from_ref(scenario));
    let rtt = situation.ways.iter().map(|w| w.rtt).max().unwrap_or_default();
    let rate = situation.ways.iter().filter_map(|w| w.rate).max();
    screen_time(scenario, rtt, rate)
}
