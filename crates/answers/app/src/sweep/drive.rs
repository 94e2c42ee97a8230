//! Runs the missing cells on all cores of this machine.
//!
//! Threads take batches of points. A batch should last about a second, so that storing it costs little and
//! little is lost if the process is killed. Its number of points follows from the duration of finished
//! batches.

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

/// Target duration of a batch, in seconds.
const TARGET_BATCH_S: f64 = 1.0;
/// Limit of the points of a batch.
const MAX_BATCH_POINTS: usize = 10_000;
/// Interval at which the caller gets the progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Progress of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepProgress {
    /// Finished cells, including those of earlier runs.
    pub done: usize,
    /// Finished cells that an earlier run left.
    pub kept: usize,
    /// All cells of the sweep.
    pub cells: usize,
    /// Cells that could not be run.
    pub failed: usize,
}

/// Why a sweep is incomplete. Finished batches are kept.
#[derive(Debug)]
pub enum SweepError {
    /// The caller stopped the sweep.
    Stopped,
    /// A batch could not be written.
    Io(io::Error),
}

/// The known rows of a grid, by cell name.
pub type KnownRows = BTreeMap<String, CellRow>;

/// Returns the points of a grid that lack a row.
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

/// Returns the grid's rows in order: by point, then by variant, then by repeat.
pub fn in_order(grid: &SweepGrid, experiment: &Experiment, known: &KnownRows) -> Vec<CellRow> {
    let basis = grid.basis();
    let mut rows = Vec::with_capacity(known.len());
    for point in 0..grid.points().unwrap_or(0) {
        for variant in &experiment.variants {
            let names =
                (1..=grid.repeats.max(1)).map(|repeat| grid.name(basis, point, &variant.name, repeat));
            // A row that another grid stored has the same figures, but its values may be in another order.
            let reordered = |row: &CellRow| CellRow { values: grid.values(point), ..row.clone() };
            rows.extend(names.filter_map(|name| known.get(&name)).map(reordered));
        }
    }
    rows
}

/// Runs the missing cells on `threads` threads, stores each batch in `store` and adds its rows to `known`.
/// `progress` is called ten times a second on the calling thread and may stop the sweep; running cells then
/// end within moments.
///
/// # Errors
/// Fails with a [`SweepError`] when the caller stops the sweep or a batch cannot be written.
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
    let mut state = SweepProgress { done: kept, kept, cells, failed: 0 };
    let queue =
        Mutex::new(PointQueue { points: &points, next: 0, seconds: 0.0, done: 0, threads: threads.get() });
    let stop = AtomicBool::new(false);
    let (sender, batches) = channel();
    let mut write_error = None;
    thread::scope(|scope| {
        for _ in 0..threads.get() {
            let (queue, stop, sender) = (&queue, &stop, sender.clone());
            scope.spawn(move || work(grid, queue, store, stop, &sender));
        }
        drop(sender);
        loop {
            match batches.recv_timeout(PROGRESS_INTERVAL) {
                Ok(Ok(rows)) => {
                    state.done += rows.len();
                    state.failed += rows.iter().filter(|r| r.error.is_some()).count();
                    known.extend(rows.into_iter().map(|row| (row.cell.clone(), row)));
                }
                Ok(Err(e)) => {
                    write_error.get_or_insert(e);
                    stop.store(true, Relaxed);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if progress(&state).is_break() {
                stop.store(true, Relaxed);
            }
        }
    });
    match write_error {
        Some(e) => Err(SweepError::Io(e)),
        None if stop.into_inner() => Err(SweepError::Stopped),
        None => Ok(()),
    }
}

/// Runs batches on one thread until no point is left or `stop` is set.
fn work(
    grid: &Arc<SweepGrid>,
    queue: &Mutex<PointQueue<'_>>,
    store: &PartStore,
    stop: &AtomicBool,
    sender: &Sender<io::Result<Vec<CellRow>>>,
) {
    let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    while !stop.load(Relaxed) {
        let batch = lock().next_batch();
        if batch.is_empty() {
            break;
        }
        let begun = Instant::now();
        let rows = match run_points(grid, batch, &|| stop.load(Relaxed)) {
            Ok(rows) => rows,
            Err(BatchStopped) => break,
        };
        lock().finished(batch.len(), begun.elapsed().as_secs_f64());
        if sender.send(store.keep(&rows).map(|()| rows)).is_err() {
            break;
        }
    }
}

/// Points of the sweep, handed out to threads in batches.
struct PointQueue<'a> {
    points: &'a [usize],
    next: usize,
    /// Run time of the finished points, in seconds.
    seconds: f64,
    done: usize,
    threads: usize,
}

impl<'a> PointQueue<'a> {
    /// Returns the next batch; empty when all points are handed out.
    fn next_batch(&mut self) -> &'a [usize] {
        let left = self.points.len() - self.next;
        let wanted =
            if self.done == 0 { 1.0 } else { TARGET_BATCH_S * self.done as f64 / self.seconds.max(1e-9) };
        // Shrink the batches towards the end, so that all threads stay busy.
        let n = (wanted as usize).clamp(1, MAX_BATCH_POINTS).min(left.div_ceil(2 * self.threads));
        let batch = &self.points[self.next..self.next + n];
        self.next += n;
        batch
    }

    fn finished(&mut self, points: usize, seconds: f64) {
        self.done += points;
        self.seconds += seconds;
    }
}
