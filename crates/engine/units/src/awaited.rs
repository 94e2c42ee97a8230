//! Kinds of exchanges that a user waits for.

use crate::Label;

/// What is transferred in the time from a request to the last byte of its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Awaited {
    /// The response to a single request.
    Answer,
    /// A page's HTML document, which lists its objects.
    Html,
    Object,
    /// A page with all its objects.
    Page,
}

impl Awaited {
    pub const ALL: [Awaited; 4] = [Awaited::Answer, Awaited::Html, Awaited::Object, Awaited::Page];

    /// The name in results.
    pub fn name(self) -> &'static str {
        self.label().en
    }

    /// The kind with this name.
    pub fn named(name: &str) -> Option<Awaited> {
        Awaited::ALL.into_iter().find(|a| a.name() == name)
    }

    /// The name for display.
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
    fn names_are_unique() {
        assert!(Awaited::ALL.into_iter().all(|a| Awaited::named(a.name()) == Some(a)));
        assert_eq!(Awaited::named("picture"), None);
    }
}
