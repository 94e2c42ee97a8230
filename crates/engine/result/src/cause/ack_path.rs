//! The way of the ACKs is full, thins them out or bunches them.

use super::{
    AdviceTemplate, AffectedFlows, Bilingual, CauseBound, CauseColors, CauseEntry, ClaimOrder, RoundEvidence,
    RoundPart,
};
use crate::remedy::{Remedy, RemedyKind, RemedyPlace};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "ACK path", zh: "ACK 路径" },
    how: Bilingual { en: "held back by the way of the ACKs", zh: "受 ACK 返回路径限制" },
    why: &[Bilingual {
        en: "one ACK came for every {data_per_ack} data packets, and bursts of up to {largest_burst} followed them",
        zh: "平均每 {data_per_ack} 个数据包才有一个 ACK，随后出现最大 {largest_burst} 的突发",
    }],
    advice: &[AdviceTemplate {
        of: &[RemedyKind::ReturnPath, RemedyKind::Pacing],
        text: Bilingual {
            en: "Look at the way back for congestion or for what thins out ACKs; pacing at the sender (fq, BBR) softens it",
            zh: "检查返回方向是否拥塞或有设备丢弃 ACK（ACK 抽稀）；发送端平滑发送（fq、BBR）可缓解",
        },
    }],
    colors: CauseColors { light: "#8a5a2b", dark: "#b88452" },
    by_limiter: false,
    bound: CauseBound::Nothing,
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    let meets_data = e.waits && e.both_ways && e.limiter.is_none() && !e.data_waits;
    match part {
        RoundPart::Moving if e.acks_wait => Some(ClaimOrder::AckWait),
        RoundPart::Moving => meets_data.then_some(ClaimOrder::BothWays),
        _ => None,
    }
}

fn remedies(_: &AffectedFlows) -> Vec<Remedy> {
    let relieve = "the sender goes on only when ACKs come";
    let pace = "paced packets leave evenly however ACKs are bunched";
    vec![
        Remedy::new(RemedyKind::ReturnPath, RemedyPlace::ReturnPath, relieve),
        Remedy::new(RemedyKind::Pacing, RemedyPlace::Sender, pace).named("fq, bbr"),
    ]
}
