//! [`fit`]: from an observed path to a scenario that behaves alike.

use crate::error::FitError;
use crate::figures::figures;
use crate::first_guess::guesses;
use crate::flows::{FittedApp, FittedFlow, flows};
use crate::headline::{headline, misfits, misfits_of};
use crate::kinds;
use crate::misfit;
use crate::model::{FIT_SCHEMA, Fit, FitComparison, FitCross, FitFigures, FitRuns, FitValue};
use crate::not_shown;
use crate::observed::ObservedPath;
use crate::path_model::{FitParameter, FittedLimiter, FittedPath};
use crate::policers;
use crate::scenario_text::{PathShape, TrialFrame};
use crate::search::{PathSearch, TriedPath};
use crate::trial::{TrialRunner, scenario};
use crate::verdict::{SummaryVerdict, VerdictKind};
use crate::words::FitWords;
use crate::write;
use experiment::{BatchRunner, Watcher};
use result::diagnosis::LimiterKind;
use scenario::Scenario;
use std::num::NonZeroUsize;

/// How much to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct FitOptions {
    /// Runs at a time; `None`: one for each core.
    pub threads: Option<NonZeroUsize>,
    /// Most data packets to simulate, roughly.
    pub packets: u64,
    /// Most seconds of a capture to simulate.
    pub seconds: f64,
}

impl Default for FitOptions {
    fn default() -> FitOptions {
        FitOptions { threads: None, packets: 6_000_000, seconds: 30.0 }
    }
}

/// A finished fit.
#[derive(Clone, Debug)]
pub struct MadeFit {
    pub fit: Fit,
    /// [`Fit::not_shown`] in all languages.
    pub not_shown: Vec<FitWords>,
    pub scenario: Scenario,
    /// Scenarios that fit nearly as well. Hosts, links, flows and the order of stages are those of
    /// `scenario`; numbers differ, or the limiter is of another kind.
    pub alternatives: Vec<Scenario>,
    pub path: FittedPath,
    pub flows: Vec<FittedFlow>,
}

/// Seeds of the runs whose figures are reported.
const REPORTED_SEEDS: u32 = 4;
/// Least number of trials of a search, and data packets after which a trial is long enough.
const MIN_TRIALS: u64 = 60;
const TRIAL_PACKETS: u64 = 40_000;
/// Congestion controls to try where the capture does not show which one it was.
const CONTROLS: [&str; 3] = ["cubic", "bbr", "reno"];

/// Least path time of a trial where the budget suffices, and the path time of the run that estimates its
/// packets.
const MIN_SECONDS: f64 = 3.0;
const PROBE_SECONDS: f64 = 0.5;
/// Trials of a summary track no packets, so their budget is larger by these factors: in all, and for one
/// trial.
const SUMMARY_BUDGET: u64 = 2;
const SUMMARY_TRIAL: f64 = 2.5;
/// Least round trips in the part of a summary that is simulated.
const MIN_ROUND_TRIPS: f64 = 20.0;
/// Share of the budget for the first runs of all guesses, and the runs of each guess before the first round.
const FIRST_RUNS_SHARE: f64 = 0.5;
const RUNS_PER_GUESS: f64 = 4.0;
/// A trial may send more packets than planned by this factor.
const MAX_EXCESS: f64 = 2.0;

/// The seconds of a trial that the budget allows. A guess may send far more packets than the captured flows
/// did, for example if it omits their pauses on a path of 0.1 ms: a short run of the first guess shows.
fn affordable(
    seen: &ObservedPath,
    seconds: f64,
    packets: f64,
    runner: &mut TrialRunner<'_, '_>,
) -> Result<f64, FitError> {
    let short = seen.within(seconds.min(PROBE_SECONDS));
    let Some(path) = guesses(&short, None).into_iter().next() else { return Ok(seconds) };
    let flows = flows(&short);
    let probe = TrialFrame::of(&short, PROBE_SECONDS);
    runner.run(vec![scenario(&path, &flows, &probe, PathShape::default())?], 1, None)?;
    let a_second = runner.packets as f64 / probe.seconds;
    Ok(if a_second * seconds > MAX_EXCESS * packets { MAX_EXCESS * packets / a_second } else { seconds })
}

/// The shortest part of a summary to simulate, seconds: an interval and [`MIN_ROUND_TRIPS`].
fn least_stretch(seen: &ObservedPath) -> f64 {
    let Some(first) = seen.flows.first() else { return MIN_SECONDS };
    let interval = first.facts.intervals.iter().map(|i| i.seconds()).fold(0.0, f64::max);
    interval.max(MIN_ROUND_TRIPS * first.flow.measures.rtt_ms.p50 / 1e3)
}

/// Drops guesses of each kind evenly until about `most` are left.
fn thin(all: &mut Vec<FittedPath>, most: usize) {
    let every = all.len().div_ceil(most.max(1));
    let mut seen: Vec<((FittedLimiter, bool), usize)> = Vec::new();
    let kinds: Vec<_> = all.iter().map(|p| (p.limiter, p.is_open)).collect();
    let mut at = 0;
    all.retain(|_| {
        let kind = kinds[at];
        at += 1;
        let index = match seen.iter_mut().find(|s| s.0 == kind) {
            Some(s) => {
                s.1 += 1;
                s.1
            }
            None => {
                seen.push((kind, 0));
                0
            }
        };
        index % every == 0
    });
}

/// Finds a scenario that behaves as the observed path did.
///
/// # Errors
/// See [`FitError`].
pub fn fit(
    seen: &ObservedPath,
    options: &FitOptions,
    watch: Option<&mut Watcher<'_>>,
) -> Result<MadeFit, FitError> {
    if seen.flows.is_empty() {
        return Err(FitError::NoFlow);
    }
    let span_s = seen.span_s;
    let packets: u64 = seen.flows.iter().map(|f| f.flow.measures.data_packets).sum();
    let mut runner = TrialRunner { batches: BatchRunner::new(options.threads, watch), packets: 0 };
    let a_second = packets.max(1) as f64 / seen.span_s;
    let budget = if seen.verdict.is_some() { SUMMARY_BUDGET * options.packets } else { options.packets };
    let trial = (options.packets / MIN_TRIALS).clamp(1000, TRIAL_PACKETS) as f64;
    let most = match &seen.verdict {
        // A shorter run would end before the bucket is empty.
        Some(verdict) if verdict.kind == VerdictKind::Bucket => span_s,
        Some(_) => options.seconds.min((SUMMARY_TRIAL * trial / a_second).max(least_stretch(seen))),
        None => options.seconds.min(trial / a_second).max(MIN_SECONDS),
    };
    let most = most.min(span_s);
    let mut seen = seen.within(most);
    let mut seconds = if seen.summary { most.min(seen.span_s) } else { most };
    if seen.verdict.is_none() {
        seconds = affordable(&seen, most, trial, &mut runner)?;
        if seconds < most {
            seen = seen.within(seconds);
        }
    }
    let seen = &seen;
    let frame = TrialFrame::of(seen, seconds);
    let listening = misfit::listening(seen, seconds);
    let captured = misfit::captured(seen, listening.as_ref());
    let played = flows(seen);
    let schwarz = seen.schwarz(seconds);
    let mut search = PathSearch {
        runner: &mut runner,
        frame: &frame,
        captured,
        listening,
        schwarz,
        budget,
        tried: Vec::new(),
    };
    let mut begin = guesses(seen, listening.as_ref());
    if seen.verdict.is_some() {
        thin(&mut begin, (FIRST_RUNS_SHARE * budget as f64 / (a_second * seconds) / RUNS_PER_GUESS) as usize);
    }
    let mut tried = search.run(begin, &played, &other_flows(&played))?;
    search.evaluate(&mut tried, REPORTED_SEEDS, None)?;
    let during_search = search.tried;
    tried.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    let is_limited =
        |v: &SummaryVerdict| matches!(v.kind, VerdictKind::Bucket | VerdictKind::Queue | VerdictKind::Loss);
    let named = seen.limiter.is_some() || seen.verdict.as_ref().is_some_and(is_limited);
    let mut ranked = kinds::kinds(&tried);
    trust_diagnosis(seen, &figures(&captured), &mut ranked);
    let Some(&(best, confidence)) = ranked.first() else { return Err(FitError::NoFlow) };
    let others = kinds::others(&ranked);
    // The alternatives have the stages of the best path, in its order.
    let shape = PathShape::of(std::iter::once(best).chain(others.iter().map(|o| o.0)).map(|t| &t.path));
    let scenario = scenario(&best.path, &best.flows, &frame, shape)?;
    let nearly: Vec<&TriedPath> = if seen.summary { kinds::nearly(&tried, best) } else { Vec::new() };
    let alternatives = alternatives(best, (&nearly, &others), &frame, shape)?;
    let comparison =
        FitComparison { captured: figures(&captured), fitted: figures(&best.mean), spread: spread(best) };
    let values = values(best, &kinds::nearly(&during_search, best));
    let runs = FitRuns {
        runs: runner.batches.runs as u64,
        seconds: frame.seconds,
        of_seconds: span_s,
        packets: runner.packets,
    };
    let mut fit = Fit {
        schema: FIT_SCHEMA.into(),
        headline: String::new(),
        limiter: kinds::kind_name(&best.path, named).into(),
        confidence,
        other_kinds: others.iter().map(|(t, p)| kinds::report(t, *p, named)).collect(),
        policers: policers::report(&best.path, &best.flows),
        misfits: misfits_of(&comparison, seen),
        compared: comparison,
        misfit: misfit::summary_misfit(&captured, &best.mean, &best.spread),
        cross: best
            .path
            .cross
            .iter()
            .map(|c| FitCross { from_s: c.from, to_s: c.to, rate_mbps: c.rate / 1e6 })
            .collect(),
        not_shown: Vec::new(),
        values,
        simulated: runs,
        verdict: seen.verdict.clone(),
        scenario: String::new(),
    };
    let not_shown = not_shown::not_shown(seen, best, &fit);
    fit.not_shown = not_shown.iter().map(|words| words.en.clone()).collect();
    fit.headline = headline(&fit, seen);
    if not_shown::is_first_guess(best) {
        fit.headline += " The search did not run: all numbers are first guesses.";
    }
    fit.scenario = write::scenario(&fit, best, &frame);
    Ok(MadeFit { fit, not_shown, scenario, alternatives, path: best.path.clone(), flows: best.flows.clone() })
}

/// Puts the kind that the diagnosis names first where even the best path fits badly: a bad fit is not a
/// reason to contradict the diagnosis.
fn trust_diagnosis(seen: &ObservedPath, captured: &FitFigures, ranked: &mut [(&TriedPath, f64)]) {
    let (Some(named), Some(first)) = (seen.limiter.as_ref(), ranked.first()) else { return };
    let kind = match named.kind {
        LimiterKind::Policer => FittedLimiter::Policer,
        LimiterKind::Shaper => FittedLimiter::Shaper,
        LimiterKind::Bottleneck => FittedLimiter::Link,
    };
    if misfits(captured, &figures(&first.0.mean), &spread(first.0)).is_empty() {
        return;
    }
    if let Some(at) = ranked.iter().position(|(tried, _)| tried.path.limiter == kind) {
        ranked[..=at].rotate_right(1);
    }
}

/// From this confidence on no other congestion control is tried.
const SURE_CC_CONFIDENCE: f64 = 0.95;

/// Other flows that may be the true ones, each with its cost: with another congestion control where the
/// captured one is not certain, and without pauses where these are short.
fn other_flows(flows: &[FittedFlow]) -> Vec<(Vec<FittedFlow>, f64)> {
    let is_unsure = |f: &&FittedFlow| f.cc_confidence < SURE_CC_CONFIDENCE;
    let sure = flows.iter().filter(is_unsure).map(|f| f.cc_confidence).fold(1.0, f64::min);
    // Where the capture does not show the congestion control, the assumed one is only somewhat more likely
    // than others.
    let handicap = if sure < 0.5 { 2.0 } else { 2.0 * (sure / (1.0 - sure.min(0.99))).ln() };
    let mut all = vec![(flows.to_vec(), 0.0)];
    for cc in CONTROLS {
        let mut other = flows.to_vec();
        other.iter_mut().filter(|f| f.cc_confidence < SURE_CC_CONFIDENCE).for_each(|f| f.cc = cc.into());
        if other != flows {
            all.push((other, handicap));
        }
    }
    // A flow that pauses most of the time certainly pauses; without pauses it would send a thousand times the
    // data.
    let pauses = |f: &FittedFlow| matches!(f.app, FittedApp::OnOff(on, off, _) if off < on);
    if flows.iter().any(pauses) {
        let mut bulk = all.clone();
        let change = |f: &mut FittedFlow| f.app = if pauses(f) { FittedApp::Bulk } else { f.app.clone() };
        bulk.iter_mut().flat_map(|b| &mut b.0).for_each(change);
        all.extend(bulk);
    }
    all.split_off(1)
}

/// Standard deviations of the figures from seed to seed.
fn spread(best: &TriedPath) -> FitFigures {
    let (mean, spread) = (figures(&best.mean), &best.spread);
    FitFigures {
        goodput_mbps: mean.goodput_mbps * spread[0],
        rtt_min_ms: mean.rtt_min_ms * spread[1],
        rtt_p50_ms: mean.rtt_p50_ms * spread[2],
        rtt_p95_ms: mean.rtt_p95_ms * spread[3],
        retransmitted_share: mean.retransmitted_share * spread[4],
    }
}

/// The numbers of the best path with the ranges that fit nearly as well; `nearly` are other paths of its kind
/// that do.
fn values(best: &TriedPath, nearly: &[&TriedPath]) -> Vec<FitValue> {
    let one = |(parameter, half): (FitParameter, f64)| {
        let (name, unit) = parameter.title();
        let value = best.path.get(parameter);
        let others = || nearly.iter().map(|t| t.path.get(parameter));
        // `with` clamps to sensible values: no run of losses is shorter than one packet.
        let [low, high] = [-half, half].map(|by| best.path.with(parameter, value * by.exp()).get(parameter));
        let (low, high) = (others().fold(low, f64::min), others().fold(high, f64::max));
        // Simulated goodput narrows the range less than it seems to: it depends on every single loss.
        let (low, high) = match best.path.open_rate.filter(|_| parameter == FitParameter::Rate) {
            Some([least, most]) => (low.min(least), high.max(most)),
            None => (low, high),
        };
        FitValue {
            name: name.into(),
            value: parameter.in_reported_unit(value),
            unit: unit.into(),
            range: [low, high].map(|v| parameter.in_reported_unit(v)),
        }
    };
    best.all_ranges().map(one).collect()
}

/// If the half-width of a number's logarithm is larger than this, the ends of its range become alternatives.
const MIN_WIDE_RANGE: f64 = 0.1;
const MAX_ALTERNATIVES: usize = 4;

/// Scenarios that fit nearly as well: other paths of the kind, other kinds, and both ends of the widest
/// ranges.
fn alternatives(
    best: &TriedPath,
    (nearly, others): (&[&TriedPath], &[(&TriedPath, f64)]),
    frame: &TrialFrame,
    shape: PathShape,
) -> Result<Vec<Scenario>, FitError> {
    let mut wide: Vec<_> = best.all_ranges().filter(|(_, half)| *half > MIN_WIDE_RANGE).collect();
    wide.sort_by(|a, b| b.1.total_cmp(&a.1));
    let same_links = |path: &FittedPath| {
        let same_line = path.access.is_none()
            || best.path.access.is_none()
            || path.is_line_behind == best.path.is_line_behind;
        same_line
            && path.cross.len() == best.path.cross.len()
            && path.own_policers().len() == best.path.own_policers().len()
    };
    let alike = others.iter().filter(|(tried, _)| same_links(&tried.path));
    let kinds = alike.map(|(tried, _)| tried.path.clone());
    let ends = wide.into_iter().flat_map(|(parameter, half)| {
        [-half, half].map(|by| best.path.with(parameter, best.path.get(parameter) * by.exp()))
    });
    let same_kind = nearly.iter().map(|tried| tried.path.clone());
    let open = best.path.open_rate.into_iter().flatten();
    let rates = open.map(|rate| best.path.with(FitParameter::Rate, rate));
    let paths = same_kind.chain(rates).chain(kinds).chain(ends).take(MAX_ALTERNATIVES);
    paths.map(|path| scenario(&path, &best.flows, frame, shape)).collect()
}
