//! A shaper delays.

use super::remedies::at_a_full_rate;
use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::diagnosis::LimiterKind;
use result::remedy::Remedy;

pub(super) const RULES: CauseRules = CauseRules { bound: CauseBound::Nothing, claim, remedies };

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    e.claim_of_queue(part, LimiterKind::Shaper)
}

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    at_a_full_rate(a)
}
