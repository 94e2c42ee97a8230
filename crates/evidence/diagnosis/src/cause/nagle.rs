//! Nagle's algorithm (RFC 896) against delayed ACKs (RFC 1122 section 4.2.3.2): the sender holds a small
//! segment back until all data before it is acknowledged, and the receiver delays that ACK because only one
//! segment came.

use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::{Change, ChangeKind, ChangePlace};

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Nothing,
    // An application that writes little sends small segments too.
    looks_like: &[Cause::Application],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    (part == RoundPart::Held && e.nagle_waits).then_some(ClaimOrder::Writer)
}

fn remedies(_: &AffectedFlows) -> Vec<Change> {
    let once = "one write makes one segment, which does not wait for an ACK";
    let now = "small segments no longer wait for ACKs (RFC 9293 section 3.7.4)";
    vec![
        Change::new(ChangeKind::WriteAtOnce, ChangePlace::Sender, once),
        Change::new(ChangeKind::NoDelay, ChangePlace::Sender, now).named("TCP_NODELAY"),
    ]
}
