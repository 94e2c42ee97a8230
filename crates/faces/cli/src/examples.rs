//! `longfat examples`: lists, shows and copies the built-in scenarios.

use crate::args::{ExamplesArgs, ExamplesCommand};
use crate::problem::CliProblem;
use crate::progress::terminal;
use app::examples::{EXAMPLES, Example, find, names};
use app::output::write_new;
use scenario::RefusalCause;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub fn examples(args: &ExamplesArgs) -> Result<ExitCode, CliProblem> {
    match &args.command {
        None => list(args.json)?,
        Some(ExamplesCommand::Show { name }) => crate::print_own(example(name)?.text)?,
        Some(ExamplesCommand::Copy { name, path, force }) => copy(example(name)?, path.as_deref(), *force)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn example(name: &str) -> Result<&'static Example, CliProblem> {
    find(name).ok_or_else(|| {
        let cause = RefusalCause::UnknownName { what: "example", name: name.into(), known: names() };
        let help = cause.help().map(|help| format!("; {help}")).unwrap_or_default();
        CliProblem::usage(format!("{cause}{help}"))
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
    crate::print(&format!("{lines}\nto run one: longfat run NAME; to edit one: longfat examples copy NAME\n"))
}

fn copy(example: &Example, path: Option<&Path>, force: bool) -> Result<(), CliProblem> {
    let file = format!("{}.toml", example.name);
    let path = match path {
        None => PathBuf::from(&file),
        Some(folder) if folder.is_dir() => folder.join(&file),
        Some(path) => path.into(),
    };
    let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut written = format!("{}\n", write_new(&path, example.text, force)?.display());
    for (name, text) in example.files() {
        written += &format!("{}\n", write_new(&folder.join(name), text, force)?.display());
    }
    crate::print(&written)
}
