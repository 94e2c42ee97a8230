//! What somebody waits for.

use crate::Label;

/// What a time from a request to the last byte of what was asked for is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Awaited {
    /// An answer.
    Answer,
    /// A page's first document, which names its objects.
    Html,
    /// An object of a page.
    Object,
    /// A whole page.
    Page,
}

impl Awaited {
    /// All.
    pub const ALL: [Awaited; 4] = [Awaited::Answer, Awaited::Html, Awaited::Object, Awaited::Page];

    /// As results spell it.
    pub fn name(self) -> &'static str {
        self.label().en
    }

    /// What has this name.
    pub fn named(name: &str) -> Option<Awaited> {
        Awaited::ALL.into_iter().find(|a| a.name() == name)
    }

    /// What people call it.
    pub const fn label(self) -> Label {
        match self {
            Awaited::Answer => Label::new("answer", "应答"),
            Awaited::Html => Label::new("html", "HTML"),
            Awaited::Object => Label::new("object", "对象"),
            Awaited::Page => Label::new("page", "页面"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        assert!(Awaited::ALL.into_iter().all(|a| Awaited::named(a.name()) == Some(a)));
        assert_eq!(Awaited::named("picture"), None);
    }
}
