//! Nagle's algorithm (RFC 896) against delayed ACKs (RFC 1122 section 4.2.3.2): the sender holds a small segment back until all
//! before it is acknowledged, and the receiver holds that ACK back because only one segment came.

use super::{
    AdviceTemplate, AffectedFlows, Bilingual, CauseBound, CauseColors, CauseEntry, ClaimOrder, RoundEvidence,
    RoundPart,
};
use crate::remedy::{Remedy, RemedyKind, RemedyPlace};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "Nagle + delayed ACK", zh: "Nagle 与延迟 ACK" },
    how: Bilingual {
        en: "held up by Nagle's algorithm and delayed ACKs",
        zh: "被 Nagle 算法与延迟 ACK 相互等待拖住",
    },
    why: &[
        Bilingual {
            en: "{held_segments} small segments waited {held_each} ms each until what was before them was acknowledged, and the receiver delayed that",
            zh: "{held_segments} 个小报文段各等了 {held_each} ms，直到之前的数据被确认，而接收端延迟了该 ACK",
        },
        Bilingual {
            en: "small segments waited until what was before them was acknowledged, and the receiver delayed that",
            zh: "小报文段要等到之前的数据被确认，而接收端延迟了该 ACK",
        },
    ],
    advice: &[AdviceTemplate {
        of: &[RemedyKind::WriteAtOnce, RemedyKind::NoDelay],
        text: Bilingual {
            en: "Let the sending application write in one go what belongs together (writev, MSG_MORE), or set TCP_NODELAY",
            zh: "让发送端应用一次写出属于一起的数据（writev、MSG_MORE），或设置 TCP_NODELAY",
        },
    }],
    colors: CauseColors { light: "#43a82b", dark: "#66d93a" },
    by_limiter: false,
    bound: CauseBound::Nothing,
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    (part == RoundPart::Held && e.held_again).then_some(ClaimOrder::Writer)
}

fn remedies(_: &AffectedFlows) -> Vec<Remedy> {
    let once = "one write makes one segment, and none has to wait";
    let now = "small segments are sent though others are not acknowledged (RFC 9293 section 3.7.4)";
    vec![
        Remedy::new(RemedyKind::WriteAtOnce, RemedyPlace::Sender, once),
        Remedy::new(RemedyKind::NoDelay, RemedyPlace::Sender, now).named("TCP_NODELAY"),
    ]
}
