//! Whether programs that a scenario brings may be started: scenarios are code where they have `tool` or `server`.
//!
//! | scenario | its commands |
//! |---|---|
//! | built in, or a file in the current folder or below it | are started |
//! | from elsewhere, or from standard input | are shown and asked for on a terminal, else refused without `--allow-tools` |
//!
//! Where a link leads counts, not where it lies; the file system's root holds everything and so vouches for nothing.

use crate::escape::{tell, value};
use crate::load::Source;
use crate::problem::CliProblem;
use scenario::ProgramLine;
use std::fmt::Write as _;
use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

/// Asks for what is to be started, before anything is.
///
/// # Errors
/// Nobody can be asked, or the answer is no.
pub fn ask(lines: &[ProgramLine], source: &Source) -> Result<(), CliProblem> {
    // What stands in `--set` was typed by whoever runs this.
    let lines: Vec<&ProgramLine> = lines.iter().filter(|line| !line.is_set).collect();
    if lines.is_empty() || is_trusted(source) {
        return Ok(());
    }
    let there = if *source == Source::Stdin {
        "comes from standard input"
    } else {
        "lies outside the current folder"
    };
    let asks = *source != Source::Stdin && io::stdin().is_terminal() && io::stderr().is_terminal();
    if asks {
        tell!("scenarios are code: this one {there} and starts programs on this machine\n{}", listed(&lines));
        eprint!("start them? [y/N] ");
        return match is_yes(&mut io::stdin().lock()) {
            true => Ok(()),
            false => Err(CliProblem::usage("nothing was started".into())),
        };
    }
    let text = format!(
        "nothing was run: scenarios are code: this one {there} and starts programs on this machine; --allow-tools lets it, \
         once you have read it\n{}",
        listed(&lines).trim_end()
    );
    Err(CliProblem::usage(text))
}

/// A line each: where it stands, and what is started.
fn listed(lines: &[&ProgramLine]) -> String {
    let mut text = String::new();
    for ProgramLine { file, line, key, command, .. } in lines {
        let _ = writeln!(text, "  {}:{line}: {}: {}", value(file), value(key), value(command));
    }
    text
}

/// Anything but a clear yes is a no.
fn is_yes(input: &mut dyn BufRead) -> bool {
    let mut answer = String::new();
    input.read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

fn is_trusted(source: &Source) -> bool {
    let below = |path: &Path, folder: &Path| folder.parent().is_some() && path.starts_with(folder);
    match source {
        Source::BuiltIn => true,
        Source::Stdin => false,
        Source::File(path) => {
            std::env::current_dir().and_then(std::fs::canonicalize).is_ok_and(|here| below(path, &here))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(is_set: bool) -> ProgramLine {
        ProgramLine {
            variants: vec!["default".into()],
            file: "a\u{202e}.toml".into(),
            is_set,
            line: 7,
            key: "flows.f.tool".into(),
            command: "sh -c 'x\u{1b}[2J\ny'".into(),
        }
    }

    #[test]
    fn what_lies_here_or_is_built_in_or_typed_is_not_asked_for() {
        let here = std::fs::canonicalize(".").unwrap();
        let lines = [line(false)];
        assert!(ask(&lines, &Source::BuiltIn).is_ok());
        assert!(ask(&lines, &Source::File(here.join("deep/er.toml"))).is_ok());
        assert!(ask(&[line(true)], &Source::Stdin).is_ok());
        assert!(ask(&[], &Source::Stdin).is_ok());
    }

    #[test]
    fn what_comes_from_elsewhere_is_named_and_cannot_steer_the_terminal() {
        let e = ask(&[line(false), line(true)], &Source::Stdin).unwrap_err();
        let text = e.to_string();
        assert_eq!(e.exit_code(), 2);
        let shown = "  a\\u{202e}.toml:7: flows.f.tool: sh -c 'x\\u{1b}[2J\\u{a}y'\n";
        assert!(text.ends_with(shown) && text.matches("flows.f").count() == 1, "{text}");
        assert!(text.contains("--allow-tools") && text.contains("standard input"), "{text}");
        let beside = std::fs::canonicalize(".").unwrap().with_file_name("beside.toml");
        assert!(ask(&[line(false)], &Source::File("/elsewhere.toml".into())).is_err());
        // Of the same beginning, but another folder.
        assert!(ask(&[line(false)], &Source::File(beside)).is_err());
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        for (answer, yes) in
            [("y\n", true), ("yes\n", true), ("Y\n", true), ("\n", false), ("", false), ("yep\n", false)]
        {
            assert_eq!(is_yes(&mut answer.as_bytes()), yes, "{answer:?}");
        }
    }
}
