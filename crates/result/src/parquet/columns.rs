//! The files' columns, each with what it means: written, read and documented from here.

/// What a column holds. Doubles and integers are 64 bits wide, texts are UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// Text or null.
    TextOrNull,
    /// Integer, never negative.
    Int,
    /// Integer, never negative, or null.
    IntOrNull,
    /// Double.
    Real,
    /// Double or null; the model's NaN is written as null.
    RealOrNull,
}

impl Kind {
    /// Whether null may be.
    pub fn nullable(self) -> bool {
        matches!(self, Kind::TextOrNull | Kind::IntOrNull | Kind::RealOrNull)
    }
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What it means, with its unit, and what null means.
    pub about: &'static str,
}

/// A file of a result's folder.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its name.
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
}

pub(super) const fn column(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column { name, kind, about }
}

const VARIANT: Column = column("variant", Kind::Text, "the variant's name");
const CLOCK: Column = column("clock", Kind::Text, "`sim` or `kernel`");
const REPEAT: Column =
    column("repeat", Kind::Int, "1, 2 …; repeat r ran with the r-th of the variant's seeds");
const FLOW: Column = column("name", Kind::Text, "the flow's name");
const TIME: Column = column("time_s", Kind::Real, "seconds since the run began");

/// Time series of flows.
pub const FLOWS: File = File {
    name: "flows.parquet",
    about: "a flow at one moment; with relays of its first connection, but for `delivered_bytes`",
    columns: &[
        VARIANT,
        CLOCK,
        REPEAT,
        FLOW,
        TIME,
        column("delivered_bytes", Kind::Int, "payload bytes delivered so far"),
        column("cwnd", Kind::Int, "congestion window, packets"),
        column("ssthresh", Kind::IntOrNull, "slow-start threshold, packets; null: none"),
        column("inflight", Kind::Int, "packets in flight"),
        column("srtt_ms", Kind::RealOrNull, "smoothed RTT, ms; null before the first sample"),
        column("rtt_ms", Kind::RealOrNull, "the last RTT sample, ms; null before the first"),
        column("pacing_mbps", Kind::RealOrNull, "pacing rate, Mbit/s; null when not paced"),
        column("retransmitted", Kind::Int, "retransmissions so far, packets"),
        column("sent_bytes", Kind::Int, "payload bytes sent so far, each counted once (SND.NXT)"),
        column("acked_bytes", Kind::Int, "payload bytes acknowledged so far (SND.UNA)"),
        column(
            "btl_bw_mbps",
            Kind::RealOrNull,
            "bottleneck bandwidth estimate, Mbit/s; null where the congestion control has none",
        ),
        column("rt_prop_ms", Kind::RealOrNull, "round-trip propagation estimate, ms; null as above"),
        column("pacing_gain", Kind::RealOrNull, "the congestion control's pacing gain; null as above"),
        column("cwnd_gain", Kind::RealOrNull, "its cwnd gain; null as above"),
        column("round", Kind::IntOrNull, "round trips it counted; null as above, and on the kernel"),
        column(
            "state",
            Kind::TextOrNull,
            "the congestion control's state; null for datagrams and before the flow begins",
        ),
    ],
};

/// The timeline of flows' states.
pub const STATES: File = File {
    name: "states.parquet",
    about: "a stretch of samples in the same state",
    columns: &[
        VARIANT,
        CLOCK,
        REPEAT,
        FLOW,
        column("state", Kind::Text, "the state, as in `flows.parquet`"),
        column("start_s", Kind::Real, "the first sample in it, seconds since the run began"),
        column("end_s", Kind::Real, "the first sample in the next state, or the last of the series"),
    ],
};

/// Time series of path elements.
pub const ELEMENTS: File = File {
    name: "elements.parquet",
    about: "a path element at one moment",
    columns: &[
        VARIANT,
        CLOCK,
        REPEAT,
        column("name", Kind::Text, "the element's name, as in `result.json`"),
        TIME,
        column("queue_packets", Kind::Int, "packets queued"),
        column("queue_bytes", Kind::Int, "bytes queued"),
        column("tokens_bytes", Kind::RealOrNull, "tokens in the bucket, bytes; null without a bucket"),
        column("dropped", Kind::Int, "packets dropped so far"),
        column("marked", Kind::Int, "packets marked so far (ECN CE or DSCP)"),
    ],
};

/// What flows sent again.
pub const RETRANSMISSIONS: File = File {
    name: "retransmissions.parquet",
    about: "a retransmission; with relays of the flow's first connection",
    columns: &[
        VARIANT,
        CLOCK,
        REPEAT,
        FLOW,
        column("time_s", Kind::Real, "when it left the sender, seconds since the run began"),
        column("byte", Kind::Int, "its first payload byte; the connection's first is 0"),
        column("bytes", Kind::Int, "payload bytes"),
    ],
};

/// Every file.
pub const FILES: [File; 4] = [FLOWS, STATES, ELEMENTS, RETRANSMISSIONS];
