//! Captures that lack packets: sampled, filtered, or written by a machine that was too slow.
//!
//! What was acknowledged and never seen, the capture missed; so it did what was never seen and never sent again where no ACKs were
//! captured (TCP sends again what does not arrive, RFC 9293 section 3.8.1). Rounds, windows and losses of such a flow are
//! artefacts of the capture, and no cause can be told from them.

use super::cc;
use result::FlowDiagnosis;
use result::diagnosis::{Cause, CauseShare, CauseSpan};
use track::Track;

/// Share of a flow's payload that may be missing before no cause is named. Drawn flows are judged right as often with a twentieth
/// missing as with none, and of ten with a tenth missing only seven (`longfat-diagnose-test cuts`).
const MAX_MISSING: f64 = 0.07;

/// Share of the payload that the capture lacks, 0 to 1; `None` where it lacks none, or has no data at all.
pub(super) fn missing_share(t: &Track) -> Option<f64> {
    let (seen, missed) = (t.counts.unique_bytes as f64, t.counts.missed_bytes as f64);
    (seen > 0.0 && missed > 0.0).then(|| missed / (seen + missed))
}

/// Whether so much is missing that no cause can be told.
pub(super) fn has_too_many(t: &Track) -> bool {
    missing_share(t).is_some_and(|share| share > MAX_MISSING)
}

/// The diagnosis of such a flow: what was counted, and no cause.
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
