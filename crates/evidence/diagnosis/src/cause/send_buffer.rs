//! The sender's own buffer or window: the same amount in flight, without loss, queue or full window.

use super::remedies::WINDOW_RATE;
use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::remedy::{EffectMeasure, Remedy, RemedyKind, RemedyPlace, RemedyUnit};

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Nothing,
    // The same amount in flight may be a window of the receiver, or what losses leave.
    looks_like: &[Cause::ReceiveWindow, Cause::RandomLoss],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    match part {
        RoundPart::Drained => e.send_buffer_full.then_some(ClaimOrder::Hint),
        RoundPart::Moving => (!e.inflight_unknown).then_some(ClaimOrder::Rest),
        _ => None,
    }
}

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    let m = &a.lead().measures;
    let twice = 2 * m.max_inflight_bytes;
    let then = a.window_rate_mbps(twice).unwrap_or(0.0);
    let why = "what the buffer holds a round trip is all that passes";
    if a.is_quic() {
        // QUIC has no socket buffer that holds what is in flight.
        return vec![Remedy::new(RemedyKind::SendingApplication, RemedyPlace::Sender, why)];
    }
    vec![
        Remedy::new(RemedyKind::SendBuffer, RemedyPlace::Sender, why)
            .named("tcp_wmem, SO_SNDBUF")
            .set(Some(m.max_inflight_bytes as f64), twice as f64, RemedyUnit::Bytes)
            .up_to(EffectMeasure::Goodput, m.goodput_mbps, then, WINDOW_RATE),
    ]
}
