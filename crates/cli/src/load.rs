//! Scenario files from disk or standard input.

use crate::examples::{self, Example};
use crate::problem::CliProblem;
use scenario::{Experiment, RefusalCause};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Reads and checks the scenario; its text too. `overrides` are the arguments of `--set`. Where there is no such
/// file, a built-in example of that name is taken, and it is said so.
pub fn load(path: &Path, overrides: &[String]) -> Result<(String, Experiment), CliProblem> {
    let (name, text) = if path == Path::new("-") {
        let mut text = String::new();
        let limit = scenario::MAX_BYTES as u64 + 1;
        let read = io::stdin().take(limit).read_to_string(&mut text);
        ("stdin".to_string(), read.map(|_| text))
    } else {
        (path.display().to_string(), read_text(path))
    };
    let text = match text {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => return load_example(&name, e, overrides),
        Err(e) => return Err(CliProblem::Io(name, e)),
    };
    // Files that stages name lie beside the scenario.
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut beside = |file: &str| read_text(&folder.join(file)).map_err(|e| e.to_string());
    let experiment = Experiment::parse_with(&name, &text, overrides, &mut beside);
    experiment.map(|e| (text, e)).map_err(|e| CliProblem::Scenario(Box::new(e)))
}

/// The built-in example called `name`; `missing` says that there is no such file.
fn load_example(
    name: &str,
    missing: io::Error,
    overrides: &[String],
) -> Result<(String, Experiment), CliProblem> {
    let Some(Example { name: own, text }) = examples::find(name) else {
        let known = examples::names();
        let near = RefusalCause::UnknownName { what: "example", name: name.into(), known }.help();
        let help = near.filter(|help| help.starts_with("did you mean") && !name.contains('/'));
        let told = help.map_or_else(
            || missing.to_string(),
            |help| format!("{missing}; no built-in example is called so either: {help}"),
        );
        return Err(CliProblem::Io(name.into(), io::Error::new(ErrorKind::NotFound, told)));
    };
    eprintln!("longfat: no file {name} here: this is the built-in example (`longfat examples show {own}`)");
    let experiment = Experiment::parse_with(&format!("{own}.toml"), text, overrides, &mut examples::beside);
    experiment.map(|e| (text.to_string(), e)).map_err(|e| CliProblem::Scenario(Box::new(e)))
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
