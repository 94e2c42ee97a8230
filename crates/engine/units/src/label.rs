//! What people call a thing.

/// A name in the languages that longfat speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// English.
    pub en: &'static str,
    /// Simplified Chinese.
    pub zh: &'static str,
}

impl Label {
    /// A name in each language.
    pub const fn new(en: &'static str, zh: &'static str) -> Label {
        Label { en, zh }
    }

    /// A name that is the same everywhere: "CUBIC".
    pub const fn same(name: &'static str) -> Label {
        Label { en: name, zh: name }
    }
}
