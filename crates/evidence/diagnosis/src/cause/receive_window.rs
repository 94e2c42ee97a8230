//! The receiver's window was full.

use super::remedies::WINDOW_RATE;
use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::{Change, ChangeKind, ChangePlace, ChangeUnit, EffectMeasure};
use result::sizes::BUFFER_PER_PAYLOAD;

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Window,
    // Any window that is not exceeded keeps the bytes in flight constant, no matter what sets it.
    looks_like: &[Cause::SendBuffer, Cause::Application],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    match part {
        RoundPart::WindowFull => Some(ClaimOrder::Window),
        RoundPart::Moving => e.window_full.then_some(ClaimOrder::Window),
        _ => None,
    }
}

/// The largest window without scaling (RFC 9293 section 3.1).
const MAX_UNSCALED_WINDOW: u64 = 65_535;

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    let m = &a.lead().measures;
    let why = "at most one receive window passes in a round trip";
    // Without scaling, a window cannot be twice as large.
    let unscaled = |window| m.window_scaling == Some(false) && 2 * window > MAX_UNSCALED_WINDOW;
    if !a.is_quic() && m.max_window_bytes.is_some_and(unscaled) {
        let why = "without window scaling a window is at most 64 KiB";
        let scale = Change::new(ChangeKind::WindowScaling, ChangePlace::BothEnds, why);
        return vec![scale.named("tcp_window_scaling")];
    }
    let larger = if a.is_quic() {
        let credit = Change::new(ChangeKind::FlowControl, ChangePlace::Receiver, why);
        credit.named("initial_max_data, initial_max_stream_data")
    } else {
        Change::new(ChangeKind::ReceiveBuffer, ChangePlace::Receiver, why).named("tcp_rmem")
    };
    let Some(window) = m.max_window_bytes else { return vec![larger] };
    let twice = 2 * window;
    let larger = match a.is_quic() {
        true => larger.set(Some(window as f64), twice as f64, ChangeUnit::Bytes),
        // The capture shows the advertised window, not the buffer behind it.
        false => larger.set(None, (BUFFER_PER_PAYLOAD * twice) as f64, ChangeUnit::Bytes),
    };
    let then = a.window_rate_mbps(twice).unwrap_or(0.0);
    vec![larger.up_to(EffectMeasure::Goodput, m.goodput_mbps, then, WINDOW_RATE)]
}
