//! Why a proxy does not start, or keeps what it had at a reload.

use std::fmt;
use std::io;

/// What went wrong, by cause.
#[derive(Debug)]
pub enum ProxyError {
    /// A setting that this machine cannot fulfil: its key, and why.
    Setting {
        /// The dotted key.
        key: String,
        /// Why.
        why: String,
    },
    /// An address that cannot be listened on.
    Listen {
        /// The address.
        at: String,
        /// What the system said.
        error: io::Error,
    },
    /// The system said no to something else.
    Io(io::Error),
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProxyError::Setting { key, why } => write!(f, "{key}: {why}"),
            ProxyError::Listen { at, error } => write!(f, "cannot listen on {at}: {error}"),
            ProxyError::Io(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for ProxyError {}

impl From<io::Error> for ProxyError {
    fn from(e: io::Error) -> ProxyError {
        ProxyError::Io(e)
    }
}
