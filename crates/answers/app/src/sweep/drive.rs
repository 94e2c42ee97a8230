//! The cells that are not there yet, run on all cores of this machine.
//!
//! Threads take batches of points. A batch is to last about a second, so that neither keeping a batch nor a batch lost to a
//! kill costs much: how many points that are is told by those that are over.

use crate::sweep::{BatchStopped, CellRow, PartStore, SweepGrid, run_points};
use scenario::Experiment;
use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What a batch is to last, s.
const BATCH_S: f64 = 1.0;
/// The most points of a batch.
const MOST_POINTS: usize = 10_000;
/// How often the caller is told.
const TICK: Duration = Duration::from_millis(100);

/// How far a sweep is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepProgress {
    /// Cells that are there, those of earlier runs among them.
    pub done: usize,
    /// Those of them that an earlier run left.
    pub kept: usize,
    /// All cells.
    pub cells: usize,
    /// Cells that could not be run.
    pub failed: usize,
}

/// Why a sweep is not whole. What was done is kept.
#[derive(Debug)]
pub enum SweepError {
    /// The caller ended it.
    Stopped,
    /// A batch could not be kept.
    Io(io::Error),
}

/// All rows of a grid that are known, by name.
pub type KnownRows = BTreeMap<String, CellRow>;

/// Which points of a grid lack a cell.
pub fn missing(grid: &SweepGrid, experiment: &Experiment, known: &KnownRows) -> Vec<usize> {
    let basis = grid.basis();
    let lacks = |point: &usize| {
        let mut names = experiment.variants.iter().flat_map(|v| {
            (1..=grid.repeats.max(1)).map(move |repeat| grid.name(basis, *point, &v.name, repeat))
        });
        names.any(|name| !known.contains_key(&name))
    };
    (0..grid.points().unwrap_or(0)).filter(lacks).collect()
}

/// The grid's rows in its own order: by point, in it by variant, in that by repeat.
pub fn in_order(grid: &SweepGrid, experiment: &Experiment, known: &KnownRows) -> Vec<CellRow> {
    let basis = grid.basis();
    let mut rows = Vec::with_capacity(known.len());
    for point in 0..grid.points().unwrap_or(0) {
        for variant in &experiment.variants {
            let names =
                (1..=grid.repeats.max(1)).map(|repeat| grid.name(basis, point, &variant.name, repeat));
            // A row of another grid has the same figures, and its own order of values.
            let own = |row: &CellRow| CellRow { values: grid.values(point), ..row.clone() };
            rows.extend(names.filter_map(|name| known.get(&name)).map(own));
        }
    }
    rows
}

/// Runs what is missing on so many threads, keeps each batch in `store` and adds its rows to `known`. `progress` is told
/// ten times a second, on this thread, and may end it: what is under way ends within moments.
///
/// # Errors
/// [`SweepError`].
pub fn run_missing(
    grid: &Arc<SweepGrid>,
    experiment: &Experiment,
    known: &mut KnownRows,
    store: &PartStore,
    threads: NonZeroUsize,
    progress: &mut dyn FnMut(&SweepProgress) -> ControlFlow<()>,
) -> Result<(), SweepError> {
    let points = missing(grid, experiment, known);
    let cells_a_point = experiment.variants.len() * grid.repeats.max(1) as usize;
    let cells = grid.points().unwrap_or(0) * cells_a_point;
    let kept = cells - points.len() * cells_a_point;
    let mut told = SweepProgress { done: kept, kept, cells, failed: 0 };
    let queue =
        Mutex::new(PointQueue { points: &points, next: 0, seconds: 0.0, done: 0, threads: threads.get() });
    let stop = AtomicBool::new(false);
    let (sender, batches) = channel();
    let mut trouble = None;
    thread::scope(|scope| {
        for _ in 0..threads.get() {
            let (queue, stop, sender) = (&queue, &stop, sender.clone());
            scope.spawn(move || work(grid, queue, store, stop, &sender));
        }
        drop(sender);
        loop {
            match batches.recv_timeout(TICK) {
                Ok(Ok(rows)) => {
                    told.done += rows.len();
                    told.failed += rows.iter().filter(|r| r.error.is_some()).count();
                    known.extend(rows.into_iter().map(|row| (row.cell.clone(), row)));
                }
                Ok(Err(e)) => {
                    trouble.get_or_insert(e);
                    stop.store(true, Relaxed);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if progress(&told).is_break() {
                stop.store(true, Relaxed);
            }
        }
    });
    match trouble {
        Some(e) => Err(SweepError::Io(e)),
        None if stop.into_inner() => Err(SweepError::Stopped),
        None => Ok(()),
    }
}

/// A thread's work: batch after batch.
fn work(
    grid: &Arc<SweepGrid>,
    queue: &Mutex<PointQueue<'_>>,
    store: &PartStore,
    stop: &AtomicBool,
    sender: &Sender<io::Result<Vec<CellRow>>>,
) {
    let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    while !stop.load(Relaxed) {
        let batch = lock().take();
        if batch.is_empty() {
            break;
        }
        let begun = Instant::now();
        let rows = match run_points(grid, batch, &|| stop.load(Relaxed)) {
            Ok(rows) => rows,
            Err(BatchStopped) => break,
        };
        lock().over(batch.len(), begun.elapsed().as_secs_f64());
        if sender.send(store.keep(&rows).map(|()| rows)).is_err() {
            break;
        }
    }
}

/// The points that nobody has taken yet.
struct PointQueue<'a> {
    points: &'a [usize],
    next: usize,
    /// What those that are over took.
    seconds: f64,
    done: usize,
    threads: usize,
}

impl<'a> PointQueue<'a> {
    /// The next batch; empty when all are taken.
    fn take(&mut self) -> &'a [usize] {
        let left = self.points.len() - self.next;
        let wanted = if self.done == 0 { 1.0 } else { BATCH_S * self.done as f64 / self.seconds.max(1e-9) };
        // At the end all threads have work until it is over.
        let n = (wanted as usize).clamp(1, MOST_POINTS).min(left.div_ceil(2 * self.threads));
        let batch = &self.points[self.next..self.next + n];
        self.next += n;
        batch
    }

    fn over(&mut self, points: usize, seconds: f64) {
        self.done += points;
        self.seconds += seconds;
    }
}
