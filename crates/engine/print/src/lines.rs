//! Line breaking for English and Chinese text.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Characters that must not begin a line.
const CLOSING: &str = "，。；：、）》」%";

/// Breaks `text` into lines of `width` columns. The first line begins with `first`, the others are indented
/// by its width. Bidi isolates are removed, because terminals display them.
pub fn wrap(text: &str, width: usize, first: &str) -> String {
    let indent = first.width();
    let mut lines = first.to_string();
    let mut column = indent;
    for piece in pieces(text) {
        let (word, wide) = (piece.trim_end(), piece.trim_end().width());
        if column + wide > width && column > indent {
            lines.truncate(lines.trim_end_matches(' ').len());
            lines.push('\n');
            lines += &" ".repeat(indent);
            column = indent;
        }
        lines += word;
        lines += &piece[word.len()..];
        column += piece.width();
    }
    lines.truncate(lines.trim_end().len());
    if lines.is_empty() { lines } else { lines + "\n" }
}

/// Splits a text where a line may end: after blanks, and on either side of characters that are two columns
/// wide.
fn pieces(text: &str) -> Vec<String> {
    let wide = |c: char| c.width() == Some(2);
    let mut list: Vec<String> = Vec::new();
    let mut last = ' ';
    for c in text.chars().filter(|c| !matches!(c, '\u{2068}' | '\u{2069}')) {
        let ends = (last == ' ' || wide(last) || wide(c)) && c != ' ' && !CLOSING.contains(c);
        match list.last_mut() {
            Some(piece) if !ends => piece.push(c),
            _ => list.push(c.into()),
        }
        last = c;
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_around_wide_characters() {
        assert_eq!(wrap("one two three", 7, ""), "one two\nthree\n");
        assert_eq!(wrap("one two", 9, "- "), "- one two\n");
        assert_eq!(wrap("one two", 6, "- "), "- one\n  two\n");
        assert_eq!(wrap("吞吐量为 4 Mbit/s。", 9, ""), "吞吐量为\n4\nMbit/s。\n");
        assert_eq!(wrap("丢包，丢包", 4, ""), "丢\n包，\n丢包\n");
        assert_eq!(wrap("for 91 %", 7, ""), "for\n91 %\n");
        assert_eq!(wrap("averyverylongword", 4, ""), "averyverylongword\n");
        assert_eq!(wrap("", 4, ""), "");
    }
}
