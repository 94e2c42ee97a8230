//! Printable text and its width in columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Replaces invisible characters by U+FFFD, because names come from files.
pub(crate) fn printable(text: &str) -> String {
    print::without_unseen(text)
}

/// Cuts `text` to at most `width` columns, with an ellipsis at the cut.
pub(crate) fn clip(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.into();
    }
    let (mut clipped, mut used) = (String::new(), 0);
    for c in text.chars() {
        let w = c.width().unwrap_or(0);
        if used + w + 1 > width {
            break;
        }
        clipped.push(c);
        used += w;
    }
    clipped + "…"
}

/// Pads `text` to `width` columns, on its right if `left`-aligned.
pub(crate) fn pad(text: &str, width: usize, left: bool) -> String {
    let fill = " ".repeat(width.saturating_sub(text.width()));
    if left { format!("{text}{fill}") } else { format!("{fill}{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_double_and_long_names_are_cut() {
        assert_eq!(clip("日本語の名前", 7), "日本語…");
        assert_eq!(clip("日本語", 6), "日本語");
        assert_eq!(pad("日本", 6, true), "日本  ");
        assert_eq!(clip("abcdef", 4), "abc…");
        assert_eq!(printable("a\x1b[31mb\n"), "a\u{fffd}[31mb\u{fffd}");
    }
}
