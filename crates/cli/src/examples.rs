//! `longfat examples`: the scenarios that are built in.

use crate::args::{ExamplesArgs, ExamplesCommand};
use crate::output::write_new;
use crate::problem::CliProblem;
use crate::progress::terminal;
use scenario::{Experiment, RefusalCause};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A scenario that is built in.
#[derive(Debug)]
pub struct Example {
    /// As `longfat run` takes it: the file's name without `.toml`.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),*) => {
        &[$(Example { name: $name, text: include_str!(concat!("../../../scenarios/", $name, ".toml")) }),*]
    };
}

/// Every scenario of `scenarios/`: a test holds the two against each other.
const EXAMPLES: &[Example] = built_in![
    "call",
    "cc-primer",
    "home-line",
    "hsr-choice-of-t",
    "hsr-emulation",
    "hsr-train",
    "mtu",
    "operating-point",
    "overseas-office",
    "policer-or-shaper",
    "real-programs",
    "sdwan-faults",
    "sdwan-full",
    "sdwan-limiter",
    "web-pages"
];

/// Files that stages of examples name, with their texts: all that is in `scenarios/` besides.
const BESIDE: &[(&str, &str)] = &[];

/// The text of a file that an example's stage names.
pub fn beside(name: &str) -> Result<String, String> {
    let found = BESIDE.iter().find(|(file, _)| *file == name);
    found.map(|(_, text)| (*text).into()).ok_or_else(|| "it is not built in".into())
}

/// The example that is called so, be it with `.toml`.
pub fn find(name: &str) -> Option<&'static Example> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    EXAMPLES.iter().find(|e| e.name == name)
}

/// The names of all.
pub fn names() -> Vec<String> {
    EXAMPLES.iter().map(|e| e.name.to_string()).collect()
}

impl Example {
    /// What it is about, in a line or two.
    fn description(&self) -> Result<String, CliProblem> {
        let read = Experiment::parse_with(self.name, self.text, &[], &mut beside);
        read.map(|e| e.description).map_err(|e| CliProblem::Scenario(Box::new(e)))
    }

    /// The files that its stages name.
    fn files(&self) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
        BESIDE.iter().filter(|(file, _)| self.text.contains(file))
    }
}

/// Lists, shows or copies examples.
pub fn examples(args: &ExamplesArgs) -> Result<ExitCode, CliProblem> {
    match &args.command {
        None => list(args.json)?,
        Some(ExamplesCommand::Show { name }) => crate::print_own(asked(name)?.text)?,
        Some(ExamplesCommand::Copy { name, path, force }) => copy(asked(name)?, path.as_deref(), *force)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn asked(name: &str) -> Result<&'static Example, CliProblem> {
    find(name).ok_or_else(|| {
        let cause = RefusalCause::UnknownName { what: "example", name: name.into(), known: names() };
        let help = cause.help().map(|help| format!("; {help}")).unwrap_or_default();
        CliProblem::Usage(format!("{cause}{help}"))
    })
}

fn list(json: bool) -> Result<(), CliProblem> {
    let mut all = Vec::new();
    for example in EXAMPLES {
        all.push((example.name, example.description()?));
    }
    if json {
        let one = |(name, about): &(&str, String)| serde_json::json!({ "name": name, "description": about });
        let all: Vec<_> = all.iter().map(one).collect();
        return crate::print_json(&result::to_json(&serde_json::json!({ "examples": all })));
    }
    let widest = all.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = all.iter().map(|(name, about)| {
        let first = format!("{name:widest$}  ");
        report::wrap(about, terminal().width.max(60), &first)
    });
    let lines: String = lines.collect();
    crate::print(&format!("{lines}\nlongfat run NAME runs one, longfat examples copy NAME makes it yours\n"))
}

fn copy(example: &Example, path: Option<&Path>, force: bool) -> Result<(), CliProblem> {
    let file = format!("{}.toml", example.name);
    let path = match path {
        None => PathBuf::from(&file),
        Some(folder) if folder.is_dir() => folder.join(&file),
        Some(path) => path.into(),
    };
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut told = format!("{}\n", write_new(&path, example.text, force)?.display());
    for (name, text) in example.files() {
        told += &format!("{}\n", write_new(&folder.join(name), text, force)?.display());
    }
    crate::print(&told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_file_of_the_scenarios_is_built_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let mut there: Vec<String> = Vec::new();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            let text = fs::read_to_string(&path).unwrap();
            match find(&name).filter(|_| name.ends_with(".toml")) {
                Some(example) => assert_eq!(example.text, text, "{name}"),
                None => assert_eq!(beside(&name), Ok(text), "{name} is not in the lists of examples.rs"),
            }
            there.push(name);
        }
        assert_eq!(there.len(), EXAMPLES.len() + BESIDE.len());
        for example in EXAMPLES {
            assert!(!example.description().unwrap().is_empty(), "{}", example.name);
        }
    }
}
