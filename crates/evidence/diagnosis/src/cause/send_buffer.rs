//! The sender's own buffer or window: the same amount in flight, without loss, queue or full window.

use super::remedies::WINDOW_RATE;
use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::{Change, ChangeKind, ChangePlace, ChangeUnit, EffectMeasure};
use result::sizes::BUFFER_PER_PAYLOAD;

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

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    let m = &a.lead().measures;
    let why = "what the buffer holds a round trip is all that passes";
    if a.is_quic() {
        // QUIC has no socket buffer that holds what is in flight.
        return vec![Change::new(ChangeKind::SendingApplication, ChangePlace::Sender, why).named("QUIC")];
    }
    let twice = 2 * m.max_inflight_bytes;
    let then = a.window_rate_mbps(twice).unwrap_or(0.0);
    vec![
        // The capture shows what is in flight, not the buffer that holds it.
        Change::new(ChangeKind::SendBuffer, ChangePlace::Sender, why)
            .named("tcp_wmem")
            .set(None, (BUFFER_PER_PAYLOAD * twice) as f64, ChangeUnit::Bytes)
            .up_to(EffectMeasure::Goodput, m.goodput_mbps, then, WINDOW_RATE),
    ]
}
