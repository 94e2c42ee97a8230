//! The columns of the files and their meaning. Writer, reader and documentation all use this list. The
//! columns of time series are declared with the series (`result::FlowSeries`).

use result::{Clocks, Columns, Growth};
pub use result::{Column, ColumnKind};
use result::{ElementSeries, FlowSeries};

/// A file of a result folder.
#[derive(Clone, Copy, Debug)]
pub struct File {
    pub name: &'static str,
    /// The meaning of a row.
    pub about: &'static str,
    /// The columns, in order.
    pub columns: &'static [Column],
}

pub(crate) const fn column(name: &'static str, kind: ColumnKind, about: &'static str) -> Column {
    Column { name, kind, unit: None, growth: Growth::Gauge, clocks: Clocks::Both, about }
}

const VARIANT: Column = column("variant", ColumnKind::Text, "the variant's name");
const CLOCK: Column = column("clock", ColumnKind::Text, "`sim` or `kernel`");
const REPEAT: Column = column(
    "repeat",
    ColumnKind::Int,
    "number of the repeat, from 1; it ran with the variant's seed of that number",
);
const FLOW: Column = column("name", ColumnKind::Text, "the flow's name");

/// Concatenates the columns of all `parts`.
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

/// The file of flows' time series.
pub const FLOWS: File = File {
    name: "flows.parquet",
    about: "a flow at one time; where relays split a flow, all but `delivered_bytes` is of its first connection",
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

/// The file of flows' states over time.
pub const STATES: File = File {
    name: "states.parquet",
    about: "a period in which samples have the same state",
    columns: &[
        VARIANT,
        CLOCK,
        REPEAT,
        FLOW,
        column("state", ColumnKind::Text, "the state, as in `flows.parquet`"),
        column(
            "start_s",
            ColumnKind::Real,
            "time of the first sample in the state, seconds since the run began",
        ),
        column(
            "end_s",
            ColumnKind::Real,
            "time of the first sample in the next state, or of the last sample of the series",
        ),
    ],
};

/// The file of path elements' time series.
pub const ELEMENTS: File = File {
    name: "elements.parquet",
    about: "a path element at one time",
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

/// The file of flows' retransmissions.
pub const RETRANSMISSIONS: File = File {
    name: "retransmissions.parquet",
    about: "a retransmission of one of the flow's senders",
    columns: &[
        VARIANT,
        CLOCK,
        REPEAT,
        FLOW,
        column("time_s", ColumnKind::Real, "time of sending, seconds since the run began"),
        column("byte", ColumnKind::Int, "offset of its first payload byte, from 0"),
        column("bytes", ColumnKind::Int, "payload bytes"),
        column(
            "sender",
            ColumnKind::Int,
            "0: the sender that the time series show; 1, 2 …: the flow's other senders, namely those of further connections, of the legs between relays, and of the direction that carries less",
        ),
    ],
};

/// The file of response times.
pub const RESPONSES: File = File {
    name: "responses.parquet",
    about: "a response of a `request` flow, or an object, the first document or the whole of a page",
    columns: &[
        VARIANT,
        CLOCK,
        REPEAT,
        FLOW,
        column("start_s", ColumnKind::Real, "time of the request, seconds since the run began"),
        column("seconds", ColumnKind::Real, "seconds from the request to the last byte of the response"),
        column("what", ColumnKind::Text, "`answer`, `html`, `object` or `page`"),
    ],
};

/// All files of a result folder.
pub const FILES: [File; 5] = [FLOWS, STATES, ELEMENTS, RETRANSMISSIONS, RESPONSES];
