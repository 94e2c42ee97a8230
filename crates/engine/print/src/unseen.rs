//! What cannot be seen in a text, and must not pass to where people read.

/// Controls, C1 among them; what ends a line in other places than `\n`; what turns the direction of text, marks that
/// cannot be seen, and tags (Unicode Technical Report 36, section 3). A terminal's cursor is moved by them, its title
/// set, what follows hidden or turned round. Whoever takes text from outside shows something else in their place.
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

/// `text` with a replacement character in place of each character that [`is_unseen`].
pub fn without_unseen(text: &str) -> String {
    text.chars().map(|c| if is_unseen(c) { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::is_unseen;

    /// Bidi_Control and Default_Ignorable_Code_Point of formats (PropList and DerivedCoreProperties of Unicode 15), by
    /// their numbers.
    #[test]
    fn what_turns_or_hides_text_is_unseen_and_what_people_write_is_not() {
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
