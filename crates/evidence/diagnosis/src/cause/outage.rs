//! Nothing passed, as in a handover or an outage.

use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::{Change, ChangeKind, ChangePlace};

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Nothing,
    // A flow whose whole window is lost is silent until the timeout.
    looks_like: &[Cause::Congestion, Cause::RandomLoss],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    match part {
        RoundPart::Silence => Some(ClaimOrder::AfterLoss),
        _ => e.claim_after_loss(part, Cause::Outage),
    }
}

fn remedies(_: &AffectedFlows) -> Vec<Change> {
    let why = "it shows whether a handover, the radio or a route change caused the outage";
    vec![Change::new(ChangeKind::LinkLog, ChangePlace::Path, why)]
}
