//! Losses that no queue and no limiter explain.

use super::remedies::bbr;
use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::{Change, ChangeKind, ChangePlace};

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::LossWithoutQueue,
    // These causes differ in whether packets waited, or exceeded a rate, at the losses.
    looks_like: &[Cause::Congestion, Cause::Policed],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    e.claim_after_loss(part, Cause::RandomLoss)
}

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    let [before, behind] = [a.sum(|f| f.measures.lost_up as f64), a.sum(|f| f.measures.lost_down as f64)];
    let place = if before > behind { ChangePlace::BeforeCapture } else { ChangePlace::BehindCapture };
    let repair = "at a quarter of the loss CUBIC and Reno carry twice as much (Mathis et al. 1997)";
    let mut list = vec![Change::new(ChangeKind::RepairLink, place, repair)];
    // Do not advise the control that the senders use already.
    if !a.all_use("bbr") {
        list.push(bbr("its rate follows what is delivered, not single losses"));
    }
    list
}
