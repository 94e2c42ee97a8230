//! Computed figures of a capture's flows, for the terminal's table and the page alike.

use result::FlowDiagnosis;
use serde::Serialize;

/// Figures of a flow that are computed from its measures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct FlowFigures {
    /// Data packets lost on either side of the capture, 0 to 1; absent without data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<f64>,
    /// The main cause's share of the flow's time, 0 to 1.
    pub cause_share: f64,
}

impl FlowFigures {
    pub fn of(f: &FlowDiagnosis) -> FlowFigures {
        let m = &f.measures;
        let lost = (m.data_packets > 0).then(|| (m.lost_up + m.lost_down) as f64 / m.data_packets as f64);
        FlowFigures { lost, cause_share: f.share(f.cause) }
    }
}
