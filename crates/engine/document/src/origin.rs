//! Where something was written.

/// Which text, and which bytes of it.
///
/// Overrides mix values of several texts (the file, each `--set`), so every key and value has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    /// 0 is the file, n the n-th override.
    pub source: u32,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Origin {
    /// The line of `text`, which is the text it was written in, counted from 1.
    pub fn line_in(self, text: &str) -> usize {
        crate::place::Place::of(text, self.start as usize..self.end as usize).line
    }
}

/// A key, or a step of a dotted path, and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Without quotes.
    pub name: String,
    /// Where it was written.
    pub at: Origin,
}
