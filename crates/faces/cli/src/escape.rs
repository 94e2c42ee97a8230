//! What is said to a terminal passes here: see [`print::escape`].

pub use print::escape::{colored, json, lines, value};

/// Says something on standard error, escaped.
macro_rules! tell {
    ($($text:tt)*) => {
        eprint!("{}", $crate::escape::lines(&format!($($text)*)))
    };
}
pub(crate) use tell;
