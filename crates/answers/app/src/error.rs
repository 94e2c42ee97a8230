//! What ends a command before it has an answer.

use scenario::DocumentError;
use std::fmt;
use std::io;

/// Why there is no answer, by cause. Displayed as one line; a scenario's error has more ([`DocumentError::render`]).
#[derive(Debug)]
pub enum CommandError {
    /// The scenario is wrong.
    Scenario(Box<DocumentError>),
    /// A file or folder, named, and what went wrong with it.
    Io(String, io::Error),
    /// A result that cannot be read: where, and why.
    Result(String, String),
    /// Arguments that do not fit; says what would be right.
    Usage(String),
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandError::Scenario(e) => e.fmt(f),
            CommandError::Io(what, e) => write!(f, "{what}: {e}"),
            CommandError::Result(what, why) => write!(f, "{what}: {why}"),
            CommandError::Usage(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for CommandError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CommandError::Scenario(e) => Some(&**e),
            CommandError::Io(_, e) => Some(e),
            CommandError::Result(..) | CommandError::Usage(_) => None,
        }
    }
}
