//! Text output that all crates share: numbers ([`three_digits`], [`power_of_ten`]), line breaking ([`wrap`]),
//! and safe output of text from outside ([`is_unseen`], [`without_unseen`], [`escape`]).

pub mod escape;
mod lines;
mod numbers;
mod unseen;

pub use lines::wrap;
pub use numbers::{power_of_ten, three_digits};
pub use unseen::{is_unseen, without_unseen};
