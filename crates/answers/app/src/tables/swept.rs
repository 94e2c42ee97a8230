//! What a sweep's page is drawn from, read back from its `cells.parquet`; the axes stand in `sweep.json`.

use crate::tables::columns::{Column, ColumnKind, File, column};
use crate::tables::table::{ParquetTable, SeriesError};

const COLUMNS: [Column; 4] = [
    column("error", ColumnKind::TextOrNull, "why it could not be run"),
    column("total_goodput_mbps", ColumnKind::RealOrNull, "sum of the flows' goodputs, Mbit/s"),
    column("sent_again", ColumnKind::RealOrNull, "share of the data packets that were sent again"),
    column("rtt_p95_ms", ColumnKind::RealOrNull, "95th percentile of RTT, ms"),
];
const CELLS: File = File { name: "cells.parquet", about: "a cell of a sweep", columns: &COLUMNS };

/// A sweep's rows, column by column, in the file's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweptColumns {
    /// Why a cell could not be run; `None` of one that was.
    pub error: Vec<Option<String>>,
    /// Sum of the flows' goodputs, Mbit/s.
    pub total_goodput_mbps: Vec<Option<f64>>,
    /// Share of the data packets that were sent again, 0 to 1.
    pub sent_again: Vec<Option<f64>>,
    /// 95th percentile of RTT, ms.
    pub rtt_p95_ms: Vec<Option<f64>>,
}

/// Reads the bytes of a sweep's `cells.parquet`.
///
/// # Errors
/// What is no such file, or was cut.
///
/// # Panics
/// On rare damage within a page (see the crate).
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
