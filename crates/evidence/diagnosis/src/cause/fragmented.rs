//! Packets were cut into IP fragments, and lost with any of them (RFC 8900 section 3).

use super::remedies::mss_clamp;
use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::Change;

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Loss,
    // The lost fragment may have been lost by chance, or at a full queue.
    looks_like: &[Cause::RandomLoss, Cause::Congestion],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    e.claim_after_loss(part, Cause::Fragmented)
}

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    vec![mss_clamp(
        a,
        "packets that are not cut are lost by one loss in as many as they had fragments (RFC 8900)",
    )]
}
