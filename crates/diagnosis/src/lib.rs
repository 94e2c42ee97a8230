//! What limited each flow of a capture, and for which share of its time.

mod limiter;
mod verdict;

pub use verdict::{capture_info, diagnose_tracks};
