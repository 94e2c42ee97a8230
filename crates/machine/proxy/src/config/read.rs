//! Where a configuration comes from: a file, or flags; and what may be wrong with it.

use super::ProxyConfig;
use document::DocumentError;
use print::escape::value;
use std::io;
use std::path::Path;

/// Why there is no configuration.
#[derive(Debug)]
pub enum ConfigError {
    /// The file of this name cannot be read.
    Unreadable(String, io::Error),
    /// What the file says is wrong.
    Wrong(Box<DocumentError>),
    /// What the flags say is wrong; the text says what would be right.
    Flags(String),
}

impl ConfigError {
    /// Whole lines, as a terminal shows errors.
    pub fn render(&self) -> String {
        match self {
            ConfigError::Unreadable(file, e) => format!("error: {}: {e}\n", value(file)),
            ConfigError::Wrong(e) => e.render(),
            ConfigError::Flags(text) => format!("error: {text}\n"),
        }
    }
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
