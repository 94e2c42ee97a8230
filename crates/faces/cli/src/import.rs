//! `longfat import`: converts another program's configuration to a scenario, and reports its mistakes.

use crate::args::ImportArgs;
use crate::escape::{self, eprint_escaped};
use crate::load::read_scenario_file;
use crate::problem::CliProblem;
use crate::regular;
use app::output::write_new;
use congestion::Control;
use import::{Assumed, ImportSource, Imported, NotUnderstood};
use report::{Lang, advice};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Converts the file, prints the report and writes the scenario.
pub fn import(args: &ImportArgs) -> Result<ExitCode, CliProblem> {
    let (name, text) = read(&args.file)?;
    let cc = Control::named(&args.cc).unwrap_or_default();
    let assumed = Assumed { rtt: args.rtt, line: args.line, duration: args.duration, cc };
    let folder = folder_of(args.output.as_deref().unwrap_or(Path::new("")));
    let own_name = own_name(&args.file, &folder);
    let source = ImportSource {
        name: &name,
        text: &text,
        own_name: own_name.as_deref(),
        values: &args.define,
        read_file: &|file| read_scenario_file(&folder, file, false),
    };
    let failed = |e: import::ImportError| {
        CliProblem::usage(format!("{}: {}", escape::value(&name), escape::value(&e.to_string())))
    };
    let imported = import::import(&source, args.format, &assumed).map_err(failed)?;
    let written = match &args.output {
        Some(path) if path != Path::new("-") => Some(write_new(path, &imported.toml, args.force)?),
        _ => None,
    };
    let report = report(&name, &imported, written.as_deref());
    match (args.json, &written) {
        (true, _) => crate::print_json(&imported.to_json())?,
        (false, Some(_)) => crate::print(&report)?,
        (false, None) => {
            eprint_escaped!("{report}");
            crate::print(&imported.toml)?;
        }
    }
    Ok(ExitCode::from(u8::from(!imported.lint.is_empty() || !imported.refused.is_empty())))
}

/// Reads the configuration; returns its name and text.
fn read(path: &Path) -> Result<(String, String), CliProblem> {
    let max = import::MAX_BYTES as u64;
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        let read = io::stdin().take(max + 1).read_to_end(&mut bytes);
        read.map_err(|e| CliProblem::io("standard input".into(), e))?;
        return Ok(("stdin".into(), String::from_utf8_lossy(&bytes).into_owned()));
    }
    let name = path.display().to_string();
    // `regular` refuses symbolic links; a link to a configuration is fine here.
    let whole = fs::canonicalize(path).and_then(|whole| regular::read_limited(&whole, max));
    let bytes = whole.map_err(|e| CliProblem::io(name.clone(), e))?;
    Ok((name, String::from_utf8_lossy(&bytes).into_owned()))
}

fn folder_of(file: &Path) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).to_path_buf()
}

/// Returns the file's name if the file is in `folder`, where the scenario can refer to it.
fn own_name(file: &Path, folder: &Path) -> Option<String> {
    let here = |folder: &Path| {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        fs::canonicalize(folder).ok()
    };
    let same = here(&folder_of(file)).is_some_and(|a| Some(a) == here(folder));
    let name = file.file_name()?.to_str()?;
    (same && name != "-").then(|| name.to_string())
}

/// Formats the report: refused values, measured facts, mistakes and lines that were not understood, one per
/// line, then the counts and the file written.
fn report(name: &str, imported: &Imported, written: Option<&Path>) -> String {
    let name = escape::value(name);
    let mut text = String::new();
    for note in &imported.refused {
        let says = note.says();
        let _ = writeln!(text, "{name}:{}: error: {}; it is left out", note.line, escape::value(&says));
    }
    for fact in &imported.facts {
        let _ = writeln!(text, "{name}:{}: measured: {}", fact.line, escape::value(&fact.text));
    }
    for found in &imported.lint {
        let advice =
            found.remedy.as_ref().map(|r| format!(". {}", advice(std::slice::from_ref(r), Lang::En)));
        let says = format!("{}{}", found.text, advice.unwrap_or_default());
        let _ = writeln!(text, "{name}:{}: {} [{}]", found.line, escape::value(&says), found.rule);
    }
    for (lines, note) in grouped(&imported.not_understood) {
        let says = if lines.contains([',', '-']) { note.why.clone() } else { note.says() };
        let _ = writeln!(text, "{name}:{lines}: not understood: {}", escape::value(&says));
    }
    for assumed in &imported.assumed {
        let _ = writeln!(text, "assumed: {}", escape::value(assumed));
    }
    let (lines, understood) = (imported.lines, imported.understood);
    let _ = write!(text, "{}: {understood} of {lines} lines understood", imported.format.title());
    let counts = [
        (imported.refused.len(), "value left out", "values left out"),
        (imported.facts.len(), "fact measured", "facts measured"),
        (imported.lint.len(), "mistake found", "mistakes found"),
    ];
    for (n, one, more) in counts.into_iter().filter(|(n, ..)| *n > 0) {
        let _ = write!(text, ", {n} {}", if n == 1 { one } else { more });
    }
    text.push('\n');
    if let Some(path) = written {
        let path = path.display().to_string();
        let path = escape::value(&path);
        let _ = write!(text, "wrote {path}\nnext: longfat run {path}\n");
    }
    text
}

/// Groups lines with the same reason, with their numbers as `3-7,12`.
fn grouped(all: &[NotUnderstood]) -> Vec<(String, &NotUnderstood)> {
    let mut groups: Vec<(Vec<usize>, &NotUnderstood)> = Vec::new();
    for note in all {
        match groups.iter_mut().find(|(_, first)| first.why == note.why) {
            Some((lines, _)) => lines.push(note.line),
            None => groups.push((vec![note.line], note)),
        }
    }
    groups.into_iter().map(|(lines, note)| (ranges(&lines), note)).collect()
}

fn ranges(lines: &[usize]) -> String {
    let mut text = String::new();
    let mut i = 0;
    while i < lines.len() {
        let first = lines[i];
        let mut last = first;
        while i + 1 < lines.len() && lines[i + 1] <= last + 1 {
            i += 1;
            last = lines[i];
        }
        let comma = if text.is_empty() { "" } else { "," };
        let _ = if first == last {
            write!(text, "{comma}{first}")
        } else {
            write!(text, "{comma}{first}-{last}")
        };
        i += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_numbers_are_shown_as_ranges() {
        assert_eq!(ranges(&[3, 4, 5, 9, 11, 11, 12]), "3-5,9,11-12");
        assert_eq!(ranges(&[7]), "7");
    }
}
