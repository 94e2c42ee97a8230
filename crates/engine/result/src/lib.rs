//! Results of a run: summary and time series of flows and path elements. The simulator, the lab and capture
//! analysis produce them; tables, reports, JSON, Parquet and Python read them.
//!
//! The `schema` feature adds the generation of JSON Schemas.

mod both_ends;
pub mod cause;
pub mod change;
mod column;
mod combine;
pub mod command;
pub mod diagnosis;
mod difference;
mod fault;
mod json;
mod limitation;
pub mod measure;
mod model;
mod over_time;
mod packed;
mod qlog;
#[cfg(feature = "schema")]
mod schema;
pub mod sender;
mod series;
pub mod sizes;
mod socket;
pub mod topology;
mod trust;
mod udp;
pub mod varints;
pub mod watch;

pub use cause::Cause;
pub use change::{Change, ChangeKind, ChangePlace, ChangeUnit};
pub use column::{Cells, CellsMut, Clocks, Column, ColumnKind, Columns, Growth, Unit};
pub use combine::{combine, concat, estimate, paired};
pub use command::{CommandSet, LinuxSetting, Platform};
pub use diagnosis::{DIAGNOSIS_SCHEMA, Diagnosis, FlowDiagnosis};
pub use difference::{Difference, difference, significant};
pub use fault::{FaultResult, FlowOutage};
pub use limitation::{
    Carried, Limitation, LimitationDrops, LimitationEffect, LimitationKind, LimitationSearch,
    LimitationSilence, TriedSuspect,
};

/// Histogram of time spans, with 128 buckets per octave.
pub type Histogram = units::Histogram<7>;

pub use json::{ReadError, read_json, to_json};
pub use measure::{Measure, MeasureUnit, Quantity, Statistic, Subject};
pub use model::{
    Clock, DelaySummary, ElementResult, Estimate, Expectation, FlowKind, FlowRepeats, FlowResult, Outcome,
    RealTime, Repeats, RttSummary, Run, RunWarning, SCHEMA, StateTime, TimesSummary, TooBigPackets,
    VariantResult, jain,
};
pub use over_time::RttMeter;
pub use packed::{Packer, Unpacker};
#[cfg(feature = "schema")]
pub use schema::{schema_of, schema_text};
pub use series::{ElementPoint, ElementSeries, FlowPoint, FlowSeries, Resent, Response, StateInterval};
pub use topology::Topology;
pub use trust::{DeadComponent, OwnDelay, RttsOfRun, Trust, TrustKind, TrustReason};

/// The JSON Schema (draft 7) of a result: `docs/result.schema.json`.
pub fn schema() -> &'static str {
    include_str!("../../../../docs/result.schema.json")
}

/// The JSON Schema (draft 7) of a diagnosis: `docs/diagnosis.schema.json`.
pub fn diagnosis_schema() -> &'static str {
    include_str!("../../../../docs/diagnosis.schema.json")
}
