//! Errors that keep a proxy from starting, or from accepting a reload.

use std::io;

#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// A setting that this machine does not support.
    #[error("{key}: {why}")]
    Setting { key: String, why: String },
    #[error("cannot listen on {at}: {error}")]
    Listen { at: String, error: io::Error },
    /// Any other system call failed.
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for ProxyError {
    fn from(e: io::Error) -> ProxyError {
        ProxyError::Io(e)
    }
}
