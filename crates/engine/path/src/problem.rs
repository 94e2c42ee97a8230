//! Errors in a configuration.

/// An error in a configuration: the key and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {message}")]
pub struct Problem {
    /// The key, dotted if nested: `queue.packets`.
    pub key: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl Problem {
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem { key: key.into(), message: message.into() }
    }
    /// The problem with its key prefixed by the table `outer`.
    pub fn within(self, outer: &str) -> Problem {
        Problem { key: format!("{outer}.{}", self.key), message: self.message }
    }
}
