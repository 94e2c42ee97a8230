//! Imports a text as a scenario.

use crate::finding::{ImportError, ImportFact, LintFinding, NotUnderstood, Reading};
use crate::{Assumed, Draft, ImportFormat, lint};
use scenario::Experiment;
use serde::Serialize;
use std::fmt::Write as _;

/// The largest text that is read, bytes.
pub const MAX_BYTES: usize = 16 << 20;

/// A text to import.
pub struct ImportSource<'a> {
    /// The file's name.
    pub name: &'a str,
    pub text: &'a str,
    /// The name by which the scenario may refer to the file, so that a trace is not copied; `None` if it
    /// cannot.
    pub own_name: Option<&'a str>,
    /// Values of a script's variables, which override its own assignments.
    pub values: &'a [(String, String)],
    /// Reads another file that the text names.
    pub read_file: &'a dyn Fn(&str) -> Result<String, String>,
}

/// An imported text.
#[derive(Clone, Debug)]
pub struct Imported {
    pub format: ImportFormat,
    pub experiment: Experiment,
    /// The scenario as commented TOML.
    pub toml: String,
    /// Values that affect a limit and could not be read, by line; their stages are left out of the scenario.
    pub refused: Vec<NotUnderstood>,
    /// Facts from counters in the text, by line.
    pub facts: Vec<ImportFact>,
    /// What did not become part of the scenario, by line.
    pub not_understood: Vec<NotUnderstood>,
    /// Mistakes in the configuration, by line.
    pub lint: Vec<LintFinding>,
    /// What the scenario has but the configuration does not state.
    pub assumed: Vec<String>,
    /// Lines that are neither empty nor comments.
    pub lines: usize,
    /// Number of those lines that were understood.
    pub understood: usize,
}

/// Reads a configuration as `format`, or as the format that it looks like, and makes a scenario of it. No
/// text makes it panic.
///
/// # Errors
/// Fails for the reasons of [`ImportError`].
pub fn import(
    source: &ImportSource,
    format: Option<ImportFormat>,
    assumed: &Assumed,
) -> Result<Imported, ImportError> {
    if source.text.len() > MAX_BYTES {
        return Err(ImportError::TooLarge { bytes: source.text.len() });
    }
    let format = format.or_else(|| ImportFormat::of(source.text)).ok_or(ImportError::UnknownFormat)?;
    let mut reading = Reading::default();
    let mut draft = format.read(source, assumed, &mut reading)?;
    draft.leave_out_refused(&reading);
    if draft.stages().next().is_none() {
        reading.sort();
        let first = reading.refused.first().or(reading.not_understood.first()).cloned();
        return Err(ImportError::Nothing { looked_for: format.looks_for(), first });
    }
    draft.assume_what_is_missing(assumed, &mut reading);
    lint::lint(&draft, &mut reading);
    draft.hold_one_packet(&mut reading);
    let stem = source.name.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let description = format!("Imported from {} ({})", source.name.escape_debug(), format.title());
    let experiment = draft.experiment(stem, description, assumed)?;
    reading.sort();
    let toml = head(source.name, format, &draft, &reading) + &experiment.to_toml();
    let (lines, understood) = reading.counts();
    let Reading { refused, facts, not_understood, lint, assumed, .. } = reading;
    let imported = Imported {
        format,
        experiment,
        toml,
        refused,
        facts,
        not_understood,
        lint,
        assumed,
        lines,
        understood,
    };
    imported.check(source)?;
    Ok(imported)
}

impl Imported {
    /// Checks that the written TOML reads back as the same scenario.
    fn check(&self, source: &ImportSource) -> Result<(), ImportError> {
        let own = |name: &str| match source.own_name {
            Some(own) if own == name => Ok(source.text.to_string()),
            _ => (source.read_file)(name),
        };
        let mut files = own;
        match Experiment::parse_with("the scenario", &self.toml, &[], &mut files) {
            Ok(read) if read == self.experiment => Ok(()),
            Ok(_) => Err(ImportError::NoScenario("the written scenario reads back differently".into())),
            Err(e) => Err(ImportError::NoScenario(e.to_string())),
        }
    }

    /// As JSON: `schema`, `format`, `scenario` (the TOML), `refused`, `facts`, `lint`, `not_understood`,
    /// `assumed`, `lines`, `understood`.
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct ImportJson<'a> {
            schema: &'static str,
            format: &'static str,
            scenario: &'a str,
            refused: &'a [NotUnderstood],
            facts: &'a [ImportFact],
            lint: &'a [LintFinding],
            not_understood: &'a [NotUnderstood],
            assumed: &'a [String],
            lines: usize,
            understood: usize,
        }
        let json = ImportJson {
            schema: "longfat-import/1",
            format: self.format.name(),
            scenario: &self.toml,
            refused: &self.refused,
            facts: &self.facts,
            lint: &self.lint,
            not_understood: &self.not_understood,
            assumed: &self.assumed,
            lines: self.lines,
            understood: self.understood,
        };
        serde_json::to_string_pretty(&json).unwrap_or_default() + "\n"
    }
}

/// Maximum width of a comment line.
const COMMENT_WIDTH: usize = 110;

/// Writes a text as a comment, wrapped.
fn comment(text: &str, out: &mut String) {
    let clean: String = text.chars().map(|c| if print::is_unseen(c) { ' ' } else { c }).collect();
    let mut line = String::from("#");
    for word in clean.split_whitespace() {
        if line.chars().count() > 4 && line.chars().count() + 1 + word.chars().count() > COMMENT_WIDTH {
            let _ = writeln!(out, "{line}");
            line = "#  ".into();
        }
        line.push(' ');
        line.extend(word.chars().take(COMMENT_WIDTH));
    }
    let _ = writeln!(out, "{line}");
}

/// The comments at the head of the file: the source of everything in the scenario.
fn head(name: &str, format: ImportFormat, draft: &Draft, reading: &Reading) -> String {
    /// Maximum comments of one kind; the command's output has all of them.
    const MAX_COMMENTS: usize = 60;
    let mut out = String::new();
    comment(&format!("Imported from {name} ({}) by longfat import.", format.title()), &mut out);
    let from =
        draft.stages().map(|s| format!("line {}: {} -> {} `{}`", s.line, s.says, s.stage.kind(), s.name));
    let flows = (draft.flows.iter()).filter(|f| !f.says.is_empty());
    let flows = flows.map(|f| format!("flow {}: {}", f.name, f.says));
    let assumed = reading.assumed.iter().map(|a| format!("Assumed: {a}"));
    let refused = reading.refused.iter().map(|n| format!("Left out, line {}: {}", n.line, n.says()));
    let unknown =
        reading.not_understood.iter().map(|n| format!("Not understood, line {}: {}", n.line, n.why));
    let kinds: [Vec<String>; 5] =
        [refused.collect(), from.collect(), flows.collect(), assumed.collect(), unknown.collect()];
    for comments in kinds {
        comments.iter().take(MAX_COMMENTS).for_each(|text| comment(text, &mut out));
        if comments.len() > MAX_COMMENTS {
            comment(&format!("… and {} more", comments.len() - MAX_COMMENTS), &mut out);
        }
    }
    out.push('\n');
    out
}
