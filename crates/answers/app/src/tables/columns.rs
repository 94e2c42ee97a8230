//! The files' columns, each with what it means: written, read and documented from here. Those of time series are
//! declared with the series (`result::FlowSeries`).

use result::{Clocks, Columns, Growth};
pub use result::{Column, ColumnKind};
use result::{ElementSeries, FlowSeries};

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

pub(crate) const fn column(name: &'static str, kind: ColumnKind, about: &'static str) -> Column {
    Column { name, kind, unit: None, growth: Growth::Gauge, clocks: Clocks::Both, about }
}

const VARIANT: Column = column("variant", ColumnKind::Text, "the variant's name");
const CLOCK: Column = column("clock", ColumnKind::Text, "`sim` or `kernel`");
const REPEAT: Column =
    column("repeat", ColumnKind::Int, "1, 2 …; repeat r ran with the r-th of the variant's seeds");
const FLOW: Column = column("name", ColumnKind::Text, "the flow's name");

/// The columns of all of `parts`, in order.
const fn join<const N: usize>(parts: &[&[Column]]) -> [Column; N] {
    let mut all = [VARIANT; N];
    let (mut n, mut part) = (0, 0);
    while part < parts.len() {
        let mut i = 0;
        while i < parts[part].len() {
            all[n] = parts[part][i];
            (n, i) = (n + 1, i + 1);
        }
        part += 1;
    }
    assert!(n == N);
    all
}

/// Time series of flows.
pub const FLOWS: File = File {
    name: "flows.parquet",
    about: "a flow at one moment; with relays of its first connection, but for `delivered_bytes`",
    columns: &join::<{ 4 + FlowSeries::COLUMNS.len() + 1 }>(&[
        &[VARIANT, CLOCK, REPEAT, FLOW],
        FlowSeries::COLUMNS,
        &[column(
            "state",
            ColumnKind::TextOrNull,
            "the congestion control's state; null for datagrams and before the flow begins",
        )],
    ]),
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
        column("state", ColumnKind::Text, "the state, as in `flows.parquet`"),
        column("start_s", ColumnKind::Real, "the first sample in it, seconds since the run began"),
        column("end_s", ColumnKind::Real, "the first sample in the next state, or the last of the series"),
    ],
};

/// Time series of path elements.
pub const ELEMENTS: File = File {
    name: "elements.parquet",
    about: "a path element at one moment",
    columns: &join::<{ 4 + ElementSeries::COLUMNS.len() }>(&[
        &[
            VARIANT,
            CLOCK,
            REPEAT,
            column("name", ColumnKind::Text, "the element's name, as in `result.json`"),
        ],
        ElementSeries::COLUMNS,
    ]),
};

/// What flows sent again.
pub const RETRANSMISSIONS: File = File {
    name: "retransmissions.parquet",
    about: "a retransmission of one of the flow's senders",
    columns: &[
        VARIANT,
        CLOCK,
        REPEAT,
        FLOW,
        column("time_s", ColumnKind::Real, "when it left the sender, seconds since the run began"),
        column("byte", ColumnKind::Int, "its first payload byte; the sender's first is 0"),
        column("bytes", ColumnKind::Int, "payload bytes"),
        column(
            "sender",
            ColumnKind::Int,
            "0: the sender that the time series show; 1, 2 …: the flow's others, of further connections, of the legs between relays, of the direction that carries less",
        ),
    ],
};

/// How long what flows asked for took.
pub const RESPONSES: File = File {
    name: "responses.parquet",
    about: "an exchange of a `request` flow; an object, the first document or the whole of a page",
    columns: &[
        VARIANT,
        CLOCK,
        REPEAT,
        FLOW,
        column("start_s", ColumnKind::Real, "when it was asked for, seconds since the run began"),
        column("seconds", ColumnKind::Real, "from then to the last byte of what was asked for"),
        column("what", ColumnKind::Text, "`answer`, `html`, `object` or `page`"),
    ],
};

/// Every file.
pub const FILES: [File; 5] = [FLOWS, STATES, ELEMENTS, RETRANSMISSIONS, RESPONSES];
