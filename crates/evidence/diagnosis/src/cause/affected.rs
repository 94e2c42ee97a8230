//! The flows of a cause, as its remedies need them.

use super::rules;
use result::change::Change;
use result::diagnosis::{Diagnosis, Limiter, UNDECIDED};
use result::{Cause, FlowDiagnosis};

/// Flows with one main cause at one limiter.
#[derive(Clone, Copy, Debug)]
pub struct AffectedFlows<'a> {
    /// Never empty; the flow with most bytes comes first.
    pub flows: &'a [&'a FlowDiagnosis],
    /// The limiter, where the cause is one.
    pub limiter: Option<&'a Limiter>,
}

impl<'a> AffectedFlows<'a> {
    /// Returns the flow with most bytes.
    pub fn lead(&self) -> &'a FlowDiagnosis {
        self.flows[0]
    }

    /// Whether the flows come from a qlog, so that settings of the kernel's TCP do not affect them.
    pub fn is_quic(&self) -> bool {
        self.lead().notes.iter().any(|code| code.starts_with("qlog"))
    }

    /// Sums a value over the flows.
    pub fn sum(&self, value: impl Fn(&FlowDiagnosis) -> f64) -> f64 {
        self.flows.iter().map(|f| value(f)).sum()
    }

    /// Whether all senders seem to use this congestion control.
    pub fn all_use(&self, cc: &str) -> bool {
        self.flows.iter().all(|f| f.cc.name == cc)
    }

    /// Returns the limiter's rate, Mbit/s; `None` where it is unknown or a range.
    pub fn rate_mbps(&self) -> Option<f64> {
        let known = self.limiter.filter(|l| l.rate_range_mbps.is_none());
        known.map(|l| l.rate_mbps).filter(|&r| r > 0.0)
    }

    /// Whether the limiter's queue is managed (AQM).
    pub fn is_managed(&self) -> bool {
        self.limiter.is_some_and(|l| l.aqm.is_some())
    }

    /// Returns the limiter's longest queue, ms; `None` where it is unknown.
    pub fn queue_ms(&self) -> Option<f64> {
        self.limiter.and_then(|l| l.queue_ms).filter(|ms| ms.is_finite())
    }

    /// Returns the rate, Mbit/s, of a window of this many bytes at the lead's least RTT; `None` without an
    /// RTT.
    pub fn window_rate_mbps(&self, bytes: u64) -> Option<f64> {
        let rtt = self.lead().measures.rtt_ms.min;
        (rtt > 0.0).then(|| bytes as f64 * 8e-3 / rtt)
    }
}

/// Returns the remedies for flows with one main cause at one limiter.
pub fn remedies(affected: &AffectedFlows) -> Vec<Change> {
    let lead = affected.lead();
    // If the cause is undecided, only a better capture helps.
    let cause = if lead.confidence < UNDECIDED { Cause::Unknown } else { lead.cause };
    (rules(cause).remedies)(affected)
}

/// Returns the remedies for one flow of the diagnosis.
pub fn remedies_of(diagnosis: &Diagnosis, flow: &FlowDiagnosis) -> Vec<Change> {
    let limiter = flow.limiter.filter(|_| flow.cause.is_of_limiter());
    let limiter = limiter.and_then(|i| diagnosis.limiters.get(i));
    remedies(&AffectedFlows { flows: &[flow], limiter })
}
