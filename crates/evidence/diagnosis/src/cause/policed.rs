//! A policer drops.

use super::remedies::{at_a_full_rate, bbr};
use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::{Change, ChangeEffect, ChangeKind, ChangePlace, ChangeUnit, EffectBound, EffectMeasure};
use result::sizes::SHAPED_SHARE;

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Loss,
    // These causes differ in whether packets waited, or exceeded a rate, at the losses.
    looks_like: &[Cause::Congestion, Cause::RandomLoss],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    // After a policer's losses have been repaired over many round trips, the window may be smaller than after
    // any single loss. That does not show that the application wrote nothing.
    if part == RoundPart::Drained && e.last_loss == Cause::Policed && e.resends {
        return Some(ClaimOrder::Policer);
    }
    e.claim_after_loss(part, Cause::Policed)
}

/// The least headers of IPv4 (RFC 791) and TCP (RFC 9293), bytes.
const MIN_HEADERS: f64 = 40.0;

/// A flow that reaches this share of the goodput that the rate allows has nothing to gain.
const FULL_SHARE: f64 = 0.95;

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    let why = "a shaper delays what a policer would drop";
    let shape = Change::new(ChangeKind::Shape, ChangePlace::SenderEdge, why);
    // Do not advise the control that the senders use already.
    let follows = (!a.all_use("bbr")).then(|| bbr("its rate follows what is delivered, not single losses"));
    let Some(rate) = a.rate_mbps() else {
        return [Some(shape), follows].into_iter().flatten().collect();
    };
    let mss = f64::from(a.lead().measures.mss_bytes);
    let payload_of = |rate: f64| rate * mss / (mss + MIN_HEADERS);
    if a.sum(|f| f.measures.goodput_mbps) >= FULL_SHARE * payload_of(rate) {
        return at_a_full_rate(a).into_iter().take(1).collect();
    }
    let payload = |rate: f64| ChangeEffect {
        measure: EffectMeasure::TotalGoodput,
        unit: ChangeUnit::Mbps,
        now: None,
        then: payload_of(rate),
        bound: EffectBound::AtMost,
        formula: "rate × mss / (mss + 40 bytes of headers)".into(),
    };
    let at = SHAPED_SHARE * rate;
    let shape = shape.set(None, at, ChangeUnit::Mbps).with(payload(at));
    [Some(shape), follows.map(|f| f.with(payload(rate)))].into_iter().flatten().collect()
}
