//! Durations of transfers, exchanges and pages.

use crate::tally::FlowTally;
use result::{Response, TimesSummary};
use scenario::Scenario;
use transport::Exchange;
use units::{Awaited, Span, Time};

/// Durations of one kind: the completed ones with their weights, and the number of unfinished ones.
#[derive(Clone, Default)]
pub struct Times {
    ended: Vec<(Span, u64)>,
    unfinished: u64,
}

impl Times {
    /// The summary; `None` if nothing started. It is exact if all weights are 1.
    pub fn summary(&self) -> Option<TimesSummary> {
        let count: u64 = self.ended.iter().map(|&(_, n)| n).sum();
        if count + self.unfinished == 0 {
            return None;
        }
        let mut sorted = self.ended.clone();
        sorted.sort_unstable();
        let sum: u128 = sorted.iter().map(|&(took, n)| u128::from(took.as_nanos()) * u128::from(n)).sum();
        // Nearest rank: the smallest duration that at least this share of all durations does not exceed.
        let quantile = |per_cent: u128| {
            let rank = (u128::from(count) * per_cent).div_ceil(100).max(1);
            let mut seen = 0;
            let reached = sorted.iter().find(|&&(_, n)| {
                seen += u128::from(n);
                seen >= rank
            });
            reached.map_or(0.0, |(took, _)| took.as_secs_f64())
        };
        Some(TimesSummary {
            count,
            unfinished: self.unfinished,
            mean: if count == 0 { 0.0 } else { sum as f64 / count as f64 / 1e9 },
            p50: quantile(50),
            p95: quantile(95),
            p99: quantile(99),
            max: sorted.last().map_or(0.0, |(took, _)| took.as_secs_f64()),
        })
    }
}

/// All durations together.
pub fn pool<'a>(all: impl Iterator<Item = &'a Times>) -> Times {
    let mut pooled = Times::default();
    for times in all {
        pooled.ended.extend(&times.ended);
        pooled.unfinished += times.unfinished;
    }
    pooled
}

/// The durations of one flow.
pub struct FlowTimes {
    /// From the flow's start to its last byte at the receiving application, for a finite transfer that
    /// completed.
    pub completion: Option<Span>,
    /// Whether this is a finite transfer that did not complete.
    pub unfinished: bool,
    /// From requests to responses.
    pub responses: Times,
    /// Load times of pages.
    pub pages: Times,
}

impl FlowTimes {
    /// Durations of a flow. If the scenario sets `measure`, only exchanges and pages that started within
    /// `interval` count.
    pub fn new(scenario: &Scenario, tally: &FlowTally, [from, to]: [Time; 2]) -> FlowTimes {
        let has_end = scenario.flows[tally.of].app.has_end();
        let counts = |began: Time| scenario.measure.is_none() || (from..=to).contains(&began);
        let weight = tally.exchanges.weight();
        let times_of = |is_page: bool| {
            let is_kind = |what: Awaited| (what == Awaited::Page) == is_page;
            let ended = tally.exchanges.list().iter().filter(|e| is_kind(e.what) && counts(e.began));
            let waiting = tally.waiting.iter().filter(|&&(what, began)| is_kind(what) && counts(began));
            Times { ended: ended.map(|e| (e.took, weight)).collect(), unfinished: waiting.count() as u64 }
        };
        FlowTimes {
            completion: tally.done.filter(|_| has_end).map(|done| done.since(tally.start)),
            unfinished: has_end && tally.done.is_none(),
            responses: times_of(false),
            pages: times_of(true),
        }
    }
}

/// The completion times of the finite transfers.
pub fn completions(flows: &[FlowTimes]) -> Times {
    Times {
        ended: flows.iter().filter_map(|f| Some((f.completion?, 1))).collect(),
        unfinished: flows.iter().filter(|f| f.unfinished).count() as u64,
    }
}

/// A flow's exchanges and pages in the order of their completion.
pub fn rows(tally: &FlowTally) -> Vec<Response> {
    let row = |e: &Exchange| Response {
        start_s: e.began.as_secs_f64(),
        seconds: e.took.as_secs_f64(),
        what: e.what.name().into(),
    };
    tally.exchanges.list().iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(ms: &[u64], weight: u64, unfinished: u64) -> Times {
        Times { ended: ms.iter().map(|&n| (Span::from_millis(n), weight)).collect(), unfinished }
    }

    #[test]
    fn quantiles_are_exact() {
        let all: Vec<u64> = (1..=200).rev().collect();
        let s = times(&all, 1, 3).summary().unwrap();
        assert_eq!((s.count, s.unfinished, s.mean), (200, 3, 0.1005));
        assert_eq!((s.p50, s.p95, s.p99, s.max), (0.1, 0.19, 0.198, 0.2));
        let one = times(&[7], 1, 0).summary().unwrap();
        assert_eq!((one.p50, one.p99, one.max), (0.007, 0.007, 0.007));
        assert_eq!(times(&[], 1, 0).summary(), None);
        assert_eq!(times(&[], 1, 2).summary().map(|s| (s.count, s.unfinished, s.max)), Some((0, 2, 0.0)));
    }

    #[test]
    fn samples_are_weighted() {
        let s = pool([times(&[10], 1, 1), times(&[20], 4, 0)].iter()).summary().unwrap();
        assert_eq!((s.count, s.unfinished, s.mean, s.p50), (5, 1, 0.018, 0.02));
    }
}
