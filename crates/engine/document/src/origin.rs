//! Positions in texts.

/// A range of bytes in one of several texts.
///
/// A tree with overrides has values from several texts (the file, each `--set`), so each key and value names
/// its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    /// 0 for the file, n for the n-th override.
    pub source: u32,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Origin {
    /// Line number in `text`, the text that this position refers to, from 1.
    pub fn line_in(self, text: &str) -> usize {
        crate::place::Place::locate(text, self.start as usize..self.end as usize).line
    }
}

/// A key or a step of a dotted path, with its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The key without quotes.
    pub name: String,
    pub at: Origin,
}
