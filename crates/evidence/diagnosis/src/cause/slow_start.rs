//! The congestion window was still growing exponentially.

use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::{Change, ChangeKind, ChangePlace};

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Growth,
    // A growing window may already have filled the path.
    looks_like: &[Cause::Bottleneck, Cause::ReceiveWindow],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    let grows = e.grows && (e.before_loss || e.at_first_loss);
    (part == RoundPart::Moving && grows).then_some(ClaimOrder::Growth)
}

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    let reuse = "a connection that was used before already has a large window";
    let initial = "each doubling of the initial window saves a round trip (RFC 6928)";
    let name = if a.is_quic() { "the QUIC stack's initial window, RFC 9002 section 7.2" } else { "initcwnd" };
    vec![
        Change::new(ChangeKind::ReuseConnections, ChangePlace::BothEnds, reuse),
        Change::new(ChangeKind::InitialWindow, ChangePlace::Sender, initial).named(name),
    ]
}
