//! Nothing could be shown. It claims no time: it is what is left where no cause does.

use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::change::{Change, ChangeKind, ChangePlace};

pub(super) const RULES: CauseRules =
    CauseRules { bound: CauseBound::Nothing, looks_like: &[], claim, remedies };

fn claim(_: RoundPart, _: &RoundEvidence) -> Option<ClaimOrder> {
    None
}

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    // Another capture of so little would show no more.
    if a.lead().has_few_packets() {
        return Vec::new();
    }
    let why = "there windows, pauses and both directions show";
    vec![Change::new(ChangeKind::CaptureAgain, ChangePlace::Sender, why)]
}
