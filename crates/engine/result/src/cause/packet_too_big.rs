//! Packets were too big for the path, and the sender was told.

use super::remedies::mss_clamp;
use super::{
    AdviceTemplate, AffectedFlows, Bilingual, Cause, CauseBound, CauseColors, CauseEntry, ClaimOrder,
    RoundEvidence, RoundPart,
};
use crate::remedy::{Remedy, RemedyKind};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "packet too big", zh: "数据包过大" },
    how: Bilingual {
        en: "held back by packets that were too big for the path",
        zh: "受超过路径 MTU 的数据包影响",
    },
    why: &[
        Bilingual {
            en: "the path carries packets of {mtu} bytes: full segments had to shrink from {mss_before} to {mss} bytes, and what was under way was sent again",
            zh: "路径只能通过 {mtu} 字节的数据包：满长报文段从 {mss_before} 字节缩小到 {mss} 字节，在途数据重新发送",
        },
        Bilingual {
            en: "packets of the size that the connection began with did not fit the path",
            zh: "连接最初使用的数据包大小超过了路径 MTU",
        },
    ],
    advice: &[
        AdviceTemplate {
            of: &[RemedyKind::MssClamp],
            text: Bilingual {
                en: "Clamp the MSS to {mss-clamp} bytes where the path narrows (ip tcp adjust-mss, iptables --clamp-mss-to-pmtu): then no connection begins with packets that do not fit",
                zh: "在路径变窄处把 MSS 限制为 {mss-clamp} 字节（ip tcp adjust-mss、iptables --clamp-mss-to-pmtu）：连接从一开始就不会发送过大的数据包",
            },
        },
        AdviceTemplate {
            of: &[RemedyKind::MssClamp],
            text: Bilingual {
                en: "Clamp the MSS where the path narrows to what it carries there (ip tcp adjust-mss, iptables --clamp-mss-to-pmtu): then no connection begins with packets that do not fit",
                zh: "在路径变窄处把 MSS 限制为路径所能通过的大小（ip tcp adjust-mss、iptables --clamp-mss-to-pmtu）：连接从一开始就不会发送过大的数据包",
            },
        },
    ],
    colors: CauseColors { light: "#7d7a00", dark: "#b5e04a" },
    by_limiter: false,
    bound: CauseBound::Nothing,
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    let waits = matches!(part, RoundPart::Timeout | RoundPart::Silence | RoundPart::Moving);
    (waits && e.last_loss == Cause::PacketTooBig).then_some(ClaimOrder::TooBig)
}

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    vec![mss_clamp(a, "connections then begin with segments that fit, and nothing has to be told")]
}
