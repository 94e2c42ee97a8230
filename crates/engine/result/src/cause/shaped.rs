//! A shaper delays.

use super::remedies::{FULL_RATE, at_a_full_rate};
use super::{
    AffectedFlows, Bilingual, CauseBound, CauseColors, CauseEntry, ClaimOrder, RoundEvidence, RoundPart,
};
use crate::diagnosis::LimiterKind;
use crate::remedy::Remedy;

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "shaped", zh: "流量整形" },
    how: Bilingual { en: "shaped", zh: "被流量整形（shaper）延迟" },
    why: &[
        Bilingual {
            en: "a shaper of {rate} Mbit/s let {got} Mbit/s through; its queue grew to {queue}, {queue_ms} ms",
            zh: "{rate} Mbit/s 的流量整形放行了 {got} Mbit/s；其队列增长到 {queue}，即 {queue_ms} ms",
        },
        Bilingual {
            en: "a shaper of {rate} Mbit/s let {got} Mbit/s through; its queue grew to {queue_ms} ms",
            zh: "{rate} Mbit/s 的流量整形放行了 {got} Mbit/s；其队列增长到 {queue_ms} ms",
        },
        Bilingual {
            en: "a shaper of {rate} Mbit/s let {got} Mbit/s through",
            zh: "{rate} Mbit/s 的流量整形放行了 {got} Mbit/s",
        },
        Bilingual {
            en: "{got} Mbit/s came through, with an RTT of {min} ms that grew to {p95} ms",
            zh: "通过了 {got} Mbit/s，RTT 从 {min} ms 增长到 {p95} ms",
        },
        Bilingual { en: "{got} Mbit/s came through", zh: "通过了 {got} Mbit/s" },
    ],
    advice: FULL_RATE,
    colors: CauseColors { light: "#6fcfb0", dark: "#1b7f68" },
    by_limiter: true,
    bound: CauseBound::Nothing,
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    e.claim_of_queue(part, LimiterKind::Shaper)
}

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    at_a_full_rate(a)
}
