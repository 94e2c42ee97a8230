//! The columns of the dataset that are no axis.

/// A column of the dataset that is no axis.
#[derive(Clone, Copy, Debug)]
pub struct SweepColumn {
    /// Its name.
    pub name: &'static str,
    /// What it says; empty where `about` of the other file has it.
    pub about: &'static str,
}

const fn column(name: &'static str, about: &'static str) -> SweepColumn {
    SweepColumn { name, about }
}

/// All columns of both files that are no axis.
pub const COLUMNS: [SweepColumn; 26] = [
    column("cell", "the cell's name: a hash of all that determines it"),
    column("variant", "the scenario's variant"),
    column("repeat", "which repeat, from 1"),
    column("seed", "its seed; null where the cell could not be run"),
    column("error", "why it could not be run; null of all others"),
    column("total_goodput_mbps", "sum of the flows' goodputs, Mbit/s"),
    column("limit_mbps", "the tightest limit that all flows meet, Mbit/s; null where there is none"),
    column("jain_index", "Jain's fairness index; null where equal shares are not to be expected"),
    column("sent_again", "share of TCP's data packets that were sent again, 0 to 1"),
    column(
        "rtt_p95_ms",
        "95th percentile of RTT over time, ms: of a cell that of the TCP flow in which it is longest; null of datagrams",
    ),
    column(
        "completion_s",
        "time from start to last byte, s; of a cell the mean of its flows, null where one did not end",
    ),
    column("dropped_packets", "packets dropped by the path"),
    column("marked_packets", "packets marked by it"),
    column("max_queue_packets", "the longest queue, packets"),
    column("flow", "the flow's name"),
    column("cc", "its congestion control"),
    column("goodput_mbps", "its goodput, Mbit/s"),
    column("sent_packets", "data packets it sent, those sent again among them"),
    column("retransmitted_packets", "those sent again"),
    column("timeouts", "retransmission timeouts"),
    column("rtt_min_ms", "its least RTT, ms; null of datagrams"),
    column("rtt_mean_ms", "its mean RTT, ms"),
    column("rtt_p50_ms", "its median RTT, ms"),
    column("delay_p50_ms", "its median one-way delay, of probes there and back, ms; null of TCP"),
    column("delay_p95_ms", "95th percentile of that"),
    column("response_p95_s", "95th percentile of the times from request to answer, s"),
];
