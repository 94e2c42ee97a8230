//! Faults that a scenario injects and their effect on each flow.

use serde::{Deserialize, Serialize};

/// A fault that the scenario injects (`faults`).
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FaultResult {
    /// Name of the fault.
    pub name: String,
    /// `link`, `tunnel`, `bgp` …, as scenarios spell it.
    pub kind: String,
    /// The affected link or host.
    pub of: String,
    /// Begin, seconds since the start of the run.
    pub at_s: f64,
    /// Duration, s.
    #[serde(alias = "lasts_s")]
    pub duration_s: f64,
}

/// Effect of a fault on a flow, from the fault's begin until the next fault began, the flow was done or the
/// run ended. Times are as exact as the sampling interval of the time series. A flow is silent at times
/// without a fault, too; `caused_silence` says whether the fault caused the silence.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowOutage {
    /// Name of the fault.
    pub fault: String,
    /// Longest time without a received byte, ms; a silence that had begun before the fault counts whole.
    /// Absent where the flow was already done or had not begun, and without time series.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub silence_ms: Option<f64>,
    /// Longest time between two received bytes that does not overlap any fault, ms: the flow's ordinary
    /// silence. Absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(alias = "ordinary_ms")]
    pub ordinary_silence_ms: Option<f64>,
    /// Whether the fault caused the silence: the silence overlaps the fault, and is longer than k times the
    /// ordinary one plus a sampling interval. With n ordinary silences and m during the fault, k = ln(20 m)
    /// / ln n, at least 1: the longest of n exponentially distributed silences is about ln n means, and
    /// one of m exceeds k times that with probability m / n^k, here some 5 %. With fewer than two
    /// ordinary silences, the fault caused the silence if that is as long as the fault.
    #[serde(default)]
    #[serde(alias = "noticed")]
    pub caused_silence: bool,
    /// Time from the fault's begin to the end of the silence, ms. Absent where the fault did not cause it,
    /// or where nothing arrived afterwards.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(alias = "back_ms")]
    pub recovery_ms: Option<f64>,
    /// Datagrams due between the begin of this fault and the begin of the next that did not arrive; absent
    /// for TCP flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_packets: Option<u64>,
}
