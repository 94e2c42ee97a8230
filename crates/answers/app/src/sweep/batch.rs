//! Runs batches of points and serialises their rows, which a thread, another process or another machine
//! returns.
//!
//! A batch's bytes are one JSON object per line, one for each cell, and a last line `{"cells": N}`; a batch
//! without it was truncated and is discarded. A batch is named after its first cell, so that a batch that two
//! machines ran is kept once.

use crate::sweep::guard::{WorkEvent, run_guarded};
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
    /// Returns the row's name, fit for a file: a hash of the row's inputs.
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

/// The caller stopped the batch, so none of its rows is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchStopped;

/// Interval at which `stop` is called.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The cells of some points: sorted by point, then by variant, then by repeat.
struct PointCells {
    grid: Arc<SweepGrid>,
    basis: u128,
    points: Vec<usize>,
    variants: Vec<String>,
}

/// A variant at a point and its runs, or the error that prevents them.
type PointVariant = Result<(Experiment, Vec<RunJob>), String>;

impl PointCells {
    fn repeats(&self) -> usize {
        self.grid.repeats.max(1) as usize
    }

    fn len(&self) -> usize {
        self.points.len() * self.variants.len() * self.repeats()
    }

    /// Returns the point of cell `i` and the indexes of its variant and its repeat.
    fn place(&self, i: usize) -> (usize, usize, usize) {
        let (repeats, variants) = (self.repeats(), self.variants.len());
        (self.points[i / (repeats * variants)], i / repeats % variants, i % repeats)
    }

    /// Returns the row of cell `i`, without figures and without an error.
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

    /// Parses all variants at a point. An error in one variant does not affect the others.
    fn read(&self, point: usize) -> Vec<PointVariant> {
        let order = Order { repeats: self.grid.repeats.max(1), seed: self.grid.seed, ..Order::default() };
        let alone = |variant: &Variant| {
            // Only the figures are kept, so no series are recorded.
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
                each.map(|read| read.map(|read| alone(&read.variants[0])).map_err(|e| e.to_string()))
                    .collect()
            }
        }
    }

    /// Runs the cells from number `from` on and passes each row to `emit`. Stops early once `stop` is set.
    fn run_from(&self, from: usize, stop: &AtomicBool, emit: &mut dyn FnMut(CellRow)) {
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
            emit(row);
        }
    }
}

/// Runs one repeat of a variant; `None` once `stop` is set.
fn run_cell(variant: &Variant, jobs: &[RunJob], repeat: u32, stop: &AtomicBool) -> Option<CellFigures> {
    let mut progress =
        |_| if stop.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let (mut parts, mut seed) = (Vec::new(), 0);
    for job in jobs.iter().filter(|job| job.repeat == repeat) {
        seed = job.seed;
        parts.push(simulate(variant, job.seed, job.flow, job.host_jitter, None, None, &mut progress)?);
    }
    let outcome = match jobs.first()?.flow {
        // The results of flows that run one at a time are put next to each other.
        Some(_) => concat(variant.scenario.flows.iter().map(|f| f.name.clone()).zip(parts).collect()),
        None => parts.pop()?,
    };
    Some(CellFigures::of(&outcome.variant, seed))
}

/// Runs all cells of these points in order and returns their rows. `stop` is called regularly; if it returns
/// true, the batch ends. A cell that panics becomes a row with an error.
///
/// # Errors
/// Fails when `stop` returned true.
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
            Some(why) => rows.push(cells.failed(rows.len(), format!("internal error: {why}"))),
            None => break,
        }
    }
    Ok(rows)
}

/// Returns rows with an error for the cells of a point that could not be run.
pub fn lost(grid: &Arc<SweepGrid>, point: usize, why: &str) -> Vec<CellRow> {
    let (basis, variants) = (grid.basis(), grid.variant_names());
    let cells = PointCells { grid: grid.clone(), basis, points: vec![point], variants };
    (0..cells.len()).map(|i| cells.failed(i, why.into())).collect()
}

/// Runs the cells that follow those in `rows`, until all are done or one panics. Returns the panic's message.
fn run_until_panic(
    cells: &Arc<PointCells>,
    rows: &mut Vec<CellRow>,
    stop: &dyn Fn() -> bool,
) -> Result<Option<String>, BatchStopped> {
    let flag = Arc::new(AtomicBool::new(false));
    let (shared, from, ended) = (cells.clone(), rows.len(), flag.clone());
    let events = match run_guarded(move |emit| shared.run_from(from, &ended, emit)) {
        Ok(events) => events,
        Err(e) => return Ok(Some(format!("no thread: {e}"))),
    };
    loop {
        match events.recv_timeout(STOP_POLL_INTERVAL) {
            Ok(WorkEvent::Item(row)) => rows.push(row),
            Ok(WorkEvent::Panicked(why)) => return Ok(Some(why)),
            Err(RecvTimeoutError::Disconnected) if flag.load(Relaxed) => return Err(BatchStopped),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if stop() {
            flag.store(true, Relaxed);
        }
    }
}

/// Runs all cells of these points and returns their rows as bytes ([`run_points`], [`pack`]).
///
/// # Errors
/// Fails when `stop` returned true.
pub fn run_batch(
    grid: &Arc<SweepGrid>,
    points: &[usize],
    stop: &dyn Fn() -> bool,
) -> Result<Vec<u8>, BatchStopped> {
    run_points(grid, points, stop).map(|rows| pack(&rows))
}

/// Serialises rows as the bytes of a batch.
pub fn pack<R: PartRow>(rows: &[R]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut line = |json: serde_json::Result<Vec<u8>>| {
        // Every row can be serialised as JSON.
        bytes.extend(json.unwrap_or_default());
        bytes.push(b'\n');
    };
    rows.iter().for_each(|row| line(serde_json::to_vec(row)));
    line(serde_json::to_vec(&BatchEnd { cells: rows.len() }));
    bytes
}

/// Parses a batch's bytes; `None` where they are not complete.
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

    /// Cells that are to panic: the basis of their grid, and their numbers.
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
    fn a_cell_that_panics_becomes_an_error_row_and_changes_no_other() {
        // The basis differs from that of the other tests in this file, whose cells have the same numbers.
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
                    why.starts_with("internal error: panicked at ") && why.contains("on purpose"),
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
        // A batch that the caller stops returns no rows.
        let calls = Cell::new(0);
        let stop = || calls.replace(calls.get() + 1) > 0;
        let long = Arc::new(SweepGrid { sets: vec!["duration=1000s".into()], ..(*grid).clone() });
        assert_eq!(run_points(&long, &[0], &stop), Err(BatchStopped));
    }

    #[test]
    fn a_value_that_does_not_fit_one_variant_leaves_the_others_alone() {
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
