//! Numbers and lines for people: what every table, sentence and terminal shares.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What a line cannot begin with.
const CLOSING: &str = "，。；：、）》」%";

/// `text` in lines of `width`, the first begins with `first`, the others with as many blanks. Marks for writing direction
/// are left out: terminals show them.
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

/// Where a line may end: after blanks, and on either side of characters that are two columns wide.
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

/// Three digits that matter, whole from a hundred on: `0.123`, `4.10`, `19.1`, `941`, `12345`.
pub fn three_digits(x: f64) -> String {
    // Bounds sit where rounding would carry into the next digit: 9.996 is `10.0`, not `10.00`.
    let decimals = match x.abs() {
        a if a < 0.9995 => 3,
        a if a < 9.995 => 2,
        a if a < 99.95 => 1,
        _ => 0,
    };
    format!("{x:.decimals$}")
}

/// 10 to a whole power, the nearest number to it from -22 to 22: `powi` and `powf` are off below zero on Windows.
pub fn ten_to(power: i32) -> f64 {
    let whole = (0..power.unsigned_abs()).fold(1.0, |whole, _| whole * 10.0);
    if power < 0 { 1.0 / whole } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_are_as_they_are_written() {
        for power in -22..=22 {
            assert_eq!(Ok(ten_to(power)), format!("1e{power}").parse(), "{power}");
        }
    }

    #[test]
    fn three_digits_do_not_carry() {
        let got = [0.0, -0.1234, 0.9996, 4.104, 9.996, 19.14, 99.96, 941.4, 12_345.0].map(three_digits);
        assert_eq!(got, ["0.000", "-0.123", "1.00", "4.10", "10.0", "19.1", "100", "941", "12345"]);
    }

    #[test]
    fn lines_end_between_words_and_between_wide_characters() {
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
