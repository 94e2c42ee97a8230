//! The frame of all pages: head, style sheet and script of `assets/page.html`, which is built from `web/`.
//!
//! Content of a scenario, a result or a capture never becomes markup. It is embedded as JSON in a script
//! element, with `<` escaped, and shown as text; or it is escaped here.

use super::columns::packed;
use crate::markup::escaped;
use crate::strings::Lang;
use serde::Serialize;

/// The page as built by `web/build.mjs`.
const PAGE: &str = include_str!("../../assets/page.html");

/// A value in both languages.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(inline))]
pub(crate) struct Both<T> {
    /// English.
    pub en: T,
    /// Chinese.
    pub zh: T,
}

impl<T> Both<T> {
    /// Calls `make` for each language.
    pub fn of(make: impl Fn(Lang) -> T) -> Both<T> {
        Both { en: make(Lang::En), zh: make(Lang::Zh) }
    }
}

/// A page whose script shows `data` and the columns in `series`, which come with the ids of their elements.
/// `paragraphs` are shown without script.
pub(crate) fn with_script<'a>(
    lang: Lang,
    title: &str,
    paragraphs: &[&str],
    data: &impl Serialize,
    series: impl Iterator<Item = (String, &'a Vec<u8>)>,
) -> String {
    let element = |(id, bytes): (String, &Vec<u8>)| {
        format!("<script type=\"text/plain\" id=\"{id}\">{}</script>\n", packed(bytes))
    };
    let noscript: String = paragraphs.iter().map(|text| format!("<p>{}</p>", escaped(text))).collect();
    // Strings, numbers and options always serialise.
    let data = serde_json::to_string(data).unwrap_or_default();
    let values = [
        ("lang", lang.code()),
        ("title", &format!("{} – longfat", escaped(title))),
        ("noscript", &noscript),
        // Without `<` the data cannot end the script element or begin a comment.
        ("data", &data.replace('<', "\\u003c")),
        ("series", &series.map(element).collect::<String>()),
    ];
    fill(PAGE, &values)
}

/// A page of `body` without script: its Content-Security-Policy allows only the style sheet.
pub(super) fn without_script(title: &str, body: &str, lang: Lang) -> String {
    let head = PAGE.split_once("<noscript>").map_or(PAGE, |(head, _)| head);
    let title = format!("{} – longfat", escaped(title));
    let head = fill(head, &[("lang", lang.code()), ("title", &title)]);
    format!("{head}<main id=\"report\" class=\"plain\">\n{body}</main></body></html>\n")
}

/// Replaces the `{{markers}}` of the built page, or of a part of it, in one pass: a value that looks like a
/// marker is not replaced.
fn fill(page: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(page.len() + values.iter().map(|v| v.1.len()).sum::<usize>());
    let mut rest = page;
    while let Some(at) = rest.find("{{") {
        let known = values
            .iter()
            .find(|(name, _)| rest[at + 2..].strip_prefix(name).is_some_and(|after| after.starts_with("}}")));
        let (value, skip) = known.map_or(("{{", 2), |(name, value)| (*value, name.len() + 4));
        text.push_str(&rest[..at]);
        text.push_str(value);
        rest = &rest[at + skip..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_replaced_once_and_values_are_not_scanned() {
        let text = fill(
            PAGE,
            &[("title", "{{data}}"), ("data", "{{title}}"), ("lang", "en"), ("noscript", ""), ("series", "")],
        );
        assert!(text.contains("<title>{{data}}</title>") && text.contains(">{{title}}</script>"));
    }
}
