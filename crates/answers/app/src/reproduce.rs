//! Runs published studies again: compares every number that they print with ours, and judges every claim.
//!
//! 1. A [`Study`] is a file of `studies/`: tables whose rows name a variant of a scenario and whose columns
//!    name what is compared ([`StudyMeasure`]), the published numbers, and claims as expressions over cells
//!    ([`ClaimExpression`]).
//! 2. [`Selection`] selects a part of a study; [`reproduce`] runs it through [`experiment`], each scenario
//!    once, and keeps a number for each cell, repeat and clock.
//! 3. A claim is judged on the means: it holds, holds in direction, or does not hold ([`ClaimVerdict`]). The
//!    number of repeats that lead to the same verdict is reported with it.
//! 4. [`text`], [`markdown`], [`page`] and [`to_json`] show the same [`Reproduction`].
//!
//! No file is read here: the texts of scenarios come through a callback. docs/reproduce.md describes the file
//! format.

mod cells;
mod expression;
mod gather;
mod judge;
mod markdown;
mod measure;
mod model;
mod page;
mod play;
mod plot;
mod read;
mod study;
mod text;
mod trace;

pub use cells::PublishedNumbers;
pub use expression::{CellName, CellNumbers, ClaimExpression, ExpressionError, Proved};
pub use gather::{joined, read_json};
pub use markdown::markdown;
pub use measure::StudyMeasure;
pub use model::{
    CellValue, ClaimTrace, ClaimVerdict, ClockVerdict, JudgedClaim, REPRODUCTION_SCHEMA, ReproducedCell,
    ReproducedColumn, ReproducedCurve, ReproducedFit, ReproducedPlot, ReproducedRow, ReproducedStudy,
    ReproducedTable, Reproduction, UnrunPart, VerdictCounts,
};
pub use page::page;
pub use play::{PlayError, PlayWish, ScenarioSource, reproduce};
pub use study::{
    ClaimTracePlace, Selection, Study, StudyClaim, StudyColumn, StudyCurve, StudyFit, StudyPlot, StudyRow,
    StudyTable,
};
pub use text::text;

/// The built-in studies, name and text, sorted by name: every file of `studies/`.
pub const STUDIES: [(&str, &str); 5] = [
    ("cc-primer", include_str!("../../../../studies/cc-primer.toml")),
    ("hsr-bbr", include_str!("../../../../studies/hsr-bbr.toml")),
    ("overseas-office", include_str!("../../../../studies/overseas-office.toml")),
    ("policer-or-shaper", include_str!("../../../../studies/policer-or-shaper.toml")),
    ("sdwan-limiter", include_str!("../../../../studies/sdwan-limiter.toml")),
];

/// Serialises a reproduction as one JSON object, ended by a newline.
pub fn to_json(reproduction: &Reproduction) -> String {
    result::to_json(reproduction)
}

/// Returns the JSON Schema (draft 7), the file `docs/reproduction.schema.json`.
pub fn schema() -> &'static str {
    include_str!("../../../../docs/reproduction.schema.json")
}

#[test]
fn the_committed_schema_is_the_generated_one() {
    xtask::compare("docs/reproduction.schema.json", &result::schema_text::<Reproduction>());
}
