//! What the runs of an experiment came to, for people and as `run --json` prints it.

use crate::warn;
use experiment::Outcomes;
use result::{Run, RunWarning};

/// The summary of what was finished, with its warnings (`warnings`: those of the scenario; what is not to be trusted is
/// added) and its headline. `partial`: not all that was asked for is there.
///
/// Its id is the caller's to set ([`crate::identity::run_id`]), when nothing else is added.
pub fn run_summary(outcomes: &Outcomes, mut warnings: Vec<(String, RunWarning)>, partial: bool) -> Run {
    let mut run = outcomes.run();
    run.partial = partial;
    warnings.extend(warn::of_trust(&run));
    (run.warnings, run.warned) = warnings.into_iter().unzip();
    run.headline = report::headline(&run);
    run
}
