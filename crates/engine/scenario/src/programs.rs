//! The programs that a scenario brings: which, and where they are written.
//!
//! Whoever runs them on the kernel runs code of the scenario's author; so they are told before.

/// A command that a scenario has run on the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramLine {
    /// The variants that have it.
    pub variants: Vec<String>,
    /// The text it stands in: the file, or `--set KEY=VALUE`.
    pub file: String,
    /// Whether that is an override that was typed.
    pub is_set: bool,
    /// Where it stands there, counted from 1.
    pub line: usize,
    /// The scenario's key: `flows.up.tool`, `flows.up.server`.
    pub key: String,
    /// As it is written.
    pub command: String,
}
