//! Losses at a full queue.

use super::remedies::bbr;
use super::{AffectedFlows, CauseBound, CauseRules, ClaimOrder, RoundEvidence, RoundPart};
use result::Cause;
use result::change::{Change, ChangeKind, ChangePlace, ChangeUnit};

pub(super) const RULES: CauseRules = CauseRules {
    bound: CauseBound::Loss,
    // These causes differ in whether packets waited, or exceeded a rate, at the losses.
    looks_like: &[Cause::Policed, Cause::RandomLoss],
    claim,
    remedies,
};

fn claim(part: RoundPart, e: &RoundEvidence) -> Option<ClaimOrder> {
    e.claim_after_loss(part, Cause::Congestion)
}

/// A queue is short if it holds less than this share of a BDP: half a BDP keeps a link busy through CUBIC's
/// reduction to 0.7 (RFC 9438 section 4.6).
const SHORT_QUEUE_BDPS: f64 = 0.5;

fn remedies(a: &AffectedFlows) -> Vec<Change> {
    let bdp = a.lead().measures.bdp_bytes as f64;
    // Do not advise the control that the senders use already.
    let fewer = (!a.all_use("bbr")).then(|| bbr("it keeps less in the queue and loses fewer packets"));
    let mark = "senders slow down at a mark, without a loss (RFC 3168)";
    let marked = Change::new(ChangeKind::Ecn, ChangePlace::Limiter, mark);
    // QUIC stacks control ECN themselves (RFC 9000 section 13.4), regardless of the kernel's TCP settings.
    let marked = if a.is_quic() { marked } else { marked.named("tcp_ecn") };
    // A managed queue loses no fewer packets if it is longer or has another law.
    if a.is_managed() {
        return [Some(marked), fewer].into_iter().flatten().collect();
    }
    if let Some(queue) = a.limiter.and_then(|l| l.queue_bytes).filter(|&q| q < SHORT_QUEUE_BDPS * bdp) {
        let why = "a queue shorter than the path's bandwidth-delay product runs empty after each loss (RFC 9438 section 4.6)";
        let longer = Change::new(ChangeKind::QueueLength, ChangePlace::Limiter, why);
        let longer = longer.set(Some(queue), bdp, ChangeUnit::Bytes);
        return [Some(longer), fewer].into_iter().flatten().collect();
    }
    let early = "it drops a few packets early instead of many at a full queue (RFC 8290)";
    let managed = Change::new(ChangeKind::QueueManagement, ChangePlace::Limiter, early).named("fq_codel");
    [Some(managed), Some(marked), fewer].into_iter().flatten().collect()
}
