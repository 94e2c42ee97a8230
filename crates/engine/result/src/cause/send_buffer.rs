//! The sender's own buffer or window: the same amount in flight, without loss, queue or full window.

use super::remedies::WINDOW_RATE;
use super::{
    AdviceTemplate, AffectedFlows, Bilingual, CauseBound, CauseColors, CauseEntry, ClaimOrder, RoundEvidence,
    RoundPart,
};
use crate::remedy::{EffectMeasure, Remedy, RemedyKind, RemedyPlace, RemedyUnit};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "send buffer", zh: "发送缓冲" },
    how: Bilingual { en: "held back by the sender's own buffer", zh: "受发送端自身缓冲限制" },
    why: &[
        Bilingual {
            en: "at most {burst_flight} left at once, and the next only when ACKs had made room; {got} Mbit/s came through",
            zh: "每次最多发出 {burst_flight}，等 ACK 腾出缓冲后才发下一批；通过 {got} Mbit/s",
        },
        Bilingual {
            en: "it kept {flight} in flight and never more, without loss or queue; over an RTT of {min} ms that carries {flight_rate} Mbit/s",
            zh: "在途数据始终不超过 {flight}，且没有丢包和排队；在 {min} ms 的 RTT 下最多承载 {flight_rate} Mbit/s",
        },
        Bilingual {
            en: "it kept {flight} in flight and never more, without loss or queue",
            zh: "在途数据始终不超过 {flight}，且没有丢包和排队",
        },
    ],
    advice: &[AdviceTemplate {
        of: &[RemedyKind::SendBuffer],
        text: Bilingual {
            en: "Give the sender a larger buffer (tcp_wmem, SO_SNDBUF): {send-buffer} would carry twice as much",
            zh: "增大发送端缓冲（tcp_wmem、SO_SNDBUF）：{send-buffer} 可使速率翻倍",
        },
    }],
    colors: CauseColors { light: "#8fbfe0", dark: "#2a5f85" },
    by_limiter: false,
    bound: CauseBound::Nothing,
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    match part {
        RoundPart::Drained => e.send_buffer_full.then_some(ClaimOrder::Hint),
        RoundPart::Moving => Some(ClaimOrder::Rest),
        _ => None,
    }
}

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    let m = &a.lead().measures;
    let twice = 2 * m.max_inflight_bytes;
    let then = a.window_rate_mbps(twice).unwrap_or(0.0);
    let why = "what the buffer holds a round trip is all that passes";
    vec![
        Remedy::new(RemedyKind::SendBuffer, RemedyPlace::Sender, why)
            .named("tcp_wmem, SO_SNDBUF")
            .set(Some(m.max_inflight_bytes as f64), twice as f64, RemedyUnit::Bytes)
            .up_to(EffectMeasure::Goodput, m.goodput_mbps, then, WINDOW_RATE),
    ]
}
