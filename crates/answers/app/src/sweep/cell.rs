//! The row of a cell: the figures of `longfat run` summed over its flows, and the figures of each flow.

use result::{FlowResult, Measure, Quantity, RttSummary, Statistic, VariantResult};
use serde::{Deserialize, Serialize};

/// A row of the dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellRow {
    /// The cell's name ([`crate::sweep::SweepGrid::name`]).
    pub cell: String,
    pub variant: String,
    /// Number of the repeat, from 1.
    pub repeat: u32,
    /// The value of each axis, as written.
    pub values: Vec<String>,
    /// Why there are no figures: the error in these values.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// The figures of the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub figures: Option<CellFigures>,
}

/// The figures of a cell's run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellFigures {
    /// The run's seed.
    pub seed: u64,
    /// Sum of the flows' goodputs in Mbit/s, as in `result.json`.
    pub total_goodput_mbps: f64,
    /// Rate of the tightest limit that all flows share, in Mbit/s.
    pub limit_mbps: Option<f64>,
    /// Jain's fairness index, where equal shares are expected.
    pub jain_index: Option<f64>,
    /// Share of TCP's data packets that were retransmissions, 0 to 1; `None` where none was sent.
    pub sent_again: Option<f64>,
    /// `rtt.p95` of [`Measure`], in ms: that of the TCP flow with the longest; `None` without TCP.
    pub rtt_p95_ms: Option<f64>,
    /// `completion.mean` of [`Measure`], in s; `None` where a flow did not complete.
    pub completion_s: Option<f64>,
    /// Packets dropped by the path's elements.
    pub dropped_packets: u64,
    /// Packets marked by the path's elements.
    pub marked_packets: u64,
    /// The longest queue of any element, in packets.
    pub max_queue_packets: u64,
    /// The flows, in the scenario's order.
    pub flows: Vec<SweptFlow>,
}

/// A flow of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweptFlow {
    /// The flow's name.
    pub name: String,
    /// Congestion control; `udp` for datagrams.
    pub cc: String,
    /// Goodput in Mbit/s.
    pub goodput_mbps: f64,
    /// Data packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Retransmitted packets.
    pub retransmitted_packets: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Round-trip times of TCP over time, in ms: minimum, mean, median, 95th percentile.
    pub rtt_ms: Option<[f64; 4]>,
    /// One-way delay of datagrams, or round-trip time of probes, in ms: minimum, mean, median, 95th
    /// percentile.
    pub delay_ms: Option<[f64; 4]>,
    /// Time from start to last byte in seconds, for a flow that has an end and reached it.
    pub completion_s: Option<f64>,
    /// 95th percentile of the times from request to response, in s, for flows that send requests.
    pub response_p95_s: Option<f64>,
}

impl CellFigures {
    /// Takes the figures from a variant's result.
    pub fn of(variant: &VariantResult, seed: u64) -> CellFigures {
        let sum = |count: &dyn Fn(&result::ElementResult) -> u64| variant.elements.iter().map(count).sum();
        let value = |measure: Measure| measure.of(variant).filter(|value| value.is_finite());
        CellFigures {
            seed,
            total_goodput_mbps: variant.total_goodput_mbps,
            limit_mbps: variant.limit_mbps,
            jain_index: variant.jain_index,
            sent_again: value(Measure::new(Quantity::ResentShare)).map(|percent| percent / 100.0),
            rtt_p95_ms: value(Measure::at(Quantity::Rtt, Statistic::P95)),
            completion_s: value(Measure::at(Quantity::Completion, Statistic::Mean)),
            dropped_packets: sum(&|e| e.dropped_packets),
            marked_packets: sum(&|e| e.marked_packets),
            max_queue_packets: variant.elements.iter().map(|e| e.max_queue_packets).max().unwrap_or(0),
            flows: variant.flows.iter().map(SweptFlow::of).collect(),
        }
    }
}

/// Returns minimum, mean, median and 95th percentile; `None` without a sample.
fn numbers(r: &RttSummary) -> Option<[f64; 4]> {
    (!r.is_empty()).then_some([r.min, r.mean, r.p50, r.p95])
}

impl SweptFlow {
    fn of(flow: &FlowResult) -> SweptFlow {
        SweptFlow {
            name: flow.name.clone(),
            cc: flow.cc.clone(),
            goodput_mbps: flow.goodput_mbps,
            sent_packets: flow.sent_packets,
            retransmitted_packets: flow.retransmitted_packets,
            timeouts: flow.timeouts,
            rtt_ms: numbers(&flow.rtt_ms),
            delay_ms: flow.real_time.and_then(|r| numbers(&r.delay_ms)),
            completion_s: flow.completion_s,
            response_p95_s: flow.response_s.as_ref().filter(|t| t.count > 0).map(|t| t.p95),
        }
    }
}
