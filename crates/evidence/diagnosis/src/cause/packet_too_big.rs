//! Packets were too big for the path, and ICMP reported it to the sender.

use super::remedies::mss_clamp;
use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::Change;

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Nothing,
    // A large packet may be lost by chance.
    looks_like: &[Cause::RandomLoss],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    let waits = matches!(part, RoundPart::Timeout | RoundPart::Silence | RoundPart::Moving);
    (waits && e.last_loss == Cause::PacketTooBig).then_some(ClaimOrder::TooBig)
}

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    vec![mss_clamp(a, "connections begin with segments that fit, and need no ICMP message")]
}
