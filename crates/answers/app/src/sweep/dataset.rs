//! The dataset of a sweep: `cells.parquet`, a row for each cell, and `flows.parquet`, a row for each flow of
//! a cell. Both have the axes as columns: as numbers where all values of an axis are numbers of one unit
//! (named in `sweep.json` and in the file's metadata), else as text. The folder also holds `report.html`, and
//! `sweep.json`, which is written last: if it exists, the other files are complete.

use crate::sweep::folder::{HeldFolder, SUMMARY};
use crate::sweep::{Axis, CellFigures, CellRow, SweepGrid, SweptFlow};
use crate::tables::{SheetColumn, SheetValues};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;

/// Name and version of the JSON's schema.
pub const SWEEP_SCHEMA: &str = "longfat-sweep/1";

/// The content of `sweep.json`, which `--json` prints.
#[derive(Debug, Serialize)]
pub struct SweepSummary<'a> {
    /// Name and version of the schema: `longfat-sweep/1`.
    pub schema: &'static str,
    /// The scenario's name.
    pub scenario: &'a str,
    /// Hash of all that determines the dataset.
    pub grid: String,
    /// The program that ran the cells.
    pub program: &'a str,
    /// Overrides of every cell, as `--set` takes them.
    pub overrides: &'a [String],
    /// The axes that were varied.
    pub axes: Vec<AxisSummary<'a>>,
    /// The variants that were run.
    pub variants: Vec<&'a str>,
    /// Repeats of each cell.
    pub repeats: u32,
    /// Number of cells.
    pub cells: usize,
    /// Number of cells that could not be run; their rows say why.
    pub failed: usize,
    /// The dataset's files.
    pub files: [&'static str; 2],
}

/// An axis of `sweep.json`.
#[derive(Debug, Serialize)]
pub struct AxisSummary<'a> {
    /// Name of the axis and of its column.
    pub name: &'a str,
    /// The keys that the axis sets.
    pub keys: &'a [String],
    /// Unit of the axis' numbers; absent where its column is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'a str>,
    /// The axis' values, as written.
    pub values: &'a [String],
}

impl<'a> SweepSummary<'a> {
    /// Summarises rows that are in the grid's order.
    pub fn of(
        grid: &'a SweepGrid,
        experiment: &'a scenario::Experiment,
        rows: &[CellRow],
    ) -> SweepSummary<'a> {
        let axis = |a: &'a Axis| AxisSummary {
            name: &a.name,
            keys: &a.keys,
            unit: a.numbers().map(|(_, unit)| unit),
            values: &a.values,
        };
        SweepSummary {
            schema: SWEEP_SCHEMA,
            scenario: &experiment.name,
            grid: grid.digest(),
            program: &grid.program,
            overrides: &grid.sets,
            axes: grid.axes.iter().map(axis).collect(),
            variants: experiment.variants.iter().map(|v| v.name.as_str()).collect(),
            repeats: grid.repeats.max(1),
            cells: rows.len(),
            failed: rows.iter().filter(|r| r.error.is_some()).count(),
            files: ["cells.parquet", "flows.parquet"],
        }
    }
}

/// Serialises the summary as in `sweep.json`.
pub fn to_json(summary: &SweepSummary<'_>) -> String {
    // The summary consists of texts and numbers, which can always be serialised.
    serde_json::to_string_pretty(summary).unwrap_or_default() + "\n"
}

/// Writes the dataset of rows that are in the grid's order, each file atomically. The same rows give the same
/// bytes.
///
/// # Errors
/// Fails when a file cannot be written.
pub(crate) fn write_dataset(
    held: &HeldFolder<CellRow>,
    grid: &SweepGrid,
    summary: &SweepSummary<'_>,
    rows: &[CellRow],
) -> io::Result<()> {
    let units: Vec<String> =
        grid.axes.iter().filter_map(|a| Some(format!("{}={}", a.name, a.numbers()?.1))).collect();
    let meta = [
        ("longfat.schema", SWEEP_SCHEMA.to_string()),
        ("longfat.scenario", summary.scenario.to_string()),
        ("longfat.units", units.join("\n")),
    ];
    let cells: Vec<&CellRow> = rows.iter().collect();
    held.write_table("cells.parquet", &cell_columns(grid, &cells), &meta)?;
    let flows: Vec<(&CellRow, &SweptFlow)> = rows
        .iter()
        .flat_map(|row| row.figures.iter().flat_map(|f| &f.flows).map(move |f| (row, f)))
        .collect();
    held.write_table("flows.parquet", &flow_columns(grid, &flows), &meta)?;
    let page = crate::sweep::page(&crate::sweep::ShownSweep::of(grid, summary.scenario, rows));
    held.write("report.html", page.as_bytes())?;
    held.write(SUMMARY, to_json(summary).as_bytes())
}

fn texts<'a>(name: &'a str, values: impl Iterator<Item = Option<&'a str>>) -> SheetColumn<'a> {
    SheetColumn { name, values: SheetValues::Text(values.collect()) }
}

fn ints<'a>(name: &'a str, values: impl Iterator<Item = Option<u64>>) -> SheetColumn<'a> {
    SheetColumn { name, values: SheetValues::Int(values.collect()) }
}

fn reals<'a>(name: &'a str, values: impl Iterator<Item = Option<f64>>) -> SheetColumn<'a> {
    SheetColumn { name, values: SheetValues::Real(values.collect()) }
}

/// Returns the columns that identify a row's cell, with which both files begin.
fn cell_key_columns<'a>(grid: &'a SweepGrid, rows: &[&'a CellRow]) -> Vec<SheetColumn<'a>> {
    let mut all = vec![
        texts("cell", rows.iter().map(|r| Some(r.cell.as_str()))),
        texts("variant", rows.iter().map(|r| Some(r.variant.as_str()))),
        ints("repeat", rows.iter().map(|r| Some(r.repeat.into()))),
    ];
    let seeds = grid.axes.iter().position(Axis::is_seed);
    // An axis of seeds takes the place of the column `seed`. It has a value for cells that could not be run,
    // too.
    let varied = |r: &CellRow| r.values.get(seeds?)?.parse().ok();
    all.push(ints("seed", rows.iter().map(|r| r.figures.as_ref().map(|f| f.seed).or_else(|| varied(r)))));
    for (i, axis) in grid.axes.iter().enumerate().filter(|(i, _)| Some(*i) != seeds) {
        let value = |row: &&'a CellRow| row.values.get(i).map(String::as_str);
        all.push(match axis.numbers() {
            Some((numbers, _)) => {
                let by_text: BTreeMap<&str, f64> =
                    axis.values.iter().map(String::as_str).zip(numbers).collect();
                reals(&axis.name, rows.iter().map(|r| by_text.get(value(r)?).copied()))
            }
            None => texts(&axis.name, rows.iter().map(value)),
        });
    }
    all
}

fn cell_columns<'a>(grid: &'a SweepGrid, rows: &[&'a CellRow]) -> Vec<SheetColumn<'a>> {
    let figures = || rows.iter().map(|r| r.figures.as_ref());
    let real =
        |name, figure: fn(&CellFigures) -> Option<f64>| reals(name, figures().map(|f| f.and_then(figure)));
    let int = |name, figure: fn(&CellFigures) -> u64| ints(name, figures().map(|f| f.map(figure)));
    let mut all = cell_key_columns(grid, rows);
    all.extend([
        texts("error", rows.iter().map(|r| r.error.as_deref())),
        real("total_goodput_mbps", |f| Some(f.total_goodput_mbps)),
        real("limit_mbps", |f| f.limit_mbps),
        real("jain_index", |f| f.jain_index),
        real("sent_again", |f| f.sent_again),
        real("rtt_p95_ms", |f| f.rtt_p95_ms),
        real("completion_s", |f| f.completion_s),
        int("dropped_packets", |f| f.dropped_packets),
        int("marked_packets", |f| f.marked_packets),
        int("max_queue_packets", |f| f.max_queue_packets),
    ]);
    all
}

fn flow_columns<'a>(grid: &'a SweepGrid, rows: &[(&'a CellRow, &'a SweptFlow)]) -> Vec<SheetColumn<'a>> {
    let flows = || rows.iter().map(|(_, f)| *f);
    let real = |name, figure: fn(&SweptFlow) -> Option<f64>| reals(name, flows().map(figure));
    let int = |name, figure: fn(&SweptFlow) -> u64| ints(name, flows().map(|f| Some(figure(f))));
    let mut all = cell_key_columns(grid, &rows.iter().map(|(row, _)| *row).collect::<Vec<_>>());
    all.extend([
        texts("flow", flows().map(|f| Some(f.name.as_str()))),
        texts("cc", flows().map(|f| Some(f.cc.as_str()))),
        real("goodput_mbps", |f| Some(f.goodput_mbps)),
        int("sent_packets", |f| f.sent_packets),
        int("retransmitted_packets", |f| f.retransmitted_packets),
        int("timeouts", |f| f.timeouts),
        real("rtt_min_ms", |f| f.rtt_ms.map(|r| r[0])),
        real("rtt_mean_ms", |f| f.rtt_ms.map(|r| r[1])),
        real("rtt_p50_ms", |f| f.rtt_ms.map(|r| r[2])),
        real("rtt_p95_ms", |f| f.rtt_ms.map(|r| r[3])),
        real("delay_p50_ms", |f| f.delay_ms.map(|d| d[2])),
        real("delay_p95_ms", |f| f.delay_ms.map(|d| d[3])),
        real("completion_s", |f| f.completion_s),
        real("response_p95_s", |f| f.response_p95_s),
    ]);
    all
}
