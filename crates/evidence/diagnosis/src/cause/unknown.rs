//! No cause could be shown. This one claims no time, and gets what no other cause claims.

use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::change::{Change, ChangeKind, ChangePlace};

pub(super) const RULES: CauseRules =
    CauseRules { bound: CauseBound::Nothing, looks_like: &[], claim, remedies };

fn claim(_: RoundPart, _: &RoundEvidence) -> Option<ClaimOrder> {
    None
}

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    // Another capture of so few packets would show no more.
    if a.lead().has_few_packets() {
        return Vec::new();
    }
    let why = "a capture there shows windows, pauses and both directions";
    vec![Change::new(ChangeKind::CaptureAgain, ChangePlace::Sender, why)]
}
