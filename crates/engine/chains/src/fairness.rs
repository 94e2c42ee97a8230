//! Whether the flows of a run can be expected to get equal shares, and how equal their shares are.
//!
//! Other flows must not be compared: a bulk flow next to 200 short transfers has a Jain index of 0.006, which
//! says nothing about either.

use crate::tally::FlowTally;
use result::{FlowResult, jain};
use scenario::{PathLimits, Scenario};
use std::collections::BTreeSet;
use units::{Span, Time};

/// Flows are compared only if their starts differ by at most 1/10 of the longest flow's time.
const MAX_START_SPREAD_DIVISOR: u64 = 10;

/// Jain's index of the compared flows ([`result::VariantResult::compared_flows`]) as defined at
/// [`result::VariantResult::jain_index`]; `None` if the flows are not comparable. `flows[i]` is the result of
/// `tallies[i]`. A flow that started before `from` is treated as if it had started then.
pub fn jain_index(
    scenario: &Scenario,
    limits: &PathLimits,
    tallies: &[FlowTally],
    flows: &[FlowResult],
    from: Time,
) -> Option<f64> {
    let datagrams = flows.iter().all(FlowResult::is_udp);
    let compared: Vec<(&FlowTally, &FlowResult)> =
        tallies.iter().zip(flows).filter(|(_, f)| datagrams || !f.is_udp()).collect();
    let kinds: BTreeSet<usize> = compared.iter().map(|(t, _)| t.of).collect();
    let first = &scenario.flows[*kinds.first().filter(|_| compared.len() > 1)?];
    let same = |&i: &usize| {
        let flow = &scenario.flows[i];
        flow.app == first.app
            && flow.max_pacing_rate == first.max_pacing_rate
            && limits.flows[i] == limits.flows[*kinds.first().unwrap_or(&i)]
    };
    let starts = || compared.iter().map(|(t, _)| t.start.max(from));
    let longest = compared.iter().map(|(t, _)| t.active).max().unwrap_or(Span::ZERO);
    let spread = starts().max()?.since(starts().min()?);
    let together = u128::from(spread.as_nanos()) * u128::from(MAX_START_SPREAD_DIVISOR)
        <= u128::from(longest.as_nanos());
    if !together || !kinds.iter().all(same) || !share_a_link(scenario, &kinds) {
        return None;
    }
    // Finite transfers of equal size would all have the same goodput over the common interval once they are
    // complete.
    let share = |f: &FlowResult| if first.app.has_end() { f.own_goodput_mbps() } else { f.goodput_mbps };
    Some(jain(&compared.iter().map(|(_, f)| share(f)).collect::<Vec<_>>()))
}

/// Whether all these flows pass the same direction of a common link.
fn share_a_link(scenario: &Scenario, kinds: &BTreeSet<usize>) -> bool {
    let links = kinds.iter().map(|&i| {
        let flow = &scenario.flows[i];
        let relays = flow.via.iter().map(|&r| scenario.relays[r].host);
        let hosts: Vec<usize> = std::iter::once(flow.from).chain(relays).chain([flow.to]).collect();
        let hops = hosts.windows(2).flat_map(|leg| scenario.route(leg[0], leg[1]).unwrap_or_default());
        hops.map(|hop| (hop.link, hop.forward)).collect::<BTreeSet<_>>()
    });
    links.reduce(|a, b| &a & &b).is_some_and(|all| !all.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::FlowKind;

    const SECOND: u64 = 1_000_000_000;

    /// Jain's index of flows given as (index in the scenario, start in s, active time in s, goodput in
    /// Mbit/s).
    fn index(flows: &str, each: &[(usize, u64, u64, f64)], from: u64) -> Option<f64> {
        let text = format!(
            "duration = \"10s\"\n[links.l]\nbetween = [\"a\", \"m\"]\n[links.c]\nbetween = [\"c\", \"m\"]\n\
             [links.wan]\nbetween = [\"m\", \"b\"]\nforward = [{{ kind = \"link\", rate = \"20Mbit/s\" }}]\n{flows}"
        );
        let experiment = scenario::Experiment::parse("t.toml", &text, &[]);
        let scenario = experiment.unwrap_or_else(|e| panic!("{e}")).variants.remove(0).scenario;
        let time = |s: u64| Time::from_nanos(s * SECOND);
        let tallies: Vec<FlowTally> = each
            .iter()
            .map(|&(of, start, active, _)| FlowTally {
                of,
                start: time(start),
                active: Span::from_secs(active),
                ..FlowTally::default()
            })
            .collect();
        let results: Vec<FlowResult> = each
            .iter()
            .map(|&(of, _, active, mbps)| FlowResult {
                kind: match &scenario.flows[of].app {
                    transport::App::Udp { .. } => FlowKind::Datagrams,
                    _ => FlowKind::Tcp,
                },
                goodput_mbps: mbps,
                active_s: active as f64,
                delivered_bytes: (mbps * 10.0 / 8e-6) as u64,
                ..FlowResult::default()
            })
            .collect();
        jain_index(&scenario, &PathLimits::new(&scenario, None), &tallies, &results, time(from))
    }

    fn flow(name: &str, from: &str, to: &str, more: &str) -> String {
        format!("[flows.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\n{more}\n")
    }

    #[test]
    fn similar_flows_with_a_common_start_are_compared() {
        let two = flow("x", "a", "b", "") + &flow("y", "c", "b", "cc = \"bbr\"");
        assert_eq!(index(&two, &[(0, 0, 10, 9.0), (1, 0, 10, 3.0)], 0), Some(144.0 / 180.0));
        assert_eq!(index(&two, &[(0, 0, 10, 9.0)], 0), None, "a single flow");
        // The second flow starts in the middle; a later measurement interval contains both.
        assert_eq!(index(&two, &[(0, 0, 10, 9.0), (1, 5, 5, 9.0)], 0), None);
        assert_eq!(index(&two, &[(0, 0, 10, 9.0), (1, 5, 5, 9.0)], 5), Some(1.0));
        // Datagram flows next to TCP flows are ignored.
        let call = flow("z", "a", "b", "app = { kind = \"udp\", rate = \"1Mbit/s\" }");
        let three = [(0, 0, 10, 9.0), (1, 0, 10, 9.0), (2, 7, 3, 1.0)];
        assert_eq!(index(&(two + &call), &three, 0), Some(1.0));
    }

    #[test]
    fn dissimilar_flows_are_not_compared() {
        let bulk = flow("x", "a", "b", "");
        let both = [(0, 0, 10, 9.0), (1, 0, 10, 9.0)];
        for other in [
            flow("y", "a", "b", "app = { kind = \"bulk\", bytes = \"20kB\" }"),
            flow("y", "a", "b", "app = { kind = \"onoff\", on = \"1s\", off = \"1s\" }"),
            flow("y", "a", "b", "max_pacing_rate = \"1Mbit/s\""),
            flow("y", "b", "a", ""),
            // A path without a rate limit.
            flow("y", "a", "c", ""),
        ] {
            assert_eq!(index(&(bulk.clone() + &other), &both, 0), None, "{other}");
        }
    }

    #[test]
    fn finite_transfers_are_compared_by_their_own_rate() {
        let file = |name| flow(name, "a", "b", "app = { kind = \"bulk\", bytes = \"1MB\" }");
        let two = file("x") + &file("y");
        // The same bytes in 2 s and in 6 s: 3 to 1.
        let found = index(&two, &[(0, 0, 2, 1.0), (1, 0, 6, 1.0)], 0).unwrap();
        assert!((found - 0.8).abs() < 1e-6, "{found}");
    }
}
