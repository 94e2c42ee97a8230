//! Invisible characters, which must not be printed unescaped.

/// Whether a character is invisible: control characters including C1, line separators other than `\n`,
/// characters that change the direction of text, invisible marks, and tags (Unicode Technical Report 36,
/// section 3). They can move a terminal's cursor, set its title, and hide or reverse what follows, so text
/// from outside is shown without them.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Replaces each character that [`is_unseen`] with U+FFFD.
pub fn without_unseen(text: &str) -> String {
    text.chars().map(|c| if is_unseen(c) { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::is_unseen;

    /// The characters are from Bidi_Control and Default_Ignorable_Code_Point (PropList and
    /// DerivedCoreProperties of Unicode 15).
    #[test]
    fn controls_and_format_characters_are_invisible_and_letters_are_not() {
        let turning =
            [0x61c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069];
        let hidden =
            [0, 7, 10, 13, 27, 127, 0x85, 0x9b, 0xad, 0x200b, 0x2028, 0x2029, 0x2060, 0xfeff, 0xe0041];
        for n in turning.into_iter().chain(hidden) {
            assert!(char::from_u32(n).is_some_and(is_unseen), "U+{n:04X}");
        }
        for c in "aZ 0~\u{a0}\u{e9}\u{4e2d}\u{645}\u{5d0}\u{1f600}\u{fffd}\u{2026}\u{201c}".chars() {
            assert!(!is_unseen(c), "{c:?}");
        }
    }
}
