//! What is said to a terminal passes here: see [`units::escape`].

pub use units::escape::{colored, json, lines, value};

/// Says something on standard error, escaped.
macro_rules! tell {
    ($($text:tt)*) => {
        eprint!("{}", $crate::escape::lines(&format!($($text)*)))
    };
}
pub(crate) use tell;
