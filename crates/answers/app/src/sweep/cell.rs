//! A cell's row: the figures of `longfat run`, summed up over its flows, and a line for each flow.

use result::{FlowResult, Measure, Quantity, RttSummary, Statistic, VariantResult};
use serde::{Deserialize, Serialize};

/// A row of the dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellRow {
    /// Its name ([`crate::sweep::SweepGrid::name`]).
    pub cell: String,
    /// The variant.
    pub variant: String,
    /// Which repeat, from 1.
    pub repeat: u32,
    /// The value of each axis, as it is written.
    pub values: Vec<String>,
    /// Why there are no figures: what is wrong with these values.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub figures: Option<CellFigures>,
}

/// What a cell's run came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellFigures {
    /// The run's seed.
    pub seed: u64,
    /// Sum of the flows' goodputs, Mbit/s, as in `result.json`.
    pub total_goodput_mbps: f64,
    /// The rate of the tightest limit that all flows meet, Mbit/s.
    pub limit_mbps: Option<f64>,
    /// Jain's index, where equal shares are to be expected.
    pub jain_index: Option<f64>,
    /// Share of TCP's data packets that were sent again, 0 to 1; `None` where none was sent.
    pub sent_again: Option<f64>,
    /// `rtt.p95` of [`Measure`]: the TCP flow's in which it is longest, ms; `None` without TCP.
    pub rtt_p95_ms: Option<f64>,
    /// `completion.mean` of [`Measure`], s; `None` where a flow did not come to its end.
    pub completion_s: Option<f64>,
    /// Packets dropped by the path's elements.
    pub dropped_packets: u64,
    /// Packets marked by them.
    pub marked_packets: u64,
    /// The longest queue of any of them, packets.
    pub max_queue_packets: u64,
    /// Flow by flow, in the scenario's order.
    pub flows: Vec<SweptFlow>,
}

/// A flow of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweptFlow {
    /// Its name.
    pub name: String,
    /// Congestion control; `udp` for datagrams.
    pub cc: String,
    /// Mbit/s.
    pub goodput_mbps: f64,
    /// Data packets sent, those sent again among them.
    pub sent_packets: u64,
    /// Those sent again.
    pub retransmitted_packets: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Round-trip times of TCP over time, ms: least, mean, median, 95th percentile.
    pub rtt_ms: Option<[f64; 4]>,
    /// One-way delay of datagrams, of probes there and back, ms: least, mean, median, 95th percentile.
    pub delay_ms: Option<[f64; 4]>,
    /// Seconds from start to last byte, where it has an end and came to it.
    pub completion_s: Option<f64>,
    /// 95th percentile of the times from request to answer, s; of flows that ask.
    pub response_p95_s: Option<f64>,
}

impl CellFigures {
    /// Of a run.
    pub fn of(variant: &VariantResult, seed: u64) -> CellFigures {
        let sum = |of: &dyn Fn(&result::ElementResult) -> u64| variant.elements.iter().map(of).sum();
        let of = |measure: Measure| measure.of(variant).filter(|value| value.is_finite());
        CellFigures {
            seed,
            total_goodput_mbps: variant.total_goodput_mbps,
            limit_mbps: variant.limit_mbps,
            jain_index: variant.jain_index,
            sent_again: of(Measure::new(Quantity::ResentShare)).map(|percent| percent / 100.0),
            rtt_p95_ms: of(Measure::at(Quantity::Rtt, Statistic::P95)),
            completion_s: of(Measure::at(Quantity::Completion, Statistic::Mean)),
            dropped_packets: sum(&|e| e.dropped_packets),
            marked_packets: sum(&|e| e.marked_packets),
            max_queue_packets: variant.elements.iter().map(|e| e.max_queue_packets).max().unwrap_or(0),
            flows: variant.flows.iter().map(SweptFlow::of).collect(),
        }
    }
}

/// Least, mean, median and 95th percentile; `None` without a sample.
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
