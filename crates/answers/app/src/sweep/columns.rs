//! The columns of the dataset, other than its axes.

/// A column of the dataset that is not an axis.
#[derive(Clone, Copy, Debug)]
pub struct SweepColumn {
    pub name: &'static str,
    /// The column's meaning.
    pub about: &'static str,
}

const fn column(name: &'static str, about: &'static str) -> SweepColumn {
    SweepColumn { name, about }
}

/// All columns of both files that are not an axis.
pub const COLUMNS: [SweepColumn; 26] = [
    column("cell", "the cell's name: a hash of all that determines it"),
    column("variant", "the scenario's variant"),
    column("repeat", "number of the repeat, from 1"),
    column("seed", "seed of the repeat; null where the cell could not be run"),
    column("error", "why the cell could not be run; null where it ran"),
    column("total_goodput_mbps", "sum of the flows' goodputs, Mbit/s"),
    column("limit_mbps", "the tightest limit that all flows share, Mbit/s; null where there is none"),
    column("jain_index", "Jain's fairness index; null where equal shares are not expected"),
    column("sent_again", "share of TCP's data packets that were retransmissions, 0 to 1"),
    column(
        "rtt_p95_ms",
        "95th percentile of RTT over time, ms; for a cell, that of the TCP flow with the longest; null for datagrams",
    ),
    column(
        "completion_s",
        "time from start to last byte, s; for a cell, the mean of its flows, null where one did not end",
    ),
    column("dropped_packets", "packets dropped by the path"),
    column("marked_packets", "packets marked by the path"),
    column("max_queue_packets", "the longest queue of the path, packets"),
    column("flow", "the flow's name"),
    column("cc", "the flow's congestion control"),
    column("goodput_mbps", "the flow's goodput, Mbit/s"),
    column("sent_packets", "data packets sent, retransmissions included"),
    column("retransmitted_packets", "packets retransmitted"),
    column("timeouts", "retransmission timeouts"),
    column("rtt_min_ms", "minimum RTT, ms; null for datagrams"),
    column("rtt_mean_ms", "mean RTT, ms"),
    column("rtt_p50_ms", "median RTT, ms"),
    column("delay_p50_ms", "median one-way delay, for probes the round trip, ms; null for TCP"),
    column("delay_p95_ms", "95th percentile of the delay in `delay_p50_ms`, ms"),
    column("response_p95_s", "95th percentile of the times from request to response, s"),
];
