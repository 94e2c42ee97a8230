//! Diagnosing many captures into one dataset: its folder is locked here, and captures are diagnosed here or
//! on workers.

use crate::captures::FilterOptions;
use crate::errors::{from_command_error, raise};
use crate::locked::LockedFolder;
use crate::sweep::program;
use app::sweep::{CaptureFolder, CaptureRow, CaptureSet, StoredCapture, diagnose_capture};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// A capture: path or URL, size in bytes, and a stamp that changes with its content.
type CaptureArgument = (String, u64, String);

fn stored((capture, bytes, stamp): CaptureArgument) -> StoredCapture {
    StoredCapture { capture, bytes, stamp }
}

/// The folder of a dataset of diagnoses, locked until it is closed.
#[pyclass(frozen, module = "longfat._native")]
pub struct CaptureWork(LockedFolder<CaptureFolder>);

#[pymethods]
impl CaptureWork {
    /// Locks the folder for these captures.
    #[new]
    fn new(
        py: Python<'_>,
        captures: Vec<CaptureArgument>,
        filter: FilterOptions,
        out: PathBuf,
        force: bool,
    ) -> PyResult<CaptureWork> {
        let captures = captures.into_iter().map(stored).collect();
        let set = CaptureSet { program: program(), filter: filter.filter(py)?, captures };
        let held =
            py.detach(|| CaptureFolder::open(set, &out, force)).map_err(|e| from_command_error(py, e))?;
        Ok(CaptureWork(LockedFolder::new(held, out, "this folder is closed")))
    }

    /// Numbers of the captures that are not diagnosed yet.
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        self.0.with(py, |held| Ok(held.missing()))
    }

    /// Stores a batch of results of `diagnose_stored`. Returns the number of rows and of those with an error.
    fn keep(&self, py: Python<'_>, rows: Vec<PyBackedBytes>) -> PyResult<(usize, usize)> {
        let read = rows.iter().map(|row| serde_json::from_slice(row)).collect::<Result<Vec<CaptureRow>, _>>();
        let rows =
            read.map_err(|e| raise(py, "RunError", &format!("a worker returned an invalid row: {e}")))?;
        let counts = (rows.len(), rows.iter().filter(|r| r.error.is_some()).count());
        self.0.with(py, |held| held.keep(rows))?;
        Ok(counts)
    }

    /// Stores a row for a capture that could not be obtained.
    fn lost(&self, py: Python<'_>, number: usize, why: String) -> PyResult<()> {
        self.0.with(py, |held| {
            let row = held.set().captures.get(number).map(|of| held.set().lost(of, why));
            held.keep(row.into_iter().collect())
        })
    }

    /// Writes the dataset. Returns the contents of `diagnoses.json`.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        self.0.with(py, |held| held.finish())
    }

    /// Unlocks the folder.
    fn close(&self) {
        self.0.close();
    }
}

/// Diagnoses a capture that is stored at `path`. Returns a row as bytes, for [`CaptureWork::keep`]. `error`:
/// why the capture could not be obtained. `by`: the program that started the work.
#[pyfunction]
pub fn diagnose_stored<'py>(
    py: Python<'py>,
    by: &str,
    capture: CaptureArgument,
    filter: FilterOptions,
    path: Option<PathBuf>,
    error: Option<String>,
) -> PyResult<Bound<'py, PyBytes>> {
    if by != program() {
        let why = format!(
            "started by {by}, but this is {}: install the same version of longfat everywhere",
            program()
        );
        return Err(raise(py, "UsageError", &why));
    }
    let (of, filter) = (stored(capture), filter.filter(py)?);
    let row = py.detach(|| {
        let set = CaptureSet { program: program(), filter, captures: Vec::new() };
        let row = match path {
            Some(path) => diagnose_capture(&set, &of, &path),
            None => set.lost(&of, error.unwrap_or_default()),
        };
        serde_json::to_vec(&row)
    });
    let row = row.map_err(|e| raise(py, "RunError", &e.to_string()))?;
    Ok(PyBytes::new(py, &row))
}

/// Name and version of the program, as in datasets.
#[pyfunction]
pub fn program_name() -> String {
    program()
}
