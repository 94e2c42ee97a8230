//! The data that a sweep's text and page show, taken from rows that were just run or read back from the
//! sweep's folder.

use crate::sweep::{Axis, CellRow, SweepGrid};
use crate::tables::SweptColumns;
use serde::Deserialize;
use std::fs;
use std::path::Path;

/// A cell with what is shown of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownCell {
    /// Index of the variant.
    pub variant: usize,
    /// Index of each axis' value.
    pub values: Vec<usize>,
    /// Why there are no figures.
    pub error: Option<String>,
    /// Goodput of all flows (Mbit/s), share of the data packets that were retransmissions, 95th percentile
    /// of the RTT (ms).
    pub figures: [Option<f64>; 3],
}

/// A sweep with what is shown of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownSweep {
    pub scenario: String,
    /// The axes that were varied.
    pub axes: Vec<Axis>,
    /// The variants' names.
    pub variants: Vec<String>,
    /// The cells in the grid's order.
    pub cells: Vec<ShownCell>,
}

/// The part of `sweep.json` that is needed to read a dataset back.
#[derive(Deserialize)]
struct ReadSummary {
    scenario: String,
    axes: Vec<Axis>,
    variants: Vec<String>,
    repeats: u32,
}

impl ShownSweep {
    /// Takes rows that were run, in the grid's order.
    pub fn of(grid: &SweepGrid, scenario: &str, rows: &[CellRow]) -> ShownSweep {
        let figures = |row: &CellRow| {
            let f = row.figures.as_ref();
            [f.map(|f| f.total_goodput_mbps), f.and_then(|f| f.sent_again), f.and_then(|f| f.rtt_p95_ms)]
        };
        let mut shown = ShownSweep::of_axes(
            scenario.into(),
            grid.axes.clone(),
            grid.variant_names(),
            grid.repeats,
            rows.len(),
        );
        for (cell, row) in shown.cells.iter_mut().zip(rows) {
            (cell.error, cell.figures) = (row.error.clone(), figures(row));
        }
        shown
    }

    /// Reads a finished sweep from its folder.
    ///
    /// # Errors
    /// Fails when a file cannot be read or the two files do not match. The message names the file.
    ///
    /// # Panics
    /// Panics on rare damage of the Parquet file ([`crate::tables`]).
    pub fn read(folder: &Path) -> Result<ShownSweep, String> {
        let wrong = |file: &str, why: String| format!("{}: {why}", folder.join(file).display());
        let text = fs::read_to_string(folder.join("sweep.json"));
        let text = text.map_err(|e| wrong("sweep.json", e.to_string()))?;
        let summary: ReadSummary =
            serde_json::from_str(&text).map_err(|e| wrong("sweep.json", e.to_string()))?;
        let bytes = fs::read(folder.join("cells.parquet"));
        let bytes = bytes.map_err(|e| wrong("cells.parquet", e.to_string()))?;
        let read = crate::tables::read_swept(&bytes).map_err(|e| wrong("cells.parquet", e.to_string()))?;
        if summary.axes.iter().any(|axis| axis.check().is_err()) {
            return Err(wrong("sweep.json", "an axis has no values".into()));
        }
        let points = summary.axes.iter().map(|a| a.values.len()).try_fold(1usize, usize::checked_mul);
        let runs = summary.variants.len().checked_mul(summary.repeats.max(1) as usize);
        let cells = points.zip(runs).and_then(|(points, runs)| points.checked_mul(runs));
        if cells != Some(read.error.len()) {
            let why = format!("has {} rows, which does not match sweep.json", read.error.len());
            return Err(wrong("cells.parquet", why));
        }
        let rows = read.error.len();
        let mut shown =
            ShownSweep::of_axes(summary.scenario, summary.axes, summary.variants, summary.repeats, rows);
        let SweptColumns { error, total_goodput_mbps, sent_again, rtt_p95_ms } = read;
        for (i, (cell, error)) in shown.cells.iter_mut().zip(error).enumerate() {
            (cell.error, cell.figures) = (error, [total_goodput_mbps[i], sent_again[i], rtt_p95_ms[i]]);
        }
        Ok(shown)
    }

    /// Creates cells without figures, in the grid's order.
    fn of_axes(
        scenario: String,
        axes: Vec<Axis>,
        variants: Vec<String>,
        repeats: u32,
        rows: usize,
    ) -> ShownSweep {
        let (runs, repeats) = (variants.len().max(1), repeats.max(1) as usize);
        let cell = |i: usize| ShownCell {
            variant: i / repeats % runs,
            values: crate::sweep::grid::place(&axes, i / (repeats * runs)),
            error: None,
            figures: [None; 3],
        };
        let cells = (0..rows).map(cell).collect();
        ShownSweep { scenario, axes, variants, cells }
    }
}

/// An axis of the grid, or the variants as an axis.
pub(crate) struct SweptAxis {
    pub name: String,
    pub values: Vec<String>,
    /// Index of the value of each cell.
    pub value_of: Vec<usize>,
}

/// Returns the grid's axes and, if there are several variants, the variants as a further axis.
pub(crate) fn axes(sweep: &ShownSweep) -> Vec<SweptAxis> {
    let axis = |(i, axis): (usize, &Axis)| {
        let value_of = sweep.cells.iter().map(|c| c.values[i]).collect();
        SweptAxis { name: axis.name.clone(), values: axis.values.clone(), value_of }
    };
    let mut all: Vec<SweptAxis> = sweep.axes.iter().enumerate().map(axis).collect();
    if sweep.variants.len() > 1 {
        let value_of = sweep.cells.iter().map(|c| c.variant).collect();
        all.push(SweptAxis { name: "variant".into(), values: sweep.variants.clone(), value_of });
    }
    all
}

/// Picks at most `max` of `n` indexes, evenly and including the first and the last. `max` must be at least
/// 2.
pub(crate) fn picked(n: usize, max: usize) -> impl Iterator<Item = usize> {
    let shown = n.min(max);
    (0..shown).map(move |i| if shown < n { i * (n - 1) / (shown - 1) } else { i })
}

/// Returns a quantile of sorted numbers: the smallest that at least this share of them does not exceed.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let at = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied()
}
