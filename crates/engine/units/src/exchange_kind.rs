//! Kinds of exchanges that a user waits for.

use crate::Label;

/// The kind of object that is transferred between a request and the last byte of its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExchangeKind {
    /// The response to a single request.
    Answer,
    /// A page's HTML document, which lists its objects.
    Html,
    Object,
    /// A page with all its objects.
    Page,
}

impl ExchangeKind {
    pub const ALL: [ExchangeKind; 4] =
        [ExchangeKind::Answer, ExchangeKind::Html, ExchangeKind::Object, ExchangeKind::Page];

    /// The name in results.
    pub fn name(self) -> &'static str {
        self.label().en
    }

    /// The kind with this name.
    pub fn named(name: &str) -> Option<ExchangeKind> {
        ExchangeKind::ALL.into_iter().find(|a| a.name() == name)
    }

    /// The name for display.
    pub const fn label(self) -> Label {
        match self {
            ExchangeKind::Answer => Label::new("answer", "应答"),
            ExchangeKind::Html => Label::new("html", "HTML"),
            ExchangeKind::Object => Label::new("object", "对象"),
            ExchangeKind::Page => Label::new("page", "页面"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        assert!(ExchangeKind::ALL.into_iter().all(|a| ExchangeKind::named(a.name()) == Some(a)));
        assert_eq!(ExchangeKind::named("picture"), None);
    }
}
