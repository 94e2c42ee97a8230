//! The flows that a cause holds, as its remedies need them.

use super::rules;
use result::change::Change;
use result::diagnosis::{Diagnosis, Limiter, UNDECIDED};
use result::{Cause, FlowDiagnosis};

/// Flows that one cause holds at one limiter.
#[derive(Clone, Copy, Debug)]
pub struct AffectedFlows<'a> {
    /// The one with most bytes first; never empty.
    pub flows: &'a [&'a FlowDiagnosis],
    /// Where the cause is a limiter's.
    pub limiter: Option<&'a Limiter>,
}

impl<'a> AffectedFlows<'a> {
    /// The one with most bytes.
    pub fn lead(&self) -> &'a FlowDiagnosis {
        self.flows[0]
    }

    /// Whether the flows are QUIC's, from a qlog: no setting of the kernel's TCP changes them.
    pub fn is_quic(&self) -> bool {
        self.lead().notes.iter().any(|code| code.starts_with("qlog"))
    }

    /// A sum over the flows.
    pub fn sum(&self, of: impl Fn(&FlowDiagnosis) -> f64) -> f64 {
        self.flows.iter().map(|f| of(f)).sum()
    }

    /// Whether all senders seem to use this congestion control.
    pub fn all_use(&self, cc: &str) -> bool {
        self.flows.iter().all(|f| f.cc.name == cc)
    }

    /// The limiter's rate, Mbit/s, where it is known.
    pub fn rate_mbps(&self) -> Option<f64> {
        let told = self.limiter.filter(|l| l.rate_range_mbps.is_none());
        told.map(|l| l.rate_mbps).filter(|&r| r > 0.0)
    }

    /// Whether the limiter's queue drops early, by a law.
    pub fn is_managed(&self) -> bool {
        self.limiter.is_some_and(|l| l.aqm.is_some())
    }

    /// The limiter's longest queue, ms, where it is known.
    pub fn queue_ms(&self) -> Option<f64> {
        self.limiter.and_then(|l| l.queue_ms).filter(|ms| ms.is_finite())
    }

    /// Mbit/s that this many bytes a round trip carry, by the lead's least RTT; `None` without an RTT.
    pub fn window_rate_mbps(&self, bytes: u64) -> Option<f64> {
        let rtt = self.lead().measures.rtt_ms.min;
        (rtt > 0.0).then(|| bytes as f64 * 8e-3 / rtt)
    }
}

/// What would help flows that one cause holds at one limiter.
pub fn remedies(affected: &AffectedFlows) -> Vec<Change> {
    let lead = affected.lead();
    // Of a cause that is one of several nothing follows but to look closer.
    let cause = if lead.confidence < UNDECIDED { Cause::Unknown } else { lead.cause };
    (rules(cause).remedies)(affected)
}

/// What would help this flow of the diagnosis.
pub fn remedies_of(diagnosis: &Diagnosis, flow: &FlowDiagnosis) -> Vec<Change> {
    let limiter = flow.limiter.filter(|_| flow.cause.is_of_limiter());
    let limiter = limiter.and_then(|i| diagnosis.limiters.get(i));
    remedies(&AffectedFlows { flows: &[flow], limiter })
}
