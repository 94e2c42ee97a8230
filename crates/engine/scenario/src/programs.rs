//! The commands that a scenario runs on the kernel, and where they are written.
//!
//! They are code by the scenario's author, so the user is shown them before they are executed.

/// A command that a scenario runs on the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramLine {
    /// Names of the variants that run it.
    pub variants: Vec<String>,
    /// The text that contains the command: the scenario file's name, or `--set KEY=VALUE`.
    pub file: String,
    /// Whether the command comes from an override on the command line.
    pub is_set: bool,
    /// Line number in that text, from 1.
    pub line: usize,
    /// The scenario's key, for example `flows.up.tool` or `flows.up.server`.
    pub key: String,
    /// The command as written.
    pub command: String,
}
