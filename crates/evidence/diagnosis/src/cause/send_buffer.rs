//! The sender's own buffer or window: constant bytes in flight, without loss, queue or full receive window.

use super::remedies::WINDOW_RATE;
use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::{Change, ChangeKind, ChangePlace, ChangeUnit, EffectMeasure};
use result::sizes::BUFFER_PER_PAYLOAD;

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Nothing,
    // Constant bytes in flight may be a receive window, or the result of losses.
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
    let why = "at most one send buffer passes in a round trip";
    if a.is_quic() {
        // QUIC has no socket buffer for data in flight.
        return vec![Change::new(ChangeKind::SendingApplication, ChangePlace::Sender, why).named("QUIC")];
    }
    let twice = 2 * m.max_inflight_bytes;
    let then = a.window_rate_mbps(twice).unwrap_or(0.0);
    vec![
        // The capture shows the bytes in flight, not the buffer that holds them.
        Change::new(ChangeKind::SendBuffer, ChangePlace::Sender, why)
            .named("tcp_wmem")
            .set(None, (BUFFER_PER_PAYLOAD * twice) as f64, ChangeUnit::Bytes)
            .up_to(EffectMeasure::Goodput, m.goodput_mbps, then, WINDOW_RATE),
    ]
}
