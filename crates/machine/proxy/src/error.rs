//! Why a proxy does not start, or keeps what it had at a reload.

use std::io;

/// What went wrong, by cause.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// A setting that this machine cannot fulfil: its key, and why.
    #[error("{key}: {why}")]
    Setting {
        /// The dotted key.
        key: String,
        /// Why.
        why: String,
    },
    /// An address that cannot be listened on.
    #[error("cannot listen on {at}: {error}")]
    Listen {
        /// The address.
        at: String,
        /// What the system said.
        error: io::Error,
    },
    /// The system said no to something else.
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for ProxyError {
    fn from(e: io::Error) -> ProxyError {
        ProxyError::Io(e)
    }
}
