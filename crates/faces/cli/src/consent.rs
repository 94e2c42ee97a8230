//! Asks whether a scenario's programs may be started. A scenario with `tool` or `server` is code.
//!
//! | scenario | its programs |
//! |---|---|
//! | built in, or a file in the current folder or below it | are started |
//! | from another folder, or from standard input | are shown, and started after a yes on a terminal or with `--allow-tools` |
//!
//! A symbolic link counts as the file it points to. If the current folder is the file system's root, no file
//! is trusted.

use crate::escape::{eprint_escaped, value};
use crate::load::Source;
use crate::problem::CliProblem;
use scenario::ProgramLine;
use std::fmt::Write as _;
use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

/// Asks the user before any of the scenario's programs is started.
///
/// # Errors
/// Fails when there is no terminal to ask on, or the answer is no.
pub fn ask(lines: &[ProgramLine], source: &Source) -> Result<(), CliProblem> {
    // A program in `--set` was typed by the user.
    let lines: Vec<&ProgramLine> = lines.iter().filter(|line| !line.is_set).collect();
    if lines.is_empty() || is_trusted(source) {
        return Ok(());
    }
    let origin = if *source == Source::Stdin {
        "the scenario comes from standard input"
    } else {
        "the scenario is outside the current folder"
    };
    let asks = *source != Source::Stdin && io::stdin().is_terminal() && io::stderr().is_terminal();
    if asks {
        eprint_escaped!("{origin} and starts programs on this machine:\n{}", listed(&lines));
        eprint!("start them? [y/N] ");
        return match is_yes(&mut io::stdin().lock()) {
            true => Ok(()),
            false => Err(CliProblem::usage("nothing was started".into())),
        };
    }
    let text = format!(
        "nothing was run: {origin} and starts programs on this machine; read them, then allow them with \
         --allow-tools:\n{}",
        listed(&lines).trim_end()
    );
    Err(CliProblem::usage(text))
}

/// Lists the programs, one per line, with file, line and key.
fn listed(lines: &[&ProgramLine]) -> String {
    let mut text = String::new();
    for ProgramLine { file, line, key, command, .. } in lines {
        let _ = writeln!(text, "  {}:{line}: {}: {}", value(file), value(key), value(command));
    }
    text
}

/// Reads an answer; anything but y or yes means no.
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
    fn programs_from_here_built_in_or_typed_need_no_consent() {
        let here = std::fs::canonicalize(".").unwrap();
        let lines = [line(false)];
        assert!(ask(&lines, &Source::BuiltIn).is_ok());
        assert!(ask(&lines, &Source::File(here.join("deep/er.toml"))).is_ok());
        assert!(ask(&[line(true)], &Source::Stdin).is_ok());
        assert!(ask(&[], &Source::Stdin).is_ok());
    }

    #[test]
    fn programs_from_elsewhere_are_listed_with_control_characters_escaped() {
        let e = ask(&[line(false), line(true)], &Source::Stdin).unwrap_err();
        let text = e.to_string();
        assert_eq!(e.exit_code(), 2);
        let shown = "  a\\u{202e}.toml:7: flows.f.tool: sh -c 'x\\u{1b}[2J\\u{a}y'\n";
        assert!(text.ends_with(shown) && text.matches("flows.f").count() == 1, "{text}");
        assert!(text.contains("--allow-tools") && text.contains("standard input"), "{text}");
        let sibling = std::fs::canonicalize(".").unwrap().with_file_name("sibling.toml");
        assert!(ask(&[line(false)], &Source::File("/elsewhere.toml".into())).is_err());
        assert!(
            ask(&[line(false)], &Source::File(sibling)).is_err(),
            "next to the current folder, not in it"
        );
    }

    #[test]
    fn only_y_and_yes_mean_yes() {
        for (answer, yes) in
            [("y\n", true), ("yes\n", true), ("Y\n", true), ("\n", false), ("", false), ("yep\n", false)]
        {
            assert_eq!(is_yes(&mut answer.as_bytes()), yes, "{answer:?}");
        }
    }
}
