//! Losses that no queue and no limiter explain.

use super::remedies::bbr;
use super::{
    AdviceTemplate, AffectedFlows, Bilingual, Cause, CauseBound, CauseColors, CauseEntry, ClaimOrder,
    RoundEvidence, RoundPart,
};
use crate::remedy::{Remedy, RemedyKind, RemedyPlace};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "random loss", zh: "随机丢包" },
    how: Bilingual { en: "held back by random loss", zh: "受随机丢包限制" },
    why: &[
        Bilingual {
            en: "{lost} % of the packets were lost while no queue stood (RTT {p50} ms in the median, {min} ms at least); CUBIC and Reno carry some {mathis} Mbit/s at that",
            zh: "在没有排队时（RTT 中位数 {p50} ms，最小 {min} ms）丢失了 {lost} % 的数据包；在这样的丢包率下 CUBIC 与 Reno 约能达到 {mathis} Mbit/s",
        },
        Bilingual {
            en: "{lost} % of the packets were lost while no queue stood (RTT {p50} ms in the median, {min} ms at least)",
            zh: "在没有排队时（RTT 中位数 {p50} ms，最小 {min} ms）丢失了 {lost} % 的数据包",
        },
        Bilingual {
            en: "{lost} % of the packets were lost, and nothing shows a queue",
            zh: "丢失了 {lost} % 的数据包，且看不出排队",
        },
    ],
    advice: &[
        AdviceTemplate {
            of: &[RemedyKind::RepairLink, RemedyKind::CongestionControl],
            text: Bilingual {
                en: "Mend the link that loses them ({repair-link.place}), or use BBR at the sender",
                zh: "修复丢包的链路（{repair-link.place}），或在发送端使用 BBR",
            },
        },
        AdviceTemplate {
            of: &[RemedyKind::RepairLink],
            text: Bilingual {
                en: "Mend the link that loses them ({repair-link.place})",
                zh: "修复丢包的链路（{repair-link.place}）",
            },
        },
    ],
    colors: CauseColors { light: "#c78fd1", dark: "#cf9ad9" },
    by_limiter: false,
    bound: CauseBound::LossWithoutQueue,
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    e.claim_after_loss(part, Cause::RandomLoss)
}

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    let [before, behind] = [a.sum(|f| f.measures.lost_up as f64), a.sum(|f| f.measures.lost_down as f64)];
    let place = if before > behind { RemedyPlace::BeforeCapture } else { RemedyPlace::BehindCapture };
    let repair = "at a quarter of the loss CUBIC and Reno carry twice as much (Mathis et al. 1997)";
    let mut list = vec![Remedy::new(RemedyKind::RepairLink, place, repair)];
    // No advice to use what it uses.
    if !a.all_use("bbr") {
        list.push(bbr("its rate follows what is delivered, not single losses"));
    }
    list
}
