//! Packets were cut into IP fragments, and lost with any of them (RFC 8900 section 3).

use super::remedies::mss_clamp;
use super::{
    AdviceTemplate, AffectedFlows, Bilingual, Cause, CauseBound, CauseColors, CauseEntry, ClaimOrder,
    RoundEvidence, RoundPart,
};
use crate::remedy::{Remedy, RemedyKind};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "fragmented", zh: "IP 分片" },
    how: Bilingual { en: "held back by IP fragmentation", zh: "受 IP 分片影响" },
    why: &[
        Bilingual {
            en: "{fragmented} % of the packets came in {pieces} fragments each, with {more_headers} % more bytes for headers; of {torn} packets only a part came; the loss of one fragment loses the packet, and {lost} % of the packets were lost",
            zh: "{fragmented} % 的数据包各分为 {pieces} 个分片，首部字节增加 {more_headers} %；{torn} 个数据包只到达一部分；丢失一个分片就丢失整个数据包，共丢失 {lost} % 的数据包",
        },
        Bilingual {
            en: "{fragmented} % of the packets came in {pieces} fragments each, with {more_headers} % more bytes for headers; the loss of one fragment loses the packet, and {lost} % of the packets were lost",
            zh: "{fragmented} % 的数据包各分为 {pieces} 个分片，首部字节增加 {more_headers} %；丢失一个分片就丢失整个数据包，共丢失 {lost} % 的数据包",
        },
        Bilingual {
            en: "most packets came in fragments, and the loss of one fragment loses the packet",
            zh: "多数数据包被分片，丢失一个分片就丢失整个数据包",
        },
    ],
    advice: &[
        AdviceTemplate {
            of: &[RemedyKind::MssClamp],
            text: Bilingual {
                en: "Clamp the MSS to {mss-clamp} bytes before the place where packets are cut (ip tcp adjust-mss, iptables --set-mss), or lower the sender's MTU: then packets pass whole",
                zh: "在分片处之前把 MSS 限制为 {mss-clamp} 字节（ip tcp adjust-mss、iptables --set-mss），或减小发送端的 MTU：数据包便不再分片",
            },
        },
        AdviceTemplate {
            of: &[RemedyKind::MssClamp],
            text: Bilingual {
                en: "Clamp the MSS before the place where packets are cut (ip tcp adjust-mss, iptables --set-mss), or lower the sender's MTU: then packets pass whole",
                zh: "在分片处之前限制 MSS（ip tcp adjust-mss、iptables --set-mss），或减小发送端的 MTU：数据包便不再分片",
            },
        },
    ],
    colors: CauseColors { light: "#f4a582", dark: "#ffb08a" },
    by_limiter: false,
    // Of the losses of packets cut in two, half would have been losses of whole ones too.
    bound: CauseBound::Loss,
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    e.claim_after_loss(part, Cause::Fragmented)
}

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    vec![mss_clamp(
        a,
        "packets that are not cut are lost by one loss in as many as they had fragments (RFC 8900)",
    )]
}
