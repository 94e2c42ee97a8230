//! An error with its position in a file.

use crate::cause::RefusalCause;
use crate::fault::Fault;
use crate::place::{Clip, Place, Unclipped};
use std::fmt;
use std::ops::Range;

/// A refused document: cause, position, and the suggested correction.
///
/// `Display` is one line for logs: `FILE:LINE:COLUMN: KEY: MESSAGE (HELP)`, or `--set KEY=VALUE, column M: …`
/// for an argument. If only a part of the document is wrong, the part precedes the message.
/// [`DocumentError::render`] shows the line with a caret, for terminals.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentError(Box<Detail>);

#[derive(Clone, Debug, PartialEq)]
struct Detail {
    cause: RefusalCause,
    file: String,
    is_argument: bool,
    key: String,
    /// Noun and name of the part that is wrong: ("the variant", "slow").
    part: Option<(&'static str, String)>,
    help: Option<String>,
    place: Place,
}

/// A text that values are read from, and its name in errors.
#[derive(Clone, Debug)]
pub struct NamedText<'a> {
    /// The file's name, or the option and the argument.
    pub name: String,
    pub text: &'a str,
    /// Whether the text is an argument: errors give no line number then.
    pub is_argument: bool,
}

impl<'a> NamedText<'a> {
    /// The text of a file.
    pub fn of_file(name: &str, text: &'a str) -> NamedText<'a> {
        NamedText { name: name.into(), text, is_argument: false }
    }

    /// The argument of `option`; errors quote both, and cut a long text.
    pub fn of_option(option: &str, text: &'a str) -> NamedText<'a> {
        NamedText { name: format!("{option} {}", Clip(text)), text, is_argument: true }
    }

    /// Turns a fault in this text into an error.
    pub fn refuse(self, fault: Fault) -> DocumentError {
        let at = fault.at.unwrap_or_default();
        let place = Place::locate(self.text, at.start as usize..at.end as usize);
        DocumentError(Box::new(Detail {
            help: fault.cause.help().or_else(|| syntax_help(&fault.cause, &place)),
            cause: fault.cause,
            file: self.name,
            is_argument: self.is_argument,
            key: fault.key.unwrap_or_default(),
            part: None,
            place,
        }))
    }
}

impl DocumentError {
    /// An error in a command-line argument that refers to a document. `argument` is the option's name, `at`
    /// the bytes of `text` that are wrong.
    pub fn in_argument(argument: &str, text: &str, at: Range<usize>, cause: RefusalCause) -> DocumentError {
        DocumentError(Box::new(Detail {
            help: cause.help(),
            cause,
            file: argument.into(),
            is_argument: true,
            key: String::new(),
            part: None,
            place: Place::locate(text, at),
        }))
    }
    /// Limits the error to a part of the document, for example ("the variant", name).
    pub fn in_part(mut self, what: &'static str, name: &str) -> DocumentError {
        self.0.part = Some((what, name.into()));
        self
    }
    pub fn cause(&self) -> &RefusalCause {
        &self.0.cause
    }
    /// The file as it was named to the parser, or the override with its option: `--set KEY=VALUE`.
    pub fn file(&self) -> &str {
        &self.0.file
    }
    /// Line number, from 1.
    pub fn line(&self) -> usize {
        self.0.place.line
    }
    /// Column in characters, from 1.
    pub fn column(&self) -> usize {
        self.0.place.column
    }
    /// The dotted path of the key as `--set` takes it; empty for the file as a whole.
    pub fn key(&self) -> &str {
        &self.0.key
    }
    /// Name of the part (a scenario's variant) that is wrong, if the others are not.
    pub fn part(&self) -> Option<&str> {
        self.0.part.as_ref().map(|(_, name)| name.as_str())
    }
    /// The suggested correction.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// `FILE:LINE:COLUMN`, or `--set KEY=VALUE, column M`.
    fn place(&self) -> String {
        let d = &*self.0;
        if d.is_argument {
            format!("{}, column {}", Unclipped(&d.file), d.place.column)
        } else {
            format!("{}:{}:{}", Unclipped(&d.file), d.place.line, d.place.column)
        }
    }

    /// Several lines for a terminal: message, position, source line with a caret, help.
    pub fn render(&self) -> String {
        let d = &*self.0;
        let number = d.place.line.to_string();
        let pad = " ".repeat(number.len());
        let mut text = format!("error: {}\n{pad}--> {}", d.cause, self.place());
        if !d.key.is_empty() {
            text += &format!(" at {}", Clip(&d.key));
        }
        if let Some((what, name)) = &d.part {
            text += &format!(" in {what} {}", Unclipped(name));
        }
        let (skip, width) = d.place.caret;
        let (gap, carets) = (" ".repeat(skip), "^".repeat(width.max(1)));
        text += &format!("\n{pad} |\n{number} | {}\n{pad} | {gap}{carets}\n", d.place.excerpt);
        if let Some(help) = &d.help {
            text += &format!("{pad} = help: {}\n", Unclipped(help));
        }
        text
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let d = &*self.0;
        write!(f, "{}: ", self.place())?;
        if !d.key.is_empty() {
            write!(f, "{}: ", Clip(&d.key))?;
        }
        if let Some((what, name)) = &d.part {
            write!(f, "in {what} {}: ", Unclipped(name))?;
        }
        write!(f, "{}", d.cause)?;
        match &d.help {
            Some(help) => write!(f, " ({})", Unclipped(help)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DocumentError {}

/// Suggests quotes for a quantity without any, the most common error of syntax.
fn syntax_help(cause: &RefusalCause, place: &Place) -> Option<String> {
    let RefusalCause::Syntax { .. } = cause else { return None };
    let rest: String = place.excerpt.chars().skip(place.caret.0).collect();
    let value = rest.split([',', '}', ']']).next()?;
    let number = value.starts_with(|c: char| c.is_ascii_digit());
    let unit = value.contains(|c: char| c.is_ascii_alphabetic());
    (number && unit).then(|| "a value with a unit needs quotes: \"20Mbit/s\"".into())
}
