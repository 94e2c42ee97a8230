//! Compares simulator and kernel.

use super::COUNTED_TIMES;
use super::clause::Clause;
use super::named::NamedVariant;
use result::{Clock, FlowResult};

/// The flow whose goodput differs most, and the variant whose drops or retransmissions differ most, if they
/// differ much.
pub(super) fn agreement(all: &[NamedVariant], clock: Clock) -> Vec<Clause> {
    let (first, second): (Vec<&NamedVariant>, Vec<&NamedVariant>) =
        all.iter().partition(|n| n.row.variant.clock == clock);
    let same = |a: &NamedVariant| second.iter().find(|b| b.name == a.name && b.at[0] == a.at[0]).copied();
    let pairs: Vec<(&NamedVariant, &NamedVariant)> =
        first.iter().filter_map(|a| Some((*a, same(a)?))).collect();
    let flows = pairs.iter().flat_map(|(a, b)| {
        let flows = a.row.flows().into_iter();
        flows.filter_map(move |x| Some((a, x, b.row.flows().into_iter().find(|y| y.name == x.name)?)))
    });
    let worst = flows.max_by(|a, b| relative_difference(a.1, a.2).total_cmp(&relative_difference(b.1, b.2)));
    let goodput = worst.map(|(n, x, y)| Clause::ClocksGoodput {
        variant: n.row.variant.name.clone(),
        flow: x.name.clone(),
        first: x.goodput_mbps,
        second: y.goodput_mbps,
    });
    let counts = pairs
        .iter()
        .flat_map(|(a, b)| [false, true].map(|resent| (a, count(a, resent), count(b, resent), resent)));
    let largest = counts
        .filter(|&(_, x, y, _)| differ(x, y))
        .max_by(|a, b| ratio(a.1, a.2).total_cmp(&ratio(b.1, b.2)));
    let counted = largest.map(|(n, first, second, resent)| Clause::ClocksCount {
        variant: n.name.clone(),
        resent,
        first,
        second,
    });
    goodput.into_iter().chain(counted).collect()
}

/// The goodputs' difference as a share of the second; infinite if only the second is zero.
fn relative_difference(x: &FlowResult, y: &FlowResult) -> f64 {
    match (x.goodput_mbps, y.goodput_mbps) {
        (a, b) if a == b => 0.0,
        (_, 0.0) => f64::INFINITY,
        (a, b) => (a / b - 1.0).abs(),
    }
}

/// Packets that all elements dropped, or that all flows retransmitted.
fn count(n: &NamedVariant, resent: bool) -> u64 {
    if resent {
        return n.row.flows().iter().map(|f| f.retransmitted_packets).sum();
    }
    n.row.elements().iter().map(|e| e.dropped_packets).sum()
}

fn ratio(x: u64, y: u64) -> f64 {
    x.max(y) as f64 / x.min(y).max(1) as f64
}

/// Whether two counts differ by more than a factor and by more than chance: the scatter of a count is its
/// square root.
fn differ(x: u64, y: u64) -> bool {
    ratio(x, y) > COUNTED_TIMES && x.abs_diff(y) as f64 > 2.0 * ((x + y) as f64).sqrt()
}
