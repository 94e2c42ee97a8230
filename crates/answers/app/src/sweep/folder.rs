//! A sweep's folder while one process has it: what is there, what is missing, and the dataset when all is there.
//!
//! The folder is locked, so that two sweeps never write to one; its finished dataset is replaced by another grid's only when
//! that is asked for. Whoever runs the cells, it is the same: [`SweepFolder::run`] on this machine, or others, whose batches
//! [`SweepFolder::keep`] takes.

use crate::sweep::{
    CellRow, KnownRows, PartStore, SweepError, SweepGrid, SweepProgress, SweepSummary, in_order, missing,
    run_missing, write_dataset,
};
use crate::{CommandError, regular};
use scenario::Experiment;
use serde::Deserialize;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a folder's `sweep.json` is compared by.
#[derive(Deserialize)]
struct FinishedSweep {
    /// The names of all cells, hashed.
    grid: String,
}

/// A folder that nobody else writes to.
pub struct LockedFolder {
    lock: PathBuf,
    _held: File,
}

impl LockedFolder {
    /// Makes the folder where it is not there, and locks it.
    ///
    /// # Errors
    /// It cannot be, or another process has it.
    pub fn claim(folder: &Path) -> Result<LockedFolder, CommandError> {
        let at = |path: &Path, e| CommandError::Io(path.display().to_string(), e);
        fs::create_dir_all(folder).map_err(|e| at(folder, e))?;
        let lock = folder.join(".longfat-lock");
        match regular::lock(&lock).map_err(|e| at(&lock, e))? {
            Some(held) => Ok(LockedFolder { lock, _held: held }),
            None => Err(CommandError::Usage(format!(
                "another sweep is writing to {}: wait for it, or write to another folder (--out DIR)",
                folder.display()
            ))),
        }
    }
}

impl Drop for LockedFolder {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.lock));
    }
}

/// A sweep's folder.
pub struct SweepFolder {
    grid: Arc<SweepGrid>,
    experiment: Experiment,
    folder: PathBuf,
    store: PartStore,
    known: KnownRows,
    _lock: LockedFolder,
}

impl SweepFolder {
    /// Takes the folder for a grid that was checked, and what [`SweepGrid::check`] gave; `force` replaces a finished sweep of
    /// something else.
    ///
    /// # Errors
    /// Another process has it, it holds a sweep of something else, or it cannot be read.
    pub fn open(
        grid: SweepGrid,
        experiment: Experiment,
        folder: &Path,
        force: bool,
    ) -> Result<SweepFolder, CommandError> {
        let lock = LockedFolder::claim(folder)?;
        check_folder(&grid, folder, force)?;
        let store = PartStore::new(folder);
        let known = store.load().into_iter().map(|row: CellRow| (row.cell.clone(), row)).collect();
        Ok(SweepFolder { grid: Arc::new(grid), experiment, folder: folder.into(), store, known, _lock: lock })
    }

    /// What is run.
    pub fn grid(&self) -> &Arc<SweepGrid> {
        &self.grid
    }

    /// The scenario's name.
    pub fn scenario(&self) -> &str {
        &self.experiment.name
    }

    /// Cells of a point.
    pub fn cells_a_point(&self) -> usize {
        self.experiment.variants.len() * self.grid.repeats.max(1) as usize
    }

    /// Rows that are there, those of other grids' cells among them.
    pub fn kept(&self) -> usize {
        self.known.len()
    }

    /// Points of which a cell is missing.
    pub fn missing(&self) -> Vec<usize> {
        missing(&self.grid, &self.experiment, &self.known)
    }

    /// Runs what is missing on threads of this process.
    ///
    /// # Errors
    /// [`SweepError`].
    pub fn run(
        &mut self,
        threads: NonZeroUsize,
        progress: &mut dyn FnMut(&SweepProgress) -> ControlFlow<()>,
    ) -> Result<(), SweepError> {
        let SweepFolder { grid, experiment, store, known, .. } = self;
        run_missing(grid, experiment, known, store, threads, progress)
    }

    /// Keeps a batch that was run elsewhere.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&mut self, rows: Vec<CellRow>) -> io::Result<()> {
        self.store.keep(&rows)?;
        self.known.extend(rows.into_iter().map(|row| (row.cell.clone(), row)));
        Ok(())
    }

    /// Writes the dataset, when no cell is missing, and gives its summary as JSON and its rows. The batches go.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(&self) -> io::Result<(String, Vec<CellRow>)> {
        let rows = in_order(&self.grid, &self.experiment, &self.known);
        let summary = SweepSummary::of(&self.grid, &self.experiment, &rows);
        write_dataset(&self.folder, &self.grid, &summary, &rows)?;
        let json = crate::sweep::to_json(&summary);
        self.store.clear();
        Ok((json, rows))
    }
}

/// Refuses a folder that holds a finished sweep of something else.
fn check_folder(grid: &SweepGrid, folder: &Path, force: bool) -> Result<(), CommandError> {
    let Ok(text) = regular::read_text(&folder.join("sweep.json")) else { return Ok(()) };
    let there = serde_json::from_str::<FinishedSweep>(&text).ok();
    if force || there.is_some_and(|there| there.grid == grid.digest()) {
        return Ok(());
    }
    Err(CommandError::Usage(format!(
        "{} holds a sweep of something else: --force replaces it, --out DIR writes elsewhere",
        folder.display()
    )))
}
