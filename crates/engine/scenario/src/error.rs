//! What can be wrong with a scenario, where, and what would be right.

use std::fmt;

/// Why a scenario was refused.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RefusalCause {
    /// The text is no TOML.
    Syntax {
        /// What the TOML parser says.
        message: String,
    },
    /// The file is larger than a scenario can be.
    FileTooLarge {
        /// Its size in bytes.
        bytes: usize,
        /// The most that is read.
        limit: usize,
    },
    /// A key that means nothing here.
    UnknownKey {
        /// The key.
        key: String,
        /// The keys that exist here.
        known: Vec<String>,
    },
    /// A key that has no default is not there.
    MissingKey {
        /// The key.
        key: String,
    },
    /// A value of another type than the key takes.
    WrongType {
        /// What stands there.
        found: String,
        /// What the key takes.
        expected: String,
    },
    /// A text that cannot be read, such as a quantity with an unknown unit.
    BadValue {
        /// What is wrong and what would be right.
        message: String,
    },
    /// A word that is none of a fixed list: a congestion control, a kind of stage or application.
    UnknownWord {
        /// What the word should be.
        what: &'static str,
        /// The word.
        word: String,
        /// The list.
        known: Vec<String>,
    },
    /// The name of a host, link, relay, flow or stage that is not there.
    UnknownName {
        /// What should have that name.
        what: &'static str,
        /// The name.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// A host with settings that no link names.
    UnlinkedHost {
        /// The host.
        host: String,
        /// The hosts that links name.
        known: Vec<String>,
    },
    /// A name that cannot be one.
    BadName {
        /// The name.
        name: String,
    },
    /// Two things of one name.
    DuplicateName {
        /// What they are.
        what: &'static str,
        /// Their name.
        name: String,
    },
    /// A quantity that is too small or too large.
    OutOfRange {
        /// The value.
        found: String,
        /// What is allowed.
        allowed: String,
    },
    /// The two ends of a link or flow are one host, or a relay stands where it joins nothing.
    SameHost {
        /// The host.
        host: String,
    },
    /// No chain of links joins the ends of a flow.
    NoRoute {
        /// Where it begins.
        from: String,
        /// Where it should end.
        to: String,
        /// The hosts that `from` does reach.
        reached: Vec<String>,
    },
    /// The parameters of a stage do not go together.
    Stage {
        /// What the stage says.
        message: String,
    },
    /// Two settings that contradict each other.
    Conflict {
        /// Which, and what to do.
        message: String,
    },
    /// The key of an override is no path, or the path leads through something without keys.
    BadPath {
        /// What is wrong with it.
        message: String,
    },
}

impl fmt::Display for RefusalCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RefusalCause::Syntax { message } => write!(f, "not valid TOML: {}", Unclipped(message)),
            RefusalCause::FileTooLarge { bytes, limit } => {
                write!(f, "the file has {bytes} bytes, at most {limit} are read")
            }
            RefusalCause::UnknownKey { key, .. } => write!(f, "unknown key `{}`", Clip(key)),
            RefusalCause::MissingKey { key } => write!(f, "the key `{key}` is missing"),
            RefusalCause::WrongType { found, expected } => {
                write!(f, "expected {expected}, found {}", Clip(found))
            }
            RefusalCause::BadValue { message }
            | RefusalCause::Stage { message }
            | RefusalCause::Conflict { message }
            | RefusalCause::BadPath { message } => write!(f, "{}", Unclipped(message)),
            RefusalCause::UnknownWord { what, word, .. } => write!(f, "unknown {what} `{}`", Clip(word)),
            RefusalCause::UnknownName { what, name, .. } => {
                write!(f, "there is no {what} `{}`", Clip(name))
            }
            RefusalCause::UnlinkedHost { host, .. } => write!(f, "no link names the host `{host}`"),
            RefusalCause::BadName { name } => write!(f, "`{}` cannot be a name", Clip(name)),
            RefusalCause::DuplicateName { what, name } => {
                write!(f, "a second {what} called `{}`", Clip(name))
            }
            RefusalCause::OutOfRange { found, .. } => write!(f, "{} is out of range", Clip(found)),
            RefusalCause::SameHost { host } => write!(f, "both ends are the host `{host}`"),
            RefusalCause::NoRoute { from, to, .. } => {
                write!(f, "no chain of links joins `{from}` and `{to}`")
            }
        }
    }
}

impl RefusalCause {
    /// What would be right, where more can be said than the message does.
    pub fn help(&self) -> Option<String> {
        match self {
            RefusalCause::Syntax { .. } | RefusalCause::FileTooLarge { .. } => None,
            RefusalCause::UnknownKey { key, known } => suggest(key, "keys here", known),
            RefusalCause::UnknownWord { word, known, .. } => suggest(word, "known", known),
            RefusalCause::UnknownName { what, name, known } => suggest(name, &format!("every {what}"), known),
            RefusalCause::UnlinkedHost { host, known } => suggest(host, "links name", known),
            RefusalCause::BadName { .. } => Some(
                "a name has 1 to 64 letters, digits, `-`, `_` or `.`, and begins with a letter, a digit or `_`"
                    .into(),
            ),
            RefusalCause::DuplicateName { what, .. } => Some(format!("give each {what} a `name` of its own")),
            RefusalCause::OutOfRange { allowed, .. } => Some(format!("allowed: {allowed}")),
            RefusalCause::NoRoute { from, reached, .. } if reached.is_empty() => {
                Some(format!("`{from}` is on no link"))
            }
            RefusalCause::NoRoute { from, reached, .. } => {
                Some(format!("from `{from}` the links lead to {}", list(reached)))
            }
            _ => None,
        }
    }
}

/// The nearest of `known`, and the list.
fn suggest(word: &str, title: &str, known: &[String]) -> Option<String> {
    if known.is_empty() {
        return Some(format!("{title}: none"));
    }
    let all = format!("{title}: {}", list(known));
    Some(match nearest(word, known) {
        Some(near) => format!("did you mean `{near}`? {all}"),
        None => all,
    })
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

/// A list for people: at most sixteen entries.
fn list(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(16).map(String::as_str).collect();
    let rest = names.len() - shown.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// Shows hostile text: at most 80 characters of it, none of them a control.
struct Clip<'a>(&'a str);

impl fmt::Display for Clip<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars().take(80) {
            write!(f, "{}", if units::is_unseen(c) { '\u{fffd}' } else { c })?;
        }
        f.write_str(if self.0.chars().nth(80).is_some() { "…" } else { "" })
    }
}

/// The same, however long.
struct Unclipped<'a>(&'a str);

impl fmt::Display for Unclipped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| write!(f, "{}", if units::is_unseen(c) { '\u{fffd}' } else { c }))
    }
}

/// A refused scenario: the cause, the place, and what would be right.
///
/// `Display` is one line, for logs: `FILE:LINE:COLUMN: KEY: MESSAGE (HELP)`, or
/// `--set KEY=VALUE, column M: …` (`--vary` for a value of a sweep's axis), with the variant before the message where only one is wrong.
/// [`ScenarioError::render`] shows the line with a caret, for terminals.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioError(Box<Detail>);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Detail {
    pub cause: RefusalCause,
    pub file: String,
    pub is_set: bool,
    pub line: usize,
    pub column: usize,
    pub key: String,
    pub variant: Option<String>,
    pub help: Option<String>,
    /// The source line, or the part of it around the place.
    pub excerpt: String,
    /// Where in the excerpt, and how far, in characters.
    pub caret: (usize, usize),
}

impl ScenarioError {
    pub(crate) fn new(detail: Detail) -> ScenarioError {
        ScenarioError(Box::new(detail))
    }
    /// What is wrong.
    pub fn cause(&self) -> &RefusalCause {
        &self.0.cause
    }
    /// The file as it was named to the parser, or the override with its option, `--set KEY=VALUE`.
    pub fn file(&self) -> &str {
        &self.0.file
    }
    /// Line, counted from 1.
    pub fn line(&self) -> usize {
        self.0.line
    }
    /// Column in characters, counted from 1.
    pub fn column(&self) -> usize {
        self.0.column
    }
    /// The dotted path of the key, as `--set` takes it; empty for the file as a whole.
    pub fn key(&self) -> &str {
        &self.0.key
    }
    /// The variant in which it is wrong, where others are right.
    pub fn variant(&self) -> Option<&str> {
        self.0.variant.as_deref()
    }
    /// What would be right.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }
    pub(crate) fn in_variant(mut self, name: &str) -> ScenarioError {
        self.0.variant = Some(name.into());
        self
    }

    /// `FILE:LINE:COLUMN`, or `--set KEY=VALUE, column M`.
    fn place(&self) -> String {
        let d = &*self.0;
        if d.is_set {
            format!("{}, column {}", Unclipped(&d.file), d.column)
        } else {
            format!("{}:{}:{}", Unclipped(&d.file), d.line, d.column)
        }
    }

    /// Several lines for a terminal: message, place, the source line with a caret, help.
    pub fn render(&self) -> String {
        let d = &*self.0;
        let number = d.line.to_string();
        let pad = " ".repeat(number.len());
        let mut text = format!("error: {}\n{pad}--> {}", d.cause, self.place());
        if !d.key.is_empty() {
            text += &format!(" at {}", Clip(&d.key));
        }
        if let Some(variant) = &d.variant {
            text += &format!(" in the variant {}", Unclipped(variant));
        }
        let gap = " ".repeat(d.caret.0);
        let carets = "^".repeat(d.caret.1.max(1));
        text += &format!("\n{pad} |\n{number} | {}\n{pad} | {gap}{carets}\n", d.excerpt);
        if let Some(help) = &d.help {
            text += &format!("{pad} = help: {}\n", Unclipped(help));
        }
        text
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let d = &*self.0;
        write!(f, "{}: ", self.place())?;
        if !d.key.is_empty() {
            write!(f, "{}: ", Clip(&d.key))?;
        }
        if let Some(variant) = &d.variant {
            write!(f, "in the variant {}: ", Unclipped(variant))?;
        }
        write!(f, "{}", d.cause)?;
        match &d.help {
            Some(help) => write!(f, " ({})", Unclipped(help)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ScenarioError {}

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
