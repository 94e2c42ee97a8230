//! Groups of flows with the same cause at the same limiter.

use diagnosis::cause::AffectedFlows;
use result::diagnosis::{Diagnosis, Limiter, SURE, UNDECIDED};
use result::{Cause, FlowDiagnosis};
use std::collections::HashSet;

/// The certainty of a verdict; the headline's first words depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// Stated without a qualification.
    Sure,
    /// "Probably …".
    Probable,
    /// "Cannot tell …".
    Undecided,
    /// Too few packets for a verdict: only what happened is reported.
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

/// Flows with the same cause at the same limiter, and with the same certainty.
pub(super) struct FlowGroup<'a> {
    pub cause: Cause,
    pub certainty: Certainty,
    pub limiter: Option<&'a Limiter>,
    /// Most bytes first; never empty.
    pub flows: Vec<&'a FlowDiagnosis>,
}

impl<'a> FlowGroup<'a> {
    /// The flow with most bytes.
    pub fn lead(&self) -> &'a FlowDiagnosis {
        self.flows[0]
    }

    /// The group as the rules of causes take it.
    pub fn affected(&self) -> AffectedFlows<'_> {
        AffectedFlows { flows: &self.flows, limiter: self.limiter }
    }

    /// Sums a quantity over the flows. If both directions of a connection are in the group, only the one with
    /// more bytes counts: the two share no direction of a link, so they do not add up. Flows with too few
    /// packets for a verdict all count, because only their packets are reported.
    pub fn sum(&self, quantity: impl Fn(&FlowDiagnosis) -> f64) -> f64 {
        if self.lead().has_few_packets() {
            return self.flows.iter().map(|f| quantity(f)).sum();
        }
        let mut seen = HashSet::new();
        self.flows.iter().filter(|f| seen.insert(f.connection)).map(|f| quantity(f)).sum()
    }

    /// The flows' goodput together, from the first start to the last end, Mbit/s.
    pub fn goodput_mbps(&self) -> f64 {
        let from = self.flows.iter().map(|f| f.start_s).fold(f64::INFINITY, f64::min);
        let to = self.flows.iter().map(|f| f.start_s + f.duration_s).fold(0.0, f64::max);
        match &self.flows[..] {
            [one] => one.measures.goodput_mbps,
            _ if to > from => self.sum(|f| f.measures.bytes as f64) * 8e-6 / (to - from),
            _ => 0.0,
        }
    }
}

/// Groups the flows; the group with most bytes is the first.
pub(super) fn groups<'a>(d: &'a Diagnosis, flows: &[&'a FlowDiagnosis]) -> Vec<FlowGroup<'a>> {
    let mut groups: Vec<(Option<usize>, FlowGroup)> = Vec::new();
    for &flow in flows {
        // A limiter separates groups only if the cause is at the limiter: flows that wait for their
        // application, for example, are one group.
        let at = flow.limiter.filter(|&i| flow.cause.is_of_limiter() && i < d.limiters.len());
        let certainty = Certainty::of(flow);
        let fits = |g: &FlowGroup| (g.cause, g.certainty) == (flow.cause, certainty);
        match groups.iter_mut().find(|(limiter, g)| *limiter == at && fits(g)) {
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
