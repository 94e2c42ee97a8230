//! Scenario files from disk or standard input.

use crate::problem::CliProblem;
use scenario::Experiment;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// Reads and checks the scenario; its text too. `overrides` are the arguments of `--set`.
pub fn load(path: &Path, overrides: &[String]) -> Result<(String, Experiment), CliProblem> {
    let (name, text) = if path == Path::new("-") {
        let mut text = String::new();
        let limit = scenario::MAX_BYTES as u64 + 1;
        let read = io::stdin().take(limit).read_to_string(&mut text);
        ("stdin".to_string(), read.map(|_| text))
    } else {
        (path.display().to_string(), read_text(path))
    };
    let text = text.map_err(|e| CliProblem::Io(name.clone(), e))?;
    // Files that stages name lie beside the scenario.
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut beside = |file: &str| read_text(&folder.join(file)).map_err(|e| e.to_string());
    let experiment = Experiment::parse_with(&name, &text, overrides, &mut beside);
    experiment.map(|e| (text, e)).map_err(|e| CliProblem::Scenario(Box::new(e)))
}

/// The text of a file; a folder or device is none, and what is too large is not read to its end.
fn read_text(path: &Path) -> io::Result<String> {
    const MOST: u64 = 64 << 20;
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut text = String::new();
    fs::File::open(path)?.take(MOST).read_to_string(&mut text)?;
    Ok(text)
}
