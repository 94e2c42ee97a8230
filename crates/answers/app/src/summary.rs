//! Summarises the runs of an experiment, for people and for `run --json`.

use crate::warn;
use experiment::limitations::{LimitationSearchOptions, find_limitations};
use experiment::{Order, Outcomes};
use result::{Run, RunWarning};
use scenario::Experiment;
use std::num::NonZeroUsize;

/// Options of the summary's headline.
#[derive(Clone, Copy, Debug)]
pub struct SummaryOptions<'a> {
    /// The experiment that was run.
    pub experiment: &'a Experiment,
    /// Number of simulated runs at a time in the search for limitations; `None` for one per core.
    pub threads: Option<NonZeroUsize>,
    /// Whether to find out what limits the baseline ([`experiment::limitations`]). That takes up to some
    /// twenty simulated runs of the baseline. It is not possible where the caller's own controllers ran.
    pub limitations: bool,
}

impl<'a> SummaryOptions<'a> {
    /// Options for a headline with all its facts.
    pub fn of(experiment: &'a Experiment, order: &Order) -> SummaryOptions<'a> {
        SummaryOptions { experiment, threads: order.threads, limitations: true }
    }
}

/// Summarises what was finished, with its warnings and its headline. `warnings` are those of the scenario;
/// warnings about untrusted measurements are added. `partial` says that not all runs were finished.
///
/// The caller sets the run's id ([`crate::identity::run_id`]) once nothing else is added.
pub fn run_summary(
    options: SummaryOptions<'_>,
    outcomes: &Outcomes,
    mut warnings: Vec<(String, RunWarning)>,
    partial: bool,
) -> Run {
    let mut run = outcomes.run();
    run.partial = partial;
    warnings.extend(warn::untrusted_warnings(&run));
    warnings.extend(warn::late_speech_warnings(&run));
    (run.warnings, run.warning_data) = warnings.into_iter().unzip();
    if options.limitations && !partial {
        add_limitations(options, outcomes, &mut run);
    }
    (run.headline, run.facts) = report::headline(&run);
    run
}

/// Adds what limits the baseline, for each clock that it ran on. The search simulates further runs.
fn add_limitations(options: SummaryOptions<'_>, outcomes: &Outcomes, run: &mut Run) {
    let with_flows = || run.variants.iter().filter(|v| !v.flows.is_empty());
    let stated = with_flows().find(|v| Some(&v.name) == run.baseline.as_ref());
    let Some(name) = stated.or(with_flows().next()).map(|v| v.name.clone()) else { return };
    let Some(variant) = options.experiment.variants.iter().find(|v| v.name == name) else { return };
    let Some(ran) = outcomes.variants.iter().find(|v| v.variant == name && !v.seeds.is_empty()) else {
        return;
    };
    let (limited_by, search) = find_limitations(&LimitationSearchOptions {
        variant,
        seeds: &ran.seeds,
        goals: &run.goals,
        threads: options.threads,
    });
    for v in run.variants.iter_mut().filter(|v| v.name == name) {
        (v.limited_by, v.limitation_search) = (limited_by.clone(), Some(search.clone()));
    }
}
