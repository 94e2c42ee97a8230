//! The receiver did not read: its window stayed closed, or unread data filled more than half of it.

use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::{Change, ChangeEffect, ChangeKind, ChangePlace, ChangeUnit, EffectBound, EffectMeasure};

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Nothing,
    // A sender that has nothing to send pauses too.
    looks_like: &[Cause::Application],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    // Data behind a hole that is being repaired fills a buffer too.
    let unread = e.window_unread && !e.repairs_slowly;
    match part {
        RoundPart::WindowShut => Some(ClaimOrder::WindowShut),
        RoundPart::WindowFull => unread.then_some(ClaimOrder::WindowShut),
        RoundPart::Moving => (unread && e.window_full).then_some(ClaimOrder::WindowShut),
        _ => None,
    }
}

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    let why = "a buffer that is read in time does not fill";
    let read = Change::new(ChangeKind::ReceivingApplication, ChangePlace::Receiver, why);
    let zero = a.lead().measures.zero_windows;
    if zero == 0 {
        return vec![read];
    }
    vec![read.with(ChangeEffect {
        measure: EffectMeasure::ZeroWindows,
        unit: ChangeUnit::Times,
        now: Some(zero as f64),
        then: 0.0,
        bound: EffectBound::About,
        formula: "a buffer that is read in time never fills (RFC 9293 section 3.8.6)".into(),
    })]
}
