//! The error that ends a command.

use scenario::DocumentError;
use std::io;

/// Errors of a command, by cause. Each is displayed as one line; [`DocumentError::render`] shows more of a
/// scenario's error.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("{0}")]
    Scenario(#[source] Box<DocumentError>),
    /// A file or folder, and why it could not be read or written.
    #[error("{0}: {1}")]
    Io(String, #[source] io::Error),
    /// A result that cannot be read: its place, and why.
    #[error("{0}: {1}")]
    Result(String, String),
    /// Arguments that do not fit together. The message says what would be right.
    #[error("{0}")]
    Usage(String),
}
