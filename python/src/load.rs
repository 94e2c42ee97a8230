//! Loading scenarios.

use crate::errors::from_command_error;
use app::examples::{EXAMPLES, stage_file};
use app::load::{ReadScenario, Source, read_scenario_file};
use app::{CommandError, load as from_file};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// A loaded and checked scenario, with its overrides.
#[pyclass(frozen, module = "longfat._native")]
pub struct LoadedScenario {
    /// The scenario's text and contents.
    pub read: ReadScenario,
    /// Overrides, each in the form of `--set`.
    pub overrides: Vec<String>,
}

#[pymethods]
impl LoadedScenario {
    #[getter]
    fn name(&self) -> &str {
        &self.read.experiment.name
    }

    /// The scenario's description of itself.
    #[getter]
    fn description(&self) -> &str {
        &self.read.experiment.description
    }

    #[getter]
    fn text(&self) -> &str {
        &self.read.text
    }

    #[getter]
    fn variants(&self) -> Vec<String> {
        self.read.experiment.variants.iter().map(|v| v.name.clone()).collect()
    }

    fn flows(&self, variant: usize) -> Vec<String> {
        let variant = self.read.experiment.variants.get(variant);
        variant.into_iter().flat_map(|v| &v.scenario.flows).map(|f| f.name.clone()).collect()
    }

    /// Parts of the scenario that are probably unintended, a sentence each.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        app::warn::of_scenario(&self.read.experiment).into_iter().map(|(text, _)| text).collect()
    }

    /// Duration of a variant, seconds.
    fn duration_s(&self, variant: usize) -> Option<f64> {
        Some(self.read.experiment.variants.get(variant)?.scenario.duration.as_secs_f64())
    }

    /// A single variant as TOML without variants.
    fn variant_toml(&self, variant: usize) -> Option<String> {
        Some(self.read.experiment.variants.get(variant)?.scenario.to_toml())
    }

    /// The whole scenario as commented TOML that loads to the same scenario.
    fn to_toml(&self) -> String {
        self.read.experiment.to_toml()
    }
}

/// Loads a scenario: from the file `path`, a built-in example if there is no such file, or else from `text`,
/// whose stages read files in `folder`. `variants` selects variants; none: all.
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
    let read = read.map_err(|e| from_command_error(py, e))?;
    Ok(LoadedScenario { read, overrides })
}

fn of_text(
    name: &str,
    text: String,
    folder: &Path,
    (overrides, variants): (&[String], &[String]),
    anywhere: bool,
) -> Result<ReadScenario, CommandError> {
    let mut files =
        |file: &str| read_scenario_file(folder, file, anywhere).or_else(|e| stage_file(file).map_err(|_| e));
    let experiment = from_file::chosen(name, &text, overrides, variants, &mut files)?;
    Ok(ReadScenario { text, experiment, source: Source::Stdin, name: name.into() })
}

/// The built-in scenarios: name and text.
#[pyfunction]
pub fn examples() -> Vec<(&'static str, &'static str)> {
    EXAMPLES.iter().map(|e| (e.name, e.text)).collect()
}
