//! Why an end of a pair does not start, or rejects a reload.

use std::io;

/// Why an end of a pair does not start.
#[derive(Debug, thiserror::Error)]
pub enum PairStartError {
    #[error("pair.key: {path}: {error}")]
    Key { path: String, error: io::Error },
    /// An address on which it cannot listen.
    #[error("pair: cannot listen on {at}: {error}")]
    Listen { at: String, error: io::Error },
    /// Another error of the TLS library or the system.
    #[error("pair: {0}")]
    Other(String),
}

impl From<io::Error> for PairStartError {
    fn from(e: io::Error) -> PairStartError {
        PairStartError::Other(e.to_string())
    }
}
