//! A full link.

use super::remedies::at_a_full_rate;
use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::Change;
use result::diagnosis::LimiterKind;

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Nothing,
    // A shaper with an empty bucket behaves as a link of its rate.
    looks_like: &[Cause::Shaped, Cause::RandomLoss],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    let meets_acks = e.waits && e.bidirectional_data && e.limiter.is_none();
    if part == RoundPart::Moving && meets_acks && e.data_waits {
        return Some(ClaimOrder::BothWays);
    }
    // A queue longer than RTprop belongs to a full link even if its rate is unknown, and so does a queue that
    // grows with the window while delivery does not grow.
    let overfills = e.overfills && e.limiter.is_none() && !e.bidirectional_data;
    if part == RoundPart::Moving && (e.is_unnamed_queue() || overfills) {
        return Some(ClaimOrder::StandingQueue);
    }
    e.claim_of_queue(part, LimiterKind::Bottleneck)
}

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    at_a_full_rate(a)
}
