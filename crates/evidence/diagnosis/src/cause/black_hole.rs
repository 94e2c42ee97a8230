//! Packets were too big for the path, and no ICMP message reached the sender: a path MTU black hole (RFC 2923
//! section 2.1).

use super::remedies::mss_clamp;
use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::{Change, ChangeKind, ChangePlace};

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Nothing,
    // Full segments vanish in an outage too.
    looks_like: &[Cause::Outage],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    let waits = matches!(part, RoundPart::Timeout | RoundPart::Silence);
    if waits && e.last_loss == Cause::BlackHole {
        return Some(ClaimOrder::TooBig);
    }
    // The window stays as small as timeouts made it.
    e.claim_after_loss(part, Cause::BlackHole)
}

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    let icmp = "the sender learns at once what fits (RFC 1191; RFC 2979 section 3.1.1)";
    let found = "after timeouts the sender tries smaller segments (RFC 4821)";
    let mut list = vec![
        Change::new(ChangeKind::AllowIcmp, ChangePlace::Path, icmp),
        mss_clamp(a, "connections begin with segments that fit, and need no ICMP message"),
    ];
    // A sender that found a smaller size without ICMP probes already.
    if a.flows.iter().any(|f| f.measures.mss_before_bytes.is_none()) {
        list.push(Change::new(ChangeKind::MtuProbing, ChangePlace::Sender, found).named("tcp_mtu_probing"));
    }
    list
}
