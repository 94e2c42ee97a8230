//! A policer drops.

use super::remedies::{ONLY_A_HIGHER_RATE, at_a_full_rate, bbr};
use super::{
    AdviceTemplate, AffectedFlows, Bilingual, Cause, CauseBound, CauseColors, CauseEntry, ClaimOrder,
    RoundEvidence, RoundPart,
};
use crate::remedy::{EffectBound, EffectMeasure, Remedy, RemedyEffect, RemedyKind, RemedyPlace, RemedyUnit};

pub(super) const ENTRY: CauseEntry = CauseEntry {
    label: Bilingual { en: "policed", zh: "流量监管丢包" },
    how: Bilingual { en: "policed", zh: "被流量监管（policer）丢包" },
    why: &[
        Bilingual {
            en: "a bucket of {burst} that fills at {rate} Mbit/s dropped {lost} % of the packets, and {got} Mbit/s came through",
            zh: "流量监管（令牌桶 {burst}，承诺信息速率 CIR {rate} Mbit/s）丢弃了 {lost} % 的数据包，通过了 {got} Mbit/s",
        },
        Bilingual {
            en: "a policer of {rate} Mbit/s dropped {lost} % of the packets, and {got} Mbit/s came through",
            zh: "{rate} Mbit/s 的流量监管丢弃了 {lost} % 的数据包，通过了 {got} Mbit/s",
        },
        Bilingual {
            en: "{lost} % of the packets were dropped, and {got} Mbit/s came through",
            zh: "{lost} % 的数据包被丢弃，通过了 {got} Mbit/s",
        },
    ],
    advice: &[
        AdviceTemplate {
            of: &[RemedyKind::Shape, RemedyKind::CongestionControl],
            text: Bilingual {
                en: "Shape to {shape} Mbit/s at the sender's edge, or use BBR there",
                zh: "在发送端出口做 {shape} Mbit/s 的流量整形，或在发送端使用 BBR",
            },
        },
        AdviceTemplate {
            of: &[RemedyKind::Shape, RemedyKind::CongestionControl],
            text: Bilingual {
                en: "Ask for the policer's rate and shape to a little less at the sender's edge, or use BBR there",
                zh: "向运营商询问流量监管的速率，在发送端出口做略低于该速率的流量整形，或在发送端使用 BBR",
            },
        },
        AdviceTemplate {
            of: &[RemedyKind::Shape],
            text: Bilingual {
                en: "Shape to {shape} Mbit/s at the sender's edge",
                zh: "在发送端出口做 {shape} Mbit/s 的流量整形",
            },
        },
        AdviceTemplate {
            of: &[RemedyKind::Shape],
            text: Bilingual {
                en: "Shape at the sender's edge to a little less than the policer's rate",
                zh: "在发送端出口做流量整形，速率略低于流量监管",
            },
        },
        ONLY_A_HIGHER_RATE,
    ],
    colors: CauseColors { light: "#e8333a", dark: "#ff6b6b" },
    by_limiter: true,
    bound: CauseBound::Loss,
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    // What a policer leaves of a window that is repaired over many round trips may be less than any one loss does, and no
    // sign that the application wrote nothing.
    if part == RoundPart::Drained && e.last_loss == Cause::Policed && e.resends {
        return Some(ClaimOrder::Policer);
    }
    e.claim_after_loss(part, Cause::Policed)
}

/// Where to shape before a policer: what leaves the shaper in bursts must still find tokens.
const SHAPE_AT: f64 = 0.98;
/// The least headers of IPv4 (RFC 791) and TCP (RFC 9293), bytes.
const LEAST_HEADERS: f64 = 40.0;

/// Goodput of this share of what the rate carries leaves nothing to gain.
const FULL: f64 = 0.95;

fn remedies(a: &AffectedFlows) -> Vec<Remedy> {
    let why = "a shaper delays what a policer would drop";
    let shape = Remedy::new(RemedyKind::Shape, RemedyPlace::SenderEdge, why);
    // No advice to use what it uses.
    let follows = (!a.all_use("bbr")).then(|| bbr("its rate follows what is delivered, not single losses"));
    let Some(rate) = a.rate_mbps() else {
        return [Some(shape), follows].into_iter().flatten().collect();
    };
    let mss = f64::from(a.lead().measures.mss_bytes);
    let payload_of = |rate: f64| rate * mss / (mss + LEAST_HEADERS);
    if a.sum(|f| f.measures.goodput_mbps) >= FULL * payload_of(rate) {
        return at_a_full_rate(a).into_iter().take(1).collect();
    }
    let payload = |rate: f64| RemedyEffect {
        measure: EffectMeasure::TotalGoodput,
        unit: RemedyUnit::Mbps,
        now: None,
        then: payload_of(rate),
        bound: EffectBound::AtMost,
        formula: "rate × mss / (mss + 40 bytes of headers)".into(),
    };
    let at = SHAPE_AT * rate;
    let shape = shape.set(None, at, RemedyUnit::Mbps).with(payload(at));
    [Some(shape), follows.map(|f| f.with(payload(rate)))].into_iter().flatten().collect()
}
