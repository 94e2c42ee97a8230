//! Reads the columns that a sweep's page shows from its `cells.parquet`. The axes are in `sweep.json`.

use crate::tables::columns::{Column, ColumnKind, File, column};
use crate::tables::table::{ParquetTable, SeriesError};

const COLUMNS: [Column; 4] = [
    column("error", ColumnKind::TextOrNull, "why it could not be run"),
    column("total_goodput_mbps", ColumnKind::RealOrNull, "sum of the flows' goodputs, Mbit/s"),
    column("sent_again", ColumnKind::RealOrNull, "share of the data packets that were retransmissions"),
    column("rtt_p95_ms", ColumnKind::RealOrNull, "95th percentile of RTT, ms"),
];
const CELLS: File = File { name: "cells.parquet", about: "a cell of a sweep", columns: &COLUMNS };

/// The rows of a sweep by column, in the file's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweptColumns {
    /// The error of a cell that could not be run.
    pub error: Vec<Option<String>>,
    /// Sum of the flows' goodputs, in Mbit/s.
    pub total_goodput_mbps: Vec<Option<f64>>,
    /// Share of the data packets that were retransmissions, 0 to 1.
    pub sent_again: Vec<Option<f64>>,
    /// 95th percentile of the RTT, in ms.
    pub rtt_p95_ms: Vec<Option<f64>>,
}

/// Reads a sweep's `cells.parquet`, passed as its bytes.
///
/// # Errors
/// Fails when the file is not of this kind, or is truncated.
///
/// # Panics
/// Panics on rare damage within a page (see [`crate::tables`]).
pub fn read_swept(bytes: &[u8]) -> Result<SweptColumns, SeriesError> {
    let table = ParquetTable::open(CELLS, bytes)?;
    let mut all = SweptColumns::default();
    for group in 0..table.groups() {
        let (errors, texts) = table.texts(group, &COLUMNS[0])?;
        let known = errors.into_iter().map(|e| Some(texts[e].clone()).filter(|e| !e.is_empty()));
        all.error.extend(known);
        all.total_goodput_mbps.extend(table.reals(group, &COLUMNS[1])?);
        all.sent_again.extend(table.reals(group, &COLUMNS[2])?);
        all.rtt_p95_ms.extend(table.reals(group, &COLUMNS[3])?);
    }
    Ok(all)
}
