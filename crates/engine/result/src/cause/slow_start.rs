//! The congestion window was still growing exponentially.

use super::{
    AdviceTemplate, AffectedFlows, Bilingual, CauseBound, CauseColors, CauseEntry, ClaimOrder, RoundEvidence,
    RoundPart,
};
use crate::remedy::{Remedy, RemedyKind, RemedyPlace};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "slow start", zh: "慢启动" },
    how: Bilingual { en: "still in slow start", zh: "仍处于慢启动" },
    why: &[
        Bilingual {
            en: "{bytes} were over within {rounds} round trips of {min} ms, before the window had grown",
            zh: "{bytes} 在 {rounds} 个 {min} ms 的往返内就传完了，窗口还来不及增长",
        },
        Bilingual {
            en: "{bytes} were over before the window had grown",
            zh: "{bytes} 在窗口增长之前就传完了",
        },
    ],
    advice: &[AdviceTemplate {
        of: &[RemedyKind::ReuseConnections, RemedyKind::InitialWindow],
        text: Bilingual {
            en: "Keep connections open and use them again, or begin with a larger window (initcwnd)",
            zh: "保持并复用连接，或使用更大的初始窗口（initcwnd）",
        },
    }],
    colors: CauseColors { light: "#e69f00", dark: "#f0b429" },
    by_limiter: false,
    bound: CauseBound::Growth,
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    let grows = e.grows && (e.before_loss || e.at_first_loss);
    (part == RoundPart::Moving && grows).then_some(ClaimOrder::Growth)
}

fn remedies(_: &AffectedFlows) -> Vec<Remedy> {
    let reuse = "a connection that was used before has its window already";
    let initial = "each doubling of the first window saves a round trip (RFC 6928)";
    vec![
        Remedy::new(RemedyKind::ReuseConnections, RemedyPlace::BothEnds, reuse),
        Remedy::new(RemedyKind::InitialWindow, RemedyPlace::Sender, initial).named("initcwnd"),
    ]
}
