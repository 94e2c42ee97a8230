//! What would make a path faster: cures tried in the simulator, ranked, with the commands that make them.
//!
//! 1. [`Situation`]: what limits the data of a scenario, and where.
//! 2. Each [`Cure`] of [`CURES`] (a file and a line each, `cure/`) offers what it could do there.
//! 3. [`plan`] screens them alone and together (`search.rs`), runs the best in full beside the scenario as it is, with the
//!    same seeds, measures what they cost a call that goes the same way (`voice.rs`), and ranks them.
//!
//! Several scenarios that are equally likely to be the truth go in together; a gain's interval then covers all of them.
//! Pure: no clock and no file; what runs is [`experiment`]'s.

mod chart;
mod choice;
mod cure;
mod error;
mod measure;
mod model;
mod page;
mod plan;
mod runner;
mod search;
mod situation;
mod story;
mod text;
mod voice;
mod wish;

pub use chart::pareto_svg;
pub use cure::{CURES, Cure, CureOption, Lever, ScenarioChange, cured, named};
pub use error::PlanError;
pub use model::{
    CureEffect, CureProof, CureStep, LeftOutCure, PLAN_SCHEMA, Plan, PlanFigures, PlanRange, RankedCure,
    SimulatedRuns, UserFigures, VoiceCost,
};
pub use page::page;
pub use plan::{MadePlan, plan, screening_time};
pub use situation::{DataWay, Situation, StagePlace};
pub use story::advised;
pub use text::{commands, text};
pub use wish::PlanWish;

/// The plan as one JSON object, ended by a newline.
pub fn to_json(plan: &Plan) -> String {
    // Plain data without maps: it cannot fail.
    serde_json::to_string_pretty(plan).unwrap_or_default() + "\n"
}

/// The JSON Schema (draft 7) of plans: `docs/plan.schema.json`.
pub fn schema() -> &'static str {
    include_str!("../../../../docs/plan.schema.json")
}

#[test]
fn the_committed_schema_is_the_generated_one() {
    xtask::compare("docs/plan.schema.json", &result::schema_text::<Plan>());
}
