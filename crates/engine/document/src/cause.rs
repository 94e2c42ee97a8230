//! What can be wrong with a document, and what would be right.

use crate::place::{Clip, Unclipped};

/// Why a document was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RefusalCause {
    /// The text is no TOML.
    #[error("not valid TOML: {}", Unclipped(.message))]
    Syntax {
        /// What the TOML parser says.
        message: String,
    },
    /// The file is larger than [`crate::MAX_BYTES`].
    #[error("the file has {bytes} bytes, at most {limit} are read")]
    FileTooLarge {
        /// Its size in bytes.
        bytes: usize,
        /// The most that is read.
        limit: usize,
    },
    /// A key that means nothing here.
    #[error("unknown key `{}`", Clip(.key))]
    UnknownKey {
        /// The key.
        key: String,
        /// The keys that exist here.
        known: Vec<String>,
    },
    /// A key that has no default is not there.
    #[error("the key `{key}` is missing")]
    MissingKey {
        /// The key.
        key: String,
    },
    /// A value of another type than the key takes.
    #[error("expected {expected}, found {}", Clip(.found))]
    WrongType {
        /// What stands there.
        found: String,
        /// What the key takes.
        expected: String,
    },
    /// A text that cannot be read, such as a quantity with an unknown unit.
    #[error("{}", Unclipped(.message))]
    BadValue {
        /// What is wrong and what would be right.
        message: String,
    },
    /// A word that is not on a fixed list.
    #[error("unknown {what} `{}`", Clip(.word))]
    UnknownWord {
        /// What the word should be.
        what: &'static str,
        /// The word.
        word: String,
        /// The list.
        known: Vec<String>,
    },
    /// The name of something that is not there.
    #[error("there is no {what} `{}`", Clip(.name))]
    UnknownName {
        /// What should have that name.
        what: &'static str,
        /// The name.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// A name that cannot be one.
    #[error("`{}` cannot be a name", Clip(.name))]
    BadName {
        /// The name.
        name: String,
    },
    /// Two things of one name.
    #[error("a second {what} called `{}`", Clip(.name))]
    DuplicateName {
        /// What they are.
        what: &'static str,
        /// Their name.
        name: String,
    },
    /// A quantity that is too small or too large.
    #[error("{} is out of range", Clip(.found))]
    OutOfRange {
        /// The value.
        found: String,
        /// What is allowed.
        allowed: String,
    },
    /// Settings that contradict each other, or a rule of the format that they break.
    #[error("{}", Unclipped(.message))]
    Conflict {
        /// Which, and what to do.
        message: String,
    },
    /// A reference that leads nowhere, by a rule of the format.
    #[error("{}", Unclipped(.message))]
    Unreachable {
        /// Which, and why it leads nowhere.
        message: String,
        /// What could be referred to.
        help: String,
    },
    /// The key of an override is no path, or the path leads through something without keys.
    #[error("{}", Unclipped(.message))]
    BadPath {
        /// What is wrong with it.
        message: String,
    },
}

impl RefusalCause {
    /// What would be right, where more can be said than the message does.
    pub fn help(&self) -> Option<String> {
        match self {
            RefusalCause::Syntax { .. } | RefusalCause::FileTooLarge { .. } => None,
            RefusalCause::UnknownKey { key, known } => Some(suggest(key, "keys here", known)),
            RefusalCause::UnknownWord { word, known, .. } => Some(suggest(word, "known", known)),
            RefusalCause::UnknownName { what, name, known } => {
                Some(suggest(name, &format!("every {what}"), known))
            }
            RefusalCause::BadName { .. } => Some(
                "a name has 1 to 64 letters, digits, `-`, `_` or `.`, and begins with a letter, a digit or `_`"
                    .into(),
            ),
            RefusalCause::DuplicateName { what, .. } => Some(format!("give each {what} a `name` of its own")),
            RefusalCause::OutOfRange { allowed, .. } => Some(format!("allowed: {allowed}")),
            RefusalCause::Unreachable { help, .. } => Some(help.clone()),
            _ => None,
        }
    }
}

/// What may be written in place of `word`: the nearest of `known`, and the list under its `title`.
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

/// The entry of `known` that `word` most likely meant.
fn nearest<'a>(word: &str, known: &'a [String]) -> Option<&'a str> {
    if word.len() > 64 {
        return None;
    }
    let word = word.to_lowercase();
    let distance = |k: &&String| strsim::osa_distance(&word, &k.to_lowercase());
    let best = known.iter().take(1000).min_by_key(distance)?;
    let length = word.chars().count().max(best.chars().count());
    // A third of the letters wrong is still a slip of the fingers; more is another word.
    (distance(&best) <= (length / 3).max(1) && length > 1).then_some(best)
}

/// Names in a sentence: at most sixteen of them.
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
    fn the_nearest_word_is_a_slip_away() {
        let known: Vec<String> = ["duration", "stagger", "start"].map(String::from).into();
        assert_eq!(nearest("durtion", &known), Some("duration"));
        assert_eq!(nearest("Duration", &known), Some("duration"));
        assert_eq!(nearest("strat", &known), Some("start"));
        assert_eq!(nearest("loss", &known), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), &known), None);
    }
}
