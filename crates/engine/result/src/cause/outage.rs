//! Nothing passed: handover or outage.

use super::{
    AdviceTemplate, AffectedFlows, Bilingual, Cause, CauseBound, CauseColors, CauseEntry, ClaimOrder,
    RoundEvidence, RoundPart,
};
use crate::remedy::{Remedy, RemedyKind, RemedyPlace};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "outage", zh: "中断" },
    how: Bilingual { en: "cut off", zh: "处于中断" },
    why: &[
        Bilingual {
            en: "nothing passed for {silent} s, in either direction",
            zh: "有 {silent} s 双向都没有数据包通过",
        },
        Bilingual {
            en: "for a while nothing passed, in either direction",
            zh: "有一段时间双向都没有数据包通过",
        },
    ],
    advice: &[AdviceTemplate {
        of: &[RemedyKind::LinkLog],
        text: Bilingual {
            en: "Look at the link's own log for these times: handover, radio, rerouting",
            zh: "查看链路在这些时刻的日志：切换、无线、路由变更",
        },
    }],
    colors: CauseColors { light: "#1a1a1a", dark: "#eceff1" },
    by_limiter: false,
    bound: CauseBound::Nothing,
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    match part {
        RoundPart::Silence => Some(ClaimOrder::AfterLoss),
        _ => e.claim_after_loss(part, Cause::Outage),
    }
}

fn remedies(_: &AffectedFlows) -> Vec<Remedy> {
    let why = "it says whether a handover, the radio or a new route was it";
    vec![Remedy::new(RemedyKind::LinkLog, RemedyPlace::Path, why)]
}
