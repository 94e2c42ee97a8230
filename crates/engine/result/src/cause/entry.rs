//! What a cause's file holds.

use super::{ClaimOrder, RoundEvidence, RoundPart};
use crate::FlowDiagnosis;
use crate::diagnosis::{Diagnosis, Limiter};
use crate::remedy::{Remedy, RemedyKind};

/// A text in both languages, with `{placeholders}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bilingual {
    /// English.
    pub en: &'static str,
    /// Simplified Chinese.
    pub zh: &'static str,
}

/// A cause's colour on a light and on a dark ground, as `#0072b2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CauseColors {
    /// On white.
    pub light: &'static str,
    /// On near-black.
    pub dark: &'static str,
}

/// What a cause says of a flow beside that it held it: if that is not so, the cause is not said. The diagnosis checks it in
/// one place (`crates/evidence/diagnosis/src/verdict/bounds.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseBound {
    /// Nothing that could be false.
    Nothing,
    /// About a window was acknowledged in each round trip.
    Window,
    /// It took no more round trips than exponential growth needs.
    Growth,
    /// Packets were lost, while no queue stood.
    LossWithoutQueue,
    /// Packets were lost.
    Loss,
}

/// The sentence that tells remedies of these kinds, in this order. Its placeholders are parts of them: `{shape}` is the
/// setting of the remedy `shape`, `{send-buffer.now}` what it is now, `{queue-management.queue-delay}` the effect's measure
/// now, `{repair-link.place}` the place.
#[derive(Clone, Copy, Debug)]
pub struct AdviceTemplate {
    /// Kinds of the remedies.
    pub of: &'static [RemedyKind],
    /// What to do.
    pub text: Bilingual,
}

/// All that is known of a cause beside its name and its meaning.
#[derive(Clone, Copy, Debug)]
pub struct CauseEntry {
    /// In a table.
    pub label: Bilingual,
    /// How a flow was held: "… was {how} for 91 % of its time".
    pub how: Bilingual,
    /// What shows that this was it: the first is told whose placeholders are all known. Which there are:
    /// `report/src/diagnosis/values.rs`.
    pub why: &'static [Bilingual],
    /// What to do: the first whose kinds are those of the remedies and whose placeholders are all known.
    pub advice: &'static [AdviceTemplate],
    /// On the page.
    pub colors: CauseColors,
    /// The flow's limiter is what holds it: flows are told of by limiter, and one that holds no flow is not told of.
    pub by_limiter: bool,
    /// What must hold if it is said.
    pub bound: CauseBound,
    /// Whether a part of a round trip is the cause's, and how strong that claim is.
    pub claim: fn(RoundPart, &RoundEvidence) -> Option<ClaimOrder>,
    /// What would help flows that it holds.
    pub remedies: fn(&AffectedFlows) -> Vec<Remedy>,
}

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

impl Diagnosis {
    /// What would help this flow of the diagnosis.
    pub fn remedies_of(&self, flow: &FlowDiagnosis) -> Vec<Remedy> {
        let entry = flow.cause.entry();
        let limiter = flow.limiter.filter(|_| entry.by_limiter).and_then(|i| self.limiters.get(i));
        (entry.remedies)(&AffectedFlows { flows: &[flow], limiter })
    }
}
