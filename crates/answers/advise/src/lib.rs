//! Finds what would make a path faster: tries cures in the simulator, ranks them, and returns the commands
//! that apply them.
//!
//! 1. [`Situation`] describes what limits the data of a scenario, and where.
//! 2. Each [`Cure`] of [`CURES`] (a file in `cure/` and a line each) returns what it could do there.
//! 3. [`plan`] screens the cures alone and combined (`search.rs`). It runs the best in full, compares them
//!    with the unchanged scenario at the same seeds, measures their effect on a call over the same path
//!    (`voice.rs`), and ranks them.
//!
//! Several scenarios that are equally likely can be planned for together; the interval of a gain then covers
//! all of them. This crate uses no clock and no files; [`experiment`] does the runs.

mod chart;
mod choice;
mod cure;
mod error;
mod measure;
mod model;
mod page;
mod plan;
mod plan_options;
mod runner;
mod search;
mod situation;
mod story;
mod text;
mod voice;

pub use chart::pareto_svg;
pub use cure::{CURES, Cure, CureOption, Lever, ScenarioChange, cured, named, shaper_in_front_of};
pub use error::PlanError;
pub use model::{
    CureEffect, CureProof, CureStep, PLAN_SCHEMA, Plan, PlanFigures, PlanRange, RankedCure, SimulatedRuns,
    UntriedCure, UserFigures, VoiceCost,
};
pub use page::page;
pub use plan::{FinishedPlan, plan, screening_time};
pub use plan_options::PlanOptions;
pub use situation::{DataPath, Situation, StagePlace};
pub use story::advised;
pub use text::{commands, text};

/// Serialises the plan as one JSON object, ended by a newline.
pub fn to_json(plan: &Plan) -> String {
    // Plain data without maps can always be serialised.
    serde_json::to_string_pretty(plan).unwrap_or_default() + "\n"
}

/// Returns the JSON Schema (draft 7) of plans, the file `docs/plan.schema.json`.
pub fn schema() -> &'static str {
    include_str!("../../../../docs/plan.schema.json")
}

#[test]
fn the_committed_schema_is_the_generated_one() {
    xtask::compare("docs/plan.schema.json", &result::schema_text::<Plan>());
}
