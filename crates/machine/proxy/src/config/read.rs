//! Where a configuration comes from: a file, or flags; and what may be wrong with it.

use super::ProxyConfig;
use document::DocumentError;
use print::escape::value;
use std::io;
use std::path::Path;

/// Why there is no configuration. Displayed as whole lines, as a terminal shows errors.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file of this name cannot be read.
    #[error("error: {}: {}\n", value(.0), .1)]
    Unreadable(String, io::Error),
    /// What the file says is wrong.
    #[error("{}", .0.render())]
    Wrong(Box<DocumentError>),
    /// What the flags say is wrong; the text says what would be right.
    #[error("error: {0}\n")]
    Flags(String),
}

impl ProxyConfig {
    /// The configuration of a file, checked.
    ///
    /// # Errors
    /// The file cannot be read; the first thing that is wrong with it.
    pub fn read(file: &Path) -> Result<ProxyConfig, ConfigError> {
        let name = file.display().to_string();
        match std::fs::read_to_string(file) {
            Ok(text) => ProxyConfig::parse(&name, &text).map_err(|e| ConfigError::Wrong(Box::new(e))),
            Err(e) => Err(ConfigError::Unreadable(name, e)),
        }
    }

    /// The configuration of flags, checked.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn checked(self) -> Result<ProxyConfig, ConfigError> {
        match self.fault() {
            None => Ok(self),
            Some((path, cause)) => Err(ConfigError::Flags(format!("{}: {cause}", path.join(".")))),
        }
    }
}
