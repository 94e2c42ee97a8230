//! What holds a variant's flows, found by counterfactual: the scenario is simulated again with the same seed and one
//! suspect's effect switched off, and what that gains is what the suspect costs. Drops are not counted for it: 507 packets
//! of five bursts may cost less than 27 single ones.
//!
//! A suspect is one file in `suspects/` and one line of the registry there. What "switched off" means:
//!
//! | kind | what takes the suspect's place | why that |
//! |---|---|---|
//! | `loss`, `outage`, `handover`, `radio-errors`, `duplication`, `fault` | nothing: the packet passes, the rate and the delay stay | the effect has no use of its own |
//! | `jitter` | its mean delay | the path stays as long |
//! | `reordering` | the same delays, in order | the same |
//! | `policer` | a shaper of the same rate with a queue of one bandwidth-delay product; of a policer that is per flow one shaper for each flow | the contract's rate stays, only dropping goes |
//! | `mtu` | any size passes | – |
//! | `queue-limit` | a queue as deep as it needs; what drops early becomes a FIFO | nothing is dropped for want of room |
//! | `standing-queue` | CoDel of the same length, of queues for each flow FQ-CoDel, at the same rate | it keeps the line busy without standing |
//! | `rate` | twice the rate with twice the queue | a faster line is always faster; so it is a suspect only where the flows reach [`NEARLY`] of it, or where the ACKs queue |
//! | `receive-window`, `send-buffer`, `relay-buffer`, `buffers` | up to 1 GiB | no path has a longer product |
//! | `sack` | SACK | – |
//! | `slow-start` | an initial window of the bandwidth-delay product, paced | a flow that is at its rate already |
//! | `pacing-cap` | none | – |
//! | `application` | bulk without pauses; of datagrams twice the rate | a suspect only where goodput is the goal |
//! | `competing-flow` | the flow begins when the run ends | the others have the path alone. The measure stays that of all TCP flows, so that two that share a line fairly do not hold each other; datagrams that offer more than an equal share are suspects |
//! | `congestion-control` | BBR for what answers losses, CUBIC for BBR; for fairness the same control for all | not the removal of an effect but another sender, so it is tried last, where nothing else gains anything |
//!
//! Where no suspect alone gains anything, all of a kind are switched off together, and all buffers: of two limits of one
//! rate in a row neither gains alone.
//!
//! All suspects are tried with the variant's first seed (of a small scenario with two), the best few with further seeds and
//! restless hosts. What does not gain beyond chance over all of them (Student's t, 95 %) is not named.
//!
//! The budget is [`MAX_RUNS`] runs and [`MAX_STAGE_PACKETS`] of work, counted in packets times stages and never by the
//! clock: the same scenario has the same holders on every machine.

mod budget;
mod case;
mod change;
mod measured;
mod suspects;

use crate::parallel::{cores, in_parallel};
use crate::simulate;
use budget::{Budget, stage_packets};
use case::Case;
use result::{
    Holder, HolderDrops, HolderEffect, HolderKind, HolderSearch, Measure, Outcome, TriedSuspect,
    VariantResult,
};
use scenario::{Scenario, Unrest, Variant};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use suspects::{Removal, SUSPECTS};
use units::{Goal, Span};

/// Runs that are simulated at most for one variant: some twenty suspects of a path of a dozen stages with two seeds, six of
/// them with up to eight more.
pub const MAX_RUNS: u64 = 120;
/// Work of all these runs together, packets times stages: some three seconds of one core.
pub const MAX_STAGE_PACKETS: u64 = 30_000_000;
/// Flows that reach this share of a rate are held by it. TCP in steady state through a queue of a quarter of the
/// bandwidth-delay product keeps about 95 %, and a start takes some percent of a short run; below nine tenths something else
/// has a part.
pub const NEARLY: f64 = 0.9;
/// What gains less is not named: runs of the same path with other seeds differ by as much.
pub const NOTICED: f64 = 1.05;
/// Of suspects whose gains are within this factor the more specific one comes first, in the order of the registry: a loss
/// before the rate.
const TIE: f64 = 1.05;
/// Holders that are named at most.
const MAX_HOLDERS: usize = 4;
/// Seeds that all suspects of a small scenario are tried with; of a large one it is the first.
const SCREENING: usize = 2;
/// What gains as much with these is tried with further seeds.
const CANDIDATE: f64 = 1.03;
/// How many of them, the best first.
const MAX_CANDIDATES: usize = 6;
/// Seeds that a holder is compared with; of a large scenario [`FEW_CONFIRMATIONS`].
const CONFIRMATIONS: usize = 5;
const FEW_CONFIRMATIONS: usize = 3;
/// Seeds at most, as long as the largest gain of a small scenario may be chance: else a smaller one that is sure would be named.
const MAX_SEEDS: usize = 10;
/// A scenario is small where all suspects once are expected to be less than this part of the budget.
const SMALL: u64 = 6;
/// Runs of a batch: a constant, so that the budget ends at the same suspect whatever the number of cores.
const BATCH: usize = 4;
/// Where flows are measured one at a time: holders are looked for of the first ones.
const MAX_SUBJECTS: usize = 3;
/// Gains are bounded: a transfer that ends gains no factor over one that does not.
const MAX_GAIN: f64 = 1e6;
/// From nothing to something has no factor either: goodput of less than this, Mbit/s, counts as this.
const LEAST_MBPS: f64 = 0.001;
/// Samples of the run that loss events are counted in.
const MAX_SAMPLES: u64 = 20_000;

/// What holders are looked for of.
#[derive(Clone, Debug)]
pub struct HolderWish<'a> {
    /// The variant, usually the baseline.
    pub variant: &'a Variant,
    /// The seeds that it ran with.
    pub seeds: &'a [u64],
    /// What it is judged by, the most important first.
    pub goals: &'a [Goal],
    /// How many runs at a time; `None`: one for each core.
    pub threads: Option<NonZeroUsize>,
}

/// Looks for what holds the variant's flows: holders, the largest gain first, and how they were looked for.
pub fn find_holders(wish: &HolderWish<'_>) -> (Vec<Holder>, HolderSearch) {
    let mut search = HolderSearch::default();
    let scenario = &wish.variant.scenario;
    if scenario.flows.is_empty() {
        search.unknown = Some("the scenario has no flows".into());
        return (Vec::new(), search);
    }
    let mut budget = Budget::new(MAX_RUNS, MAX_STAGE_PACKETS);
    let mut holders = Vec::new();
    for only in subjects(scenario) {
        let finder = Finder::new(wish, only);
        holders.extend(finder.find(&mut budget, &mut search));
    }
    (search.runs, search.stage_packets) = (budget.runs, budget.stage_packets);
    holders.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    search.tried.sort_by(|a, b| b.gain.unwrap_or(0.0).total_cmp(&a.gain.unwrap_or(0.0)));
    if holders.is_empty() && search.tried.is_empty() && !search.left_out.is_empty() {
        search.unknown = Some("the scenario is too large for the budget".into());
    }
    (holders, search)
}

/// `None`: all flows together. Where flows are measured one at a time the first few.
fn subjects(scenario: &Scenario) -> Vec<Option<usize>> {
    if !scenario.one_at_a_time {
        return vec![None];
    }
    (0..scenario.flows.len().min(MAX_SUBJECTS)).map(Some).collect()
}

/// A run that may be wanted.
struct Job<'s> {
    scenario: &'s Scenario,
    seed: u64,
    unrest: bool,
    /// The work that it is expected to be.
    estimate: u64,
}

/// Looks for the holders of one subject.
struct Finder<'a> {
    wish: &'a HolderWish<'a>,
    only: Option<usize>,
    threads: usize,
    /// Without time series.
    scenario: Scenario,
    /// The seeds of the comparison, and whether hosts are restless in its run.
    seeds: Vec<(u64, bool)>,
    /// How many of these are the variant's own.
    own: usize,
}

/// A suspect that has been tried.
struct Tried {
    removal: Removal,
    scenario: Scenario,
    /// Its runs, by seed.
    without: Vec<VariantResult>,
}

/// Baseline and goal that suspects are compared by.
struct Comparison {
    measure: Measure,
    /// The baseline's runs, by seed.
    with: Vec<VariantResult>,
}

impl Comparison {
    /// The logarithms of the gains, by seed.
    fn log_gains(&self, without: &[VariantResult]) -> Vec<f64> {
        let pairs = self.with.iter().zip(without);
        pairs.map(|(with, without)| measured::gain(&self.measure, with, without).ln()).collect()
    }

    fn gain(&self, t: &Tried) -> f64 {
        mean(&self.log_gains(&t.without)).exp()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Whether the mean is above zero beyond chance: one-sided, 95 % (Student's t). One value alone is believed.
fn is_shown(values: &[f64]) -> bool {
    /// Of one degree of freedom and more.
    const T95: [f64; MAX_SEEDS - 1] = [6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833];
    let n = values.len();
    if n < 2 {
        return true;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    let error = (squares / (n - 1) as f64 / n as f64).sqrt();
    mean > T95[(n - 2).min(T95.len() - 1)] * error
}

impl<'a> Finder<'a> {
    fn new(wish: &'a HolderWish<'a>, only: Option<usize>) -> Finder<'a> {
        let scenario = wish.variant.scenario.clone().without_series();
        let own = wish.seeds.len().clamp(1, CONFIRMATIONS);
        let first = wish.seeds.first().copied().unwrap_or(scenario.seed);
        let is_restless = |further: bool| match scenario.unrest {
            Unrest::Always => true,
            Unrest::Never => false,
            Unrest::Repeats => wish.seeds.len() > 1 || further,
        };
        let given = wish.seeds.iter().copied().take(CONFIRMATIONS).map(|s| (s, is_restless(false)));
        let mut seeds: Vec<(u64, bool)> = given.collect();
        let next = (seeds.len()..MAX_SEEDS).map(|i| (first.wrapping_add(i as u64), is_restless(i > 0)));
        seeds.extend(next);
        let threads = wish.threads.map_or_else(cores, usize::from);
        Finder { wish, only, threads, scenario, seeds, own }
    }

    fn find(mut self, budget: &mut Budget, search: &mut HolderSearch) -> Vec<Holder> {
        let Some(first) = self.run(&[self.job(&self.scenario, 0, 0)], budget).pop().flatten() else {
            return Vec::new();
        };
        let first = first.variant;
        let Some((goal, measure)) = measured::first(self.wish.goals, &first) else {
            search.unknown.get_or_insert_with(|| "nothing was measured of the goal".into());
            return Vec::new();
        };
        search.measure = measure.name();
        let scenario = self.scenario.clone();
        let case = Case::new(&scenario, &first, self.only, goal);
        let estimate = (case.growth() * stage_packets(&first) as f64) as u64;
        let found = |late: bool| -> Vec<Removal> {
            let of = |s: &&'static dyn suspects::Suspect| s.find(&case);
            let mut all: Vec<Removal> =
                SUSPECTS.iter().filter(|s| s.is_late(goal) == late).flat_map(of).collect();
            // Where the line is full nothing else matters as much: it is tried first.
            all.sort_by_key(|r| r.kind != HolderKind::Rate);
            all
        };
        let suspects = found(false);
        let small = estimate.saturating_mul(suspects.len() as u64) <= MAX_STAGE_PACKETS / SMALL;
        if !small {
            self.seeds.truncate(FEW_CONFIRMATIONS);
            self.own = self.own.min(self.seeds.len());
        }
        let mut comparison = Comparison { measure, with: vec![first.clone()] };
        if small {
            self.add_baseline(&mut comparison, budget);
        }
        type Next<'a> = &'a dyn Fn(&[Tried]) -> Vec<Removal>;
        let tests: [Next<'_>; 3] = [&|_| suspects.clone(), &|tried| together(tried), &|_| found(true)];
        let mut all: Vec<Tried> = Vec::new();
        for removals in tests {
            let from = all.len();
            let screened = comparison.with.len().min(SCREENING);
            let (tried, left_out) = self.try_all(removals(&all), screened, estimate, budget);
            all.extend(tried);
            search.left_out.extend(left_out.iter().map(|r| self.named(r, None)));
            // Several together, or another control, explain nothing that one alone explains better, be it by chance.
            let alone = all[..from].iter().map(|t| comparison.gain(t)).fold(1.0, f64::max);
            let mut holders = self.confirmed(&mut all[from..], &mut comparison, budget);
            holders.retain(|h| h.gain > alone);
            search.tried.extend(all[from..].iter().map(|t| self.named(&t.removal, Some(comparison.gain(t)))));
            if !holders.is_empty() {
                return self.with_drops(holders, &case, budget);
            }
        }
        Vec::new()
    }

    fn job<'s>(&self, scenario: &'s Scenario, seed: usize, estimate: u64) -> Job<'s> {
        let (seed, unrest) = self.seeds[seed];
        Job { scenario, seed, unrest, estimate }
    }

    /// Runs the baseline with the next seed, if there is one and the budget allows it.
    fn add_baseline(&self, comparison: &mut Comparison, budget: &mut Budget) -> bool {
        let next = comparison.with.len();
        if next >= self.seeds.len() {
            return false;
        }
        let job = self.job(&self.scenario, next, stage_packets(&comparison.with[0]));
        let outcome = self.run_all(&[job], budget).pop().flatten();
        let ran = outcome.is_some();
        comparison.with.extend(outcome.map(|o| o.variant));
        ran
    }

    fn named(&self, r: &Removal, gain: Option<f64>) -> TriedSuspect {
        let (kind, place, also) = (r.kind, r.places[0].clone(), r.places[1..].to_vec());
        TriedSuspect { kind, place, also, flow: self.flow(), gain }
    }

    fn flow(&self) -> Option<String> {
        Some(self.scenario.flows[self.only?].name.clone())
    }

    /// Simulates these at once; `None` where a run was ended, which no caller does.
    fn run(&self, jobs: &[Job<'_>], budget: &mut Budget) -> Vec<Option<Outcome>> {
        let one = |i: usize, pulse: &mut dyn FnMut()| {
            let job = &jobs[i];
            let variant = Variant { name: self.wish.variant.name.clone(), scenario: job.scenario.clone() };
            let mut progress = |_| {
                pulse();
                ControlFlow::Continue(())
            };
            simulate(&variant, job.seed, self.only, job.unrest, None, None, &mut progress)
        };
        let outcomes = in_parallel(jobs.len(), self.threads, one, || ());
        outcomes.iter().flatten().for_each(|o| budget.spend(stage_packets(&o.variant)));
        outcomes
    }

    /// Runs each, in batches as long as the budget lasts.
    fn run_all(&self, jobs: &[Job<'_>], budget: &mut Budget) -> Vec<Option<Outcome>> {
        let mut outcomes = Vec::new();
        while outcomes.len() < jobs.len() {
            let rest = &jobs[outcomes.len()..];
            let n = budget.admits(rest.iter().take(BATCH).map(|j| j.estimate));
            if n == 0 {
                break;
            }
            outcomes.extend(self.run(&rest[..n], budget));
        }
        outcomes
    }

    /// Switches off one suspect after the other, with the first seeds. The second list: those that no run was left for.
    fn try_all(
        &self,
        removals: Vec<Removal>,
        seeds: usize,
        estimate: u64,
        budget: &mut Budget,
    ) -> (Vec<Tried>, Vec<Removal>) {
        let changed = |removal: Removal| {
            let mut scenario = self.scenario.clone();
            (removal.change)(&mut scenario);
            let differs = scenario != self.scenario && change::is_valid(&scenario);
            differs.then(|| Tried { removal, scenario, without: Vec::new() })
        };
        let mut tried: Vec<Tried> = removals.into_iter().filter_map(changed).collect();
        for seed in 0..seeds {
            let having = |t: &&mut Tried| t.without.len() == seed;
            let mut list: Vec<&mut Tried> = tried.iter_mut().filter(having).collect();
            let jobs: Vec<Job<'_>> = list.iter().map(|t| self.job(&t.scenario, seed, estimate)).collect();
            let outcomes = self.run_all(&jobs, budget);
            for (t, outcome) in list.iter_mut().zip(outcomes) {
                t.without.extend(outcome.map(|o| o.variant));
            }
        }
        let (tried, left_out): (Vec<Tried>, Vec<Tried>) =
            tried.into_iter().partition(|t| !t.without.is_empty());
        (tried, left_out.into_iter().map(|t| t.removal).collect())
    }

    /// The best of them, as far as further seeds bear them out.
    fn confirmed(
        &self,
        tried: &mut [Tried],
        comparison: &mut Comparison,
        budget: &mut Budget,
    ) -> Vec<Holder> {
        let mut best: Vec<&mut Tried> =
            tried.iter_mut().filter(|t| comparison.gain(t) >= CANDIDATE).collect();
        best.sort_by(|a, b| comparison.gain(b).total_cmp(&comparison.gain(a)));
        best.truncate(MAX_CANDIDATES);
        if best.is_empty() {
            return Vec::new();
        }
        for seed in 1..self.seeds.len() {
            let largest = best.iter().map(|t| comparison.log_gains(&t.without));
            let largest = largest.max_by(|a, b| mean(a).total_cmp(&mean(b))).unwrap_or_default();
            if seed >= CONFIRMATIONS && (is_shown(&largest) || mean(&largest).exp() < NOTICED) {
                break;
            }
            if comparison.with.len() <= seed && !self.add_baseline(comparison, budget) {
                break;
            }
            let mut list: Vec<&mut &mut Tried> =
                best.iter_mut().filter(|t| t.without.len() == seed).collect();
            let estimate = |t: &Tried| t.without.first().map_or(0, stage_packets);
            let jobs: Vec<Job<'_>> = list.iter().map(|t| self.job(&t.scenario, seed, estimate(t))).collect();
            let outcomes = self.run_all(&jobs, budget);
            for (t, outcome) in list.iter_mut().zip(outcomes) {
                t.without.extend(outcome.map(|o| o.variant));
            }
        }
        let order = |kind| SUSPECTS.iter().position(|s| s.kind() == kind);
        let mut list: Vec<Holder> = best.iter().filter_map(|t| self.holder(t, comparison)).collect();
        list.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        if let Some(largest) = list.first().map(|h| h.gain) {
            let near = list.iter().take_while(|h| h.gain * TIE >= largest).count();
            list[..near].sort_by_key(|h| order(h.kind));
        }
        list.truncate(MAX_HOLDERS);
        list
    }

    /// The suspect, if what it gains is noticed and no chance.
    fn holder(&self, t: &Tried, comparison: &Comparison) -> Option<Holder> {
        let gains = comparison.log_gains(&t.without);
        let gain = mean(&gains).exp();
        if gain < NOTICED || !is_shown(&gains) {
            return None;
        }
        let least_gain = gains.iter().copied().fold(f64::INFINITY, f64::min).exp();
        let own = self.own.min(gains.len());
        let average = |m: &Measure, runs: &[VariantResult]| {
            let values: Option<Vec<f64>> = runs[..own].iter().map(|run| m.of(run)).collect();
            values.map(|values| mean(&values))
        };
        let finite = |x: Option<f64>| x.filter(|x| x.is_finite());
        let effect = |m: Measure| {
            let (with, without) = (average(&m, &comparison.with), average(&m, &t.without));
            (with.is_some() && without.is_some()).then(|| HolderEffect {
                measure: m.name(),
                unit: m.unit().symbol().into(),
                with: finite(with),
                without: finite(without),
            })
        };
        let effects = measured::all(&comparison.measure, self.wish.goals, &comparison.with[0]);
        Some(Holder {
            kind: t.removal.kind,
            place: t.removal.places[0].clone(),
            also: t.removal.places[1..].to_vec(),
            flow: self.flow(),
            carries: t.removal.carries,
            drops: None,
            rate_mbps: t.removal.rate_mbps,
            gain,
            least_gain,
            runs: gains.len() as u32,
            effects: effects.into_iter().filter_map(effect).collect(),
        })
    }

    /// Adds how often their stages dropped: of one more run whose samples are a round trip apart.
    fn with_drops(&self, mut holders: Vec<Holder>, case: &Case<'_>, budget: &mut Budget) -> Vec<Holder> {
        let places =
            |h: &Holder| -> Vec<String> { std::iter::once(&h.place).chain(&h.also).cloned().collect() };
        let dropped = |name: &String| case.element(name).is_some_and(|e| e.dropped_packets > 0);
        if !holders.iter().any(|h| places(h).iter().any(dropped)) {
            return holders;
        }
        let mut scenario = self.wish.variant.scenario.clone();
        if scenario.measure.is_none() {
            let least = Span::from_nanos(scenario.duration.as_nanos() / MAX_SAMPLES);
            scenario.sample = case.rtt.max(least).max(Span::from_millis(1));
        }
        let Some(outcome) = self.run(&[self.job(&scenario, 0, 0)], budget).pop().flatten() else {
            return holders;
        };
        for holder in &mut holders {
            let (mut packets, mut events) = (0, 0);
            for name in places(holder) {
                let Some(series) = outcome.element_series.iter().find(|s| s.name == name) else { continue };
                packets += case.element(&name).map_or(0, |e| e.dropped_packets);
                events += loss_events(&series.dropped);
            }
            holder.drops = (packets > 0).then_some(HolderDrops { packets, events: events.max(1) });
        }
        holders
    }
}

/// Loss events of a stage by its running count of drops: the first sample with a drop begins one, which lasts until the next
/// sample, about a round trip later, is over (RFC 5348 section 5.2).
fn loss_events(dropped: &[u64]) -> u64 {
    let (mut events, mut before, mut until) = (0, 0, 0);
    for (i, &count) in dropped.iter().enumerate() {
        if count > before && i >= until {
            events += 1;
            until = i + 2;
        }
        before = count;
    }
    events
}

/// All suspects of a kind switched off at once, where there are several, and all buffers.
fn together(tried: &[Tried]) -> Vec<Removal> {
    let mut groups: Vec<(HolderKind, Vec<&Removal>)> = Vec::new();
    for r in tried.iter().map(|t| &t.removal) {
        let kind = match r.kind {
            HolderKind::ReceiveWindow | HolderKind::SendBuffer | HolderKind::RelayBuffer => {
                HolderKind::Buffers
            }
            kind => kind,
        };
        match groups.iter_mut().find(|g| g.0 == kind) {
            Some(group) => group.1.push(r),
            None => groups.push((kind, vec![r])),
        }
    }
    let several = groups.into_iter().filter(|g| g.1.len() > 1 && g.0 != HolderKind::CompetingFlow);
    several.map(|(kind, list)| Removal::together(kind, &list)).collect()
}

#[cfg(test)]
mod tests {
    use super::loss_events;

    #[test]
    fn a_burst_is_one_loss_event_and_single_losses_are_one_each() {
        assert_eq!(loss_events(&[0, 90, 101, 101, 101, 101, 200, 202, 202]), 2);
        assert_eq!(loss_events(&[0, 1, 1, 2, 2, 2, 3]), 3);
        assert_eq!(loss_events(&[]), 0);
    }
}
