//! What went wrong in a run on purpose, and what each flow noticed of it.

use serde::{Deserialize, Serialize};

/// A fault of the scenario (`faults`).
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FaultResult {
    /// Its name.
    pub name: String,
    /// `link`, `tunnel`, `bgp` …, as scenarios spell it.
    pub kind: String,
    /// The link, or the host, that it befell.
    pub of: String,
    /// When it began, seconds since the run began.
    pub at_s: f64,
    /// How long it lasted, seconds.
    pub lasts_s: f64,
}

/// What a flow noticed from the begin of a fault until the next fault began, the flow was done or the run ended. Times are as
/// exact as the interval of the time series: a flow that no fault touches has a silence of a sample or two.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowOutage {
    /// The fault's name.
    pub fault: String,
    /// The longest time without a byte, ms; one that had begun before the fault counts whole. Absent where the flow was done
    /// or had not begun, and where there are no time series.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub silence_ms: Option<f64>,
    /// From the begin of the fault to the end of that silence, ms; absent where nothing more came.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub back_ms: Option<f64>,
    /// Datagrams due in that time that did not arrive; absent of other flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_packets: Option<u64>,
}
