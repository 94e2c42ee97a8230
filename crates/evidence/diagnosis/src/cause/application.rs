//! The sending application had nothing to send.

use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::{Change, ChangeKind, ChangePlace, EffectMeasure};

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Nothing,
    // A pause of the application looks like that of a window or shaper that the capture does not show.
    looks_like: &[Cause::ReceiveWindow, Cause::Shaped],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    match part {
        RoundPart::Idle => Some(ClaimOrder::Hint),
        RoundPart::Drained | RoundPart::Held => Some(ClaimOrder::Rest),
        RoundPart::Moving if e.writes_little || e.small_writes && !e.waits && e.before_loss => {
            Some(ClaimOrder::Writer)
        }
        RoundPart::Moving => (e.small_writes || !e.flat && e.paused).then_some(ClaimOrder::Hint),
        _ => None,
    }
}

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    let m = &a.lead().measures;
    let formula = "the greatest delivery rate over a round trip, which the path carried when there was data";
    let why = "the network had room while the application sent nothing";
    vec![Change::new(ChangeKind::SendingApplication, ChangePlace::Sender, why).up_to(
        EffectMeasure::Goodput,
        m.goodput_mbps,
        m.max_delivery_mbps,
        formula,
    )]
}
