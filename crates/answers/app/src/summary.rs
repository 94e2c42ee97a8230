//! What the runs of an experiment came to, for people and as `run --json` prints it.

use crate::warn;
use experiment::holders::{HolderWish, find_holders};
use experiment::{Order, Outcomes};
use result::{Run, RunWarning};
use scenario::Experiment;
use std::num::NonZeroUsize;

/// How the summary's headline is to be made.
#[derive(Clone, Copy, Debug)]
pub struct SummaryWish<'a> {
    /// What was run.
    pub experiment: &'a Experiment,
    /// How many runs at a time those have that look for holders; `None`: one for each core.
    pub threads: Option<NonZeroUsize>,
    /// Whether what holds the baseline is looked for ([`experiment::holders`]). It costs some twenty simulated runs of the
    /// baseline at most; not possible where the caller's own controllers ran.
    pub holders: bool,
}

impl<'a> SummaryWish<'a> {
    /// With all that a headline tells.
    pub fn of(experiment: &'a Experiment, order: &Order) -> SummaryWish<'a> {
        SummaryWish { experiment, threads: order.threads, holders: true }
    }
}

/// The summary of what was finished, with its warnings (`warnings`: those of the scenario; what is not to be trusted is
/// added) and its headline. `partial`: not all that was asked for is there.
///
/// Its id is the caller's to set ([`crate::identity::run_id`]), when nothing else is added.
pub fn run_summary(
    wish: SummaryWish<'_>,
    outcomes: &Outcomes,
    mut warnings: Vec<(String, RunWarning)>,
    partial: bool,
) -> Run {
    let mut run = outcomes.run();
    run.partial = partial;
    warnings.extend(warn::of_trust(&run));
    warnings.extend(warn::of_calls(&run));
    (run.warnings, run.warned) = warnings.into_iter().unzip();
    if wish.holders && !partial {
        add_holders(wish, outcomes, &mut run);
    }
    (run.headline, run.facts) = report::headline(&run);
    run
}

/// Adds what holds the baseline, on each clock that it ran on: the runs that show it are simulated.
fn add_holders(wish: SummaryWish<'_>, outcomes: &Outcomes, run: &mut Run) {
    let with_flows = || run.variants.iter().filter(|v| !v.flows.is_empty());
    let stated = with_flows().find(|v| Some(&v.name) == run.baseline.as_ref());
    let Some(name) = stated.or(with_flows().next()).map(|v| v.name.clone()) else { return };
    let Some(variant) = wish.experiment.variants.iter().find(|v| v.name == name) else { return };
    let Some(ran) = outcomes.variants.iter().find(|v| v.variant == name && !v.seeds.is_empty()) else {
        return;
    };
    let (held_by, search) =
        find_holders(&HolderWish { variant, seeds: &ran.seeds, goals: &run.goals, threads: wish.threads });
    for v in run.variants.iter_mut().filter(|v| v.name == name) {
        (v.held_by, v.holder_search) = (held_by.clone(), Some(search.clone()));
    }
}
