//! Groups of flows that compete on equal terms, or that share no part of the path.

use crate::figures::{CONCURRENT_SHARE, Row, directions};
use result::FlowResult;
use result::topology::Topology;
use std::collections::BTreeMap;

/// Groups of greedy TCP flows that were active for nearly the same time, in the same direction of the same
/// link and under the same limit. Each group has at least two flows and is listed once.
pub(crate) fn groups<'a>(row: &Row<'a>) -> Vec<Vec<&'a FlowResult>> {
    let greedy: Vec<&FlowResult> = row.flows().into_iter().filter(|f| is_greedy(f)).collect();
    let mut places: BTreeMap<(String, Option<i64>), Vec<&FlowResult>> = BTreeMap::new();
    for flow in greedy {
        for place in directions(row.variant.path.as_ref(), flow) {
            places.entry((place, limit(flow.limit_mbps))).or_default().push(flow);
        }
    }
    let mut groups: Vec<Vec<&FlowResult>> = Vec::new();
    for mut group in places.into_values() {
        let longest = group.iter().map(|f| f.active_s).fold(0.0, f64::max);
        group.retain(|f| f.active_s >= CONCURRENT_SHARE * longest);
        let is_same = |other: &Vec<&FlowResult>| {
            other.len() == group.len() && other.iter().zip(&group).all(|(a, b)| std::ptr::eq(*a, *b))
        };
        if group.len() > 1 && !groups.iter().any(is_same) {
            groups.push(group);
        }
    }
    groups
}

/// Splits the flows into sets that share no direction of a link with each other, in the order of the flows.
pub(crate) fn disjoint<'a>(path: Option<&Topology>, flows: &[&'a FlowResult]) -> Vec<Vec<&'a FlowResult>> {
    let mut sets: Vec<(Vec<String>, Vec<&FlowResult>)> = Vec::new();
    for &flow in flows {
        let (mut passed, mut set) = (directions(path, flow), vec![flow]);
        let (joined, separate): (Vec<_>, Vec<_>) =
            sets.into_iter().partition(|(other, _)| other.iter().any(|d| passed.contains(d)));
        for (other_directions, other_flows) in joined {
            passed.extend(other_directions);
            set.extend(other_flows);
        }
        sets = separate;
        sets.push((passed, set));
    }
    let place = |flow: &FlowResult| flows.iter().position(|f| std::ptr::eq(*f, flow));
    let mut sets: Vec<Vec<&FlowResult>> = sets.into_iter().map(|(_, set)| set).collect();
    sets.iter_mut().for_each(|set| set.sort_by_key(|f| place(f)));
    sets.sort_by_key(|set| place(set[0]));
    sets
}

/// A limit in whole kbit/s, for comparisons.
pub(crate) fn limit(mbps: Option<f64>) -> Option<i64> {
    mbps.map(|l| (l * 1000.0).round() as i64)
}

/// Whether a TCP flow sends as fast as it can until the end of the run. Results of older versions have no
/// application; they count as greedy.
fn is_greedy(flow: &FlowResult) -> bool {
    let ended = flow.completed.is_some() || flow.completion_s.is_some();
    !flow.is_udp() && !ended && ["", "bulk"].contains(&flow.app.as_str())
}
