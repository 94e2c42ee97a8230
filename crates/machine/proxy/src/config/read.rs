//! Sources of a configuration: a file or flags; and errors in it.

use super::ProxyConfig;
use document::DocumentError;
use print::escape::value;
use std::io;
use std::path::Path;

/// Errors in a configuration. Displayed as complete lines, as a terminal shows errors.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("error: {}: {}\n", value(.0), .1)]
    Unreadable(String, io::Error),
    /// The file has an error.
    #[error("{}", .0.render())]
    Wrong(Box<DocumentError>),
    /// The flags have an error; the text says what would be right.
    #[error("error: {0}\n")]
    Flags(String),
}

impl ProxyConfig {
    /// Reads and checks a configuration file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or with its first error.
    pub fn read(file: &Path) -> Result<ProxyConfig, ConfigError> {
        let name = file.display().to_string();
        match std::fs::read_to_string(file) {
            Ok(text) => ProxyConfig::parse(&name, &text).map_err(|e| ConfigError::Wrong(Box::new(e))),
            Err(e) => Err(ConfigError::Unreadable(name, e)),
        }
    }

    /// Checks a configuration that flags built.
    ///
    /// # Errors
    /// Fails with the first error.
    pub fn checked(self) -> Result<ProxyConfig, ConfigError> {
        match self.fault() {
            None => Ok(self),
            Some((path, cause)) => Err(ConfigError::Flags(format!("{}: {cause}", path.join(".")))),
        }
    }
}
