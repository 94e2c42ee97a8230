//! The findings of an import: facts, mistakes, values and lines that were not understood, assumptions.

use result::Change;
use serde::Serialize;
use std::collections::BTreeSet;

/// A line that did not become part of the scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotUnderstood {
    /// Line number in the file, from 1.
    pub line: usize,
    /// The part that was not understood.
    pub text: String,
    /// The reason, or the consequence for the scenario.
    pub why: String,
}

/// A mistake in a configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LintFinding {
    /// Line number in the file, from 1.
    pub line: usize,
    /// The rule's name, for filtering.
    pub rule: &'static str,
    /// What is wrong, with numbers.
    pub text: String,
    /// What would be right; absent if that depends on the intention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Change>,
}

/// A fact that counters in the text show, as a sentence with its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportFact {
    /// Line number of the counter in the file, from 1.
    pub line: usize,
    pub text: String,
}

/// The reason why nothing was imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// No line of the text looks like a known format.
    #[error(
        "unknown format; name it with --as: {}",
        crate::ImportFormat::ALL.iter().map(|(name, f)| format!("{name} ({})", f.title())).collect::<Vec<_>>().join(", ")
    )]
    UnknownFormat,
    /// The text is larger than [`MAX_BYTES`](crate::MAX_BYTES).
    #[error("{bytes} bytes are too many; at most {} are read", crate::MAX_BYTES)]
    TooLarge { bytes: usize },
    /// The text has not the syntax of the format. The line is 1 if no line is to blame.
    #[error("line {line}: {why}")]
    Syntax { line: usize, why: String },
    /// The text was read, but nothing in it limits, delays or drops packets.
    #[error("found nothing that limits, delays or drops packets; looked for: {looked_for}{}", first_of(.first))]
    Nothing {
        /// The statements that the format's reader looks for.
        looked_for: &'static str,
        /// The first value that could not be read, else the first line that was not understood.
        first: Option<NotUnderstood>,
    },
    /// The result is not a valid scenario.
    #[error("not a valid scenario: {0}")]
    NoScenario(String),
}

fn first_of(first: &Option<NotUnderstood>) -> String {
    first.as_ref().map(|n| format!("; line {}: {}", n.line, n.says())).unwrap_or_default()
}

impl NotUnderstood {
    /// The reason; with the text in front of it, unless the reason quotes the text.
    pub fn says(&self) -> String {
        if self.why.contains(&self.text) {
            self.why.clone()
        } else {
            format!("`{}`: {}", self.text, self.why)
        }
    }
}

/// Collects the findings of an import.
#[derive(Debug, Default)]
pub struct Reading {
    /// Values that affect a limit and could not be read; their stages are left out of the scenario. Sorted
    /// by line after [`Reading::sort`].
    pub refused: Vec<NotUnderstood>,
    /// Sorted by line after [`Reading::sort`], like the lists below.
    pub facts: Vec<ImportFact>,
    pub not_understood: Vec<NotUnderstood>,
    pub lint: Vec<LintFinding>,
    /// What the scenario has but the configuration does not state, in sentences.
    pub assumed: Vec<String>,
    /// Numbers of the lines that are neither empty nor comments.
    pub lines: BTreeSet<usize>,
}

/// Maximum findings of each kind; a hostile file may have a mistake per byte.
const MAX_FINDINGS: usize = 2000;

impl Reading {
    /// Reports a line, or a part of it, that does not become part of the scenario.
    pub fn unknown(&mut self, line: usize, text: impl Into<String>, why: impl Into<String>) {
        note(&mut self.not_understood, line, text.into(), why.into());
    }

    /// Reports a value that affects a limit and cannot be read. Stages and classes of this line are left out
    /// of the scenario (`Draft::leave_out_refused`), because a default would be invented.
    pub fn refuse(&mut self, line: usize, text: impl Into<String>, why: impl Into<String>) {
        note(&mut self.refused, line, text.into(), why.into());
    }

    /// Whether a value of this line was refused.
    pub fn is_refused(&self, line: usize) -> bool {
        self.refused.iter().any(|r| r.line == line)
    }

    /// Reports a fact that a counter of this line shows.
    pub fn fact(&mut self, line: usize, text: impl Into<String>) {
        let fact = ImportFact { line, text: text.into() };
        if self.facts.len() < MAX_FINDINGS && !self.facts.contains(&fact) {
            self.facts.push(fact);
        }
    }

    /// Reports a mistake.
    pub fn fault(&mut self, line: usize, rule: &'static str, text: impl Into<String>) {
        self.found(LintFinding { line, rule, text: text.into(), remedy: None });
    }

    /// Reports a mistake and what would be right.
    pub fn remedied(&mut self, line: usize, rule: &'static str, text: impl Into<String>, remedy: Change) {
        self.found(LintFinding { line, rule, text: text.into(), remedy: Some(remedy) });
    }

    fn found(&mut self, found: LintFinding) {
        if self.lint.len() < MAX_FINDINGS && !self.lint.contains(&found) {
            self.lint.push(found);
        }
    }

    /// Reports an assumption, once.
    pub fn assume(&mut self, text: impl Into<String>) {
        let text = text.into();
        if self.assumed.len() < 100 && !self.assumed.contains(&text) {
            self.assumed.push(text);
        }
    }

    pub(crate) fn sort(&mut self) {
        self.refused.sort_by_key(|n| n.line);
        self.facts.sort_by_key(|f| f.line);
        self.not_understood.sort_by_key(|n| n.line);
        self.lint.sort_by_key(|n| n.line);
    }

    /// The number of lines that are neither empty nor comments, and how many of them were understood.
    pub fn counts(&self) -> (usize, usize) {
        let missed: BTreeSet<usize> =
            self.not_understood.iter().chain(&self.refused).map(|n| n.line).collect();
        (self.lines.len(), self.lines.difference(&missed).count())
    }
}

fn note(list: &mut Vec<NotUnderstood>, line: usize, text: String, why: String) {
    let note = NotUnderstood { line, text: text.chars().take(200).collect(), why };
    if list.len() < MAX_FINDINGS && !list.contains(&note) {
        list.push(note);
    }
}
