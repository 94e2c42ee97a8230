//! The ACKs' path is full, or thins out or bunches ACKs.

use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::{Change, ChangeKind, ChangePlace};

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Nothing,
    // A queue on the data's path raises the RTT too.
    looks_like: &[Cause::Bottleneck, Cause::Application],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    let meets_data = e.waits && e.bidirectional_data && e.limiter.is_none() && !e.data_waits;
    match part {
        RoundPart::Moving if e.acks_wait => Some(ClaimOrder::AckWait),
        RoundPart::Idle | RoundPart::Moving if e.acks_wait_unseen => Some(ClaimOrder::AckWait),
        RoundPart::Moving => meets_data.then_some(ClaimOrder::BothWays),
        _ => None,
    }
}

fn remedies(_: &AffectedFlows) -> Vec<Change> {
    let relieve = "the sender goes on only when ACKs come";
    let pace = "paced packets leave evenly however ACKs are bunched";
    vec![
        Change::new(ChangeKind::ReturnPath, ChangePlace::ReturnPath, relieve),
        Change::new(ChangeKind::Pacing, ChangePlace::Sender, pace).named("fq"),
    ]
}
