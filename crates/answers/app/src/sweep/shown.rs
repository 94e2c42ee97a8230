//! What text and page show of a sweep: of its rows when they were just run, or read back from its folder.

use crate::sweep::{Axis, CellRow, SweepGrid};
use crate::tables::SweptColumns;
use serde::Deserialize;
use std::fs;
use std::path::Path;

/// A cell as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownCell {
    /// The number of its variant.
    pub variant: usize,
    /// Of each axis the number of its value.
    pub values: Vec<usize>,
    /// Why there are no figures.
    pub error: Option<String>,
    /// Goodput of all flows (Mbit/s), share of the data packets sent again, 95th percentile of RTT (ms).
    pub figures: [Option<f64>; 3],
}

/// A sweep as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownSweep {
    /// The scenario's name.
    pub scenario: String,
    /// What was varied.
    pub axes: Vec<Axis>,
    /// The variants' names.
    pub variants: Vec<String>,
    /// In the grid's order.
    pub cells: Vec<ShownCell>,
}

/// What of `sweep.json` is needed to read a dataset back.
#[derive(Deserialize)]
struct ReadSummary {
    scenario: String,
    axes: Vec<Axis>,
    variants: Vec<String>,
    repeats: u32,
}

impl ShownSweep {
    /// Of rows that were run, in the grid's order.
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

    /// Of a finished sweep's folder.
    ///
    /// # Errors
    /// Which of its files cannot be read or does not fit the other, and why.
    ///
    /// # Panics
    /// On rare damage of the Parquet file ([`tables`]).
    pub fn read(folder: &Path) -> Result<ShownSweep, String> {
        let wrong = |file: &str, why: String| format!("{}: {why}", folder.join(file).display());
        let text = fs::read_to_string(folder.join("sweep.json"));
        let text = text.map_err(|e| wrong("sweep.json", e.to_string()))?;
        let told: ReadSummary =
            serde_json::from_str(&text).map_err(|e| wrong("sweep.json", e.to_string()))?;
        let bytes = fs::read(folder.join("cells.parquet"));
        let bytes = bytes.map_err(|e| wrong("cells.parquet", e.to_string()))?;
        let read = crate::tables::read_swept(&bytes).map_err(|e| wrong("cells.parquet", e.to_string()))?;
        if told.axes.iter().any(|axis| axis.check().is_err()) {
            return Err(wrong("sweep.json", "an axis has no values".into()));
        }
        let points = told.axes.iter().map(|a| a.values.len()).try_fold(1usize, usize::checked_mul);
        let runs = told.variants.len().checked_mul(told.repeats.max(1) as usize);
        let cells = points.zip(runs).and_then(|(points, runs)| points.checked_mul(runs));
        if cells != Some(read.error.len()) {
            let why = format!("has {} rows, which is not what sweep.json says", read.error.len());
            return Err(wrong("cells.parquet", why));
        }
        let rows = read.error.len();
        let mut shown = ShownSweep::of_axes(told.scenario, told.axes, told.variants, told.repeats, rows);
        let SweptColumns { error, total_goodput_mbps, sent_again, rtt_p95_ms } = read;
        for (i, (cell, error)) in shown.cells.iter_mut().zip(error).enumerate() {
            (cell.error, cell.figures) = (error, [total_goodput_mbps[i], sent_again[i], rtt_p95_ms[i]]);
        }
        Ok(shown)
    }

    /// Cells without figures, as the grid's order has them.
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

/// An axis, or the variants, and the number of its value in each cell.
pub(crate) struct SweptAxis {
    pub name: String,
    pub values: Vec<String>,
    pub of: Vec<usize>,
}

/// The grid's axes and, where there are several, the variants.
pub(crate) fn axes(sweep: &ShownSweep) -> Vec<SweptAxis> {
    let axis = |(i, axis): (usize, &Axis)| {
        let of = sweep.cells.iter().map(|c| c.values[i]).collect();
        SweptAxis { name: axis.name.clone(), values: axis.values.clone(), of }
    };
    let mut all: Vec<SweptAxis> = sweep.axes.iter().enumerate().map(axis).collect();
    if sweep.variants.len() > 1 {
        let of = sweep.cells.iter().map(|c| c.variant).collect();
        all.push(SweptAxis { name: "variant".into(), values: sweep.variants.clone(), of });
    }
    all
}

/// Indexes of `n` values, `most` at most (two or more): all, or as many evenly picked, the first and the last among them.
pub(crate) fn picked(n: usize, most: usize) -> impl Iterator<Item = usize> {
    let shown = n.min(most);
    (0..shown).map(move |i| if shown < n { i * (n - 1) / (shown - 1) } else { i })
}

/// The quantile of sorted numbers: the smallest that at least this share does not exceed.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let at = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied()
}
