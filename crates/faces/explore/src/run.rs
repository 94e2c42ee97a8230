//! Runs a variant for the page.

use crate::request::{Refusal, RunRequest};
use crate::{OnProgress, json};
use experiment::{Hooks, Order, Progress};
use report::{Lang, PageData, PlottedSeries, Shown, page_data};
use scenario::{Experiment, Scenario};
use serde::Serialize;
use units::Span;

/// The JSON head of the answer to a run.
#[derive(Serialize)]
struct RunReply {
    /// The variant's duration, s; a coarse run is shorter.
    duration_s: f64,
    /// Packets sent by all senders.
    packets: u64,
}

/// Runs the variant and returns the head, the data of the report's page with this run's result first, and the
/// columns of its series.
pub(crate) fn run(request: &RunRequest, on_progress: &mut OnProgress<'_>) -> Result<Vec<Vec<u8>>, Refusal> {
    let mut experiment = request.scenario.chosen()?;
    let warnings = experiment::warned(&experiment);
    let whole = experiment.variants[0].scenario.duration;
    if let Some(until) = request.until_s {
        shorten(&mut experiment.variants[0].scenario, until);
    }
    let (mut run, outcomes) = play(&experiment, request.seed, on_progress)?;
    (run.warnings, run.warning_data) = warnings.into_iter().unzip();
    let series: Vec<PlottedSeries> = outcomes.iter().map(PlottedSeries::of).collect();
    let mut shown = vec![Shown { label: &request.label, run: &run, series: &series }];
    shown.extend(request.pinned.iter().map(|b| Shown { label: &b.label, run: &b.run, series: &[] }));
    let PageData { json: page, series } = page_data(&shown, Lang::En);
    let packets = run.variants.iter().flat_map(|v| &v.flows).map(|f| f.sent_packets).sum();
    let reply = RunReply { duration_s: whole.as_secs_f64(), packets };
    Ok([json(&reply), page.into_bytes()].into_iter().chain(series).collect())
}

/// Runs the experiment's only variant once, with the code of `longfat run`.
fn play(
    experiment: &Experiment,
    seed: Option<u64>,
    on_progress: &mut OnProgress<'_>,
) -> Result<(result::Run, Vec<result::Outcome>), Refusal> {
    let order = Order { seed, ..Order::default() };
    let mut watch = |p: &Progress| on_progress(p.played_ms as f64 / 1e3, p.duration_ms as f64 / 1e3);
    let hooks = Hooks { progress: Some(&mut watch), ..Hooks::default() };
    let mut outcomes = experiment::run(experiment, &order, hooks);
    if let Some(failed) = outcomes.failed.first() {
        return Err(Refusal::plain(failed.to_string()));
    }
    if !outcomes.is_complete() {
        return Err(Refusal::plain("the run was cancelled".into()));
    }
    let run = outcomes.run();
    let first = outcomes.variants.iter_mut().map(|v| v.outcomes.swap_remove(0));
    Ok((run, first.collect()))
}

/// Shortens the scenario. A measurement interval that ends later is dropped.
fn shorten(scenario: &mut Scenario, until_s: f64) {
    let until = Span::from_secs_f64(until_s.max(1e-3));
    scenario.duration = scenario.duration.min(until);
    if scenario.measure.is_some_and(|[_, to]| to > scenario.duration) {
        scenario.measure = None;
    }
}
