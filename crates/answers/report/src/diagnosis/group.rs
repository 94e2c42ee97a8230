//! Flows that share a cause, and what limits them.

use result::cause::AffectedFlows;
use result::diagnosis::{Diagnosis, Limiter};
use result::{Cause, FlowDiagnosis};
use std::collections::HashSet;

/// Flows with the same cause at the same limiter.
pub(super) struct FlowGroup<'a> {
    pub cause: Cause,
    pub limiter: Option<&'a Limiter>,
    /// Most bytes first; never empty.
    pub flows: Vec<&'a FlowDiagnosis>,
}

impl<'a> FlowGroup<'a> {
    /// The one with most bytes.
    pub fn lead(&self) -> &'a FlowDiagnosis {
        self.flows[0]
    }

    /// The same for the registry of causes.
    pub fn affected(&self) -> AffectedFlows<'_> {
        AffectedFlows { flows: &self.flows, limiter: self.limiter }
    }

    /// A sum over the flows; of a connection whose both directions are here, over the one with more bytes: what goes one way
    /// and what goes the other do not add up.
    pub fn sum(&self, of: impl Fn(&FlowDiagnosis) -> f64) -> f64 {
        let mut seen = HashSet::new();
        self.flows.iter().filter(|f| seen.insert(f.connection)).map(|f| of(f)).sum()
    }

    /// A cause's share of the time of all of them.
    pub fn share(&self, cause: Cause) -> f64 {
        let time = self.sum(|f| f.duration_s);
        match time > 0.0 {
            true => self.sum(|f| f.share(cause) * f.duration_s) / time,
            false => self.sum(|f| f.share(cause)) / self.sum(|_| 1.0),
        }
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

    /// The share of data packets lost on either side of the capture.
    pub fn lost(&self) -> f64 {
        let sent = self.sum(|f| f.measures.data_packets as f64);
        let lost = self.sum(|f| (f.measures.lost_up + f.measures.lost_down) as f64);
        if sent > 0.0 { lost / sent } else { 0.0 }
    }
}

/// The groups of these flows, the one with most bytes first.
pub(super) fn groups<'a>(d: &'a Diagnosis, flows: &[&'a FlowDiagnosis]) -> Vec<FlowGroup<'a>> {
    let mut groups: Vec<(Option<usize>, FlowGroup)> = Vec::new();
    for &flow in flows {
        // Flows that wait for their application are one group whatever they pass.
        let by_limiter = flow.cause.entry().by_limiter;
        let at = flow.limiter.filter(|&i| by_limiter && i < d.limiters.len());
        match groups.iter_mut().find(|(limiter, g)| (*limiter, g.cause) == (at, flow.cause)) {
            Some((_, group)) => group.flows.push(flow),
            None => {
                let limiter = at.and_then(|i| d.limiters.get(i));
                groups.push((at, FlowGroup { cause: flow.cause, limiter, flows: vec![flow] }));
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
