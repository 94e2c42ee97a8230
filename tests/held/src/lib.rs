//! Checks which causes limit the flows of random scenarios, by runs of an independent checker; and draws the
//! random scenarios, which `tests/story` uses for headlines as well.
//!
//! The checker shares the measures of goals and the reporting thresholds with the code under test. How each
//! suspect is switched off is implemented again, as overrides of the scenario file.

pub mod draw;
pub mod held;
