//! The receiver's window was full.

use super::remedies::WINDOW_RATE;
use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::remedy::{EffectMeasure, Remedy, RemedyKind, RemedyPlace, RemedyUnit};

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Window,
    // Windows that nothing overflows hold the same amount in flight, whoever set them.
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
const UNSCALED: u64 = 65_535;

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    let m = &a.lead().measures;
    let why = "a window a round trip is all that passes";
    let (kind, name) = if a.is_quic() {
        (RemedyKind::FlowControl, "initial_max_data, initial_max_stream_data")
    } else {
        (RemedyKind::ReceiveBuffer, "tcp_rmem, SO_RCVBUF")
    };
    let larger = Remedy::new(kind, RemedyPlace::Receiver, why).named(name);
    match m.max_window_bytes {
        // Without scaling, twice as much is more than a window can be.
        Some(window) if !a.is_quic() && m.window_scaling == Some(false) && 2 * window > UNSCALED => {
            let why = "without it no window is larger than 64 KiB";
            vec![
                Remedy::new(RemedyKind::WindowScaling, RemedyPlace::BothEnds, why)
                    .named("tcp_window_scaling"),
            ]
        }
        Some(window) => {
            let twice = 2 * window;
            let then = a.window_rate_mbps(twice).unwrap_or(0.0);
            let larger = larger.set(Some(window as f64), twice as f64, RemedyUnit::Bytes);
            vec![larger.up_to(EffectMeasure::Goodput, m.goodput_mbps, then, WINDOW_RATE)]
        }
        None => vec![larger],
    }
}
