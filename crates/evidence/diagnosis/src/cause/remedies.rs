//! Remedies that several causes share.

use super::AffectedFlows;
use result::change::{Change, ChangeEffect, ChangeKind, ChangePlace, ChangeUnit, EffectBound, EffectMeasure};

/// Least queue that a remedy addresses, ms: a call's budget for its whole path is 150 ms (ITU-T G.114).
const LONG_QUEUE_MS: f64 = 50.0;
/// FQ-CoDel's default target delay, ms (RFC 8290 section 5.2.2).
const CODEL_TARGET_MS: f64 = 5.0;

/// Formula of the rate that a window carries.
pub(super) const WINDOW_RATE: &str = "bytes in flight / least RTT";

/// Advises BBR at the sender.
pub(super) fn bbr(why: &str) -> Change {
    Change::new(ChangeKind::CongestionControl, ChangePlace::Sender, why).named("bbr")
}

/// Difference between MTU and MSS, bytes, for IPv4 and IPv6: the IP header without options and the TCP header
/// (RFC 6691 section 2).
const HEADERS: [u32; 2] = [40, 60];

/// Advises an MSS clamp, with the value where the path's MTU is known.
pub(super) fn mss_clamp(a: &AffectedFlows, why: &str) -> Change {
    let lead = a.lead();
    let clamp = Change::new(ChangeKind::MssClamp, ChangePlace::Path, why);
    let headers = HEADERS[usize::from(lead.from.starts_with('['))];
    match lead.measures.path_mtu_bytes {
        Some(mtu) if mtu > headers => clamp.set(None, (mtu - headers).into(), ChangeUnit::Bytes),
        _ => clamp,
    }
}

/// Advises a higher rate where the rate is used up, and a managed queue where the queue is long.
pub(super) fn at_a_full_rate(a: &AffectedFlows) -> Vec<Change> {
    let why = "the flows use the whole rate";
    let mut list = vec![Change::new(ChangeKind::HigherRate, ChangePlace::Limiter, why)];
    if let Some(ms) = a.queue_ms().filter(|&ms| ms >= LONG_QUEUE_MS && !a.is_managed()) {
        let why = "it keeps the standing queue short and serves flows in turn (RFC 8290)";
        let delay = ChangeEffect {
            measure: EffectMeasure::QueueDelay,
            unit: ChangeUnit::Millis,
            now: Some(ms),
            then: CODEL_TARGET_MS,
            bound: EffectBound::About,
            formula: "the default target delay (RFC 8290 section 5.2.2)".into(),
        };
        let managed = Change::new(ChangeKind::QueueManagement, ChangePlace::Limiter, why).named("fq_codel");
        list.push(managed.with(delay));
    }
    list
}
