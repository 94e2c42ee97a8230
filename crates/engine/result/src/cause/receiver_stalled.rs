//! The receiver did not read: its window stayed shut, or by more than half full of what it had not read.

use super::{
    AdviceTemplate, AffectedFlows, Bilingual, CauseBound, CauseColors, CauseEntry, ClaimOrder, RoundEvidence,
    RoundPart,
};
use crate::remedy::{EffectBound, EffectMeasure, Remedy, RemedyEffect, RemedyKind, RemedyPlace, RemedyUnit};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "receiver stalled", zh: "接收端停滞" },
    how: Bilingual {
        en: "waiting for the receiving application to read", zh: "在等待接收端应用读取数据"
    },
    why: &[
        Bilingual {
            en: "the receiver let its window fall to nothing {zero_windows} times, and {got} Mbit/s came through; when it read, {fastest} Mbit/s passed",
            zh: "接收端的窗口降为零 {zero_windows} 次，通过了 {got} Mbit/s；读取数据时曾达到 {fastest} Mbit/s",
        },
        Bilingual {
            en: "the receiver left less of its window open than a segment needs, or than half of it, and {got} Mbit/s came through",
            zh: "接收端窗口所剩不足一个报文段或不足一半，通过了 {got} Mbit/s",
        },
    ],
    advice: &[
        AdviceTemplate {
            of: &[RemedyKind::ReceivingApplication],
            text: Bilingual {
                en: "Look at the receiving application: it does not read in time (zero windows: {receiving-application.zero-windows}); the network waited for it",
                zh: "检查接收端应用：它没有及时读取（零窗口 {receiving-application.zero-windows} 次），是网络在等它",
            },
        },
        AdviceTemplate {
            of: &[RemedyKind::ReceivingApplication],
            text: Bilingual {
                en: "Look at the receiving application: it does not read in time, and the network waited for it",
                zh: "检查接收端应用：它没有及时读取，是网络在等它",
            },
        },
    ],
    colors: CauseColors { light: "#00a8b5", dark: "#4fe0e8" },
    by_limiter: false,
    bound: CauseBound::Nothing,
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    // What waits for a hole to be repaired fills a buffer too.
    let unread = e.window_unread && !e.repairs_slowly;
    match part {
        RoundPart::WindowShut => Some(ClaimOrder::WindowShut),
        RoundPart::WindowFull => unread.then_some(ClaimOrder::WindowShut),
        RoundPart::Moving => (unread && e.window_full).then_some(ClaimOrder::WindowShut),
        _ => None,
    }
}

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    let why = "a buffer that is read in time never fills";
    let read = Remedy::new(RemedyKind::ReceivingApplication, RemedyPlace::Receiver, why);
    let zero = a.lead().measures.zero_windows;
    if zero == 0 {
        return vec![read];
    }
    vec![read.with(RemedyEffect {
        measure: EffectMeasure::ZeroWindows,
        unit: RemedyUnit::Times,
        now: Some(zero as f64),
        then: 0.0,
        bound: EffectBound::About,
        formula: "a buffer that is read in time never fills (RFC 9293 section 3.8.6)".into(),
    })]
}
