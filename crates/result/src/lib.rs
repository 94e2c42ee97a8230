//! What a run yields: summary and time series of flows and path elements. The simulator, the lab
//! and capture analysis all fill these; tables, reports, JSON, Parquet and Python all read them.

mod histogram;
mod model;

pub use histogram::Histogram;
pub use model::{
    Clock, DelaySummary, Element, ElementSeries, Flow, FlowSeries, Outcome, RttSummary, Run, SCHEMA, Variant, jain,
};
