//! The whole: from what was observed to a scenario.

use crate::first_guess::guesses;
use crate::flows::{FittedFlow, flows};
use crate::misfit;
use crate::model::{FIT_SCHEMA, Fit, FitComparison, FitFigures, FitRuns, FitValue};
use crate::observed::ObservedPath;
use crate::path_model::FittedPath;
use crate::search::{PathSearch, TriedPath};
use crate::trial::{TrialFrame, TrialRunner, scenario};
use crate::write;
use experiment::{BatchRunner, Unfinished, Watcher};
use scenario::Scenario;
use std::fmt;
use std::num::NonZeroUsize;

/// Why there is no fit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FitError {
    /// No TCP flow with data.
    NoFlow,
    /// Data packets of the largest flow, and how many it takes.
    TooFew(u64, u64),
    /// Only one direction was captured.
    OneWay,
    /// No round trip was measured.
    NoRtt,
    /// The caller ended it.
    Stopped,
    /// A run failed.
    Failed(String),
}

impl From<Unfinished> for FitError {
    fn from(why: Unfinished) -> FitError {
        match why {
            Unfinished::Stopped => FitError::Stopped,
            Unfinished::Failed(how) => FitError::Failed(how),
        }
    }
}

impl fmt::Display for FitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FitError::NoFlow => f.write_str("no TCP flow with data is in it: there is nothing to fit"),
            FitError::TooFew(n, least) => {
                write!(f, "the largest flow has {n} data packets; less than {least} do not tell of a path")
            }
            FitError::OneWay => {
                f.write_str("only one direction of the largest flow was captured: without its ACKs there are no round trips")
            }
            FitError::NoRtt => f.write_str("no round trip of the largest flow could be measured"),
            FitError::Stopped => f.write_str("ended before there was a fit"),
            FitError::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for FitError {}

/// How much is tried.
#[derive(Clone, Debug, PartialEq)]
pub struct FitWish {
    /// How many runs at a time; `None`: one for each core.
    pub threads: Option<NonZeroUsize>,
    /// Data packets that are simulated at most, about.
    pub packets: u64,
    /// Seconds that are simulated at most of a capture.
    pub seconds: f64,
}

impl Default for FitWish {
    fn default() -> FitWish {
        FitWish { threads: None, packets: 8_000_000, seconds: 30.0 }
    }
}

/// A finished fit.
#[derive(Clone, Debug)]
pub struct MadeFit {
    /// As data.
    pub fit: Fit,
    /// The scenario.
    pub scenario: Scenario,
    /// Scenarios that fit nearly as well: the same hosts, links, stages and flows, other numbers.
    pub alternatives: Vec<Scenario>,
    /// The path.
    pub path: FittedPath,
    /// Its flows.
    pub flows: Vec<FittedFlow>,
}

/// Seeds of the runs that are told.
const TOLD_SEEDS: u32 = 4;
/// Trials that a search must be able to make.
const LEAST_TRIALS: u64 = 60;
/// Congestion controls that are tried where the capture does not tell.
const CONTROLS: [&str; 3] = ["cubic", "bbr", "reno"];

/// Seconds of path time that a trial has at least, if they can be afforded; and those of the run that says so.
const LEAST_SECONDS: f64 = 3.0;
const PROBE_SECONDS: f64 = 0.5;
/// How many times as many packets as a trial may have are too many.
const TOO_MANY: f64 = 2.0;

/// How many seconds a trial may have. A guess may send far more packets than the captured flows did, as one that plays without pauses
/// what paused, on a path of a tenth of a millisecond: a short run of the first tells.
fn affordable(
    seen: &ObservedPath,
    seconds: f64,
    packets: f64,
    runner: &mut TrialRunner<'_, '_>,
) -> Result<f64, FitError> {
    let short = seen.within(seconds.min(PROBE_SECONDS));
    let Some((path, flows)) = begin(&short).into_iter().next() else { return Ok(seconds) };
    let probe = TrialFrame::of(&short, PROBE_SECONDS);
    runner.run(vec![scenario(&path, &flows, &probe)?], 1)?;
    let a_second = runner.packets as f64 / probe.seconds;
    Ok(if a_second * seconds > TOO_MANY * packets { TOO_MANY * packets / a_second } else { seconds })
}

/// Finds a scenario that behaves as the observed path did.
///
/// # Errors
/// See [`FitError`].
pub fn fit(
    seen: &ObservedPath,
    wish: &FitWish,
    watch: Option<&mut Watcher<'_>>,
) -> Result<MadeFit, FitError> {
    if seen.flows.is_empty() {
        return Err(FitError::NoFlow);
    }
    let packets: u64 = seen.flows.iter().map(|f| f.flow.measures.data_packets).sum();
    let trial = (wish.packets / LEAST_TRIALS).max(1000) as f64;
    let most = wish.seconds.min(seen.span_s * trial / packets.max(1) as f64);
    let most = most.max(seen.span_s.min(LEAST_SECONDS));
    let mut seen = seen.within(most);
    let mut runner = TrialRunner { batches: BatchRunner::new(wish.threads, watch), packets: 0 };
    let seconds = affordable(&seen, most, trial, &mut runner)?;
    if seconds < most {
        seen = seen.within(seconds);
    }
    let seen = &seen;
    let frame = TrialFrame::of(seen, seconds);
    let captured = misfit::captured(seen);
    let mut search = PathSearch { runner: &mut runner, frame: &frame, captured, budget: wish.packets };
    let mut tried = search.run(begin(seen))?;
    search.evaluate(&mut tried[..1], TOLD_SEEDS, None)?;
    let rest = tried.split_off(1);
    let Some(best) = tried.pop() else { return Err(FitError::NoFlow) };
    let others: Vec<f64> = rest
        .iter()
        .filter(|t| t.path.limiter != best.path.limiter)
        .map(|t| ((best.cost - t.cost) / 2.0).exp())
        .collect();
    let confidence = 1.0 / (1.0 + others.iter().sum::<f64>());
    let scenario = scenario(&best.path, &best.flows, &frame)?;
    let alternatives = alternatives(&best, &frame)?;
    let comparison = FitComparison { captured, fitted: misfit::figures(&best.mean), spread: spread(&best) };
    let values = values(&best);
    let runs = FitRuns { runs: runner.batches.runs as u64, seconds: frame.seconds, packets: runner.packets };
    let cost = misfit::misfit(&misfit::logs(&captured), &best.mean, &best.spread);
    let mut fit = Fit {
        schema: FIT_SCHEMA.into(),
        headline: String::new(),
        limiter: if seen.limiter.is_some() { best.path.limiter.name() } else { "none" }.into(),
        confidence,
        compared: comparison,
        misfit: (cost / misfit::FIGURES as f64).sqrt(),
        not_told: write::not_told(seen, &best, &values),
        values,
        simulated: runs,
        scenario: String::new(),
    };
    fit.headline = write::headline(&fit);
    fit.scenario = write::scenario(&fit, &best, &frame);
    Ok(MadeFit { fit, scenario, alternatives, path: best.path, flows: best.flows })
}

/// Paths and flows to begin with: where the congestion control is not told, each that may be.
fn begin(seen: &ObservedPath) -> Vec<(FittedPath, Vec<FittedFlow>)> {
    let flows = flows(seen);
    let told = flows.iter().all(FittedFlow::cc_is_told);
    let mut all = Vec::new();
    for path in guesses(seen) {
        all.push((path.clone(), flows.clone()));
        if told || all.len() > 9 {
            continue;
        }
        for cc in CONTROLS.iter().skip(1) {
            let mut other = flows.clone();
            other.iter_mut().filter(|f| !f.cc_is_told()).for_each(|f| f.cc = (*cc).into());
            all.push((FittedPath { handicap: path.handicap + 2.0, ..path.clone() }, other));
        }
    }
    all
}

/// Standard deviations as figures.
fn spread(best: &TriedPath) -> FitFigures {
    let (mean, spread) = (misfit::figures(&best.mean), &best.spread);
    FitFigures {
        goodput_mbps: mean.goodput_mbps * spread[0],
        rtt_min_ms: mean.rtt_min_ms * spread[1],
        rtt_p50_ms: mean.rtt_p50_ms * spread[2],
        rtt_p95_ms: mean.rtt_p95_ms * spread[3],
        resent: mean.resent * spread[4],
    }
}

/// The numbers that were searched, with their ranges.
fn values(best: &TriedPath) -> Vec<FitValue> {
    let one = |&(parameter, half): &(crate::FitParameter, f64)| {
        let (name, unit) = parameter.title();
        let value = best.path.get(parameter);
        FitValue {
            name: name.into(),
            value: parameter.told(value),
            unit: unit.into(),
            range: [parameter.told(value * (-half).exp()), parameter.told(value * half.exp())],
        }
    };
    best.ranges.iter().map(one).collect()
}

/// A number whose range is wider than this (of its logarithm) makes alternatives.
const WIDE: f64 = 0.1;
/// The most alternatives.
const MOST_ALTERNATIVES: usize = 4;

/// Scenarios that fit nearly as well: what is told least, at both ends of its range.
fn alternatives(best: &TriedPath, frame: &TrialFrame) -> Result<Vec<Scenario>, FitError> {
    let mut wide: Vec<_> = best.ranges.iter().filter(|(_, half)| *half > WIDE).copied().collect();
    wide.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut all = Vec::new();
    for (parameter, half) in wide {
        for by in [-half, half] {
            if all.len() < MOST_ALTERNATIVES {
                let path = best.path.with(parameter, best.path.get(parameter) * by.exp());
                all.push(scenario(&path, &best.flows, frame)?);
            }
        }
    }
    Ok(all)
}
