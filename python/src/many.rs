//! Many captures diagnosed into one dataset: its folder held, a capture diagnosed here or by whoever the package asks.

use crate::captures::FilterWish;
use crate::errors::{of_command, raise};
use crate::held::HeldFolder;
use crate::sweep::program;
use app::sweep::{CaptureFolder, CaptureRow, CaptureSet, StoredCapture, diagnose_capture};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// A capture: path or URL, bytes, what changes with its content.
type CaptureArgument = (String, u64, String);

fn stored((capture, bytes, stamp): CaptureArgument) -> StoredCapture {
    StoredCapture { capture, bytes, stamp }
}

/// The folder of a dataset of diagnoses, which nobody else writes to until it is closed.
#[pyclass(frozen, module = "longfat._native")]
pub struct CaptureWork(HeldFolder<CaptureFolder>);

#[pymethods]
impl CaptureWork {
    /// Takes the folder for these captures.
    #[new]
    fn new(
        py: Python<'_>,
        captures: Vec<CaptureArgument>,
        filter: FilterWish,
        out: PathBuf,
        force: bool,
    ) -> PyResult<CaptureWork> {
        let captures = captures.into_iter().map(stored).collect();
        let set = CaptureSet { program: program(), filter: filter.filter(py)?, captures };
        let held = py.detach(|| CaptureFolder::open(set, &out, force)).map_err(|e| of_command(py, e))?;
        Ok(CaptureWork(HeldFolder::new(held, out, "this folder is closed")))
    }

    /// Numbers of the captures that are not diagnosed yet.
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        self.0.with(py, |held| Ok(held.missing()))
    }

    /// Keeps what `diagnose_stored` gave, a batch: how many rows, and of them those with an error.
    fn keep(&self, py: Python<'_>, rows: Vec<PyBackedBytes>) -> PyResult<(usize, usize)> {
        let read = rows.iter().map(|row| serde_json::from_slice(row)).collect::<Result<Vec<CaptureRow>, _>>();
        let rows = read.map_err(|e| raise(py, "RunError", &format!("a row came back broken: {e}")))?;
        let told = (rows.len(), rows.iter().filter(|r| r.error.is_some()).count());
        self.0.with(py, |held| held.keep(rows))?;
        Ok(told)
    }

    /// Keeps a row for a capture that could not be had.
    fn lost(&self, py: Python<'_>, number: usize, why: String) -> PyResult<()> {
        self.0.with(py, |held| {
            let row = held.set().captures.get(number).map(|of| held.set().lost(of, why));
            held.keep(row.into_iter().collect())
        })
    }

    /// Writes the dataset: what is in `diagnoses.json`.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        self.0.with(py, |held| held.finish())
    }

    /// Lets go of the folder.
    fn close(&self) {
        self.0.close();
    }
}

/// Diagnoses a capture that lies at `path` for now: a row as bytes, for [`CaptureWork::keep`]. `error`: it could not be had,
/// and why. `by` is the program that began.
#[pyfunction]
pub fn diagnose_stored<'py>(
    py: Python<'py>,
    by: &str,
    capture: CaptureArgument,
    filter: FilterWish,
    path: Option<PathBuf>,
    error: Option<String>,
) -> PyResult<Bound<'py, PyBytes>> {
    if by != program() {
        let why = format!("begun by {by}, not {}: install the same longfat everywhere", program());
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

/// The program, as datasets name it.
#[pyfunction]
pub fn program_name() -> String {
    program()
}
