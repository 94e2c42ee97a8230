//! How wide, whether in colour, and which flows together.

use crate::figures::GroupBy;

/// Which rows of flows put together stand below a variant's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Grouping {
    /// Of many flows ([`GroupBy::unasked`]).
    #[default]
    Unasked,
    /// None.
    None,
    /// Of every variant that has several groups.
    By(GroupBy),
}

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns to fit; below 60 it is taken as 60.
    pub width: usize,
    /// ANSI colours.
    pub color: bool,
    /// Flows put together.
    pub grouping: Grouping,
}

/// 80 columns without colour: what goes to a file or a pipe.
impl Default for Style {
    fn default() -> Style {
        Style { width: 80, color: false, grouping: Grouping::Unasked }
    }
}

/// What a piece of text is, not which colour it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Tone {
    /// Nothing of note.
    #[default]
    Plain,
    /// A column's head.
    Head,
    /// Less important than the rest.
    Dim,
    /// As it should be.
    Good,
    /// Not quite.
    Fair,
    /// As it should not be.
    Bad,
}

impl Tone {
    /// Its class in the report page's style sheet.
    pub(crate) fn class(self) -> Option<&'static str> {
        match self {
            Tone::Dim => Some("hint"),
            Tone::Bad => Some("bad"),
            Tone::Plain | Tone::Head | Tone::Good | Tone::Fair => None,
        }
    }
}

impl Style {
    /// What goes to a file or a pipe, so many columns wide.
    pub fn plain(width: usize) -> Style {
        Style { width, ..Style::default() }
    }

    pub(crate) fn columns(self) -> usize {
        self.width.max(60)
    }

    /// `text` in `tone`; unchanged without colour.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Plain => return text.into(),
            Tone::Head => "1",
            Tone::Dim => "2",
            Tone::Good => "32",
            Tone::Fair => "33",
            Tone::Bad => "31",
        };
        if !self.color || text.trim().is_empty() {
            return text.into();
        }
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// A share of what was possible: nearly all, most, little.
pub(crate) fn tone_of_share(share: f64) -> Tone {
    match share {
        s if s >= 0.85 => Tone::Good,
        s if s >= 0.5 => Tone::Fair,
        _ => Tone::Bad,
    }
}
