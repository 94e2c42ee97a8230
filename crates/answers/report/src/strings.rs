//! The texts of plots and pages in English and Chinese: the table `strings.json`, which the page reads too;
//! `live.json` with the texts of `longfat watch` and `longfat measure`; and `names.json` with the common
//! names of elements, queues and congestion controls, which `tests/report/names.rs` generates from their
//! registries.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A language of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Simplified Chinese.
    Zh,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Translation {
    en: String,
    zh: String,
}

impl Lang {
    /// The language's code in HTML's `lang` (BCP 47) and in the table's keys.
    pub fn code(self) -> &'static str {
        match self {
            Lang::En => "en",
            Lang::Zh => "zh",
        }
    }
}

fn table() -> &'static BTreeMap<String, Translation> {
    static TABLE: OnceLock<BTreeMap<String, Translation>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let read = |text| -> BTreeMap<String, Translation> {
            serde_json::from_str(text).expect("strings.json, live.json and names.json are tables of strings")
        };
        let mut all = read(include_str!("../strings.json"));
        all.extend(read(include_str!("../live.json")));
        all.extend(read(include_str!("../names.json")));
        all
    })
}

/// The text of `key`, with its `{placeholders}`; `None` if the table has no such key.
pub(crate) fn find(key: &str, lang: Lang) -> Option<&'static str> {
    let entry = table().get(key)?;
    Some(match lang {
        Lang::En => &entry.en,
        Lang::Zh => &entry.zh,
    })
}

/// The text of a key that must exist, with its `{placeholders}`.
///
/// # Panics
/// Panics if the table has no such key.
pub(crate) fn text(key: &str, lang: Lang) -> &'static str {
    find(key, lang).unwrap_or_else(|| panic!("strings.json and live.json have no {key}"))
}

/// The text of `key`, which has no placeholders, in the table of `longfat watch` and `longfat measure`.
///
/// # Panics
/// Panics if the table has no such key.
pub fn word(lang: Lang, key: &str) -> &'static str {
    text(key, lang)
}

/// The text of `key` in the table of `longfat watch` and `longfat measure`, with each `{name}` replaced by
/// its value.
///
/// # Panics
/// Panics if the table has no such key.
pub fn say(lang: Lang, key: &str, values: &[(&str, &str)]) -> String {
    fill(key, lang, values)
}

/// The text of `key` with each `{name}` replaced by its value.
///
/// # Panics
/// Panics if the table has no such key.
pub(crate) fn fill(key: &str, lang: Lang, values: &[(&str, &str)]) -> String {
    filled(text(key, lang), values)
}

/// Names of the `{placeholders}` of a text.
pub(crate) fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name)
}

/// `text` with each `{name}` replaced by its value.
pub(crate) fn filled(text: &str, values: &[(&str, &str)]) -> String {
    let mut rest = text;
    let mut filled = String::new();
    // In one pass, because a value may contain braces.
    while let Some((before, after)) = rest.split_once('{') {
        filled += before;
        let Some((name, tail)) = after.split_once('}') else {
            filled.push('{');
            rest = after;
            continue;
        };
        match values.iter().find(|(n, _)| *n == name) {
            Some((_, value)) => filled += value,
            None => filled += &format!("{{{name}}}"),
        }
        rest = tail;
    }
    filled + rest
}

/// Names of placeholders and their values.
pub(crate) type SentenceValues = Vec<(String, String)>;

/// The texts of `key.1`, `key.2`, and so on.
pub(crate) fn numbered(key: &str, lang: Lang) -> Vec<&'static str> {
    (1..).map_while(|n| find(&format!("{key}.{n}"), lang)).collect()
}

/// The first text whose placeholders all have values, filled; without such a text the last one, filled as far
/// as possible.
pub(crate) fn first_known(texts: &[&'static str], values: &SentenceValues) -> String {
    let known = |text: &str| placeholders(text).all(|name| values.iter().any(|(n, _)| n == name));
    let text = texts.iter().find(|t| known(t)).or(texts.last()).copied().unwrap_or_default();
    let values: Vec<(&str, &str)> = values.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    filled(text, &values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_text_is_in_both_languages_with_the_same_placeholders() {
        assert!(table().len() > 30);
        for (key, entry) in table() {
            assert!(!entry.en.trim().is_empty() && !entry.zh.trim().is_empty(), "{key}");
            let names = |text| placeholders(text).collect::<BTreeSet<_>>();
            assert_eq!(names(&entry.en), names(&entry.zh), "{key}");
        }
    }

    #[test]
    fn placeholders_are_filled_once() {
        assert_eq!(fill("plot.more", Lang::En, &[("n", "3")]), "and 3 more");
        assert_eq!(fill("plot.more", Lang::Zh, &[("n", "{n}")]), "另有 {n} 个");
        assert_eq!(fill("plot.more", Lang::En, &[]), "and {n} more");
    }
}
