//! A shaper delays.

use super::remedies::at_a_full_rate;
use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::Change;
use result::diagnosis::LimiterKind;

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Nothing,
    // A shaper with an empty bucket behaves as a link of its rate.
    looks_like: &[Cause::Bottleneck, Cause::Policed],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    e.claim_of_queue(part, LimiterKind::Shaper)
}

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    at_a_full_rate(a)
}
