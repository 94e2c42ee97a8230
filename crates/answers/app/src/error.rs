//! What ends a command before it has an answer.

use scenario::DocumentError;
use std::io;

/// Why there is no answer, by cause. Displayed as one line; a scenario's error has more ([`DocumentError::render`]).
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The scenario is wrong.
    #[error("{0}")]
    Scenario(#[source] Box<DocumentError>),
    /// A file or folder, named, and what went wrong with it.
    #[error("{0}: {1}")]
    Io(String, #[source] io::Error),
    /// A result that cannot be read: where, and why.
    #[error("{0}: {1}")]
    Result(String, String),
    /// Arguments that do not fit; says what would be right.
    #[error("{0}")]
    Usage(String),
}
