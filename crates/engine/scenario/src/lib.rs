//! The scenario file: hosts, links with the stages that limit them, flows, and the variants to compare.
//!
//! [`Experiment::parse`] reads a TOML text and returns one checked [`Scenario`] per variant: names are
//! resolved to indexes and every default is filled in. Errors are [`DocumentError`]s, which give file, line,
//! column, key and what would be right. `docs/scenario.md` documents the keys, [`schema`] is the JSON Schema
//! for editors. [`Experiment::to_toml`] and [`Scenario::to_toml`] write a text that parses back to an equal
//! value.
//!
//! A variant, like each `--set`, is a list of overrides. They are applied to the parsed TOML before it is
//! checked, so an override means exactly what the same text in the file would mean. [`ScenarioRequest`]
//! selects some of the variants; the others are not checked.

mod attachment;
mod check;
mod evaluation;
mod file;
mod hosts;
mod ip_version;
mod limits;
mod model;
mod network;
mod overrides;
mod parse;
mod plausibility;
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
mod warn;
mod write;

pub use attachment::{Attachment, LinkWay};
pub use document::{DocumentError, MAX_BYTES, RefusalCause};
pub use limits::{PathLimits, max_total_mbps};
pub use model::{DuplexLink, Experiment, Flow, Host, HostJitter, NamedStage, Scenario, Variant};
pub use parse::ScenarioRequest;
pub use prefix::Prefix;
pub use programs::ProgramLine;
pub use relay::{Relay, RelayTool};
pub use route::{Hop, default_address};
#[cfg(feature = "schema")]
pub use schema::generated_schema;
pub use service::{FaultKind, HOLD, HostRoute, ScheduledFault, Service};
pub use tool::{Tool, Values, fill};
pub use warn::ScenarioWarning;
pub use write::ScenarioSetting;

/// The JSON Schema (draft 7, which editors' TOML plug-ins understand) of a scenario file:
/// `docs/scenario.schema.json`.
pub fn schema() -> &'static str {
    include_str!("../../../../docs/scenario.schema.json")
}
