//! Remedies that several causes share.

use super::AffectedFlows;
use result::change::{Change, ChangeEffect, ChangeKind, ChangePlace, ChangeUnit, EffectBound, EffectMeasure};

/// A queue of so many ms is worth a word: a call's budget for the whole way is 150 ms (ITU-T G.114).
const LONG_QUEUE_MS: f64 = 50.0;
/// The delay that FQ-CoDel lets stand (RFC 8290 section 5.2.2).
const CODEL_TARGET_MS: f64 = 5.0;

/// What a window of bytes carries.
pub(super) const WINDOW_RATE: &str = "bytes in flight / least RTT";

/// Another congestion control at the sender.
pub(super) fn bbr(why: &str) -> Change {
    Change::new(ChangeKind::CongestionControl, ChangePlace::Sender, why).named("bbr")
}

/// Bytes of an IPv4 header without options and a TCP header, or of an IPv6 header and a TCP header: what an MTU has more
/// than an MSS (RFC 6691 section 2).
const HEADERS: [u32; 2] = [40, 60];

/// The MSS clamped to what the path carries, where that is known.
pub(super) fn mss_clamp(a: &AffectedFlows, why: &str) -> Change {
    let lead = a.lead();
    let clamp = Change::new(ChangeKind::MssClamp, ChangePlace::Path, why);
    let headers = HEADERS[usize::from(lead.from.starts_with('['))];
    match lead.measures.path_mtu_bytes {
        Some(mtu) if mtu > headers => clamp.set(None, (mtu - headers).into(), ChangeUnit::Bytes),
        _ => clamp,
    }
}

/// A rate that is used up: a higher one; and a queue that delays less, where it is long.
pub(super) fn at_a_full_rate(a: &AffectedFlows) -> Vec<Change> {
    let why = "the rate is used up";
    let mut list = vec![Change::new(ChangeKind::HigherRate, ChangePlace::Limiter, why)];
    if let Some(ms) = a.queue_ms().filter(|&ms| ms >= LONG_QUEUE_MS && !a.is_managed()) {
        let why = "it lets no queue stand that only delays, and serves flows in turn (RFC 8290)";
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
