//! Scenario files from disk or standard input, and a word where a built-in example stood for a file.

use crate::escape::tell;
use crate::problem::CliProblem;
use std::path::Path;

pub use commands::load::{ReadScenario, Source, read_beside};

/// [`commands::load::load`]; says so where a built-in example is taken.
pub fn load(path: &Path, overrides: &[String], anywhere: bool) -> Result<ReadScenario, CliProblem> {
    let read = commands::load::load(path, overrides, anywhere)?;
    if read.source == Source::BuiltIn {
        let (name, own) = (path.display(), read.name.trim_end_matches(".toml"));
        tell!("longfat: no file {name} here: this is the built-in example (`longfat examples show {own}`)\n");
    }
    Ok(read)
}
