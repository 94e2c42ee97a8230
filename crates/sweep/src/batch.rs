//! Batches of points: run them, and their rows as bytes, which is what a thread, another process or another machine
//! hands back.
//!
//! A batch's bytes are a JSON object a line, a cell each, and a last line `{"cells": N}`; without it they were cut short
//! and count for nothing. A batch is called by its first cell, so that one that two machines ran is kept once.

use crate::{CellFigures, CellRow, SweepGrid};
use experiment::{Hooks, Order, Progress};
use scenario::Experiment;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

/// The last line of a batch.
#[derive(Serialize, Deserialize)]
struct BatchEnd {
    cells: usize,
}

/// A batch that the caller ended: nothing of it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchStopped;

/// Runs all cells of a point.
fn run_point(
    grid: &SweepGrid,
    basis: u128,
    point: usize,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<CellRow>, BatchStopped> {
    let sets = grid.sets_of(point);
    let mut read = |name: &str| grid.files.get(name).cloned().ok_or_else(|| "is not there".to_string());
    let experiment =
        Experiment::parse_with(&grid.file, &grid.text, &sets, &mut read).map_err(|e| e.to_string()).and_then(
            |mut all| experiment::choose(&mut all, &grid.variants).map(|()| all).map_err(|e| e.to_string()),
        );
    let repeats = grid.repeats.max(1);
    let row = |variant: &str, repeat: u32| CellRow {
        cell: grid.name(basis, point, variant, repeat),
        variant: variant.into(),
        repeat,
        values: grid.values(point),
        error: None,
        figures: None,
    };
    match experiment {
        Ok(mut experiment) => {
            // The figures alone are wanted.
            for variant in &mut experiment.variants {
                variant.scenario = variant.scenario.clone().without_series();
            }
            run_cells(grid, &experiment, &row, stop)
        }
        Err(why) => Ok(grid
            .variant_names()
            .iter()
            .flat_map(|variant| {
                (1..=repeats).map(|r| CellRow { error: Some(why.clone()), ..row(variant, r) })
            })
            .collect()),
    }
}

fn run_cells(
    grid: &SweepGrid,
    experiment: &Experiment,
    row: &dyn Fn(&str, u32) -> CellRow,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<CellRow>, BatchStopped> {
    let order = Order {
        repeats: grid.repeats.max(1),
        seed: grid.seed,
        threads: NonZeroUsize::new(1),
        keep_going: true,
        ..Order::default()
    };
    let mut watch = |_: &Progress| if stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let outcomes =
        experiment::run(experiment, &order, Hooks { progress: Some(&mut watch), ..Hooks::default() });
    if !outcomes.stopped.is_empty() {
        return Err(BatchStopped);
    }
    let mut rows = Vec::new();
    for of in &outcomes.variants {
        for (i, outcome) in of.outcomes.iter().enumerate() {
            let figures = Some(CellFigures::of(&outcome.variant, of.seeds[i]));
            rows.push(CellRow { figures, ..row(&of.variant, of.repeats[i] + 1) });
        }
    }
    let failed = outcomes
        .failed
        .iter()
        .map(|f| CellRow { error: Some(f.failure.to_string()), ..row(&f.variant, f.job.repeat + 1) });
    rows.extend(failed);
    Ok(rows)
}

/// Runs all cells of these points, one after the other on this thread. `stop` is asked now and then.
///
/// # Errors
/// `stop` said so.
pub fn run_points(
    grid: &SweepGrid,
    points: &[usize],
    stop: &dyn Fn() -> bool,
) -> Result<Vec<CellRow>, BatchStopped> {
    let basis = grid.basis();
    let mut rows = Vec::new();
    for &point in points {
        rows.extend(run_point(grid, basis, point, stop)?);
    }
    Ok(rows)
}

/// The same, their rows as bytes.
///
/// # Errors
/// As [`run_points`].
pub fn run_batch(
    grid: &SweepGrid,
    points: &[usize],
    stop: &dyn Fn() -> bool,
) -> Result<Vec<u8>, BatchStopped> {
    run_points(grid, points, stop).map(|rows| pack(&rows))
}

/// Rows as bytes.
pub fn pack(rows: &[CellRow]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut line = |json: serde_json::Result<Vec<u8>>| {
        // Nothing in a row cannot be written as JSON.
        bytes.extend(json.unwrap_or_default());
        bytes.push(b'\n');
    };
    rows.iter().for_each(|row| line(serde_json::to_vec(row)));
    line(serde_json::to_vec(&BatchEnd { cells: rows.len() }));
    bytes
}

/// The rows in a batch's bytes; `None` where they are not whole.
pub fn unpack(bytes: &[u8]) -> Option<Vec<CellRow>> {
    let mut lines: Vec<&[u8]> = bytes.strip_suffix(b"\n")?.split(|&b| b == b'\n').collect();
    let end: BatchEnd = serde_json::from_slice(lines.pop()?).ok()?;
    let rows: Vec<CellRow> =
        lines.into_iter().map(|l| serde_json::from_slice(l).ok()).collect::<Option<_>>()?;
    (rows.len() == end.cells).then_some(rows)
}
