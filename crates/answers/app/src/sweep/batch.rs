//! Batches of points: run them, and their rows as bytes, which is what a thread, another process or another machine
//! hands back.
//!
//! A batch's bytes are a JSON object a line, a cell each, and a last line `{"cells": N}`; without it they were cut short
//! and count for nothing. A batch is called by its first cell, so that one that two machines ran is kept once.

use crate::sweep::guard::{WorkSaid, apart};
use crate::sweep::{CellFigures, CellRow, SweepGrid};
use experiment::{Order, RunJob, simulate};
use result::concat;
use scenario::{Experiment, Variant};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// A row of a batch.
pub trait PartRow: Serialize + DeserializeOwned {
    /// Its name, fit for a file: a hash of what determines it.
    fn name(&self) -> &str;
}

impl PartRow for CellRow {
    fn name(&self) -> &str {
        &self.cell
    }
}

/// The last line of a batch.
#[derive(Serialize, Deserialize)]
struct BatchEnd {
    cells: usize,
}

/// A batch that the caller ended: nothing of it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchStopped;

/// How often it is asked whether to stop.
const TICK: Duration = Duration::from_millis(20);

/// The cells of some points, one after the other: of each point by variant, of that by repeat.
struct PointCells {
    grid: Arc<SweepGrid>,
    basis: u128,
    points: Vec<usize>,
    variants: Vec<String>,
}

/// A variant at a point, and its runs; or why there are none.
type PointVariant = Result<(Experiment, Vec<RunJob>), String>;

impl PointCells {
    fn repeats(&self) -> usize {
        self.grid.repeats.max(1) as usize
    }

    fn len(&self) -> usize {
        self.points.len() * self.variants.len() * self.repeats()
    }

    /// Point, variant and repeat of the cell number `i`, of the last two the index.
    fn place(&self, i: usize) -> (usize, usize, usize) {
        let (repeats, variants) = (self.repeats(), self.variants.len());
        (self.points[i / (repeats * variants)], i / repeats % variants, i % repeats)
    }

    /// Its row, of which only the figures are missing, or why there are none.
    fn row(&self, i: usize) -> CellRow {
        let (point, variant, repeat) = self.place(i);
        let (variant, repeat) = (&self.variants[variant], repeat as u32 + 1);
        CellRow {
            cell: self.grid.name(self.basis, point, variant, repeat),
            variant: variant.clone(),
            repeat,
            values: self.grid.values(point),
            error: None,
            figures: None,
        }
    }

    fn failed(&self, i: usize, why: String) -> CellRow {
        CellRow { error: Some(why), ..self.row(i) }
    }

    /// All variants at a point. What does not fit one of them does not touch the others.
    fn read(&self, point: usize) -> Vec<PointVariant> {
        let order = Order { repeats: self.grid.repeats.max(1), seed: self.grid.seed, ..Order::default() };
        let alone = |variant: &Variant| {
            // The figures alone are wanted.
            let scenario = variant.scenario.clone().without_series();
            let variants = vec![Variant { name: variant.name.clone(), scenario }];
            let (name, description) = (String::new(), String::new());
            let one = Experiment { name, description, goal: Vec::new(), baseline: None, variants };
            let jobs = order.jobs(&one);
            (one, jobs)
        };
        match self.grid.read_at(point, &self.variants) {
            Ok(all) => all.variants.iter().map(|v| Ok(alone(v))).collect(),
            Err(_) => {
                let each = self.variants.iter().map(|name| self.grid.read_at(point, slice::from_ref(name)));
                each.map(|of| of.map(|of| alone(&of.variants[0])).map_err(|e| e.to_string())).collect()
            }
        }
    }

    /// Runs the cells from number `from` on; `tell` is given their rows. Ends early when `stop` says so.
    fn run_from(&self, from: usize, stop: &AtomicBool, tell: &mut dyn FnMut(CellRow)) {
        let mut read: (Option<usize>, Vec<PointVariant>) = (None, Vec::new());
        for i in from..self.len() {
            let (point, variant, repeat) = self.place(i);
            if read.0 != Some(point) {
                read = (Some(point), self.read(point));
            }
            #[cfg(test)]
            tests::may_panic(self.basis, i);
            let row = match &read.1[variant] {
                Ok((one, jobs)) => match run_cell(&one.variants[0], jobs, repeat as u32, stop) {
                    Some(figures) => CellRow { figures: Some(figures), ..self.row(i) },
                    None => return,
                },
                Err(why) => self.failed(i, why.clone()),
            };
            tell(row);
        }
    }
}

/// Runs one repeat of a variant; `None` when `stop` says so.
fn run_cell(variant: &Variant, jobs: &[RunJob], repeat: u32, stop: &AtomicBool) -> Option<CellFigures> {
    let mut progress =
        |_| if stop.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let (mut parts, mut seed) = (Vec::new(), 0);
    for job in jobs.iter().filter(|job| job.repeat == repeat) {
        seed = job.seed;
        parts.push(simulate(variant, job.seed, job.flow, job.unrest, None, None, &mut progress)?);
    }
    let outcome = match jobs.first()?.flow {
        // Flows that are measured one at a time stand side by side.
        Some(_) => concat(variant.scenario.flows.iter().map(|f| f.name.clone()).zip(parts).collect()),
        None => parts.pop()?,
    };
    Some(CellFigures::of(&outcome.variant, seed))
}

/// Runs all cells of these points, one after the other, and waits for them. `stop` is asked now and then. A cell that
/// panics is a row that says so.
///
/// # Errors
/// `stop` said so.
pub fn run_points(
    grid: &Arc<SweepGrid>,
    points: &[usize],
    stop: &dyn Fn() -> bool,
) -> Result<Vec<CellRow>, BatchStopped> {
    let (basis, variants) = (grid.basis(), grid.variant_names());
    let cells = Arc::new(PointCells { grid: grid.clone(), basis, points: points.to_vec(), variants });
    let mut rows = Vec::new();
    while rows.len() < cells.len() {
        match run_until_panic(&cells, &mut rows, stop)? {
            Some(why) => rows.push(cells.failed(rows.len(), format!("a fault of longfat's own: {why}"))),
            None => break,
        }
    }
    Ok(rows)
}

/// The rows of a point's cells that nobody could run, and why.
pub fn lost(grid: &Arc<SweepGrid>, point: usize, why: &str) -> Vec<CellRow> {
    let (basis, variants) = (grid.basis(), grid.variant_names());
    let cells = PointCells { grid: grid.clone(), basis, points: vec![point], variants };
    (0..cells.len()).map(|i| cells.failed(i, why.into())).collect()
}

/// Runs the cells that follow those of `rows`, until all are there or one panics: with what words.
fn run_until_panic(
    cells: &Arc<PointCells>,
    rows: &mut Vec<CellRow>,
    stop: &dyn Fn() -> bool,
) -> Result<Option<String>, BatchStopped> {
    let flag = Arc::new(AtomicBool::new(false));
    let (of, from, ended) = (cells.clone(), rows.len(), flag.clone());
    let told = match apart(move |tell| of.run_from(from, &ended, tell)) {
        Ok(told) => told,
        Err(e) => return Ok(Some(format!("no thread: {e}"))),
    };
    loop {
        match told.recv_timeout(TICK) {
            Ok(WorkSaid::Item(row)) => rows.push(row),
            Ok(WorkSaid::Panicked(why)) => return Ok(Some(why)),
            Err(RecvTimeoutError::Disconnected) if flag.load(Relaxed) => return Err(BatchStopped),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if stop() {
            flag.store(true, Relaxed);
        }
    }
}

/// The same, their rows as bytes.
///
/// # Errors
/// As [`run_points`].
pub fn run_batch(
    grid: &Arc<SweepGrid>,
    points: &[usize],
    stop: &dyn Fn() -> bool,
) -> Result<Vec<u8>, BatchStopped> {
    run_points(grid, points, stop).map(|rows| pack(&rows))
}

/// Rows as bytes.
pub fn pack<R: PartRow>(rows: &[R]) -> Vec<u8> {
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
pub fn unpack<R: PartRow>(bytes: &[u8]) -> Option<Vec<R>> {
    let mut lines: Vec<&[u8]> = bytes.strip_suffix(b"\n")?.split(|&b| b == b'\n').collect();
    let end: BatchEnd = serde_json::from_slice(lines.pop()?).ok()?;
    let rows: Vec<R> = lines.into_iter().map(|l| serde_json::from_slice(l).ok()).collect::<Option<_>>()?;
    (rows.len() == end.cells).then_some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{Axis, grid::TEXT};
    use std::cell::Cell;
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    /// Cells that are to panic: their grid's basis, and their numbers.
    static PANICS: Mutex<Vec<(u128, usize)>> = Mutex::new(Vec::new());

    pub(super) fn may_panic(basis: u128, cell: usize) {
        let panics = PANICS.lock().is_ok_and(|all| all.contains(&(basis, cell)));
        assert!(!panics, "cell {cell}, on purpose");
    }

    fn grid(axis: &str) -> Arc<SweepGrid> {
        Arc::new(SweepGrid {
            program: "longfat test".into(),
            file: "t.toml".into(),
            text: TEXT.into(),
            files: BTreeMap::new(),
            sets: vec!["duration=100ms".into()],
            axes: vec![Axis::parse(axis).unwrap()],
            variants: Vec::new(),
            seed: None,
            repeats: 2,
        })
    }

    #[test]
    fn a_cell_that_panics_is_a_row_and_all_others_are_as_without_it() {
        // Another basis than that of the tests beside this one: their cells have the same numbers.
        let grid =
            Arc::new(SweepGrid { program: "another".into(), ..(*grid("flows.up.count=1,2,3")).clone() });
        let all = run_points(&grid, &[0, 1, 2], &|| false).unwrap();
        assert!(all.len() == 12 && all.iter().all(|row| row.figures.is_some()));
        *PANICS.lock().unwrap() = [0, 5, 6, 11].map(|cell| (grid.basis(), cell)).to_vec();
        let some = run_points(&grid, &[0, 1, 2], &|| false).unwrap();
        PANICS.lock().unwrap().clear();
        for (i, (with, without)) in some.iter().zip(&all).enumerate() {
            if [0, 5, 6, 11].contains(&i) {
                let why = with.error.as_deref().unwrap();
                assert!(
                    why.starts_with("a fault of longfat's own: panicked at ") && why.contains("on purpose"),
                    "{why}"
                );
                assert_eq!(
                    CellRow { error: None, figures: without.figures.clone(), ..with.clone() },
                    *without
                );
            } else {
                assert_eq!(with, without);
            }
        }
        // The caller may end it, and then there is nothing.
        let asked = Cell::new(0);
        let stop = || asked.replace(asked.get() + 1) > 0;
        let long = Arc::new(SweepGrid { sets: vec!["duration=1000s".into()], ..(*grid).clone() });
        assert_eq!(run_points(&long, &[0], &stop), Err(BatchStopped));
    }

    #[test]
    fn what_does_not_fit_one_variant_does_not_touch_the_others() {
        let grid = grid("variants.two.flows.up.cc=cubic,nonsense");
        let rows = run_points(&grid, &[0, 1], &|| false).unwrap();
        let bad: Vec<&CellRow> = rows.iter().filter(|row| row.error.is_some()).collect();
        assert_eq!((rows.len(), bad.len()), (8, 2), "{bad:?}");
        assert!(bad.iter().all(|row| row.variant == "two" && row.values == ["nonsense"]));
        let why = bad[0].error.as_deref().unwrap();
        assert!(why.starts_with("--vary variants.two.flows.up.cc=nonsense, column 26: "), "{why}");
        let lost = lost(&grid, 1, "why");
        assert_eq!(
            lost.iter().map(|r| &r.cell).collect::<Vec<_>>(),
            rows[4..].iter().map(|r| &r.cell).collect::<Vec<_>>()
        );
        assert!(lost.iter().all(|r| r.error.as_deref() == Some("why") && r.figures.is_none()));
        assert_eq!(unpack::<CellRow>(&pack(&rows)), Some(rows.clone()));
        let bytes = pack(&rows);
        assert_eq!(unpack::<CellRow>(&bytes[..bytes.len() - 20]), None);
    }
}
