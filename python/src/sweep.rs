//! Sweeps: the grid is checked and its folder locked here; cells are run here or on workers.

use crate::errors::{from_command_error, raise};
use crate::locked::LockedFolder;
use app::CommandError;
use app::examples::stage_file;
use app::load::{ScenarioSource, read_scenario_file};
use app::names;
use app::sweep::{Axis, CellRow, ShownSweep, SweepError, SweepFolder, SweepGrid, SweepProgress};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Name and version of the program in datasets and cell names, as in the command built from the same sources.
pub fn program() -> String {
    names::program(option_env!("LONGFAT_COMMIT"))
}

/// Options of a sweep, like the command line's.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SweepOptions {
    /// A file or the name of a built-in example; otherwise `text` is used.
    path: Option<PathBuf>,
    text: Option<String>,
    name: String,
    set: Vec<String>,
    /// The text before `=` and the values; or the whole argument of `--vary` and `None`.
    vary: Vec<(String, Option<Vec<String>>)>,
    variants: Vec<String>,
    seed: Option<u64>,
    repeat: u32,
    allow_files: bool,
}

impl SweepOptions {
    /// Checks the options. Returns the grid and its experiment.
    fn checked(self) -> Result<(SweepGrid, scenario::Experiment), CommandError> {
        let axis = |(keys, values): (String, Option<Vec<String>>)| match values {
            Some(values) => Axis::of(&keys, values).map_err(|why| format!("`{keys}`: {why}")),
            None => Axis::parse(&keys),
        };
        let axes = self.vary.into_iter().map(axis).collect::<Result<Vec<Axis>, String>>();
        let axes = axes.map_err(|why| CommandError::Usage(format!("vary {why}")))?;
        let source = self.path.map(|path| ScenarioSource::read(&path)).transpose()?;
        let (file, text) = match &source {
            Some(source) => (source.name.clone(), source.text.clone()),
            None => (self.name, self.text.unwrap_or_default()),
        };
        let mut grid = SweepGrid {
            program: program(),
            file,
            text,
            files: BTreeMap::new(),
            sets: self.set,
            axes,
            variants: self.variants,
            seed: self.seed,
            repeats: self.repeat,
        };
        let mut read = |file: &str| match &source {
            Some(source) => source.stage_file(file, self.allow_files),
            None => read_scenario_file(".".as_ref(), file, self.allow_files)
                .or_else(|e| stage_file(file).map_err(|_| e)),
        };
        let experiment = grid.check(&mut read)?;
        Ok((grid, experiment))
    }
}

/// The folder of a sweep, locked until it is closed.
#[pyclass(frozen, module = "longfat._native")]
pub struct SweepWork(LockedFolder<SweepFolder>);

#[pymethods]
impl SweepWork {
    /// Checks the options and locks the folder; `out` defaults to the command's folder.
    #[new]
    fn new(py: Python<'_>, options: SweepOptions, out: Option<PathBuf>, force: bool) -> PyResult<SweepWork> {
        let opened = py.detach(|| {
            let (grid, experiment) = options.checked()?;
            let own = || names::default_folder(&format!("{}-sweep", experiment.name));
            let folder = out.unwrap_or_else(own);
            SweepFolder::open(grid, experiment, &folder, force).map(|held| (held, folder))
        });
        let (held, folder) = opened.map_err(|e| from_command_error(py, e))?;
        Ok(SweepWork(LockedFolder::new(held, folder, "this sweep's folder is closed")))
    }

    #[getter]
    fn folder(&self) -> PathBuf {
        self.0.path.clone()
    }

    /// Everything that a batch needs on any machine.
    fn grid<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let json =
            self.0.with(py, |held| serde_json::to_vec(&**held.grid()).map_err(std::io::Error::other))?;
        Ok(PyBytes::new(py, &json))
    }

    /// Points with missing cells, number of points, and cells per point.
    fn points(&self, py: Python<'_>) -> PyResult<(Vec<usize>, usize, usize)> {
        self.0
            .with(py, |held| Ok((held.missing(), held.grid().points().unwrap_or(0), held.cells_per_point())))
    }

    /// Stores a batch of results of `run_sweep_batch`. Returns the number of rows and of those with an error.
    fn keep(&self, py: Python<'_>, batch: &[u8]) -> PyResult<(usize, usize)> {
        let rows: Option<Vec<CellRow>> = py.detach(|| app::sweep::unpack(batch));
        let rows = rows.ok_or_else(|| raise(py, "RunError", "a worker returned a truncated batch"))?;
        let counts = (rows.len(), rows.iter().filter(|r| r.error.is_some()).count());
        self.0.with(py, |held| held.keep(rows))?;
        Ok(counts)
    }

    /// Stores rows for the cells of a point that no worker could run. Returns their number.
    fn lost(&self, py: Python<'_>, point: usize, why: &str) -> PyResult<usize> {
        self.0.with(py, |held| {
            let rows = app::sweep::lost(held.grid(), point, why);
            let n = rows.len();
            held.keep(rows).map(|()| n)
        })
    }

    /// Runs the missing cells on threads of this process. `progress` is called with the finished cells, those
    /// from an earlier sweep, all cells, and those that failed.
    fn run(&self, py: Python<'_>, jobs: Option<NonZeroUsize>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let threads = jobs.or_else(|| NonZeroUsize::new(experiment::cores())).unwrap_or(NonZeroUsize::MIN);
        let mut raised = None;
        let mut watch = |p: &SweepProgress| {
            let counts = Python::attach(|py| {
                py.check_signals()?;
                let Some(progress) = &progress else { return Ok(()) };
                progress.call1(py, (p.done, p.kept, p.cells, p.failed)).map(drop)
            });
            match counts {
                Ok(()) => ControlFlow::Continue(()),
                Err(e) => {
                    raised.get_or_insert(e);
                    ControlFlow::Break(())
                }
            }
        };
        let done = self.0.with(py, |held| match held.run(threads, &mut watch) {
            Err(SweepError::Io(e)) => Err(e),
            Ok(()) | Err(SweepError::Stopped) => Ok(()),
        });
        raised.map_or(done, Err)
    }

    /// Writes the dataset. Returns the contents of `sweep.json` and the command's table.
    fn finish(&self, py: Python<'_>) -> PyResult<(String, String)> {
        self.0.with(py, |held| {
            let (json, rows) = held.finish()?;
            Ok((json, app::sweep::text(&ShownSweep::of(held.grid(), held.scenario(), &rows), 80)))
        })
    }

    /// Unlocks the folder.
    fn close(&self) {
        self.0.close();
    }
}

/// The grid of the last batch: all batches of a sweep have the same one.
static LAST_GRID: Mutex<Option<(Vec<u8>, Arc<SweepGrid>)>> = Mutex::new(None);

fn grid_of(bytes: &[u8]) -> Result<Arc<SweepGrid>, String> {
    let mut last = LAST_GRID.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, grid)) = last.as_ref().filter(|(known, _)| known == bytes) {
        return Ok(grid.clone());
    }
    let grid: SweepGrid =
        serde_json::from_slice(bytes).map_err(|e| format!("not the grid of a sweep: {e}"))?;
    if grid.program != program() {
        return Err(format!(
            "a sweep started by {} cannot be run by {}: install the same version of longfat everywhere",
            grid.program,
            program()
        ));
    }
    let grid = Arc::new(grid);
    *last = Some((bytes.to_vec(), grid.clone()));
    Ok(grid)
}

/// Runs the cells of these points of a grid on this thread. Returns rows as bytes, for [`SweepWork::keep`].
#[pyfunction]
pub fn run_sweep_batch<'py>(
    py: Python<'py>,
    grid: &[u8],
    points: Vec<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let done = py.detach(|| {
        let grid = grid_of(grid)?;
        match points.iter().find(|&&p| Some(p) >= grid.points()) {
            Some(point) => Err(format!("the grid has no point {point}")),
            None => Ok(app::sweep::run_batch(&grid, &points, &|| false)),
        }
    });
    match done {
        Ok(Ok(bytes)) => Ok(PyBytes::new(py, &bytes)),
        Ok(Err(_)) => Err(raise(py, "RunError", "the batch was interrupted")),
        Err(why) => Err(raise(py, "UsageError", &why)),
    }
}
