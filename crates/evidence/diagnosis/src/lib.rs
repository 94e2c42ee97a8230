//! Finds what limited each flow of a capture, and for which share of its time.

pub mod cause;
pub mod confidence;
mod limiter;
mod qlog;
pub mod train;
mod udp;
mod verdict;

/// Greatest number of UDP flows, and of points and states of a qlog, in a diagnosis.
const MAX_REPORTED: usize = 1_000;

pub use limiter::{ProposedLimiter, posterior};
pub use qlog::{qlog_account, qlog_certainty, qlog_notes};
pub use udp::diagnose_udp;
pub use verdict::{
    ProposedLimiters, both_ends_info, capture_info, diagnose_tracks, diagnose_with_sockets, proposed_buckets,
    proposed_limiters, revise_certainty, socket,
};

/// Returns the diagnosis as JSON, as [`result::to_json`] writes it. Compiling it in this crate gives it the
/// diagnosis's optimisation level: for thousands of short connections, serialising takes a fifth of the time.
pub fn diagnosis_json(diagnosis: &result::Diagnosis) -> String {
    result::to_json(diagnosis)
}
