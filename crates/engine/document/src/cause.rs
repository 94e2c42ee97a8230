//! The errors a document can have, with suggestions.

use crate::place::{Clip, Unclipped};

/// Why a document was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RefusalCause {
    /// The text is not valid TOML.
    #[error("not valid TOML: {}", Unclipped(.message))]
    Syntax {
        /// The TOML parser's message.
        message: String,
    },
    /// The file is larger than [`crate::MAX_BYTES`].
    #[error("the file has {bytes} bytes; the limit is {limit}")]
    FileTooLarge {
        /// Size of the file, bytes.
        bytes: usize,
        /// Maximum size, bytes.
        limit: usize,
    },
    /// A key that does not exist in this table.
    #[error("unknown key `{}`", Clip(.key))]
    UnknownKey {
        key: String,
        /// The keys that exist in this table.
        known: Vec<String>,
    },
    /// A required key is missing.
    #[error("the key `{key}` is missing")]
    MissingKey { key: String },
    /// The value has a type that the key does not accept.
    #[error("expected {expected}, found {}", Clip(.found))]
    WrongType {
        /// Description of the value.
        found: String,
        /// Description of what the key accepts.
        expected: String,
    },
    /// A text that cannot be parsed, such as a quantity with an unknown unit.
    #[error("{}", Unclipped(.message))]
    BadValue {
        /// What is wrong and what would be right.
        message: String,
    },
    /// A word that is not in a fixed list.
    #[error("unknown {what} `{}`", Clip(.word))]
    UnknownWord {
        /// Noun for the word: `kind of stage`.
        what: &'static str,
        word: String,
        /// The valid words.
        known: Vec<String>,
    },
    /// A reference to something that does not exist.
    #[error("there is no {what} `{}`", Clip(.name))]
    UnknownName {
        /// Noun for the referent: `host`.
        what: &'static str,
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// A text that is not a valid name, see [`crate::check_name`].
    #[error("`{}` cannot be a name", Clip(.name))]
    BadName { name: String },
    /// Two things have the same name.
    #[error("duplicate {what} `{}`", Clip(.name))]
    DuplicateName {
        /// Noun for the things.
        what: &'static str,
        name: String,
    },
    /// A value that is too small or too large.
    #[error("{} is out of range", Clip(.found))]
    OutOfRange {
        /// The value as written.
        found: String,
        /// The range of allowed values.
        allowed: String,
    },
    /// Settings that contradict each other or break a rule of the format.
    #[error("{}", Unclipped(.message))]
    Conflict {
        /// The settings, and what to change.
        message: String,
    },
    /// A reference to something that exists but cannot be reached.
    #[error("{}", Unclipped(.message))]
    Unreachable {
        /// Which objects cannot reach each other.
        message: String,
        /// The objects that can be reached.
        help: String,
    },
    /// The key of an override is not a valid path, or the path leads through a value without keys.
    #[error("{}", Unclipped(.message))]
    BadPath {
        /// What is wrong with the path.
        message: String,
    },
}

impl RefusalCause {
    /// Suggests a correction, if the message does not already contain it.
    pub fn help(&self) -> Option<String> {
        match self {
            RefusalCause::Syntax { .. } | RefusalCause::FileTooLarge { .. } => None,
            RefusalCause::UnknownKey { key, known } => Some(suggest(key, "valid keys", known)),
            RefusalCause::UnknownWord { word: name, known, .. }
            | RefusalCause::UnknownName { name, known, .. } => Some(suggest(name, "known", known)),
            RefusalCause::BadName { .. } => Some(
                "a name has 1 to 64 letters, digits, `-`, `_` or `.`, and begins with a letter, a digit or `_`"
                    .into(),
            ),
            RefusalCause::DuplicateName { what, .. } => Some(format!("give each {what} a unique `name`")),
            RefusalCause::OutOfRange { allowed, .. } => Some(format!("allowed: {allowed}")),
            RefusalCause::Unreachable { help, .. } => Some(help.clone()),
            _ => None,
        }
    }
}

/// Suggests replacements for `word`: the nearest of `known`, then all known words after `title`.
pub fn suggest(word: &str, title: &str, known: &[String]) -> String {
    if known.is_empty() {
        return format!("{title}: none");
    }
    let all = format!("{title}: {}", list(known));
    match nearest(word, known) {
        Some(near) => format!("did you mean `{near}`? {all}"),
        None => all,
    }
}

/// The entry of `known` that is most similar to `word`, if it is similar enough to be a typing error.
fn nearest<'a>(word: &str, known: &'a [String]) -> Option<&'a str> {
    if word.len() > 64 {
        return None;
    }
    let word = word.to_lowercase();
    let distance = |k: &&String| strsim::osa_distance(&word, &k.to_lowercase());
    let best = known.iter().take(1000).min_by_key(distance)?;
    let length = word.chars().count().max(best.chars().count());
    // With up to a third of the letters wrong it is probably a typing error.
    (distance(&best) <= (length / 3).max(1) && length > 1).then_some(best)
}

/// The first sixteen names, separated by commas.
pub fn list(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(16).map(String::as_str).collect();
    let rest = names.len() - shown.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_word_that_is_a_typing_error_away_is_suggested() {
        let known: Vec<String> = ["duration", "stagger", "start"].map(String::from).into();
        assert_eq!(nearest("durtion", &known), Some("duration"));
        assert_eq!(nearest("Duration", &known), Some("duration"));
        assert_eq!(nearest("strat", &known), Some("start"));
        assert_eq!(nearest("loss", &known), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), &known), None);
    }
}
