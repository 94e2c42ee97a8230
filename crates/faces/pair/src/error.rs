//! Why an end of a pair does not start, or keeps what it had at a reload.

use std::fmt;
use std::io;

/// Why a pair's end does not start.
#[derive(Debug)]
pub enum PairStartError {
    /// Its key file.
    Key {
        /// The file.
        path: String,
        /// What is wrong.
        error: io::Error,
    },
    /// An address that cannot be listened on.
    Listen {
        /// The address.
        at: String,
        /// What the system said.
        error: io::Error,
    },
    /// The TLS library or the system said no to something else.
    Other(String),
}

impl fmt::Display for PairStartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PairStartError::Key { path, error } => write!(f, "pair.key: {path}: {error}"),
            PairStartError::Listen { at, error } => write!(f, "pair: cannot listen on {at}: {error}"),
            PairStartError::Other(why) => write!(f, "pair: {why}"),
        }
    }
}

impl std::error::Error for PairStartError {}

impl From<io::Error> for PairStartError {
    fn from(e: io::Error) -> PairStartError {
        PairStartError::Other(e.to_string())
    }
}
