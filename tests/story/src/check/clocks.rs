//! Simulator beside kernel: which flow differs most, and where counts differ much.

use crate::seen::SeenRun;
use report::story::{Clause, Story};
use result::{Clock, FlowResult, VariantResult};

/// What is wrong with what is said of the two clocks, or missing.
pub fn wrong(seen: &SeenRun, told: &Story) -> Vec<String> {
    let of = |clock: Clock| seen.run.variants.iter().filter(move |v| v.clock == clock);
    let pairs: Vec<(&VariantResult, &VariantResult)> = of(Clock::Sim)
        .filter_map(|a| Some((a, of(Clock::Kernel).find(|b| b.name == a.name)?)))
        .filter(|(a, _)| !a.flows.is_empty())
        .collect();
    let said: Vec<&Clause> = told
        .clauses
        .iter()
        .filter(|c| matches!(c, Clause::ClocksGoodput { .. } | Clause::ClocksCount { .. }))
        .collect();
    if pairs.is_empty() {
        return if said.is_empty() { vec![] } else { vec!["two clocks where there is one".into()] };
    }
    let mut list = Vec::new();
    let goodputs = said.iter().filter(|c| matches!(c, Clause::ClocksGoodput { .. })).count();
    if goodputs != 1 {
        list.push(format!("{goodputs} clauses on how far the clocks are apart"));
    }
    for clause in said {
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

/// How many times the one the other is, one way or the other.
fn apart([a, b]: [f64; 2]) -> f64 {
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
    told: [f64; 2],
) -> Option<String> {
    let both = |(a, b): &(&VariantResult, &VariantResult)| -> Vec<(String, String, [f64; 2])> {
        let rate = |v: &VariantResult, name: &str| {
            v.flows.iter().find(|f| f.name == name).map(|f: &FlowResult| f.goodput_mbps)
        };
        let of = |f: &FlowResult| Some((a.name.clone(), f.name.clone(), [f.goodput_mbps, rate(b, &f.name)?]));
        a.flows.iter().filter_map(of).collect()
    };
    let all: Vec<_> = pairs.iter().flat_map(both).collect();
    if !all.iter().any(|(v, f, rates)| v == variant && f == flow && *rates == told) {
        return Some("no such rates".into());
    }
    let more = all.iter().find(|(.., rates)| apart(*rates) > apart(told) * (1.0 + 1e-9));
    more.map(|(v, f, rates)| format!("{f} of {v} differs more: {rates:?}"))
}

fn count(
    pairs: &[(&VariantResult, &VariantResult)],
    variant: &str,
    resent: bool,
    told: [u64; 2],
) -> Option<String> {
    let sum = |v: &VariantResult| -> u64 {
        if resent {
            v.flows.iter().map(|f| f.retransmitted_packets).sum()
        } else {
            v.elements.iter().map(|e| e.dropped_packets).sum()
        }
    };
    let alone = |v: &VariantResult| v.one_at_a_time;
    let is = |(a, b): &&(&VariantResult, &VariantResult)| a.name == variant && [sum(a), sum(b)] == told;
    // Of flows measured alone each has its own counts.
    let known = pairs.iter().any(|(a, _)| alone(a)) || pairs.iter().any(|p| is(&p));
    let [low, high] = [told[0].min(told[1]) as f64, told[0].max(told[1]) as f64];
    let chance = 2.0 * (low + high).sqrt();
    let much = high > 1.5 * low.max(1.0) && high - low > chance;
    (!known || !much).then(|| format!("counts {told:?}: known {known}, much {much}"))
}
