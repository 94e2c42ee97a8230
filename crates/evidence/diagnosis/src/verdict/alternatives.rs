//! The other causes that fit a flow whose cause is not certain, and the capture that would decide.

use crate::cause::rules;
use result::FlowDiagnosis;
use result::diagnosis::{AlternativeCause, CaptureNeed, CapturePlace, Cause, LimiterKind};

/// Share of wrong verdicts in which the first alternative is right, and the second (87 and 55 of 258 with
/// `longfat-diagnose-test cuts`, 60 cases of each of the sets `build` and 20261201).
const SHARE_RIGHT: [f64; 2] = [0.34, 0.21];
/// A rejected limiter that is less probable than this is no alternative.
const MIN_LIMITER_PROBABILITY: f64 = 0.1;
/// A capture of fewer round trips is too short: slow start alone takes this many to 1000 segments (RFC 5681
/// section 3.1).
const FEW_ROUND_TRIPS: f64 = 10.0;

/// Returns the other causes that fit, the more probable first. A receive window that the log cannot show goes
/// first, then the most probable limiter that was not reported, then causes that only look alike.
pub(super) fn other_causes(f: &FlowDiagnosis) -> Vec<AlternativeCause> {
    let m = &f.measures;
    let lossless = m.lost_up + m.lost_down + m.retransmitted_packets == 0;
    let fits = |cause: &Cause| match cause {
        Cause::RandomLoss | Cause::Congestion | Cause::Policed => !lossless,
        _ => true,
    };
    let probable = f.rejected_limiter.filter(|l| l.probability >= MIN_LIMITER_PROBABILITY);
    let limited = probable.map(|l| match l.kind {
        LimiterKind::Policer => Cause::Policed,
        LimiterKind::Shaper => Cause::Shaped,
        LimiterKind::Bottleneck => Cause::Bottleneck,
    });
    let limited = limited.filter(|cause| *cause != f.cause);
    let hidden = f.cause == Cause::Application && f.has_note("qlog-no-flow-control");
    let hidden = hidden.then_some(Cause::ReceiveWindow);
    let alike = rules(f.cause).looks_like.iter().copied();
    let alike = alike.filter(|cause| limited != Some(*cause) && hidden != Some(*cause));
    let causes = hidden.into_iter().chain(limited).chain(alike).filter(fits);
    let alternative = |(cause, is_right): (Cause, f64)| {
        let most = probable.filter(|_| limited == Some(cause)).map_or(1.0, |l| l.probability);
        AlternativeCause { cause, probability: (is_right * (1.0 - f.confidence)).min(most) }
    };
    causes.zip(SHARE_RIGHT).map(alternative).collect()
}

/// Returns the capture that would decide; `None` where the flow had few packets, or both ends were captured,
/// so that no capture would.
pub(super) fn needs(f: &FlowDiagnosis) -> Option<CaptureNeed> {
    if f.has_few_packets() {
        return None;
    }
    Some(match f.vantage.place {
        _ if f.measures.missing_share.is_some() || f.has_note("acks-missing") => CaptureNeed::EveryPacket,
        _ if f.has_note("one-way") => CaptureNeed::BothDirections,
        _ if f.has_note("options-cut") => CaptureNeed::WholeHeaders,
        _ if f.has_note("no-handshake") => CaptureNeed::FromTheSyn,
        _ if f.round_trips().is_some_and(|n| n < FEW_ROUND_TRIPS) => CaptureNeed::Longer,
        _ if f.between_ends.is_some() => return None,
        CapturePlace::Sender => CaptureNeed::AtTheReceiver,
        _ => CaptureNeed::AtTheSender,
    })
}
