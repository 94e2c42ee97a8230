//! Losses at a full queue.

use super::remedies::bbr;
use super::{
    AdviceTemplate, AffectedFlows, Bilingual, Cause, CauseBound, CauseColors, CauseEntry, ClaimOrder,
    RoundEvidence, RoundPart,
};
use crate::remedy::{Remedy, RemedyKind, RemedyPlace, RemedyUnit};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "congestion", zh: "拥塞" },
    how: Bilingual { en: "held back by losses at a full queue", zh: "因队列满丢包而降速" },
    why: &[
        Bilingual {
            en: "{lost} % of the packets were lost to a queue that {aqm} keeps short; {got} Mbit/s came through",
            zh: "{lost} % 的数据包丢失于由 {aqm} 控制长度的队列；通过了 {got} Mbit/s",
        },
        Bilingual {
            en: "{lost} % of the packets were lost while the RTT stood at up to {p95} ms, {min} ms without a queue; {got} Mbit/s came through",
            zh: "在 RTT 高达 {p95} ms（无排队时为 {min} ms）时丢失了 {lost} % 的数据包；通过了 {got} Mbit/s",
        },
        Bilingual {
            en: "{lost} % of the packets were lost at a full queue; {got} Mbit/s came through",
            zh: "队列满时丢失了 {lost} % 的数据包；通过了 {got} Mbit/s",
        },
    ],
    advice: &[
        AdviceTemplate {
            of: &[RemedyKind::QueueManagement, RemedyKind::Ecn, RemedyKind::CongestionControl],
            text: Bilingual {
                en: "FQ-CoDel or ECN at that queue, or BBR at the sender, would lose fewer packets",
                zh: "在该队列使用 FQ-CoDel 或 ECN，或在发送端使用 BBR，可减少丢包",
            },
        },
        AdviceTemplate {
            of: &[RemedyKind::QueueLength, RemedyKind::CongestionControl],
            text: Bilingual {
                en: "That queue ({queue-length.now}) is shorter than the path's {queue-length}: lengthen it, or use BBR at the sender",
                zh: "该队列（{queue-length.now}）小于路径的 {queue-length}：加长队列，或在发送端使用 BBR",
            },
        },
        AdviceTemplate {
            of: &[RemedyKind::QueueManagement, RemedyKind::Ecn],
            text: Bilingual {
                en: "FQ-CoDel or ECN at that queue would lose fewer packets",
                zh: "在该队列使用 FQ-CoDel 或 ECN 可减少丢包",
            },
        },
        AdviceTemplate {
            of: &[RemedyKind::Ecn, RemedyKind::CongestionControl],
            text: Bilingual {
                en: "That queue drops early, as it should: ECN, or BBR at the sender, would lose fewer packets",
                zh: "该队列按设计提前丢包：使用 ECN，或在发送端使用 BBR，可减少丢包",
            },
        },
        AdviceTemplate {
            of: &[RemedyKind::Ecn],
            text: Bilingual {
                en: "That queue drops early, as it should: ECN would lose fewer packets",
                zh: "该队列按设计提前丢包：使用 ECN 可减少丢包",
            },
        },
        AdviceTemplate {
            of: &[RemedyKind::QueueLength],
            text: Bilingual {
                en: "That queue ({queue-length.now}) is shorter than the path's {queue-length}: lengthen it",
                zh: "该队列（{queue-length.now}）小于路径的 {queue-length}：加长队列",
            },
        },
    ],
    colors: CauseColors { light: "#8e0b3a", dark: "#ff3d9a" },
    by_limiter: true,
    bound: CauseBound::Loss,
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    e.claim_after_loss(part, Cause::Congestion)
}

/// A queue is short when it holds less than this of what fills the path: half a BDP keeps a link busy through CUBIC's
/// reduction to 0.7 (RFC 9438 section 4.6).
const SHORT_QUEUE: f64 = 0.5;

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    let bdp = a.lead().measures.bdp_bytes as f64;
    // No advice to use what it uses.
    let fewer = (!a.all_use("bbr")).then(|| bbr("it keeps less in the queue, and so loses fewer packets"));
    let mark = "senders slow down by a mark, without a loss (RFC 3168)";
    let marked = Remedy::new(RemedyKind::Ecn, RemedyPlace::Limiter, mark).named("tcp_ecn");
    // It is managed already: neither longer nor under another law would it lose fewer.
    if a.is_managed() {
        return [Some(marked), fewer].into_iter().flatten().collect();
    }
    if let Some(queue) = a.limiter.and_then(|l| l.queue_bytes).filter(|&q| q < SHORT_QUEUE * bdp) {
        let why = "a queue shorter than the path's bandwidth-delay product runs empty after each loss (RFC 9438 section 4.6)";
        let longer = Remedy::new(RemedyKind::QueueLength, RemedyPlace::Limiter, why);
        let longer = longer.set(Some(queue), bdp, RemedyUnit::Bytes);
        return [Some(longer), fewer].into_iter().flatten().collect();
    }
    let early = "it drops few packets early instead of many when the queue is full (RFC 8290)";
    let managed = Remedy::new(RemedyKind::QueueManagement, RemedyPlace::Limiter, early).named("fq_codel");
    [Some(managed), Some(marked), fewer].into_iter().flatten().collect()
}
