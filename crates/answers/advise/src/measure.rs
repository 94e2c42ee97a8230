//! Computes what a plan compares: the goal's figure, what each user of the scenario notices, and other
//! figures of interest. All numbers are [`Measure`]s; differences are taken between runs with the same seeds.

use crate::model::{PlanFigures, PlanRange, UserFigures, VoiceCost};
use result::measure::of_goal;
use result::{Measure, Quantity, Statistic, Subject, VariantResult, estimate};
use scenario::{PathLimits, Scenario};
use std::cmp::Ordering;
use transport::App;
use units::Goal;

/// A flow whose user notices more than its goodput.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    /// The flow's name.
    pub name: String,
    /// Kind of its application.
    pub app: &'static str,
    /// The measures that the user notices.
    pub notices: Vec<Measure>,
    /// Whether it is a call, a game or a probe, for which delay matters most.
    pub is_real_time: bool,
}

/// Returns the flows whose users notice delay, loss or completion times. Bulk data without an end does not
/// count, and neither does a flood of datagrams ([`scenario::Flow::is_real_time`]), which causes its own
/// delay.
pub fn users(s: &Scenario) -> Vec<User> {
    let limits = PathLimits::new(s, None);
    let user = |(flow, limit): (&scenario::Flow, &Option<f64>)| {
        let at = |q| Measure::at(q, Statistic::P95).of_subject(Subject::Flow(flow.name.clone()));
        let plain = |q| Measure::new(q).of_subject(Subject::Flow(flow.name.clone()));
        let (app, is_real_time, notices) = match &flow.app {
            App::Voice { .. } => {
                ("call", true, vec![plain(Quantity::Mos), at(Quantity::Delay), plain(Quantity::Lost)])
            }
            App::Udp { .. } if flow.is_real_time(*limit) => {
                ("datagrams", true, vec![at(Quantity::Delay), plain(Quantity::Lost)])
            }
            App::Probe { .. } => ("probe", true, vec![at(Quantity::Probe), plain(Quantity::Lost)]),
            App::Request { .. } => ("requests", false, vec![at(Quantity::Response)]),
            App::Page { .. } => ("pages", false, vec![at(Quantity::Page)]),
            App::Bulk { bytes: Some(_), .. } => ("transfer", false, vec![at(Quantity::Completion)]),
            App::Bulk { bytes: None, .. } | App::Onoff { .. } | App::Udp { .. } => return None,
        };
        Some(User { name: flow.name.clone(), app, notices, is_real_time })
    };
    s.flows.iter().zip(&limits.flows).filter_map(user).collect()
}

/// Measures every run of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Yardstick {
    /// The goal that cures are ranked by.
    pub goal: Goal,
    /// The flows with users who notice something.
    pub users: Vec<User>,
    /// Number of flows.
    pub flows: u32,
}

/// The figures of one run.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RunFigures {
    /// The goal's figure.
    pub judged: Option<f64>,
    /// Figures of all flows together, in the order of [`AIMS`], followed by the retransmitted share.
    pub aims: Vec<Option<f64>>,
    /// Figures by user and by the measures that the user notices.
    pub users: Vec<Vec<Option<f64>>>,
}

/// The goals whose figures are recorded for all flows together, in the order of [`RunFigures::aims`].
pub const AIMS: [Goal; 5] = [Goal::Goodput, Goal::Delay, Goal::Completion, Goal::Page, Goal::Fairness];
/// Index of the goodput in [`RunFigures::aims`].
pub const GOODPUT: usize = 0;
/// Index of the round-trip time of TCP, or of the delay where there are only datagrams.
pub const ROUND_TRIP: usize = 1;
/// Index of the completion time.
const COMPLETION: usize = 2;
/// Index of the page load time.
const PAGE: usize = 3;
/// Index of Jain's fairness index.
pub const FAIRNESS: usize = 4;
/// Index of the share of retransmitted packets, in %.
pub const RESENT: usize = 5;

/// Figures of all flows together that count as noticed: indexes into [`RunFigures::aims`], with their
/// quantities.
const ALL_FLOWS: [(usize, Quantity); 4] = [
    (GOODPUT, Quantity::Goodput),
    (ROUND_TRIP, Quantity::Rtt),
    (FAIRNESS, Quantity::Jain),
    (RESENT, Quantity::ResentShare),
];

impl Yardstick {
    /// Creates it for a goal in a scenario.
    pub fn new(goal: Goal, s: &Scenario) -> Yardstick {
        Yardstick { goal, users: users(s), flows: s.flows.iter().map(|f| f.count).sum() }
    }

    /// Returns the figures of one run of a variant.
    pub fn of(&self, v: &VariantResult) -> RunFigures {
        // A flow that did not complete counts as if it took the whole run.
        let finite = |x: f64| if x.is_finite() { x } else { v.duration_s };
        let first = |measures: &[Measure]| measures.iter().find_map(|m| m.of(v)).map(finite);
        let round_trip =
            [Quantity::Rtt, Quantity::Delay, Quantity::Probe].map(|q| Measure::at(q, Statistic::P95));
        let mut aims: Vec<Option<f64>> = AIMS
            .iter()
            .map(|&goal| if goal == Goal::Delay { first(&round_trip) } else { first(&of_goal(goal)) })
            .collect();
        aims.push(Measure::new(Quantity::ResentShare).of(v));
        let value = |m: &Measure| match m.of(v) {
            // If no packet arrived, all were lost.
            None if m.quantity == Quantity::Lost => Some(100.0),
            other => other.map(finite),
        };
        let users = self.users.iter().map(|u| u.notices.iter().map(value).collect());
        let users: Vec<Vec<Option<f64>>> = users.collect();
        let judged = match self.goal {
            Goal::Delay => self.real_time_delay(&users).or_else(|| first(&of_goal(Goal::Delay))),
            goal => first(&of_goal(goal)),
        };
        RunFigures { judged, aims, users }
    }

    /// Returns the longest delay of a call or game. Probes count only where there is neither.
    fn real_time_delay(&self, users: &[Vec<Option<f64>>]) -> Option<f64> {
        let delay = |(user, values): (&User, &Vec<Option<f64>>)| {
            let place = user.notices.iter().position(|m| m.quantity == Quantity::Delay)?;
            values[place]
        };
        self.users.iter().zip(users).filter_map(delay).max_by(f64::total_cmp)
    }

    /// Whether larger figures of the goal are better.
    pub fn larger_is_better(&self) -> bool {
        larger_is_better(self.goal)
    }
}

/// Whether larger figures of a goal are better.
pub fn larger_is_better(objective: Goal) -> bool {
    matches!(objective, Goal::Goodput | Goal::Fairness)
}

/// The figures of one option, by scenario and seed.
pub type Samples = [Vec<RunFigures>];

/// Returns mean and interval over the samples of each scenario.
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

/// Returns mean and interval of one figure; `None` where a scenario has none.
pub fn known(runs: &Samples, f: impl Fn(&RunFigures) -> Option<f64>) -> Option<PlanRange> {
    let samples: Vec<Vec<f64>> = runs.iter().map(|s| s.iter().filter_map(&f).collect()).collect();
    (samples.iter().all(|s| !s.is_empty()) && !samples.is_empty()).then(|| range(&samples))
}

/// Returns by how much a figure is larger in `then` than in `now`, seed by seed; `None` where either has
/// none.
pub fn difference(
    now: &Samples,
    then: &Samples,
    f: impl Fn(&RunFigures) -> Option<f64>,
) -> Option<PlanRange> {
    let pair = |(a, b): (&RunFigures, &RunFigures)| Some(f(b)? - f(a)?);
    let differences: Vec<Vec<f64>> =
        now.iter().zip(then).map(|(a, b)| a.iter().zip(b).filter_map(pair).collect()).collect();
    let any = !differences.is_empty() && differences.iter().all(|d| !d.is_empty());
    any.then(|| range(&differences))
}

/// Returns by how much the goal's figure improves, seed by seed; positive is better. `None` where either has
/// none.
pub fn gain(larger_is_better: bool, now: &Samples, then: &Samples) -> Option<PlanRange> {
    let difference = difference(now, then, |r| r.judged)?;
    Some(if larger_is_better { difference } else { negative(difference) })
}

fn negative(r: PlanRange) -> PlanRange {
    PlanRange { mean: -r.mean, low: -r.high, high: -r.low }
}

/// Returns the change of a quantity that a user notices, as a share of its value and as a minimum in its
/// unit. The numbers are chosen, not fitted: a quarter of a delay, but at least 5 ms; half a percentage point
/// of loss; 0.2 points of an opinion score; a fifth of a time; 0.1 of Jain's index; a twentieth of goodput.
fn noticeable_change(q: Quantity) -> [f64; 2] {
    match q {
        Quantity::Delay | Quantity::Probe => [0.25, 5.0],
        Quantity::Rtt => [0.25, 0.1],
        Quantity::Lost => [0.25, 0.5],
        Quantity::ResentShare => [0.5, 0.5],
        Quantity::Mos => [0.0, 0.2],
        Quantity::Jain => [0.0, 0.1],
        Quantity::Goodput => [0.05, 0.0],
        _ => [0.2, 0.0],
    }
}

/// Returns the change of a quantity that ruins a flow for its user, in the form of [`noticeable_change`]: a
/// delay that grows by half and by at least 40 ms; one percentage point more loss; half a point of an opinion
/// score; a time longer by a quarter.
fn ruined(q: Quantity) -> [f64; 2] {
    match q {
        Quantity::Delay | Quantity::Probe => [0.5, 40.0],
        Quantity::Lost => [0.25, 1.0],
        Quantity::Mos => [0.0, 0.5],
        _ => [0.25, 0.0],
    }
}

/// A noticeable change of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureChange {
    /// The measure that changed.
    pub measure: Measure,
    /// Name of the flow; empty for all flows together.
    pub user: String,
    /// The value before.
    pub now: f64,
    /// The value after.
    pub then: f64,
    /// Whether the change is an improvement.
    pub is_better: bool,
    /// Whether the change is so bad that the flow is no longer usable.
    pub ruins: bool,
}

impl FigureChange {
    /// Whether it is a change of the goal's own figure.
    pub fn is_of_goal(&self, goal: Goal) -> bool {
        let own = match goal {
            Goal::Goodput => Some(Quantity::Goodput),
            Goal::Fairness => Some(Quantity::Jain),
            Goal::Delay | Goal::Completion | Goal::Page => None,
        };
        self.user.is_empty() && Some(self.measure.quantity) == own
    }

    /// Returns its size for comparisons with other changes: points of a score, and doublings of other
    /// figures.
    pub fn ratio(&self) -> f64 {
        match self.measure.quantity {
            Quantity::Mos => (self.then - self.now).abs(),
            Quantity::Jain => 4.0 * (self.then - self.now).abs(),
            _ => ((self.then + 1.0) / (self.now + 1.0)).log2().abs(),
        }
    }

    /// Whether it is an improvement that justifies a change although it is not the goal. Fewer
    /// retransmissions do not count, because no user notices them.
    pub fn is_side_benefit(&self, goal: Goal) -> bool {
        self.is_better && self.measure.quantity != Quantity::ResentShare && !self.is_of_goal(goal)
    }
}

/// Returns the change between two options if it is significant and noticeable.
fn change(
    measure: Measure,
    now: &Samples,
    then: &Samples,
    f: impl Fn(&RunFigures) -> Option<f64>,
) -> Option<FigureChange> {
    let quantity = measure.quantity;
    let user = if let Subject::Flow(name) = &measure.subject { name.clone() } else { String::new() };
    let (before, after) = (known(now, &f)?.mean, known(then, &f)?.mean);
    let by = difference(now, then, &f)?;
    let beyond_chance = by.low > 0.0 || by.high < 0.0;
    let exceeds = |[share, min]: [f64; 2]| by.mean.abs() >= (share * before.abs()).max(min) && by.mean != 0.0;
    if !beyond_chance || !exceeds(noticeable_change(quantity)) {
        return None;
    }
    let is_better = (by.mean > 0.0) == measure.prefers_larger();
    let ruins = !user.is_empty() && !is_better && exceeds(ruined(quantity));
    Some(FigureChange { measure, user, now: before, then: after, is_better, ruins })
}

/// Returns all noticeable changes between two options: those of users first, then those of all flows.
pub fn changes(yardstick: &Yardstick, now: &Samples, then: &Samples) -> Vec<FigureChange> {
    let mut all = Vec::new();
    for (u, user) in yardstick.users.iter().enumerate() {
        for (m, measure) in user.notices.iter().enumerate() {
            all.extend(change(measure.clone(), now, then, |r| r.users[u][m]));
        }
    }
    let plain = ALL_FLOWS.map(|(aim, q)| (aim, Measure::new(q)));
    let whole = plain.map(|(aim, m)| {
        let statistic = m.quantity.has_distribution().then_some(Statistic::P95);
        (aim, Measure { statistic, ..m })
    });
    all.extend(whole.into_iter().filter_map(|(aim, m)| change(m, now, then, |r| r.aims[aim])));
    all
}

/// Returns by how much everything but the goal improves, in doublings: the number of halvings for delays,
/// times and losses (at most two each), points for Jain's index and opinion scores. A user's figures count
/// twice as much as those of all flows.
pub fn merit(yardstick: &Yardstick, now: &Samples, then: &Samples, call: [Option<VoiceCost>; 2]) -> f64 {
    /// Values below which neither delay (ms) nor loss (%) matters.
    const NEGLIGIBLE: [f64; 2] = [5.0, 1.0];
    let points = |q: Quantity, a: f64, b: f64| {
        let floor = match q {
            Quantity::Delay | Quantity::Probe => NEGLIGIBLE[0],
            Quantity::Lost | Quantity::ResentShare => NEGLIGIBLE[1],
            _ => 1e-9,
        };
        let points = match q {
            Quantity::Mos => b - a,
            Quantity::Jain => 4.0 * (b - a),
            Quantity::Goodput => ((b + floor) / (a + floor)).log2(),
            _ => ((a + floor) / (b + floor)).log2(),
        };
        points.clamp(-2.0, 2.0)
    };
    let mean = |runs: &Samples, f: &dyn Fn(&RunFigures) -> Option<f64>| known(runs, f).map(|r| r.mean);
    let part = |q: Quantity, f: &dyn Fn(&RunFigures) -> Option<f64>| {
        mean(now, f).zip(mean(then, f)).map_or(0.0, |(a, b)| points(q, a, b))
    };
    let mut sum = 0.0;
    for (u, user) in yardstick.users.iter().enumerate() {
        let each =
            user.notices.iter().enumerate().map(|(m, x)| part(x.quantity, &|r: &RunFigures| r.users[u][m]));
        sum += 2.0 * each.sum::<f64>() / user.notices.len().max(1) as f64;
    }
    let goal = match yardstick.goal {
        Goal::Goodput => GOODPUT,
        Goal::Fairness => FAIRNESS,
        _ => usize::MAX,
    };
    for (aim, q) in ALL_FLOWS.into_iter().filter(|(aim, _)| *aim != goal) {
        sum += part(q, &|r: &RunFigures| r.aims[aim]);
    }
    if let [Some(a), Some(b)] = call {
        let score = |v: VoiceCost| v.mos.unwrap_or(1.0);
        sum += score(b) - score(a);
    }
    sum
}

/// Returns the figures of one option over all scenarios and seeds.
pub fn figures(yardstick: &Yardstick, runs: &Samples) -> PlanFigures {
    let aim = |i: usize| known(runs, |r| r.aims[i]);
    let user = |(u, user): (usize, &User)| {
        let value = |q: Quantity| {
            let m = user.notices.iter().position(|m| m.quantity == q)?;
            known(runs, |r| r.users[u][m]).map(|r| r.mean)
        };
        UserFigures {
            name: user.name.clone(),
            kind: user.app.into(),
            p95_delay_ms: value(Quantity::Delay).or_else(|| value(Quantity::Probe)),
            lost: value(Quantity::Lost).map(|percent| percent / 100.0),
            mos: value(Quantity::Mos),
            p95_s: value(Quantity::Response)
                .or_else(|| value(Quantity::Page))
                .or_else(|| value(Quantity::Completion)),
        }
    };
    PlanFigures {
        goal_value: known(runs, |r| r.judged).unwrap_or_default(),
        goodput_mbps: aim(GOODPUT).unwrap_or_default(),
        p95_delay_ms: aim(ROUND_TRIP).unwrap_or_default(),
        completion_s: aim(COMPLETION),
        page_s: aim(PAGE),
        fairness: aim(FAIRNESS),
        retransmitted_share: aim(RESENT).map_or(0.0, |r| r.mean / 100.0),
        users: yardstick.users.iter().enumerate().map(user).collect(),
        voice: None,
    }
}

/// Returns what the worst of the scenario's own calls experiences; without calls a game or other datagrams,
/// without these a probe. `None` where there is none of them.
pub fn own_call(yardstick: &Yardstick, figures: &PlanFigures) -> Option<VoiceCost> {
    let worst = |quantity: Quantity| {
        let users = yardstick.users.iter().zip(&figures.users);
        let notices = move |u: &User| u.is_real_time && u.notices.iter().any(|m| m.quantity == quantity);
        let cost = |(_, f): (&User, &UserFigures)| VoiceCost {
            p95_delay_ms: f.p95_delay_ms.unwrap_or_default(),
            lost: f.lost.unwrap_or(1.0),
            mos: f.mos,
        };
        users.filter(move |(u, _)| notices(u)).map(cost).max_by(worse)
    };
    [Quantity::Mos, Quantity::Delay, Quantity::Probe].into_iter().find_map(worst)
}

/// Compares two calls, the worse one being greater: by score, else by delay and loss, where a percentage
/// point counts as 20 ms.
pub fn worse(a: &VoiceCost, b: &VoiceCost) -> Ordering {
    let bad = |v: &VoiceCost| v.p95_delay_ms + 2000.0 * v.lost;
    let by_score = a.mos.zip(b.mos).map_or(Ordering::Equal, |(a, b)| b.total_cmp(&a));
    by_score.then(bad(a).total_cmp(&bad(b)))
}

/// Returns the mean over runs; of each run the worst call counts.
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
    use result::FlowResult;

    fn run(judged: f64, resent: f64) -> RunFigures {
        let mut aims = vec![None; 6];
        aims[RESENT] = Some(resent);
        RunFigures { judged: Some(judged), aims, users: vec![vec![Some(resent)]] }
    }

    fn yardstick() -> Yardstick {
        let lost = Measure::new(Quantity::Lost).of_subject(Subject::Flow("call".into()));
        let call = User { name: "call".into(), app: "call", notices: vec![lost], is_real_time: true };
        Yardstick { goal: Goal::Goodput, users: vec![call], flows: 2 }
    }

    #[test]
    fn a_gain_is_paired_by_seed_and_its_interval_covers_every_scenario() {
        let now = vec![vec![run(1.0, 0.0), run(5.0, 0.0)], vec![run(2.0, 0.0), run(2.0, 0.0)]];
        let then = vec![vec![run(2.0, 0.0), run(6.0, 0.0)], vec![run(6.0, 0.0), run(6.0, 0.0)]];
        let more = gain(true, &now, &then).unwrap();
        // Seeds differ by 4, but the paired gain is exact: one scenario gains 1, the other 4.
        assert_eq!((more.low, more.mean, more.high), (1.0, 2.5, 4.0));
        let less = gain(false, &now, &then).unwrap();
        assert_eq!((less.low, less.mean, less.high), (-4.0, -2.5, -1.0));
        let none = vec![vec![RunFigures::default()]];
        assert_eq!(gain(true, &none, &none), None);
    }

    #[test]
    fn an_unfinished_transfer_counts_as_the_whole_run() {
        let flow = FlowResult { cc: "cubic".into(), unfinished: true, ..FlowResult::default() };
        let times = result::TimesSummary { count: 1, unfinished: 1, mean: 2.0, ..Default::default() };
        let v = VariantResult {
            duration_s: 10.0,
            flows: vec![flow],
            completion_s: Some(times),
            ..VariantResult::default()
        };
        let yardstick = Yardstick { goal: Goal::Completion, users: Vec::new(), flows: 1 };
        assert_eq!(yardstick.of(&v).judged, Some(10.0));
    }

    #[test]
    fn only_significant_and_large_changes_are_noticed() {
        let runs = |a: f64, b: f64| vec![vec![run(1.0, a), run(1.0, b)]];
        // A call's loss rises from 0 to 3 %, which is noticed and ruinous; the retransmissions of TCP rise
        // with it.
        let worse = changes(&yardstick(), &runs(0.0, 0.1), &runs(3.0, 3.1));
        assert_eq!(worse.len(), 2, "{worse:?}");
        assert!(worse[0].ruins && worse[0].user == "call" && !worse[0].is_better);
        assert!(!worse[1].ruins, "no user of its own");
        // Equal means, but the seeds differ in sign: chance.
        assert_eq!(changes(&yardstick(), &runs(0.0, 6.0), &runs(6.0, 0.0)), []);
        // Significant, but a tenth of a percent is too little to be heard.
        assert_eq!(changes(&yardstick(), &runs(1.0, 1.0), &runs(1.1, 1.1)), []);
        assert!(merit(&yardstick(), &runs(0.0, 0.0), &runs(3.0, 3.0), [None, None]) < -2.0);
    }
}
