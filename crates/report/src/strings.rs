//! Every text of the page, the plots and the story, in each language: `strings.json`, one table that the page's
//! TypeScript reads too.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A language of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese, simplified.
    Zh,
}

impl Lang {
    /// All there are.
    pub const ALL: [Lang; 2] = [Lang::En, Lang::Zh];

    /// As HTML's `lang` wants it (BCP 47), and as the table's keys are.
    pub fn code(self) -> &'static str {
        match self {
            Lang::En => "en",
            Lang::Zh => "zh",
        }
    }
}

type Table = BTreeMap<String, BTreeMap<String, String>>;

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    // The file is part of the program; a test reads it whole.
    TABLE.get_or_init(|| serde_json::from_str(include_str!("../strings.json")).unwrap_or_default())
}

/// The text of `key`, or `None` where the table has none.
pub(crate) fn find(key: &str, lang: Lang) -> Option<&'static str> {
    table().get(key)?.get(lang.code()).map(String::as_str)
}

/// The text of `key`; the key itself where there is none, which a test rules out.
pub(crate) fn text(key: &'static str, lang: Lang) -> &'static str {
    find(key, lang).unwrap_or(key)
}

/// The text of `key` with its `{places}` filled.
pub(crate) fn fill(key: &'static str, lang: Lang, places: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = text(key, lang);
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        filled += before;
        filled += places.iter().find(|p| p.0 == name).map_or("", |p| p.1);
        rest = after;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in braces, sorted.
    fn places(text: &str) -> Vec<&str> {
        let mut names: Vec<&str> =
            text.split('{').skip(1).filter_map(|s| s.split_once('}')).map(|s| s.0).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn each_text_is_there_in_each_language_with_the_same_places() {
        assert!(!table().is_empty());
        for (key, texts) in table() {
            assert_eq!(texts.keys().collect::<Vec<_>>(), ["en", "zh"], "{key}");
            assert_eq!(places(&texts["en"]), places(&texts["zh"]), "{key}");
            assert!(texts.values().all(|t| !t.is_empty()), "{key}");
        }
    }
}
