//! Why an end of a pair does not start, or keeps what it had at a reload.

use std::io;

/// Why a pair's end does not start.
#[derive(Debug, thiserror::Error)]
pub enum PairStartError {
    /// Its key file.
    #[error("pair.key: {path}: {error}")]
    Key {
        /// The file.
        path: String,
        /// What is wrong.
        error: io::Error,
    },
    /// An address that cannot be listened on.
    #[error("pair: cannot listen on {at}: {error}")]
    Listen {
        /// The address.
        at: String,
        /// What the system said.
        error: io::Error,
    },
    /// The TLS library or the system said no to something else.
    #[error("pair: {0}")]
    Other(String),
}

impl From<io::Error> for PairStartError {
    fn from(e: io::Error) -> PairStartError {
        PairStartError::Other(e.to_string())
    }
}
