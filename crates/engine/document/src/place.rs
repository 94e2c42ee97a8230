//! Shows untrusted text in errors: the line with the error, without characters that could move a terminal's
//! cursor or hide text.

use print::is_unseen;
use std::fmt;
use std::ops::Range;

/// A position in a text, for display.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    /// Line number, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The line, or the part of it around the position.
    pub excerpt: String,
    /// Offset and length of the range within the excerpt, in characters.
    pub caret: (usize, usize),
}

impl Place {
    /// Maximum length of an excerpt, in characters.
    const WIDTH: usize = 100;

    /// Finds the line and column of the bytes `at`, and makes the excerpt.
    pub fn locate(text: &str, at: Range<usize>) -> Place {
        let floor = |mut n: usize| {
            n = n.min(text.len());
            while !text.is_char_boundary(n) {
                n -= 1;
            }
            n
        };
        let (start, end) = (floor(at.start), floor(at.end));
        let begin = text[..start].rfind('\n').map_or(0, |n| n + 1);
        let stop = text[start..].find(['\n', '\r']).map_or(text.len(), |n| start + n);
        let before = text[begin..start].chars().count();
        let width = text[start..end.clamp(start, stop)].chars().count().max(1);
        let long = text[begin..stop].chars().nth(Place::WIDTH).is_some();
        let skip = if long { before.saturating_sub(Place::WIDTH / 2) } else { 0 };
        let plain = |c: char| if is_unseen(c) { ' ' } else { c };
        let shown = text[begin..stop].chars().skip(skip).take(Place::WIDTH).map(plain);
        let mut excerpt: String = shown.collect();
        let mut caret = before - skip;
        if skip > 0 {
            excerpt.insert(0, '…');
            caret += 1;
        }
        if text[begin..stop].chars().nth(skip + Place::WIDTH).is_some() {
            excerpt.push('…');
        }
        let width = width.min((excerpt.chars().count()).saturating_sub(caret).max(1));
        let line = text[..start].matches('\n').count() + 1;
        Place { line, column: before + 1, excerpt: excerpt.trim_end().into(), caret: (caret, width) }
    }
}

/// Displays a text with each invisible character replaced.
pub(crate) struct Unclipped<'a>(pub &'a str);

impl fmt::Display for Unclipped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| write!(f, "{}", if is_unseen(c) { '\u{fffd}' } else { c }))
    }
}

/// Displays at most 80 characters of a text, with each invisible character replaced.
pub(crate) struct Clip<'a>(pub &'a str);

impl fmt::Display for Clip<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (end, more) = self.0.char_indices().nth(80).map_or((self.0.len(), ""), |(end, _)| (end, "…"));
        write!(f, "{}{more}", Unclipped(&self.0[..end]))
    }
}
