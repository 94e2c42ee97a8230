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
/// exact as the interval of the time series. A flow that no fault touches is silent now and then too: whether the fault caused
/// the silence is said apart.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowOutage {
    /// The fault's name.
    pub fault: String,
    /// The longest time without a byte, ms; one that had begun before the fault counts whole. Absent where the flow was done
    /// or had not begun, and where there are no time series.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub silence_ms: Option<f64>,
    /// The longest time without a byte between two that came, ms, which touched no fault's time from its begin to its end: what
    /// the flow shows without a fault. Absent where it had none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ordinary_ms: Option<f64>,
    /// Whether the fault caused that silence: it touches the fault's time and is longer than k times the ordinary one and a
    /// sample. Of n ordinary silences and m in the fault's time, k = ln(20 m) / ln n, 1 at least: with silences of exponential
    /// length the longest of n is ln n means, and the chance that one of m is k times that is m / n^k, here some 5 %. Where less
    /// than two were ordinary it counts as caused when it is as long as the fault.
    #[serde(default)]
    pub noticed: bool,
    /// From the begin of the fault to the end of that silence, ms. Absent where the fault did not cause it; and where it did,
    /// if nothing more came.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub back_ms: Option<f64>,
    /// Datagrams due in that time that did not arrive; absent of other flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_packets: Option<u64>,
}
