//! Nothing could be shown. It claims no time: it is what is left where no cause does.

use super::{
    AdviceTemplate, AffectedFlows, Bilingual, CauseBound, CauseColors, CauseEntry, ClaimOrder, RoundEvidence,
    RoundPart,
};
use crate::remedy::{Remedy, RemedyKind, RemedyPlace};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "unknown", zh: "未知" },
    how: Bilingual {
        en: "limited by something the capture does not show", zh: "受抓包中看不出的因素限制"
    },
    why: &[
        Bilingual {
            en: "{missing} % of its data is not in the capture (sampled, filtered, or written too slowly)",
            zh: "抓包中缺少其 {missing} % 的数据（采样、过滤或写入过慢）",
        },
        Bilingual {
            en: "only one direction was captured (data packets: {data_seen}, ACKs: {acks_seen}): round trips, queues and windows are unknown",
            zh: "只抓到一个方向（{data_seen} 个数据包，{acks_seen} 个 ACK）：往返时间、排队和窗口未知",
        },
        Bilingual { en: "{got} Mbit/s came through", zh: "通过了 {got} Mbit/s" },
    ],
    advice: &[AdviceTemplate {
        of: &[RemedyKind::CaptureAgain],
        text: Bilingual {
            en: "Capture at the sender, both directions, from the SYN on",
            zh: "在发送端从 SYN 开始双向抓包",
        },
    }],
    colors: CauseColors { light: "#d3d7dc", dark: "#3d444b" },
    by_limiter: false,
    bound: CauseBound::Nothing,
    claim,
    remedies,
};

fn claim(_: RoundPart, _: &RoundEvidence) -> Option<ClaimOrder> {
    None
}

fn remedies(_: &AffectedFlows) -> Vec<Remedy> {
    let why = "there windows, pauses and both directions show";
    vec![Remedy::new(RemedyKind::CaptureAgain, RemedyPlace::Sender, why)]
}
