//! Flows that share a cause, and what limits them.

use diagnosis::cause::AffectedFlows;
use result::diagnosis::{Diagnosis, Limiter, SURE, UNDECIDED};
use result::{Cause, FlowDiagnosis};
use std::collections::HashSet;

/// How sure a verdict is, as its headline says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// Stated without doubt.
    Sure,
    /// "Probably …".
    Probable,
    /// "Cannot tell …".
    Undecided,
    /// Too few packets for a verdict: only what happened is said.
    Few,
}

impl Certainty {
    fn of(flow: &FlowDiagnosis) -> Certainty {
        match flow.confidence {
            _ if flow.has_few_packets() => Certainty::Few,
            _ if flow.cause == Cause::Unknown => Certainty::Undecided,
            p if p < UNDECIDED => Certainty::Undecided,
            p if p < SURE => Certainty::Probable,
            _ => Certainty::Sure,
        }
    }
}

/// Flows with the same cause at the same limiter, as sure.
pub(super) struct FlowGroup<'a> {
    pub cause: Cause,
    pub certainty: Certainty,
    pub limiter: Option<&'a Limiter>,
    /// Most bytes first; never empty.
    pub flows: Vec<&'a FlowDiagnosis>,
}

impl<'a> FlowGroup<'a> {
    /// The one with most bytes.
    pub fn lead(&self) -> &'a FlowDiagnosis {
        self.flows[0]
    }

    /// The same for the rules of causes.
    pub fn affected(&self) -> AffectedFlows<'_> {
        AffectedFlows { flows: &self.flows, limiter: self.limiter }
    }

    /// A sum over the flows; of a connection whose both directions are here, over the one with more bytes: what goes one way
    /// and what goes the other do not add up. Of flows of a few packets, of which only counts are said, over all.
    pub fn sum(&self, of: impl Fn(&FlowDiagnosis) -> f64) -> f64 {
        if self.lead().has_few_packets() {
            return self.flows.iter().map(|f| of(f)).sum();
        }
        let mut seen = HashSet::new();
        self.flows.iter().filter(|f| seen.insert(f.connection)).map(|f| of(f)).sum()
    }

    /// Mbit/s of payload that all of them together had, from the first's begin to the last's end.
    pub fn carried(&self) -> f64 {
        let from = self.flows.iter().map(|f| f.start_s).fold(f64::INFINITY, f64::min);
        let to = self.flows.iter().map(|f| f.start_s + f.duration_s).fold(0.0, f64::max);
        match &self.flows[..] {
            [one] => one.measures.goodput_mbps,
            _ if to > from => self.sum(|f| f.measures.bytes as f64) * 8e-6 / (to - from),
            _ => 0.0,
        }
    }
}

/// The groups of these flows, the one with most bytes first.
pub(super) fn groups<'a>(d: &'a Diagnosis, flows: &[&'a FlowDiagnosis]) -> Vec<FlowGroup<'a>> {
    let mut groups: Vec<(Option<usize>, FlowGroup)> = Vec::new();
    for &flow in flows {
        // Flows that wait for their application are one group whatever they pass.
        let at = flow.limiter.filter(|&i| flow.cause.is_of_limiter() && i < d.limiters.len());
        let certainty = Certainty::of(flow);
        let same = |g: &FlowGroup| (g.cause, g.certainty) == (flow.cause, certainty);
        match groups.iter_mut().find(|(limiter, g)| *limiter == at && same(g)) {
            Some((_, group)) => group.flows.push(flow),
            None => {
                let limiter = at.and_then(|i| d.limiters.get(i));
                groups.push((at, FlowGroup { cause: flow.cause, certainty, limiter, flows: vec![flow] }));
            }
        }
    }
    let mut groups: Vec<FlowGroup> = groups.into_iter().map(|(_, g)| g).collect();
    for group in &mut groups {
        group.flows.sort_by_key(|f| std::cmp::Reverse(f.measures.bytes));
    }
    groups.sort_by(|a, b| b.sum(|f| f.measures.bytes as f64).total_cmp(&a.sum(|f| f.measures.bytes as f64)));
    groups
}
