//! Display names.

/// A display name in the languages of longfat's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    pub en: &'static str,
    /// Simplified Chinese.
    pub zh: &'static str,
}

impl Label {
    pub const fn new(en: &'static str, zh: &'static str) -> Label {
        Label { en, zh }
    }

    /// A name that is the same in both languages, such as "CUBIC".
    pub const fn same(name: &'static str) -> Label {
        Label { en: name, zh: name }
    }
}
