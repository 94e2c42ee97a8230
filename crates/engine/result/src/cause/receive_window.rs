//! The receiver's window was full.

use super::remedies::WINDOW_RATE;
use super::{
    AdviceTemplate, AffectedFlows, Bilingual, CauseBound, CauseColors, CauseEntry, ClaimOrder, RoundEvidence,
    RoundPart,
};
use crate::remedy::{EffectMeasure, Remedy, RemedyKind, RemedyPlace, RemedyUnit};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "receive window", zh: "接收窗口" },
    how: Bilingual { en: "held back by the receive window", zh: "受接收窗口限制" },
    why: &[
        Bilingual {
            en: "a window of {window} over an RTT of {min} ms carries {window_rate} Mbit/s at the most",
            zh: "{window} 的窗口在 {min} ms 的 RTT 下最多承载 {window_rate} Mbit/s",
        },
        Bilingual {
            en: "the window had no room for another packet; {got} Mbit/s came through",
            zh: "窗口容不下更多数据包；通过了 {got} Mbit/s",
        },
    ],
    advice: &[
        AdviceTemplate {
            of: &[RemedyKind::WindowScaling],
            text: Bilingual {
                en: "Turn window scaling (RFC 7323) on at both ends: no window is larger than 64 KiB without it",
                zh: "在两端启用窗口缩放（RFC 7323）：否则窗口不会超过 64 KiB",
            },
        },
        AdviceTemplate {
            of: &[RemedyKind::ReceiveBuffer],
            text: Bilingual {
                en: "Give the receiver a larger buffer (tcp_rmem, SO_RCVBUF): {receive-buffer} would carry twice as much",
                zh: "增大接收端缓冲（tcp_rmem、SO_RCVBUF）：{receive-buffer} 可使速率翻倍",
            },
        },
        AdviceTemplate {
            of: &[RemedyKind::ReceiveBuffer],
            text: Bilingual {
                en: "Give the receiver a larger buffer (tcp_rmem, SO_RCVBUF)",
                zh: "增大接收端缓冲（tcp_rmem、SO_RCVBUF）",
            },
        },
    ],
    colors: CauseColors { light: "#1f6fb2", dark: "#5fa6d8" },
    by_limiter: false,
    bound: CauseBound::Window,
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
    let larger =
        Remedy::new(RemedyKind::ReceiveBuffer, RemedyPlace::Receiver, why).named("tcp_rmem, SO_RCVBUF");
    match m.max_window_bytes {
        // Without scaling, twice as much is more than a window can be.
        Some(window) if m.window_scaling == Some(false) && 2 * window > UNSCALED => {
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
