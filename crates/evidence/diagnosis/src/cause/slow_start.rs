//! The congestion window was still growing exponentially.

use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::remedy::{Remedy, RemedyKind, RemedyPlace};

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Growth,
    // A window that grows may have filled the path already.
    looks_like: &[Cause::Bottleneck, Cause::ReceiveWindow],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    let grows = e.grows && (e.before_loss || e.at_first_loss);
    (part == RoundPart::Moving && grows).then_some(ClaimOrder::Growth)
}

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    let reuse = "a connection that was used before has its window already";
    let initial = "each doubling of the first window saves a round trip (RFC 6928)";
    let name = if a.is_quic() { "the QUIC stack's initial window, RFC 9002 section 7.2" } else { "initcwnd" };
    vec![
        Remedy::new(RemedyKind::ReuseConnections, RemedyPlace::BothEnds, reuse),
        Remedy::new(RemedyKind::InitialWindow, RemedyPlace::Sender, initial).named(name),
    ]
}
