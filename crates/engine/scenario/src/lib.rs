//! The scenario file: hosts, links with what limits them, flows, and the variants to compare.
//!
//! [`Experiment::parse`] reads a TOML text and gives one checked [`Scenario`] per variant, in
//! which names have become indexes and every default is filled in. What is wrong is told as a
//! [`DocumentError`]: file, line, column, key, and what would be right. `docs/scenario.md`
//! describes the keys; [`schema`] is the same for editors. [`Experiment::to_toml`] and [`Scenario::to_toml`] write
//! such a text, which reads back to the same.
//!
//! A variant, and each `--set`, is a list of overrides of the parsed TOML, made before
//! it is read, so that an override means exactly what the same text in the file would. [`AskedScenario`] reads some of the
//! variants, and nothing of the others.

mod check;
mod file;
mod hosts;
mod judged;
mod limits;
mod model;
mod network;
mod overrides;
mod parse;
mod physical;
mod prefix;
mod programs;
mod relay;
mod route;
#[cfg(feature = "schema")]
mod schema;
#[cfg(feature = "schema")]
mod schema_parts;
mod service;
mod stage;
mod tool;
mod version;
mod warn;
mod write;

pub use document::{DocumentError, MAX_BYTES, RefusalCause};
pub use limits::{PathLimits, most_sent};
pub use model::{DuplexLink, Experiment, Flow, Host, NamedStage, Scenario, Unrest, Variant};
pub use parse::AskedScenario;
pub use prefix::Prefix;
pub use programs::ProgramLine;
pub use relay::{Relay, RelayTool};
pub use route::{Hop, default_address};
#[cfg(feature = "schema")]
pub use schema::generated_schema;
pub use service::{FaultKind, HOLD, HostRoute, ScheduledFault, Service};
pub use tool::{Tool, Values, fill};
pub use warn::Warned;
pub use write::ScenarioSetting;

/// The JSON Schema (draft 7, which editors' TOML plug-ins understand) of a scenario file: `docs/scenario.schema.json`.
pub fn schema() -> &'static str {
    include_str!("../../../../docs/scenario.schema.json")
}
