//! One variant run, as the page shows it.

use crate::request::{Refusal, RunRequest};
use crate::{Told, json};
use experiment::{Hooks, Order, Progress};
use report::{Lang, PageData, PlottedSeries, Shown, page_data};
use scenario::{Experiment, Scenario};
use serde::Serialize;
use units::Span;

/// What the page is told of a run beside its data and their columns.
#[derive(Serialize)]
struct RunReply {
    /// The variant's duration, seconds: that of the run unless it is coarse.
    duration_s: f64,
    /// Packets that senders sent.
    packets: u64,
}

/// Runs it and gives a head, the data as the report's page has them with the run's own result first, and the columns of its
/// series.
pub(crate) fn run(asked: &RunRequest, told: &mut Told<'_>) -> Result<Vec<Vec<u8>>, Refusal> {
    let mut experiment = asked.scenario.chosen()?;
    let warnings = experiment::warned(&experiment);
    let whole = experiment.variants[0].scenario.duration;
    if let Some(until) = asked.until_s {
        shorten(&mut experiment.variants[0].scenario, until);
    }
    let (mut run, outcomes) = play(&experiment, asked.seed, told)?;
    (run.warnings, run.warned) = warnings.into_iter().unzip();
    let series: Vec<PlottedSeries> = outcomes.iter().map(PlottedSeries::of).collect();
    let mut shown = vec![Shown { label: &asked.label, run: &run, series: &series }];
    shown.extend(asked.beside.iter().map(|b| Shown { label: &b.label, run: &b.run, series: &[] }));
    let PageData { json: page, series } = page_data(&shown, Lang::En);
    let packets = run.variants.iter().flat_map(|v| &v.flows).map(|f| f.sent_packets).sum();
    let reply = RunReply { duration_s: whole.as_secs_f64(), packets };
    Ok([json(&reply), page.into_bytes()].into_iter().chain(series).collect())
}

/// The experiment's one variant once, by the same way as `longfat run`.
fn play(
    experiment: &Experiment,
    seed: Option<u64>,
    told: &mut Told<'_>,
) -> Result<(result::Run, Vec<result::Outcome>), Refusal> {
    let order = Order { seed, ..Order::default() };
    let mut watch = |p: &Progress| told(p.played_ms as f64 / 1e3, p.duration_ms as f64 / 1e3);
    let hooks = Hooks { progress: Some(&mut watch), ..Hooks::default() };
    let mut outcomes = experiment::run(experiment, &order, hooks);
    if let Some(failed) = outcomes.failed.first() {
        return Err(Refusal::plain(failed.to_string()));
    }
    if !outcomes.is_complete() {
        return Err(Refusal::plain("it was ended".into()));
    }
    let run = outcomes.run();
    let first = outcomes.variants.iter_mut().map(|v| v.outcomes.swap_remove(0));
    Ok((run, first.collect()))
}

/// Ends the scenario earlier; it begins as before. An interval to measure that is not over by then is not measured.
fn shorten(scenario: &mut Scenario, until_s: f64) {
    let until = Span::from_secs_f64(until_s.max(1e-3));
    scenario.duration = scenario.duration.min(until);
    if scenario.measure.is_some_and(|[_, to]| to > scenario.duration) {
        scenario.measure = None;
    }
}
