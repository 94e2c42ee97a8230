//! Escapes text for terminals. Text from outside may contain characters that move the cursor, set the title,
//! hide what follows or reverse its direction, so it must pass through this module.

use crate::is_unseen;
use std::borrow::Cow;
use std::fmt::Write as _;

/// The colour sequences that tables use; [`colored`] keeps these and escapes all others.
const COLORS: [&str; 6] = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"];

/// Escapes a value within a line: each invisible character, including line ends, is shown as its code,
/// `\u{1b}`.
pub fn value(text: &str) -> Cow<'_, str> {
    escaped(text, |rest| rest.starts_with(is_unseen).then_some(0))
}

/// Escapes a message of whole lines; `\n` is kept.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |rest| (!rest.starts_with('\n') && rest.starts_with(is_unseen)).then_some(0))
}

/// Escapes a table or a text; `\n` and the report's colours are kept.
pub fn colored(text: &str) -> Cow<'_, str> {
    escaped(text, |rest| {
        if rest.starts_with('\n') || !rest.starts_with(is_unseen) {
            return None;
        }
        let color = COLORS.iter().find(|color| rest.starts_with(**color));
        Some(color.map_or(0, |color| color.len()))
    })
}

/// Escapes JSON text without changing its meaning: invisible characters become JSON escapes. JSON writers
/// already escape control characters below U+0020 (RFC 8259 section 7), so most texts need no check of each
/// character.
pub fn json(text: &str) -> Cow<'_, str> {
    if text.is_ascii() && !text.contains('\u{7f}') || !text.chars().any(|c| c != '\n' && is_unseen(c)) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if c == '\n' || !is_unseen(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out.into()
}

/// Escapes `text`. `special` looks at the rest of the text: `None` keeps the first character, `Some(0)`
/// escapes it, `Some(n)` keeps n bytes.
fn escaped(text: &str, special: impl Fn(&str) -> Option<usize>) -> Cow<'_, str> {
    if !text.chars().any(is_unseen) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match special(rest) {
            Some(0) => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
                c.len_utf8()
            }
            fit => {
                let bytes = fit.unwrap_or(c.len_utf8());
                out.push_str(&rest[..bytes]);
                bytes
            }
        };
        rest = &rest[taken..];
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_shown_as_their_codes() {
        let text = "a\x1b]0;t\x07b\u{9b}31mc\u{202e}d\re\u{200b}\u{e0041}é中\n";
        let escaped = "a\\u{1b}]0;t\\u{7}b\\u{9b}31mc\\u{202e}d\\u{d}e\\u{200b}\\u{e0041}é中";
        assert_eq!(value(text), format!("{escaped}\\u{{a}}"));
        assert_eq!(lines(text), format!("{escaped}\n"));
        assert_eq!(colored(text), format!("{escaped}\n"));
        assert!(matches!(value("as it is"), Cow::Borrowed(_)));
    }

    #[test]
    fn only_the_colours_of_tables_are_kept() {
        assert_eq!(colored("\x1b[31mred\x1b[0m"), "\x1b[31mred\x1b[0m");
        assert_eq!(lines("\x1b[31mred"), "\\u{1b}[31mred");
        assert_eq!(colored("\x1b[8mhidden\x1b[2J"), "\\u{1b}[8mhidden\\u{1b}[2J");
        assert_eq!(colored("\x1b[31;8m"), "\\u{1b}[31;8m");
    }

    /// Random texts: no invisible character is left, visible ones are unchanged, and each code is that of its
    /// character.
    #[test]
    fn any_text_is_escaped_completely_and_unambiguously() {
        let mut draw = units::Stream::new(20261124, "escape");
        let odd = [
            "\x1b[31m",
            "\u{202e}",
            "\u{200b}",
            "\n",
            "\r\n",
            "\u{9b}",
            "\\u{1b}",
            "é",
            "中",
            "\u{e0041}",
            "a",
        ];
        for _ in 0..2_000 {
            let one = |_| match draw.below(3) {
                0 => odd[draw.below(odd.len() as u64) as usize].to_string(),
                _ => char::from_u32(draw.below(0x11_0000) as u32).unwrap_or('x').to_string(),
            };
            let text: String = (0..12).map(one).collect();
            let shown = value(&text);
            assert!(!shown.chars().any(is_unseen), "{text:?}");
            assert!(!lines(&text).chars().any(|c| c != '\n' && is_unseen(c)), "{text:?}");
            let seen = |c: &char| !is_unseen(*c);
            let code = |c: char| if is_unseen(c) { format!("\\u{{{:x}}}", c as u32) } else { c.to_string() };
            assert_eq!(shown, text.chars().map(code).collect::<String>());
            assert_eq!(
                value(&text.chars().filter(seen).collect::<String>()),
                text.chars().filter(seen).collect::<String>()
            );
            // Except for the colours, no invisible character is left.
            let mut bare = colored(&text).into_owned();
            COLORS.iter().for_each(|color| bare = bare.replace(color, ""));
            assert!(!bare.chars().any(|c| c != '\n' && is_unseen(c)), "{text:?}");
        }
    }

    #[test]
    fn escaped_json_has_the_same_meaning() {
        let object = serde_json::json!({ "a": "x\u{9b}\u{202e}\u{e0041}\x1b", "b": 1 });
        let text = serde_json::to_string_pretty(&object).unwrap();
        let safe = json(&text);
        assert!(!safe.chars().any(|c| c != '\n' && is_unseen(c)), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), object);
    }
}
