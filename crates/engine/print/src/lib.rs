//! What every table, sentence and terminal shares: numbers ([`three_digits`], [`ten_to`]), lines ([`wrap`]), and texts
//! from outside ([`is_unseen`], [`without_unseen`], [`escape`]).

pub mod escape;
mod lines;
mod numbers;
mod unseen;

pub use lines::wrap;
pub use numbers::{ten_to, three_digits};
pub use unseen::{is_unseen, without_unseen};
