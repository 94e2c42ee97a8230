//! What is wrong with a configuration.

/// What is wrong with a configuration: the key it concerns and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {message}")]
pub struct Problem {
    /// The key, dotted where it is nested: `queue.packets`.
    pub key: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl Problem {
    /// A problem with `key`.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem { key: key.into(), message: message.into() }
    }
    /// The same problem, seen from the table that holds `key` under the name `outer`.
    pub fn within(self, outer: &str) -> Problem {
        Problem { key: format!("{outer}.{}", self.key), message: self.message }
    }
}
