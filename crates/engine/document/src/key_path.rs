//! Names, and dotted paths of names: `links.wan.forward.limiter.rate`, `flows."two words".count`.

use crate::cause::RefusalCause;
use crate::fault::Fault;
use crate::origin::{Key, Origin};
use std::ops::Range;

/// Maximum number of steps of a path; a scenario needs eight.
const MAX_STEPS: usize = 16;

/// Splits a dotted path into its steps. `at` converts a range of `text` to a position.
///
/// # Errors
/// Fails when a quote is not closed, a step is empty, or the path has too many steps.
pub fn steps(text: &str, at: impl Fn(Range<usize>) -> Origin) -> Result<Vec<Key>, Fault> {
    let bad = |message: &str, range: Range<usize>| {
        let message = format!("{message} (example of a path: links.wan.forward.limiter.rate)");
        Fault::new(RefusalCause::BadPath { message }, at(range))
    };
    let mut steps = Vec::new();
    let mut begin = 0;
    loop {
        let rest = &text[begin..];
        let blanks = rest.len() - rest.trim_start().len();
        let (start, rest) = (begin + blanks, rest.trim_start());
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (name, end) = match quote {
            Some(q) => match rest[1..].find(q) {
                Some(n) => (&rest[1..=n], start + n + 2),
                None => return Err(bad("unclosed quote", start..text.len())),
            },
            None => {
                let bare = &rest[..rest.find('.').unwrap_or(rest.len())];
                (bare.trim_end(), start + bare.len())
            }
        };
        if name.is_empty() {
            return Err(bad("empty step in the path", start..end));
        }
        if steps.len() == MAX_STEPS {
            return Err(bad("too many steps in the path", start..end));
        }
        let width = end.min(start + name.len() + if quote.is_some() { 2 } else { 0 });
        steps.push(Key { name: name.into(), at: at(start..width) });
        let after = text[end..].trim_start();
        match after.chars().next() {
            None => return Ok(steps),
            Some('.') => begin = text.len() - after.len() + 1,
            Some(_) => return Err(bad("missing dot after the quote", end..text.len())),
        }
    }
}

/// Splits `key=value` at the first equals sign outside quotes.
pub fn split_assignment(text: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (None, '=') => return Some((&text[..i], &text[i + 1..])),
            (None, '"' | '\'') => quote = Some(c),
            (Some(q), c) if c == q => quote = None,
            _ => {}
        }
    }
    None
}

/// A dotted path as `--set` takes it; steps are quoted where necessary.
pub fn key_path(steps: &[impl AsRef<str>]) -> String {
    steps.iter().map(|step| quote(step.as_ref())).collect::<Vec<_>>().join(".")
}

/// A step of a path, quoted if necessary.
pub fn quote(name: &str) -> String {
    let bare = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(bare) { name.into() } else { format!("\"{name}\"") }
}

/// Checks that `name`, written at `at`, is usable as a column, a folder and a step of a path.
///
/// # Errors
/// Fails when the name is empty, longer than 64 bytes, or has characters other than letters, digits, `-`, `_`
/// and `.`.
pub fn check_name(name: &str, at: Origin) -> Result<(), Fault> {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let first = |c: char| c.is_alphanumeric() || c == '_';
    let fits = name.len() <= 64 && name.chars().all(inside) && name.chars().next().is_some_and(first);
    if fits { Ok(()) } else { Err(Fault::new(RefusalCause::BadName { name: name.into() }, at)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Result<Vec<(String, u32, u32)>, Fault> {
        let at = |r: Range<usize>| Origin { source: 0, start: r.start as u32, end: r.end as u32 };
        let steps = steps(text, at)?;
        Ok(steps.into_iter().map(|s| (s.name, s.at.start, s.at.end)).collect())
    }

    #[test]
    fn paths_are_cut_at_dots_outside_quotes() {
        let s = |n: &str, a, b| (n.to_string(), a, b);
        assert_eq!(cut("a.b-c").unwrap(), [s("a", 0, 1), s("b-c", 2, 5)]);
        assert_eq!(cut("a.\"b.c\".d").unwrap(), [s("a", 0, 1), s("b.c", 2, 7), s("d", 8, 9)]);
        assert_eq!(cut(" a . 'b' ").unwrap(), [s("a", 1, 2), s("b", 5, 8)]);
        for bad in ["", ".", "a.", "a..b", "\"a", "\"a\"b", "''"] {
            assert!(cut(bad).is_err(), "{bad}");
        }
        assert!(cut(&["a"; 17].join(".")).is_err());
    }

    #[test]
    fn assignments_are_cut_outside_quotes() {
        assert_eq!(split_assignment("a.b=c=d"), Some(("a.b", "c=d")));
        assert_eq!(split_assignment("\"a=b\"=1"), Some(("\"a=b\"", "1")));
        assert_eq!(split_assignment("a"), None);
    }
}
