//! Flows put together by what they have in common, so that 50 of CUBIC stand beside 50 of BBR.

use super::{Figures, of_flows};
use result::{FlowResult, Topology, VariantResult};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Above this many flows a variant is shown in groups, where it has several.
pub const MANY_FLOWS: usize = 8;

/// Flows whose times are at least this share of the longest one's were there together: what is left is no more than the tenth by
/// which shares may differ unnoticed.
pub(crate) const ACTIVE: f64 = 0.9;

/// What flows are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum GroupBy {
    /// Congestion control.
    Cc,
    /// The host that sends.
    From,
    /// Both hosts, in the direction of the data.
    Direction,
    /// The scenario's flow, of which `count` are alike.
    Name,
}

impl GroupBy {
    /// All, in the order in which the first with several groups is shown unasked.
    pub const ALL: [GroupBy; 4] = [GroupBy::Cc, GroupBy::Direction, GroupBy::Name, GroupBy::From];

    /// As the command line spells it.
    pub fn name(self) -> &'static str {
        match self {
            GroupBy::Cc => "cc",
            GroupBy::From => "from",
            GroupBy::Direction => "direction",
            GroupBy::Name => "name",
        }
    }

    /// What each flow of the variant belongs to, in the variant's order.
    fn keys(self, flows: &[FlowResult]) -> Vec<String> {
        match self {
            GroupBy::Cc => flows.iter().map(|f| f.cc.clone()).collect(),
            GroupBy::From => flows.iter().map(|f| f.from.clone()).collect(),
            GroupBy::Direction => flows.iter().map(|f| format!("{} → {}", f.from, f.to)).collect(),
            GroupBy::Name => scenario_names(flows),
        }
    }

    /// By what a variant is shown unasked: the first of which it has several groups that are not single flows, where it has
    /// many flows.
    pub fn unasked(variant: &VariantResult) -> Option<GroupBy> {
        let flows = &variant.flows;
        let tells = |by: &GroupBy| {
            let distinct: BTreeSet<String> = by.keys(flows).into_iter().collect();
            distinct.len() > 1 && distinct.len() < flows.len()
        };
        let many = flows.len() > MANY_FLOWS && !variant.one_at_a_time;
        many.then(|| GroupBy::ALL.into_iter().find(tells)).flatten()
    }
}

/// Names of the scenario's flows: `name-1` … `name-n` that stand one after another and are alike in control and hosts are
/// one flow with a count.
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

/// Flows of a variant that have something in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GroupFigures {
    /// What they have in common.
    pub name: String,
    /// Their places in the variant.
    pub members: Vec<usize>,
    /// Of them together.
    pub figures: Figures,
}

/// The variant's groups, in the order of their first flows; one group is all there is, and says nothing.
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

/// All that is known of some of a variant's flows together.
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

/// Whether equal shares are to be expected of them: the same application through one direction of a link under the same
/// limit, to no end, for the same time. Results tell neither when transfers began nor, but of the flows of one count, the
/// sizes of requests and pages.
fn are_alike(flows: &[&FlowResult], variant: &VariantResult) -> bool {
    let Some(first) = flows.first() else { return false };
    let base = |f: &FlowResult| f.name.rsplit_once('-').map(|n| n.0.to_string());
    let greedy = ["", "bulk"].contains(&first.app.as_str());
    let one_kind = greedy || base(first).is_some() && flows.iter().all(|f| base(f) == base(first));
    let longest = flows.iter().map(|f| f.active_s).fold(0.0, f64::max);
    let like = |f: &FlowResult| {
        let ends = f.completion_s.is_some() || f.unfinished;
        (&f.app, f.limit_mbps) == (&first.app, first.limit_mbps) && !ends && f.active_s >= ACTIVE * longest
    };
    let ways = flows.iter().map(|f| BTreeSet::from_iter(ways(variant.path.as_ref(), f)));
    one_kind && flows.iter().all(|f| like(f)) && ways.reduce(|a, b| &a & &b).is_some_and(|w| !w.is_empty())
}

/// The TCP flows, or all when there is none.
fn compared<'a>(flows: &[&'a FlowResult]) -> Vec<&'a FlowResult> {
    let tcp: Vec<&FlowResult> = flows.iter().copied().filter(|f| !f.is_udp()).collect();
    if tcp.is_empty() { flows.to_vec() } else { tcp }
}

/// The directions of links that the flow's data passes, by the fewest links; its ends where the path is not known.
pub(crate) fn ways(path: Option<&Topology>, flow: &FlowResult) -> Vec<String> {
    let ends = || vec![format!("{} → {}", flow.from, flow.to)];
    let Some(path) = path else { return ends() };
    let mut reached: BTreeMap<&str, Vec<String>> = BTreeMap::from([(flow.from.as_str(), Vec::new())]);
    let mut edge = vec![flow.from.as_str()];
    while !edge.is_empty() && !reached.contains_key(flow.to.as_str()) {
        let mut next = Vec::new();
        for host in edge {
            for link in &path.links {
                let [a, b] = link.between.each_ref().map(String::as_str);
                let (to, way) = match host {
                    h if h == a => (b, "forward"),
                    h if h == b => (a, "backward"),
                    _ => continue,
                };
                if !reached.contains_key(to) {
                    let mut passed = reached[host].clone();
                    passed.push(format!("{}.{way}", link.name));
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
        assert!(groups(&v, GroupBy::Direction).is_empty(), "one group says nothing");
        assert_eq!(groups(&v, GroupBy::Name).iter().map(|g| g.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }

    /// One of short transfers beside bulk flows of the same control: their goodputs tell nothing of who was favoured.
    #[test]
    fn only_flows_that_are_alike_have_a_jain_index() {
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
        assert_eq!(groups(&v, GroupBy::Cc)[1].figures.jain_index, None, "one came late");
    }

    #[test]
    fn groups_come_unasked_where_there_are_many_flows() {
        let mut v = crowd();
        assert_eq!(GroupBy::unasked(&v), Some(GroupBy::Cc));
        v.flows.iter_mut().for_each(|f| f.cc = "cubic".into());
        assert_eq!(GroupBy::unasked(&v), Some(GroupBy::Name));
        v.flows.truncate(8);
        assert_eq!(GroupBy::unasked(&v), None);
        // As many groups as flows are no groups.
        let strangers = (0..10).map(|i| flow(&format!("x{i}"), "cubic", "h", 1.0)).collect();
        assert_eq!(GroupBy::unasked(&VariantResult { flows: strangers, ..VariantResult::default() }), None);
    }

    #[test]
    fn only_flows_that_are_alike_are_one_of_the_scenario() {
        let of = |list: &[(&str, &str)]| {
            scenario_names(&list.iter().map(|(n, cc)| flow(n, cc, "h", 1.0)).collect::<Vec<_>>())
        };
        assert_eq!(of(&[("a-1", "cubic"), ("a-2", "cubic"), ("b", "cubic")]), ["a", "a", "b"]);
        assert_eq!(of(&[("a-1", "cubic"), ("a-2", "bbr")]), ["a-1", "a-2"]);
        assert_eq!(of(&[("site-2", "cubic"), ("site-3", "cubic")]), ["site-2", "site-3"]);
        assert_eq!(of(&[("a-1", "x"), ("a-2", "x"), ("a-1", "y"), ("a-2", "y")]), ["a", "a", "a", "a"]);
    }
}
