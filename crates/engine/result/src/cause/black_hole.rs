//! Packets were too big for the path, and nobody told the sender: a path MTU black hole (RFC 2923 section 2.1).

use super::remedies::mss_clamp;
use super::{
    AdviceTemplate, AffectedFlows, Bilingual, Cause, CauseBound, CauseColors, CauseEntry, ClaimOrder,
    RoundEvidence, RoundPart,
};
use crate::remedy::{Remedy, RemedyKind, RemedyPlace};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "MTU black hole", zh: "MTU 黑洞" },
    how: Bilingual { en: "stuck in a path MTU black hole", zh: "陷于路径 MTU 黑洞" },
    why: &[
        Bilingual {
            en: "segments of {mss_before} bytes were sent in vain until {timeouts} timeouts had passed, smaller ones of {mss} bytes came through, and no ICMP told the sender",
            zh: "{mss_before} 字节的报文段在 {timeouts} 次超时中均未送达，缩小到 {mss} 字节后才通过，且没有 ICMP 通知发送端",
        },
        Bilingual {
            en: "full segments of {mss} bytes were sent in vain, {timeouts} timeouts long, though small packets came through",
            zh: "{mss} 字节的满长报文段在 {timeouts} 次超时中均未送达，而小包可以通过",
        },
        Bilingual {
            en: "full segments were sent in vain, though small packets came through",
            zh: "满长报文段始终未送达，而小包可以通过",
        },
    ],
    advice: &[
        AdviceTemplate {
            of: &[RemedyKind::AllowIcmp, RemedyKind::MssClamp, RemedyKind::MtuProbing],
            text: Bilingual {
                en: "Let ICMP “fragmentation needed” (type 3 code 4) pass, or clamp the MSS to {mss-clamp} bytes where the path narrows (ip tcp adjust-mss, iptables --clamp-mss-to-pmtu); net.ipv4.tcp_mtu_probing=1 helps the sender find out by itself",
                zh: "放行 ICMP“需要分片”（类型 3 代码 4），或在路径变窄处把 MSS 限制为 {mss-clamp} 字节（ip tcp adjust-mss、iptables --clamp-mss-to-pmtu）；net.ipv4.tcp_mtu_probing=1 可让发送端自行发现",
            },
        },
        AdviceTemplate {
            of: &[RemedyKind::AllowIcmp, RemedyKind::MssClamp, RemedyKind::MtuProbing],
            text: Bilingual {
                en: "Let ICMP “fragmentation needed” (type 3 code 4) pass, or clamp the MSS where the path narrows (ip tcp adjust-mss, iptables --clamp-mss-to-pmtu); net.ipv4.tcp_mtu_probing=1 helps the sender find out by itself",
                zh: "放行 ICMP“需要分片”（类型 3 代码 4），或在路径变窄处限制 MSS（ip tcp adjust-mss、iptables --clamp-mss-to-pmtu）；net.ipv4.tcp_mtu_probing=1 可让发送端自行发现",
            },
        },
    ],
    colors: CauseColors { light: "#5b2a9d", dark: "#9a6bff" },
    by_limiter: false,
    bound: CauseBound::Nothing,
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    let waits = matches!(part, RoundPart::Timeout | RoundPart::Silence);
    if waits && e.last_loss == Cause::BlackHole {
        return Some(ClaimOrder::TooBig);
    }
    // What timeouts made of the window lasts.
    e.claim_after_loss(part, Cause::BlackHole)
}

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    let told = "the sender learns at once what fits (RFC 1191; RFC 2979 section 3.1.1)";
    let found = "after timeouts the sender tries smaller segments (RFC 4821)";
    vec![
        Remedy::new(RemedyKind::AllowIcmp, RemedyPlace::Path, told),
        mss_clamp(a, "connections then begin with segments that fit, and nothing has to be told"),
        Remedy::new(RemedyKind::MtuProbing, RemedyPlace::Sender, found),
    ]
}
