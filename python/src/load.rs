//! A scenario, checked.

use crate::errors::of_command;
use app::examples::{EXAMPLES, beside};
use app::load::{ReadScenario, Source, read_beside};
use app::{CommandError, load as from_file};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// A scenario that was read and checked, with what was set.
#[pyclass(frozen, module = "longfat._native")]
pub struct LoadedScenario {
    /// Its text, and what it says.
    pub read: ReadScenario,
    /// What was set, each as `--set` takes it.
    pub overrides: Vec<String>,
}

#[pymethods]
impl LoadedScenario {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.read.experiment.name
    }

    /// What it says it is about.
    #[getter]
    fn description(&self) -> &str {
        &self.read.experiment.description
    }

    /// The text that was read.
    #[getter]
    fn text(&self) -> &str {
        &self.read.text
    }

    /// The names of its variants.
    #[getter]
    fn variants(&self) -> Vec<String> {
        self.read.experiment.variants.iter().map(|v| v.name.clone()).collect()
    }

    /// The names of a variant's flows.
    fn flows(&self, variant: usize) -> Vec<String> {
        let variant = self.read.experiment.variants.get(variant);
        variant.into_iter().flat_map(|v| &v.scenario.flows).map(|f| f.name.clone()).collect()
    }

    /// What of it is probably not meant, a sentence each.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        app::warn::of_scenario(&self.read.experiment).into_iter().map(|(text, _)| text).collect()
    }

    /// How long a variant lasts, seconds.
    fn duration_s(&self, variant: usize) -> Option<f64> {
        Some(self.read.experiment.variants.get(variant)?.scenario.duration.as_secs_f64())
    }

    /// One variant alone, as TOML without variants.
    fn variant_toml(&self, variant: usize) -> Option<String> {
        Some(self.read.experiment.variants.get(variant)?.scenario.to_toml())
    }

    /// All that it came to, as commented TOML that reads back to the same.
    fn to_toml(&self) -> String {
        self.read.experiment.to_toml()
    }
}

/// Reads a scenario: from the file `path`, a built-in one where there is no such file, or else the `text`, whose stages
/// read files in `folder`. Of its `variants`, none: all.
#[pyfunction]
#[pyo3(signature = (*, path, text, name, folder, overrides, variants, allow_files))]
#[allow(clippy::too_many_arguments, reason = "one keyword argument each")]
pub fn load(
    py: Python<'_>,
    path: Option<PathBuf>,
    text: Option<String>,
    name: &str,
    folder: PathBuf,
    overrides: Vec<String>,
    variants: Vec<String>,
    allow_files: bool,
) -> PyResult<LoadedScenario> {
    let read = py.detach(|| match path {
        Some(path) => from_file::load(&path, &overrides, &variants, allow_files),
        None => of_text(name, text.unwrap_or_default(), &folder, (&overrides, &variants), allow_files),
    });
    let read = read.map_err(|e| of_command(py, e))?;
    Ok(LoadedScenario { read, overrides })
}

fn of_text(
    name: &str,
    text: String,
    folder: &Path,
    (overrides, variants): (&[String], &[String]),
    anywhere: bool,
) -> Result<ReadScenario, CommandError> {
    let mut files = |file: &str| read_beside(folder, file, anywhere).or_else(|e| beside(file).map_err(|_| e));
    let experiment = from_file::chosen(name, &text, overrides, variants, &mut files)?;
    Ok(ReadScenario { text, experiment, source: Source::Stdin, name: name.into() })
}

/// The built-in scenarios: name and text.
#[pyfunction]
pub fn examples() -> Vec<(&'static str, &'static str)> {
    EXAMPLES.iter().map(|e| (e.name, e.text)).collect()
}
