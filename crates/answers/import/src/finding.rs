//! What an import reports next to the scenario: facts, faults, values and lines it did not understand, assumptions.

use result::Change;
use serde::Serialize;
use std::collections::BTreeSet;

/// A line that did not become part of the scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotUnderstood {
    /// Its number in the file; the first is 1.
    pub line: usize,
    /// What of it was not understood.
    pub text: String,
    /// Why, or what that means for the scenario.
    pub why: String,
}

/// Something that is wrong with a configuration, in a sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LintFinding {
    /// Where it stands in the file; the first line is 1.
    pub line: usize,
    /// The rule's name, for filters.
    pub rule: &'static str,
    /// What is wrong, with figures.
    pub text: String,
    /// What would be right; absent where that depends on what was meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Change>,
}

/// A fact about the user's problem that counters in the text show, as a sentence with its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportFact {
    /// Where the counter stands in the file; the first line is 1.
    pub line: usize,
    /// The fact.
    pub text: String,
}

/// Why nothing was imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// No line of the text looks like a known format.
    #[error(
        "it looks like none of the known formats; --as says which it is: {}",
        crate::ImportFormat::ALL.iter().map(|(name, f)| format!("{name} ({})", f.title())).collect::<Vec<_>>().join(", ")
    )]
    UnknownFormat,
    /// The text is larger than a configuration can be, in bytes.
    #[error("it has {bytes} bytes; {} at most are read", crate::MAX_BYTES)]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The text is not what the format is written in: a line (1 where none is to blame), and why.
    #[error("line {line}: {why}")]
    Syntax {
        /// The line.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// It was read, but nothing in it limits, delays or loses packets.
    #[error("nothing in it limits, delays or loses packets that longfat can read; looked for: {looked_for}{}", first_of(.first))]
    Nothing {
        /// What the format's reader looks for.
        looked_for: &'static str,
        /// The first line that was not understood, values before other lines.
        first: Option<NotUnderstood>,
    },
    /// What came of it is no valid scenario.
    #[error("it makes no valid scenario: {0}")]
    NoScenario(String),
}

fn first_of(first: &Option<NotUnderstood>) -> String {
    first.as_ref().map(|n| format!("; line {}: {}", n.line, n.says())).unwrap_or_default()
}

impl NotUnderstood {
    /// The reason, after the text it is about where the reason does not quote it.
    pub fn says(&self) -> String {
        if self.why.contains(&self.text) {
            self.why.clone()
        } else {
            format!("`{}`: {}", self.text, self.why)
        }
    }
}

/// What has been found so far.
#[derive(Debug, Default)]
pub struct Reading {
    /// Values that matter and could not be read: what they belong to is left out of the scenario.
    /// In the order of lines after [`Reading::sort`].
    pub refused: Vec<NotUnderstood>,
    /// In the order of lines after [`Reading::sort`].
    pub facts: Vec<ImportFact>,
    /// In the order of lines after [`Reading::sort`].
    pub not_understood: Vec<NotUnderstood>,
    /// In the order of lines after [`Reading::sort`].
    pub lint: Vec<LintFinding>,
    /// What the scenario has that the configuration does not say, in sentences.
    pub assumed: Vec<String>,
    /// Lines that say something: not empty, no comment.
    pub lines: BTreeSet<usize>,
}

/// The most of each list: a hostile file has a fault a byte.
const MOST: usize = 2000;

impl Reading {
    /// A line, or a part of it, that does not become part of the scenario.
    pub fn unknown(&mut self, line: usize, text: impl Into<String>, why: impl Into<String>) {
        note(&mut self.not_understood, line, text.into(), why.into());
    }

    /// A value that was written, changes a limit and cannot be read. Stages and classes of this line are left out of the
    /// scenario (`Draft::leave_out_refused`): a default in their place would be an invention.
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
        if self.facts.len() < MOST && !self.facts.contains(&fact) {
            self.facts.push(fact);
        }
    }

    /// Something that is wrong.
    pub fn fault(&mut self, line: usize, rule: &'static str, text: impl Into<String>) {
        self.found(LintFinding { line, rule, text: text.into(), remedy: None });
    }

    /// Something that is wrong, and what would be right.
    pub fn remedied(&mut self, line: usize, rule: &'static str, text: impl Into<String>, remedy: Change) {
        self.found(LintFinding { line, rule, text: text.into(), remedy: Some(remedy) });
    }

    fn found(&mut self, found: LintFinding) {
        if self.lint.len() < MOST && !self.lint.contains(&found) {
            self.lint.push(found);
        }
    }

    /// Something that was assumed; said once.
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

    /// How many lines say something, and how many of them were understood.
    pub fn counts(&self) -> (usize, usize) {
        let missed: BTreeSet<usize> =
            self.not_understood.iter().chain(&self.refused).map(|n| n.line).collect();
        (self.lines.len(), self.lines.difference(&missed).count())
    }
}

fn note(list: &mut Vec<NotUnderstood>, line: usize, text: String, why: String) {
    let note = NotUnderstood { line, text: text.chars().take(200).collect(), why };
    if list.len() < MOST && !list.contains(&note) {
        list.push(note);
    }
}
