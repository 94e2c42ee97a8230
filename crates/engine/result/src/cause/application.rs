//! The sending application had nothing to send.

use super::{
    AdviceTemplate, AffectedFlows, Bilingual, CauseBound, CauseColors, CauseEntry, ClaimOrder, RoundEvidence,
    RoundPart,
};
use crate::remedy::{EffectMeasure, Remedy, RemedyKind, RemedyPlace};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "application", zh: "应用受限" },
    how: Bilingual { en: "waiting for the sending application", zh: "在等待发送端应用" },
    why: &[Bilingual {
        en: "there was nothing to send for {held} s; when there was, {fastest} Mbit/s passed",
        zh: "有 {held} s 没有数据可发；发送时达到 {fastest} Mbit/s",
    }],
    advice: &[AdviceTemplate {
        of: &[RemedyKind::SendingApplication],
        text: Bilingual {
            en: "Look at the sending application: the network waited for it",
            zh: "检查发送端应用：是网络在等它",
        },
    }],
    colors: CauseColors { light: "#9aa0a6", dark: "#868e96" },
    by_limiter: false,
    bound: CauseBound::Nothing,
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    match part {
        RoundPart::Idle => Some(ClaimOrder::Hint),
        RoundPart::Drained | RoundPart::Held => Some(ClaimOrder::Rest),
        RoundPart::Moving if e.writes_little || e.small_writes && !e.waits && e.before_loss => {
            Some(ClaimOrder::Writer)
        }
        RoundPart::Moving => (e.small_writes || !e.flat && e.paused).then_some(ClaimOrder::Hint),
        _ => None,
    }
}

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    let m = &a.lead().measures;
    let formula = "the greatest delivery rate over a round trip, which the path carried when there was data";
    let why = "the network waited for the application";
    vec![Remedy::new(RemedyKind::SendingApplication, RemedyPlace::Sender, why).up_to(
        EffectMeasure::Goodput,
        m.goodput_mbps,
        m.max_delivery_mbps,
        formula,
    )]
}
