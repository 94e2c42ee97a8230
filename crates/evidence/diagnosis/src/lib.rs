//! What limited each flow of a capture, and for which share of its time.

pub mod cause;
pub mod confidence;
mod limiter;
mod qlog;
mod udp;
mod verdict;

/// Flows of UDP, and moments and states of qlog, told at most.
const MOST_TOLD: usize = 1_000;

pub use limiter::{ProposedLimiter, posterior};
pub use qlog::{qlog_account, qlog_certainty, qlog_notes};
pub use udp::diagnose_udp;
pub use verdict::{
    ProposedLimiters, both_ends_info, capture_info, diagnose_tracks, diagnose_with_sockets, proposed_buckets,
    proposed_limiters, revise_certainty, socket,
};

/// A diagnosis as [`result::to_json`] writes it. It stands here so that it is compiled as fast code as the diagnosis is:
/// of thousands of short connections the text is a fifth of the work.
pub fn diagnosis_json(diagnosis: &result::Diagnosis) -> String {
    result::to_json(diagnosis)
}
