//! The style of printed text: width, colours, and grouping of flows.

use crate::figures::GroupBy;

/// Which groups of flows have rows below their variant's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Grouping {
    /// The default grouping of variants with many flows ([`GroupBy::automatic`]).
    #[default]
    Unasked,
    None,
    /// This grouping, for every variant with several groups.
    By(GroupBy),
}

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns that the text may take; at least 60.
    pub width: usize,
    /// Whether to use ANSI colours.
    pub color: bool,
    pub grouping: Grouping,
}

/// 80 columns without colour, as for a file or a pipe.
impl Default for Style {
    fn default() -> Style {
        Style { width: 80, color: false, grouping: Grouping::Unasked }
    }
}

/// The meaning of a piece of text, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Tone {
    #[default]
    Plain,
    /// A column's head.
    Head,
    /// Less important than the rest.
    Dim,
    Good,
    /// Between good and bad.
    Fair,
    Bad,
}

impl Tone {
    /// The tone's class in the page's style sheet.
    pub(crate) fn class(self) -> Option<&'static str> {
        match self {
            Tone::Dim => Some("hint"),
            Tone::Bad => Some("bad"),
            Tone::Plain | Tone::Head | Tone::Good | Tone::Fair => None,
        }
    }
}

impl Style {
    /// Text without colour of this width, as for a file or a pipe.
    pub fn plain(width: usize) -> Style {
        Style { width, ..Style::default() }
    }

    pub(crate) fn columns(self) -> usize {
        self.width.max(60)
    }

    /// Colours `text` by its tone; leaves it unchanged without colour.
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

/// The tone of a share of a limit: good from 85 %, fair from 50 %.
pub(crate) fn tone_of_share(share: f64) -> Tone {
    match share {
        s if s >= 0.85 => Tone::Good,
        s if s >= 0.5 => Tone::Fair,
        _ => Tone::Bad,
    }
}
