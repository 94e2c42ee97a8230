//! Escapes everything that is printed on a terminal: see [`print::escape`].

pub use print::escape::{colored, json, lines, value};

/// Prints a formatted text on standard error, escaped.
macro_rules! eprint_escaped {
    ($($text:tt)*) => {
        eprint!("{}", $crate::escape::lines(&format!($($text)*)))
    };
}
pub(crate) use eprint_escaped;
