//! Groups of flows with something in common, for example 50 with CUBIC and 50 with BBR.

use super::{Figures, of_flows};
use result::{FlowResult, Topology, VariantResult};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A variant with more flows than this is shown in groups, if it has several.
pub const MANY_FLOWS: usize = 8;

/// Flows that were active for at least this share of the longest active time count as concurrent. The
/// difference is at most the tenth by which fairness may differ unnoticed.
pub(crate) const CONCURRENT_SHARE: f64 = 0.9;

/// The property that the flows of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum GroupBy {
    /// The congestion control.
    Cc,
    /// The sending host.
    From,
    /// Both hosts, in the direction of the data.
    Direction,
    /// The scenario's flow, whose `count` connections are alike.
    Name,
}

impl GroupBy {
    /// All kinds of grouping. By default the first one is shown that gives several groups.
    pub const ALL: [GroupBy; 4] = [GroupBy::Cc, GroupBy::Direction, GroupBy::Name, GroupBy::From];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            GroupBy::Cc => "cc",
            GroupBy::From => "from",
            GroupBy::Direction => "direction",
            GroupBy::Name => "name",
        }
    }

    /// The group of each flow, in the order of the flows.
    fn keys(self, flows: &[FlowResult]) -> Vec<String> {
        match self {
            GroupBy::Cc => flows.iter().map(|f| f.cc.clone()).collect(),
            GroupBy::From => flows.iter().map(|f| f.from.clone()).collect(),
            GroupBy::Direction => flows.iter().map(|f| format!("{} → {}", f.from, f.to)).collect(),
            GroupBy::Name => scenario_names(flows),
        }
    }

    /// The default grouping of a variant with many flows: the first one that gives several groups with more
    /// than one flow each on average.
    pub fn automatic(variant: &VariantResult) -> Option<GroupBy> {
        let flows = &variant.flows;
        let separates = |by: &GroupBy| {
            let distinct: BTreeSet<String> = by.keys(flows).into_iter().collect();
            distinct.len() > 1 && distinct.len() < flows.len()
        };
        let many = flows.len() > MANY_FLOWS && !variant.one_at_a_time;
        many.then(|| GroupBy::ALL.into_iter().find(separates)).flatten()
    }
}

/// The names of the scenario's flows. Consecutive flows `name-1` to `name-n` with the same congestion control
/// and hosts are one flow with a `count`.
fn scenario_names(flows: &[FlowResult]) -> Vec<String> {
    let numbered = |f: &FlowResult| {
        let (name, n) = f.name.rsplit_once('-')?;
        Some((name.to_string(), n.parse::<usize>().ok()?))
    };
    let mut names: Vec<String> = flows.iter().map(|f| f.name.clone()).collect();
    let mut at = 0;
    while at < flows.len() {
        let Some((name, 1)) = numbered(&flows[at]) else {
            at += 1;
            continue;
        };
        let alike = |a: &FlowResult, b: &FlowResult| (&a.cc, &a.from, &a.to) == (&b.cc, &b.from, &b.to);
        let next =
            |i: usize, f: &FlowResult| numbered(f) == Some((name.clone(), i + 1)) && alike(f, &flows[at]);
        let n = flows[at..].iter().enumerate().take_while(|(i, f)| next(*i, f)).count();
        if n > 1 {
            names[at..at + n].fill(name.clone());
        }
        at += n.max(1);
    }
    names
}

/// A group of a variant's flows with its figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GroupFigures {
    /// The value that the flows have in common.
    pub name: String,
    /// The flows' indices in the variant.
    pub members: Vec<usize>,
    /// Figures of the flows together.
    pub figures: Figures,
}

/// The variant's groups in the order of their first flows; empty if there would be only one.
pub fn groups(variant: &VariantResult, by: GroupBy) -> Vec<GroupFigures> {
    let mut members: Vec<(String, Vec<usize>)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (i, key) in by.keys(&variant.flows).into_iter().enumerate() {
        let place = *places.entry(key.clone()).or_insert(members.len());
        if place == members.len() {
            members.push((key, Vec::new()));
        }
        members[place].1.push(i);
    }
    let group = |(name, members): (String, Vec<usize>)| {
        let flows: Vec<&FlowResult> = members.iter().map(|&i| &variant.flows[i]).collect();
        GroupFigures { name, figures: of_group(&flows, variant), members }
    };
    if members.len() > 1 { members.into_iter().map(group).collect() } else { Vec::new() }
}

/// The figures of some of a variant's flows together.
fn of_group(flows: &[&FlowResult], variant: &VariantResult) -> Figures {
    let compared = compared(flows);
    let rates: Vec<f64> = compared.iter().map(|f| f.goodput_mbps).collect();
    let sum = || flows.iter().map(|f| f.goodput_mbps).sum();
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let several = compared.len() > 1 && !variant.one_at_a_time;
    let goodput_mbps = (!variant.one_at_a_time || flows.len() == 1).then(sum);
    Figures {
        goodput_mbps,
        share: goodput_mbps.zip(variant.limit_mbps).filter(|(_, l)| *l > 0.0).map(|(sum, limit)| sum / limit),
        each_mbps: Some([least, rates.iter().copied().fold(0.0, f64::max)]),
        jain_index: (several && are_alike(&compared, variant)).then(|| result::jain(&rates)),
        ..of_flows(flows, &compared)
    }
}

/// Whether the flows should get equal shares: the same endless application, through the same direction of a
/// link, under the same limit, for the same time. Results record neither when transfers began nor the sizes
/// of requests and pages, so flows that are not greedy must be connections of one flow with a `count`.
fn are_alike(flows: &[&FlowResult], variant: &VariantResult) -> bool {
    let Some(first) = flows.first() else { return false };
    let base = |f: &FlowResult| f.name.rsplit_once('-').map(|n| n.0.to_string());
    let greedy = ["", "bulk"].contains(&first.app.as_str());
    let is_same_kind = greedy || base(first).is_some() && flows.iter().all(|f| base(f) == base(first));
    let longest = flows.iter().map(|f| f.active_s).fold(0.0, f64::max);
    let is_like_first = |f: &FlowResult| {
        let ends = f.completion_s.is_some() || f.unfinished;
        (&f.app, f.limit_mbps) == (&first.app, first.limit_mbps)
            && !ends
            && f.active_s >= CONCURRENT_SHARE * longest
    };
    let directions = flows.iter().map(|f| BTreeSet::from_iter(directions(variant.path.as_ref(), f)));
    is_same_kind
        && flows.iter().all(|f| is_like_first(f))
        && directions.reduce(|a, b| &a & &b).is_some_and(|common| !common.is_empty())
}

/// The TCP flows, or all flows if there are none.
fn compared<'a>(flows: &[&'a FlowResult]) -> Vec<&'a FlowResult> {
    let tcp: Vec<&FlowResult> = flows.iter().copied().filter(|f| !f.is_udp()).collect();
    if tcp.is_empty() { flows.to_vec() } else { tcp }
}

/// The directions of links that the flow's data passes on the shortest path; the flow's ends if the path is
/// unknown.
pub(crate) fn directions(path: Option<&Topology>, flow: &FlowResult) -> Vec<String> {
    let ends = || vec![format!("{} → {}", flow.from, flow.to)];
    let Some(path) = path else { return ends() };
    let mut reached: BTreeMap<&str, Vec<String>> = BTreeMap::from([(flow.from.as_str(), Vec::new())]);
    let mut edge = vec![flow.from.as_str()];
    while !edge.is_empty() && !reached.contains_key(flow.to.as_str()) {
        let mut next = Vec::new();
        for host in edge {
            for link in &path.links {
                let [a, b] = link.between.each_ref().map(String::as_str);
                let (to, direction) = match host {
                    h if h == a => (b, "forward"),
                    h if h == b => (a, "backward"),
                    _ => continue,
                };
                if !reached.contains_key(to) {
                    let mut passed = reached[host].clone();
                    passed.push(format!("{}.{direction}", link.name));
                    reached.insert(to, passed);
                    next.push(to);
                }
            }
        }
        edge = next;
    }
    reached.remove(flow.to.as_str()).filter(|w| !w.is_empty()).unwrap_or_else(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(name: &str, cc: &str, from: &str, mbps: f64) -> FlowResult {
        let (name, cc, from, to) = (name.into(), cc.into(), from.into(), "dc".into());
        FlowResult { name, cc, from, to, goodput_mbps: mbps, sent_packets: 10, ..FlowResult::default() }
    }

    fn crowd() -> VariantResult {
        let mut flows: Vec<FlowResult> =
            (1..=5).map(|i| flow(&format!("a-{i}"), "cubic", "office", 1.0)).collect();
        flows.extend((1..=5).map(|i| flow(&format!("b-{i}"), "bbr", "office", f64::from(i))));
        VariantResult { flows, limit_mbps: Some(40.0), ..VariantResult::default() }
    }

    #[test]
    fn groups_hold_their_flows_figures() {
        let v = crowd();
        let [cubic, bbr] = groups(&v, GroupBy::Cc).try_into().expect("two groups");
        assert_eq!((cubic.name.as_str(), cubic.members), ("cubic", vec![0, 1, 2, 3, 4]));
        assert_eq!((cubic.figures.goodput_mbps, cubic.figures.jain_index), (Some(5.0), Some(1.0)));
        let f = bbr.figures;
        assert_eq!((f.goodput_mbps, f.each_mbps, f.flows), (Some(15.0), Some([1.0, 5.0]), 5));
        assert_eq!((f.share, f.jain_index), (Some(15.0 / 40.0), Some(15.0 * 15.0 / (5.0 * 55.0))));
        assert!(groups(&v, GroupBy::Direction).is_empty(), "a single group is left out");
        assert_eq!(groups(&v, GroupBy::Name).iter().map(|g| g.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }

    /// A short transfer next to bulk flows of the same congestion control: their goodputs do not show
    /// unfairness.
    #[test]
    fn only_similar_flows_have_a_jain_index() {
        let index = |change: &dyn Fn(&mut FlowResult)| {
            let mut v = crowd();
            change(&mut v.flows[9]);
            groups(&v, GroupBy::Cc)[1].figures.jain_index
        };
        assert!(index(&|_| ()).is_some());
        let changes: [&dyn Fn(&mut FlowResult); 5] = [
            &|f| f.app = "request".into(),
            &|f| f.completion_s = Some(0.1),
            &|f| f.unfinished = true,
            &|f| f.limit_mbps = Some(3.0),
            &|f| f.to = "elsewhere".into(),
        ];
        for (i, change) in changes.into_iter().enumerate() {
            assert_eq!(index(change), None, "{i}");
        }
        let mut v = crowd();
        (0..9).for_each(|i| v.flows[i].active_s = 10.0);
        assert_eq!(groups(&v, GroupBy::Cc)[1].figures.jain_index, None, "one flow started late");
    }

    #[test]
    fn many_flows_are_grouped_by_default() {
        let mut v = crowd();
        assert_eq!(GroupBy::automatic(&v), Some(GroupBy::Cc));
        v.flows.iter_mut().for_each(|f| f.cc = "cubic".into());
        assert_eq!(GroupBy::automatic(&v), Some(GroupBy::Name));
        v.flows.truncate(8);
        assert_eq!(GroupBy::automatic(&v), None);
        // Groups of single flows are not shown.
        let unrelated = (0..10).map(|i| flow(&format!("x{i}"), "cubic", "h", 1.0)).collect();
        assert_eq!(GroupBy::automatic(&VariantResult { flows: unrelated, ..VariantResult::default() }), None);
    }

    #[test]
    fn numbered_flows_belong_together_only_if_they_are_alike() {
        let names = |list: &[(&str, &str)]| {
            scenario_names(&list.iter().map(|(n, cc)| flow(n, cc, "h", 1.0)).collect::<Vec<_>>())
        };
        assert_eq!(names(&[("a-1", "cubic"), ("a-2", "cubic"), ("b", "cubic")]), ["a", "a", "b"]);
        assert_eq!(names(&[("a-1", "cubic"), ("a-2", "bbr")]), ["a-1", "a-2"]);
        assert_eq!(names(&[("site-2", "cubic"), ("site-3", "cubic")]), ["site-2", "site-3"]);
        assert_eq!(names(&[("a-1", "x"), ("a-2", "x"), ("a-1", "y"), ("a-2", "y")]), ["a", "a", "a", "a"]);
    }
}
