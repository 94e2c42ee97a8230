//! What else fits a flow whose cause is not sure, and which capture would decide.
//!
//! If the cause is not the one that was named, its time belongs to the cause that claims it next: the flow is split once more
//! without the named cause, and without the limiter if that is what was named.

use super::{FlowLimiter, FlowView, PathContext, timeline};
use result::FlowDiagnosis;
use result::diagnosis::{AlternativeCause, CaptureNeed, CapturePlace, Cause};
use track::Track;

/// In how many of the wrong verdicts the first alternative is right, and the second (`longfat-diagnose-test cuts build 120`).
const IS_RIGHT: [f64; 2] = [0.5, 0.2];
/// Fewer round trips than this say little: as many as slow start needs to fill 1000 segments (RFC 5681 section 3.1).
const FEW_ROUND_TRIPS: f64 = 10.0;

/// What fits too, the likelier first.
pub(super) fn of(
    f: &FlowDiagnosis,
    t: &Track,
    through: Option<&FlowLimiter>,
    beside: &PathContext,
) -> Vec<AlternativeCause> {
    if f.cause == Cause::Unknown || f.cause == Cause::SetupFailed {
        return Vec::new();
    }
    let view = FlowView::new(t, through.filter(|_| !f.cause.is_of_limiter()), beside);
    let mut left_out = vec![f.cause];
    let mut found = Vec::new();
    for is_right in IS_RIGHT {
        let causes = timeline::shares(&view.splits(&left_out));
        let Some(next) = causes.first().filter(|c| c.cause != Cause::Unknown) else { break };
        left_out.push(next.cause);
        found.push(AlternativeCause { cause: next.cause, probability: is_right * (1.0 - f.confidence) });
    }
    found
}

/// The capture that would decide.
pub(super) fn needs(f: &FlowDiagnosis) -> CaptureNeed {
    let noted = |code: &str| f.notes.iter().any(|n| n == code);
    let round_trips = f.duration_s * 1e3 / f.measures.rtt_ms.mean;
    match f.vantage.place {
        _ if f.measures.missing_share.is_some() => CaptureNeed::EveryPacket,
        _ if noted("one-way") => CaptureNeed::BothDirections,
        _ if noted("options-cut") => CaptureNeed::WholeHeaders,
        _ if noted("no-handshake") => CaptureNeed::FromTheSyn,
        _ if round_trips < FEW_ROUND_TRIPS => CaptureNeed::Longer,
        CapturePlace::Sender => CaptureNeed::AtTheReceiver,
        _ => CaptureNeed::AtTheSender,
    }
}
