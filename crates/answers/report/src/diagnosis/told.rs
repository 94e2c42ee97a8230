//! The summary: flows that share a cause, and what limits them, are told of together.

use super::words::{cause as cause_name, listed, share};
use super::{cause, control, facts, values};
use crate::strings::{Lang, fill};
use crate::table::printable;
use result::cause::AffectedFlows;
use result::diagnosis::{Diagnosis, Limiter};
use result::{Cause, FlowDiagnosis};
use std::collections::HashSet;

/// Groups told of in sentences; the rest is counted. More than these nobody reads before the table.
const MOST_GROUPS: usize = 4;

/// What is said of a group of flows.
#[derive(Debug)]
pub(super) struct Told {
    /// Their main cause.
    pub cause: Cause,
    /// Their numbers, the one with most bytes first.
    pub flows: Vec<u32>,
    /// What held them, why that is so, what to do.
    pub text: String,
    /// The evidence, a short line each.
    pub facts: Vec<String>,
}

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

fn groups<'a>(d: &'a Diagnosis, flows: &[&'a FlowDiagnosis]) -> Vec<FlowGroup<'a>> {
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

/// The summary, and a sentence on each of what it leaves out and what it folds.
pub(super) fn told(d: &Diagnosis, lang: Lang) -> (Vec<Told>, Vec<String>) {
    let (flows, control) = control::apart(d);
    let groups = groups(d, &flows);
    let mut told: Vec<Told> = groups.iter().take(MOST_GROUPS).map(|g| say(g, lang)).collect();
    // Who takes a link is told once, where it is first told of.
    let mut links = HashSet::new();
    for (g, told) in groups.iter().zip(&mut told) {
        let new = g.limiter.filter(|l| links.insert(std::ptr::from_ref(*l)));
        told.facts.extend(new.and_then(|l| facts::takers(l, lang)));
    }
    let left = groups.get(MOST_GROUPS..).unwrap_or_default();
    let n: usize = left.iter().map(|g| g.flows.len()).sum();
    let list: Vec<String> =
        left.iter().map(|g| format!("{} {}", cause_name(g.cause, lang), g.flows.len())).collect();
    let rest = fill("diag.rest", lang, &[("n", &n.to_string()), ("list", &listed(&list, lang))]);
    (told, (n > 0).then_some(rest).into_iter().chain(control::told(&control, lang)).collect())
}

fn say(group: &FlowGroup, lang: Lang) -> Told {
    let lead = group.lead();
    let who = format!("{} -> {}", printable(&lead.from), printable(&lead.to));
    let how = values::of(group.cause.entry().how, lang);
    let n = group.flows.len();
    let key = if n == 1 { "diag.head.one" } else { "diag.head.many" };
    let values = [
        ("who", who.as_str()),
        ("n", &n.to_string()),
        ("how", how),
        ("share", &share(group.share(group.cause))),
    ];
    let head = fill(key, lang, &values);
    let (why, advice) = (cause::why(group, lang), cause::advice(group, lang));
    let text = match lang {
        Lang::En => format!("{head}: {why}. {advice}."),
        Lang::Zh => format!("{head}：{why}。{advice}。"),
    };
    Told {
        cause: group.cause,
        flows: group.flows.iter().map(|f| f.id).collect(),
        text,
        facts: facts::facts(group, lang),
    }
}
