//! What is said to hold the flows of random scenarios, held against an independent checker's own runs; and the random
//! scenarios, which `tests/story` holds headlines against.
//!
//! It shares with what it checks the measures of goals and the thresholds that are said; how each suspect is switched off is
//! written again, as overrides of the scenario file.

pub mod draw;
pub mod held;
