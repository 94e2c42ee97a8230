//! From outcomes to figures: means and intervals over seeds, over scenarios the range that covers all of them.

use crate::model::{PlanFigures, PlanRange, VoiceCost};
use result::{FlowResult, VariantResult, estimate};
use units::Goal;

/// What one run yielded.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct RunFigures {
    /// As [`PlanFigures::goodput_mbps`].
    pub goodput: f64,
    /// As [`PlanFigures::p95_delay_ms`].
    pub delay: f64,
    /// As [`PlanFigures::completion_s`].
    pub completion: Option<f64>,
    /// As [`PlanFigures::page_s`].
    pub page: Option<f64>,
    /// As [`PlanFigures::fairness`].
    pub fairness: Option<f64>,
    /// As [`PlanFigures::resent`].
    pub resent: f64,
}

impl RunFigures {
    /// Of one run of a variant.
    pub fn of(v: &VariantResult) -> RunFigures {
        let flows: Vec<&FlowResult> = v.compared_flows().collect();
        let sum = |f: fn(&FlowResult) -> u64| flows.iter().map(|x| f(x)).sum::<u64>() as f64;
        let sent = sum(|f| f.sent_packets);
        RunFigures {
            goodput: flows.iter().map(|f| f.goodput_mbps).sum(),
            delay: flows.iter().map(|f| f.rtt_ms.p95).fold(0.0, f64::max),
            completion: completion(v, &flows),
            page: v.page_s.filter(|t| t.count > 0).map(|t| t.mean),
            fairness: v.jain_index,
            resent: if sent > 0.0 { sum(|f| f.retransmitted_packets) / sent } else { 0.0 },
        }
    }

    /// The figure that is judged; smaller is better of times.
    pub fn judged(&self, objective: Goal) -> Option<f64> {
        match objective {
            Goal::Goodput => Some(self.goodput),
            Goal::Delay => Some(self.delay),
            Goal::Completion => self.completion,
            Goal::Page => self.page,
            Goal::Fairness => self.fairness,
        }
    }
}

/// Mean time of transfers and exchanges. What did not come to its end took the whole run at least, and counts as that.
fn completion(v: &VariantResult, flows: &[&FlowResult]) -> Option<f64> {
    let times = [v.completion_s, v.response_s].into_iter().flatten();
    let (mut sum, mut count) = (0.0, 0);
    for t in times {
        sum += t.mean * t.count as f64;
        count += t.count;
    }
    let unfinished = flows.iter().filter(|f| f.unfinished).count() as u64;
    let all = count + unfinished;
    (all > 0).then(|| (sum + unfinished as f64 * v.duration_s) / all as f64)
}

/// Whether a larger figure is the better one.
pub fn larger_is_better(objective: Goal) -> bool {
    matches!(objective, Goal::Goodput | Goal::Fairness)
}

/// Mean and interval: `samples` are those of each scenario.
pub fn range(samples: &[Vec<f64>]) -> PlanRange {
    let each: Vec<_> = samples.iter().filter(|s| !s.is_empty()).map(|s| estimate(s)).collect();
    if each.is_empty() {
        return PlanRange::default();
    }
    PlanRange {
        mean: each.iter().map(|e| e.mean).sum::<f64>() / each.len() as f64,
        low: each.iter().map(|e| e.mean - e.ci95).fold(f64::INFINITY, f64::min),
        high: each.iter().map(|e| e.mean + e.ci95).fold(f64::NEG_INFINITY, f64::max),
    }
}

/// Of what one option yielded: by scenario, in it by seed.
pub fn figures(runs: &[Vec<RunFigures>]) -> PlanFigures {
    let known = |f: &dyn Fn(&RunFigures) -> Option<f64>| {
        let samples: Vec<Vec<f64>> = runs.iter().map(|s| s.iter().filter_map(f).collect()).collect();
        (samples.iter().all(|s| !s.is_empty()) && !samples.is_empty()).then(|| range(&samples))
    };
    PlanFigures {
        goodput_mbps: known(&|r| Some(r.goodput)).unwrap_or_default(),
        p95_delay_ms: known(&|r| Some(r.delay)).unwrap_or_default(),
        completion_s: known(&|r| r.completion),
        page_s: known(&|r| r.page),
        fairness: known(&|r| r.fairness),
        resent: known(&|r| Some(r.resent)).unwrap_or_default().mean,
        voice: None,
    }
}

/// How much better the objective is, seed by seed; positive is better. `None` where either has none.
pub fn gain(objective: Goal, now: &[Vec<RunFigures>], then: &[Vec<RunFigures>]) -> Option<PlanRange> {
    let sign = if larger_is_better(objective) { 1.0 } else { -1.0 };
    let pair =
        |(a, b): (&RunFigures, &RunFigures)| Some(sign * (b.judged(objective)? - a.judged(objective)?));
    let differences: Vec<Vec<f64>> =
        now.iter().zip(then).map(|(a, b)| a.iter().zip(b).filter_map(pair).collect()).collect();
    differences.iter().all(|d| !d.is_empty()).then(|| range(&differences))
}

/// The mean of what calls met; the worst call of each run counts.
pub fn voice(runs: &[VoiceCost]) -> Option<VoiceCost> {
    let n = runs.len() as f64;
    let mean = |f: fn(&VoiceCost) -> f64| runs.iter().map(f).sum::<f64>() / n;
    let scores: Option<Vec<f64>> = runs.iter().map(|v| v.mos).collect();
    (!runs.is_empty()).then(|| VoiceCost {
        p95_delay_ms: mean(|v| v.p95_delay_ms),
        lost: mean(|v| v.lost),
        mos: scores.map(|s| s.iter().sum::<f64>() / n),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(goodput: f64) -> RunFigures {
        RunFigures { goodput, delay: 100.0 / goodput, ..RunFigures::default() }
    }

    #[test]
    fn a_gain_is_of_the_same_seeds_and_its_interval_covers_every_scenario() {
        let now = vec![vec![run(1.0), run(5.0)], vec![run(2.0), run(2.0)]];
        let then = vec![vec![run(2.0), run(6.0)], vec![run(6.0), run(6.0)]];
        let gain = gain(Goal::Goodput, &now, &then).unwrap();
        // Seeds differ by 4, the gain by nothing: paired it is exact; of the scenarios one gains 1, one 4.
        assert_eq!((gain.low, gain.mean, gain.high), (1.0, 2.5, 4.0));
        let delay = super::gain(Goal::Delay, &now[1..], &then[1..]).unwrap();
        assert!((delay.mean - (50.0 - 100.0 / 6.0)).abs() < 1e-9, "{delay:?}: less delay is a gain");
        assert_eq!(super::gain(Goal::Page, &now, &then), None);
    }

    #[test]
    fn what_did_not_end_counts_as_the_whole_run() {
        let flow = |unfinished| FlowResult { cc: "cubic".into(), unfinished, ..FlowResult::default() };
        let times = result::TimesSummary { count: 1, mean: 2.0, ..Default::default() };
        let v = VariantResult {
            duration_s: 10.0,
            flows: vec![flow(false), flow(true)],
            completion_s: Some(times),
            ..VariantResult::default()
        };
        assert_eq!(RunFigures::of(&v).completion, Some(6.0));
    }
}
