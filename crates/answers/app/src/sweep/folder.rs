//! A dataset's folder while one process holds it: its finished rows, the missing ones, and the dataset once
//! all rows exist.
//!
//! The folder is locked, so that two sweeps never write to it at the same time. A finished dataset is
//! replaced by that of another grid only on request. The cells can be run by [`SweepFolder::run`] on this
//! machine, or elsewhere, with [`SweepFolder::keep`] storing the batches.

use crate::sweep::batch::PartRow;
use crate::sweep::dataset::write_dataset;
use crate::sweep::store::write_whole;
use crate::sweep::{
    CellRow, PartStore, SweepError, SweepGrid, SweepProgress, SweepSummary, in_order, missing, run_missing,
};
use crate::tables::{SheetColumn, write_sheet};
use crate::{CommandError, regular};
use scenario::Experiment;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file of a sweep that is written last.
pub(crate) const SUMMARY: &str = "sweep.json";

/// A locked folder and the rows in it.
pub(crate) struct HeldFolder<R> {
    pub folder: PathBuf,
    pub store: PartStore,
    /// Rows by name.
    pub known: BTreeMap<String, R>,
    lock: PathBuf,
    _held: File,
}

/// Identifies a finished dataset.
pub(crate) struct FinishedBy<'a> {
    /// Kind of the dataset, for messages.
    pub what: &'a str,
    /// The file that is written last.
    pub file: &'a str,
    /// Key in that file that holds the digest.
    pub key: &'a str,
    /// Digest of the dataset that is to be in the folder.
    pub digest: String,
}

impl<R: PartRow> HeldFolder<R> {
    /// Creates the folder if it does not exist, locks it and reads its rows; `force` replaces a finished
    /// dataset of something else.
    ///
    /// # Errors
    /// Fails when another process has locked the folder, when it holds a dataset of something else, or when
    /// it cannot be read.
    pub fn claim(folder: &Path, by: &FinishedBy<'_>, force: bool) -> Result<HeldFolder<R>, CommandError> {
        let at = |path: &Path, e| CommandError::Io(path.display().to_string(), e);
        let usage = |why: &str| CommandError::Usage(format!("{}: {why}", folder.display()));
        fs::create_dir_all(folder).map_err(|e| at(folder, e))?;
        let lock = folder.join(".longfat-lock");
        let held = regular::lock(&lock).map_err(|e| at(&lock, e))?;
        let held = held.ok_or_else(|| {
            usage("another process is writing to it: wait for it to end, or use another folder (--out DIR)")
        })?;
        if let Ok(text) = regular::read_text(&folder.join(by.file)) {
            let there: Option<serde_json::Value> = serde_json::from_str(&text).ok();
            let same = there.is_some_and(|there| there[by.key] == by.digest.as_str());
            if !force && !same {
                drop(fs::remove_file(&lock));
                let what = by.what;
                return Err(usage(&format!(
                    "holds {what} of something else: --force replaces it, --out DIR writes elsewhere"
                )));
            }
        }
        let store = PartStore::new(folder);
        let known = store.load().into_iter().map(|row: R| (row.name().to_string(), row)).collect();
        Ok(HeldFolder { folder: folder.into(), store, known, lock, _held: held })
    }

    /// Stores rows, wherever they were made.
    ///
    /// # Errors
    /// Fails when the rows cannot be written.
    pub fn keep(&mut self, rows: Vec<R>) -> io::Result<()> {
        self.store.keep(&rows)?;
        self.known.extend(rows.into_iter().map(|row| (row.name().to_string(), row)));
        Ok(())
    }

    /// Writes a file of the dataset atomically.
    ///
    /// # Errors
    /// Fails when the file cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        write_whole(&self.folder.join(name), |out| out.write_all(bytes))
    }

    /// Writes a table of the dataset atomically.
    ///
    /// # Errors
    /// Fails when the file cannot be written.
    pub fn write_table(
        &self,
        name: &str,
        columns: &[SheetColumn<'_>],
        meta: &[(&str, String)],
    ) -> io::Result<()> {
        write_whole(&self.folder.join(name), |out| {
            let mut out = BufWriter::new(out);
            write_sheet(&mut out, columns, meta)?;
            out.flush()
        })
    }
}

impl<R> Drop for HeldFolder<R> {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.lock));
    }
}

/// The locked folder of a sweep.
pub struct SweepFolder {
    grid: Arc<SweepGrid>,
    experiment: Experiment,
    held: HeldFolder<CellRow>,
}

impl SweepFolder {
    /// Locks the folder for a grid, with the experiment that [`SweepGrid::check`] returned; `force` replaces
    /// a finished sweep of another grid.
    ///
    /// # Errors
    /// Fails when another process has locked the folder, when it holds a sweep of another grid, or when it
    /// cannot be read.
    pub fn open(
        grid: SweepGrid,
        experiment: Experiment,
        folder: &Path,
        force: bool,
    ) -> Result<SweepFolder, CommandError> {
        let by = FinishedBy { what: "a sweep", file: SUMMARY, key: "grid", digest: grid.digest() };
        let held = HeldFolder::claim(folder, &by, force)?;
        Ok(SweepFolder { grid: Arc::new(grid), experiment, held })
    }

    /// Returns the grid.
    pub fn grid(&self) -> &Arc<SweepGrid> {
        &self.grid
    }

    /// Returns the scenario's name.
    pub fn scenario(&self) -> &str {
        &self.experiment.name
    }

    /// Returns the number of cells per point.
    pub fn cells_a_point(&self) -> usize {
        self.experiment.variants.len() * self.grid.repeats.max(1) as usize
    }

    /// Returns the number of stored rows, including those of other grids.
    pub fn kept(&self) -> usize {
        self.held.known.len()
    }

    /// Returns the points that lack a row.
    pub fn missing(&self) -> Vec<usize> {
        missing(&self.grid, &self.experiment, &self.held.known)
    }

    /// Runs the missing cells on threads of this process.
    ///
    /// # Errors
    /// Fails with a [`SweepError`] when the caller stops the sweep or a batch cannot be written.
    pub fn run(
        &mut self,
        threads: NonZeroUsize,
        progress: &mut dyn FnMut(&SweepProgress) -> ControlFlow<()>,
    ) -> Result<(), SweepError> {
        let HeldFolder { store, known, .. } = &mut self.held;
        run_missing(&self.grid, &self.experiment, known, store, threads, progress)
    }

    /// Stores a batch that was run elsewhere.
    ///
    /// # Errors
    /// Fails when the batch cannot be written.
    pub fn keep(&mut self, rows: Vec<CellRow>) -> io::Result<()> {
        self.held.keep(rows)
    }

    /// Writes the dataset once no cell is missing and removes the batches. Returns the summary as JSON, and
    /// the rows.
    ///
    /// # Errors
    /// Fails when a file cannot be written.
    pub fn finish(&self) -> io::Result<(String, Vec<CellRow>)> {
        let rows = in_order(&self.grid, &self.experiment, &self.held.known);
        let summary = SweepSummary::of(&self.grid, &self.experiment, &rows);
        write_dataset(&self.held, &self.grid, &summary, &rows)?;
        self.held.store.clear();
        Ok((crate::sweep::to_json(&summary), rows))
    }
}
