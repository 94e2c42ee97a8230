//! What plots and pages say, in English and Chinese: one table, `strings.json`, that the page reads too. Beside it
//! `names.json`, what people call elements, queues and congestion controls: made of what their own files say
//! (`tests/report/names.rs`).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A language of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
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
    /// As HTML's `lang` wants it (BCP 47), and as the table's keys are.
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
            serde_json::from_str(text).expect("strings.json and names.json are tables of strings")
        };
        let mut all = read(include_str!("../strings.json"));
        all.extend(read(include_str!("../names.json")));
        all
    })
}

/// The text of `key`, with its `{placeholders}`; `None` where the table has no such key.
pub(crate) fn find(key: &str, lang: Lang) -> Option<&'static str> {
    let entry = table().get(key)?;
    Some(match lang {
        Lang::En => &entry.en,
        Lang::Zh => &entry.zh,
    })
}

/// As [`find`], of a key that is there.
///
/// # Panics
/// When it is not.
pub(crate) fn text(key: &str, lang: Lang) -> &'static str {
    find(key, lang).unwrap_or_else(|| panic!("strings.json has no {key}"))
}

/// The text of `key` with each `{name}` replaced by its value.
///
/// # Panics
/// As [`text`].
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
    // In one pass: a value may hold braces itself.
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

/// Names of placeholders and what stands there.
pub(crate) type SentenceValues = Vec<(String, String)>;

/// The texts of `key.1`, `key.2` and so on.
pub(crate) fn numbered(key: &str, lang: Lang) -> Vec<&'static str> {
    (1..).map_while(|n| find(&format!("{key}.{n}"), lang)).collect()
}

/// The first of the texts all of whose placeholders are known, filled; the last as it is where none is.
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
