//! What limited each flow of a capture, and for which share of its time.

mod limit;
mod verdict;

pub use verdict::{capture_info, diagnose_tracks};
