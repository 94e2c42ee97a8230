//! Loads scenarios from a file or standard input, with a notice when a built-in example is used instead of a
//! file.

use crate::escape::eprint_escaped;
use crate::problem::CliProblem;
use std::path::Path;

pub use app::load::{ReadScenario, ScenarioSource, Source, read_beside};

/// Calls [`ScenarioSource::read`], and prints a notice if that is a built-in example.
pub fn source(path: &Path) -> Result<ScenarioSource, CliProblem> {
    let read = ScenarioSource::read(path)?;
    if read.source == Source::BuiltIn {
        let (name, own) = (path.display(), read.name.trim_end_matches(".toml"));
        eprint_escaped!(
            "longfat: no file {name}: using the built-in example (`longfat examples show {own}`)\n"
        );
    }
    Ok(read)
}

/// Reads and parses a scenario, with the notice of [`source`].
pub fn load(
    path: &Path,
    overrides: &[String],
    variants: &[String],
    anywhere: bool,
) -> Result<ReadScenario, CliProblem> {
    Ok(source(path)?.parsed(overrides, variants, anywhere)?)
}
