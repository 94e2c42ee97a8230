//! Checks statements about simulator and kernel: which flow differs most, and where counts differ much.

use crate::checked_run::CheckedRun;
use report::story::{Clause, Story};
use result::{Clock, FlowResult, VariantResult};

/// Everything that is wrong with, or missing in, the statements about the two clocks.
pub fn wrong(checked: &CheckedRun, stated: &Story) -> Vec<String> {
    let of = |clock: Clock| checked.run.variants.iter().filter(move |v| v.clock == clock);
    let pairs: Vec<(&VariantResult, &VariantResult)> = of(Clock::Sim)
        .filter_map(|a| Some((a, of(Clock::Kernel).find(|b| b.name == a.name)?)))
        .filter(|(a, _)| !a.flows.is_empty())
        .collect();
    let clauses: Vec<&Clause> = stated
        .clauses
        .iter()
        .filter(|c| matches!(c, Clause::ClocksGoodput { .. } | Clause::ClocksCount { .. }))
        .collect();
    if pairs.is_empty() {
        return if clauses.is_empty() {
            vec![]
        } else {
            vec!["a statement about two clocks, but there is only one".into()]
        };
    }
    let mut list = Vec::new();
    let goodputs = clauses.iter().filter(|c| matches!(c, Clause::ClocksGoodput { .. })).count();
    if goodputs != 1 {
        list.push(format!("{goodputs} clauses about the difference between the clocks"));
    }
    for clause in clauses {
        let found = match clause {
            Clause::ClocksGoodput { variant, flow, first, second } => {
                goodput(&pairs, variant, flow, [*first, *second])
            }
            Clause::ClocksCount { variant, resent, first, second } => {
                count(&pairs, variant, *resent, [*first, *second])
            }
            _ => None,
        };
        list.extend(found.map(|what| format!("{what}: {:?}", clause.say(report::Lang::En))));
    }
    list
}

/// Relative difference of the first value from the second.
fn relative_difference([a, b]: [f64; 2]) -> f64 {
    if a == b {
        0.0
    } else if b == 0.0 {
        f64::INFINITY
    } else {
        (a - b).abs() / b
    }
}

fn goodput(
    pairs: &[(&VariantResult, &VariantResult)],
    variant: &str,
    flow: &str,
    stated: [f64; 2],
) -> Option<String> {
    let both = |(a, b): &(&VariantResult, &VariantResult)| -> Vec<(String, String, [f64; 2])> {
        let rate = |v: &VariantResult, name: &str| {
            v.flows.iter().find(|f| f.name == name).map(|f: &FlowResult| f.goodput_mbps)
        };
        let of = |f: &FlowResult| Some((a.name.clone(), f.name.clone(), [f.goodput_mbps, rate(b, &f.name)?]));
        a.flows.iter().filter_map(of).collect()
    };
    let all: Vec<_> = pairs.iter().flat_map(both).collect();
    if !all.iter().any(|(v, f, rates)| v == variant && f == flow && *rates == stated) {
        return Some("no such rates".into());
    }
    let more = all
        .iter()
        .find(|(.., rates)| relative_difference(*rates) > relative_difference(stated) * (1.0 + 1e-9));
    more.map(|(v, f, rates)| format!("{f} of {v} differs more: {rates:?}"))
}

fn count(
    pairs: &[(&VariantResult, &VariantResult)],
    variant: &str,
    resent: bool,
    stated: [u64; 2],
) -> Option<String> {
    let sum = |v: &VariantResult| -> u64 {
        if resent {
            v.flows.iter().map(|f| f.retransmitted_packets).sum()
        } else {
            v.elements.iter().map(|e| e.dropped_packets).sum()
        }
    };
    let alone = |v: &VariantResult| v.one_at_a_time;
    let is = |(a, b): &&(&VariantResult, &VariantResult)| a.name == variant && [sum(a), sum(b)] == stated;
    // Flows measured alone have counts of their own.
    let known = pairs.iter().any(|(a, _)| alone(a)) || pairs.iter().any(|p| is(&p));
    let [low, high] = [stated[0].min(stated[1]) as f64, stated[0].max(stated[1]) as f64];
    let chance = 2.0 * (low + high).sqrt();
    let much = high > 1.5 * low.max(1.0) && high - low > chance;
    (!known || !much).then(|| format!("counts {stated:?}: known {known}, much {much}"))
}
