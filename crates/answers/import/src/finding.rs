//! What an import finds beside the scenario: lines it did not understand, faults of the configuration, assumptions.

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LintFinding {
    /// Where it stands in the file; the first line is 1.
    pub line: usize,
    /// The rule's name, for filters.
    pub rule: &'static str,
    /// What is wrong, with figures, and what would be right.
    pub text: String,
}

/// Why nothing was imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// No line of the text looks like a known format.
    #[error(
        "it looks like none of the known formats; --as {} says which it is",
        crate::ImportFormat::ALL.iter().map(|f| f.0).collect::<Vec<_>>().join("|")
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
    #[error("nothing in it limits, delays or loses packets")]
    Nothing,
    /// What came of it is no valid scenario.
    #[error("it makes no valid scenario: {0}")]
    NoScenario(String),
}

/// What has been found so far.
#[derive(Debug, Default)]
pub struct Reading {
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
    /// Something that was not understood.
    pub fn unknown(&mut self, line: usize, text: impl Into<String>, why: impl Into<String>) {
        if self.not_understood.len() < MOST {
            let text: String = text.into().chars().take(200).collect();
            self.not_understood.push(NotUnderstood { line, text, why: why.into() });
        }
    }

    /// Something that is wrong.
    pub fn fault(&mut self, line: usize, rule: &'static str, text: impl Into<String>) {
        let found = LintFinding { line, rule, text: text.into() };
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
        self.not_understood.sort_by_key(|n| n.line);
        self.lint.sort_by_key(|n| n.line);
    }

    /// How many lines say something, and how many of them were understood.
    pub fn counts(&self) -> (usize, usize) {
        let missed: BTreeSet<usize> = self.not_understood.iter().map(|n| n.line).collect();
        (self.lines.len(), self.lines.difference(&missed).count())
    }
}
