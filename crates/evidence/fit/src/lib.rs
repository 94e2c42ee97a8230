//! A scenario that behaves as a captured path did. The search starts from the diagnosis and holds the numbers
//! that it measured.
//!
//! 1. [`facts`] and a diagnosis make an [`ObservedPath`]: the flows that share a path, and their measures.
//! 2. `first_guess.rs` turns it into candidate [`FittedPath`]s, and `flows.rs` into [`FittedFlow`]s.
//! 3. `search.rs` simulates the candidates and moves their free numbers until goodput, round trips and
//!    retransmissions are those of the capture (`misfit.rs`).
//! 4. [`fit`] returns the scenario with its commented text, the comparison with the capture ([`Fit`]), and
//!    scenarios that fit nearly as well.
//!
//! Pure: no clock and no file; [`experiment`] runs the simulations.

mod cross;
mod error;
mod figures;
mod first_guess;
mod flows;
mod headline;
mod iperf3;
mod iperf_text;
mod kinds;
mod listen;
mod made;
mod misfit;
mod model;
mod newton;
mod not_shown;
mod observed;
mod path_model;
mod policers;
mod scenario_text;
mod search;
mod series;
mod signature;
mod spacing;
mod ss_log;
mod summary;
mod text;
mod trial;
mod verdict;
mod words;
mod write;

pub use cross::CrossSpan;
pub use error::FitError;
pub use flows::FittedFlow;
pub use iperf_text::{is_iperf_text, of_iperf_text};
pub use iperf3::{is_iperf3, of_iperf3};
pub use made::{FitOptions, MadeFit, fit};
pub use model::{
    FIT_SCHEMA, Fit, FitComparison, FitCross, FitFigures, FitKind, FitPolicer, FitRuns, FitValue,
};
pub use observed::{CapturedFacts, ObservedFlow, ObservedPath, ProposedBucket, facts};
pub use path_model::{FitParameter, FittedLimiter, FittedPath, FittedQueue, OwnPolicer, PolicerScope};
pub use ss_log::{is_ss_log, of_ss_log};
pub use summary::of_result;
pub use text::text;
pub use verdict::{SummaryVerdict, VERDICT_SCHEMA, VerdictKind};
pub use words::FitWords;

/// The fit as one JSON object, ended by a newline.
pub fn to_json(fit: &Fit) -> String {
    // Plain data without maps serialises without errors.
    serde_json::to_string_pretty(fit).unwrap_or_default() + "\n"
}

/// A verdict without a scenario as one JSON object, ended by a newline.
pub fn verdict_json(verdict: &SummaryVerdict) -> String {
    serde_json::to_string_pretty(verdict).unwrap_or_default() + "\n"
}

/// The JSON Schema (draft 7) of fits: `docs/fit.schema.json`.
pub fn schema() -> &'static str {
    include_str!("../../../../docs/fit.schema.json")
}

#[test]
fn the_committed_schema_is_the_generated_one() {
    xtask::compare("docs/fit.schema.json", &result::schema_text::<Fit>());
}
