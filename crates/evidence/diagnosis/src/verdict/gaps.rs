//! Captures that lack packets: sampled, filtered, or written by a machine that was too slow.
//!
//! The capture missed data that was acknowledged and never seen. Where no ACKs were captured, it also missed
//! data that was never seen and never retransmitted, because TCP retransmits data that does not arrive (RFC
//! 9293 section 3.8.1). Round trips, windows and losses of such a flow are artefacts of the capture and show
//! no cause.

use super::cc;
use result::FlowDiagnosis;
use result::diagnosis::{Cause, CauseShare, CauseSpan};
use track::Track;

/// Greatest missing share of a flow's payload for which a cause is named. Verdicts on drawn flows are as good
/// with 5 % missing as with none, but only 7 of 10 are right with 10 % missing (`longfat-diagnose-test
/// cuts`).
const MAX_MISSING_SHARE: f64 = 0.07;

/// Returns the share of the payload that the capture lacks, 0 to 1; `None` where it lacks none, or has no
/// data at all.
pub(super) fn missing_share(t: &Track) -> Option<f64> {
    let (captured, missed) = (t.counts.unique_bytes as f64, t.counts.missed_bytes as f64);
    (captured > 0.0 && missed > 0.0).then(|| missed / (captured + missed))
}

/// Whether too much is missing to name a cause.
pub(super) fn has_too_many(t: &Track) -> bool {
    missing_share(t).is_some_and(|share| share > MAX_MISSING_SHARE)
}

/// Returns the diagnosis without a cause, with its counts.
pub(super) fn cannot_tell(f: FlowDiagnosis) -> FlowDiagnosis {
    let cause = Cause::Unknown;
    FlowDiagnosis {
        cause,
        confidence: 0.0,
        causes: vec![CauseShare { cause, share: 1.0, seconds: f.duration_s }],
        timeline: vec![CauseSpan { from_s: f.start_s, to_s: f.start_s + f.duration_s, cause }],
        limiter: None,
        cc: cc::none(),
        proofs: Vec::new(),
        ..f
    }
}
