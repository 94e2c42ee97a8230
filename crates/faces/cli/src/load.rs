//! Scenario files from disk or standard input, and a word where a built-in example stood for a file.

use crate::escape::tell;
use crate::problem::CliProblem;
use std::path::Path;

pub use app::load::{ReadScenario, ScenarioSource, Source, read_beside};

/// [`ScenarioSource::read`]; says so where a built-in example is taken.
pub fn source(path: &Path) -> Result<ScenarioSource, CliProblem> {
    let read = ScenarioSource::read(path)?;
    if read.source == Source::BuiltIn {
        let (name, own) = (path.display(), read.name.trim_end_matches(".toml"));
        tell!("longfat: no file {name} here: this is the built-in example (`longfat examples show {own}`)\n");
    }
    Ok(read)
}

/// [`app::load::load`], with the same word.
pub fn load(
    path: &Path,
    overrides: &[String],
    variants: &[String],
    anywhere: bool,
) -> Result<ReadScenario, CliProblem> {
    Ok(source(path)?.parsed(overrides, variants, anywhere)?)
}
