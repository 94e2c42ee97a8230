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
//! What is switched off is chosen by the simulated run of the first seed. The best few are run again with further seeds and
//! restless hosts; what does not gain on the average, or loses with any of them, is chance and is not named.
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

/// Runs that are simulated at most for one variant: some twenty suspects of a path of a dozen stages, four of them
/// confirmed.
pub const MAX_RUNS: u64 = 64;
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
/// Holders that are named at most, each confirmed with further seeds.
const MAX_HOLDERS: usize = 4;
/// Seeds that a holder is compared with.
const CONFIRMATIONS: usize = 3;
/// Runs of a batch: a constant, so that the budget ends at the same suspect whatever the number of cores.
const BATCH: usize = 4;
/// Where flows are measured one at a time: holders are looked for of the first ones.
const MAX_SUBJECTS: usize = 3;
/// Gains are bounded: from nothing to something has no factor.
const MAX_GAIN: f64 = 1000.0;
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
    /// The seeds of the comparison, and whether hosts are restless in its run.
    seeds: Vec<(u64, bool)>,
    /// How many of these are the variant's own.
    own: usize,
}

/// A suspect that has been tried.
struct Tried {
    removal: Removal,
    scenario: Scenario,
    /// The run of the first seed.
    without: VariantResult,
    gain: f64,
}

impl<'a> Finder<'a> {
    fn new(wish: &'a HolderWish<'a>, only: Option<usize>) -> Finder<'a> {
        let unrest = wish.variant.scenario.unrest;
        let own = wish.seeds.len().clamp(1, CONFIRMATIONS);
        let first = wish.seeds.first().copied().unwrap_or(wish.variant.scenario.seed);
        let restless = |further: bool| match unrest {
            Unrest::Always => true,
            Unrest::Never => false,
            Unrest::Repeats => wish.seeds.len() > 1 || further,
        };
        let given = wish.seeds.iter().copied().take(CONFIRMATIONS).map(|s| (s, restless(false)));
        let mut seeds: Vec<(u64, bool)> = given.collect();
        let next = (seeds.len()..CONFIRMATIONS).map(|i| (first.wrapping_add(i as u64), restless(i > 0)));
        seeds.extend(next);
        let threads = wish.threads.map_or_else(cores, usize::from);
        Finder { wish, only, threads, seeds, own }
    }

    fn find(&self, budget: &mut Budget, search: &mut HolderSearch) -> Vec<Holder> {
        let scenario = self.wish.variant.scenario.clone().without_series();
        let (seed, unrest) = self.seeds[0];
        let job = Job { scenario: &scenario, seed, unrest, estimate: 0 };
        let Some(with) = self.run(&[job], budget).pop().flatten().map(|o| o.variant) else {
            return Vec::new();
        };
        let Some((goal, measure)) = measured::first(self.wish.goals, &with) else {
            search.unknown.get_or_insert_with(|| "nothing was measured of the goal".into());
            return Vec::new();
        };
        search.measure = measure.name();
        let case = Case::new(&scenario, &with, self.only, goal);
        let found = |late: bool| -> Vec<Removal> {
            let of = |s: &&'static dyn suspects::Suspect| s.find(&case);
            let mut all: Vec<Removal> =
                SUSPECTS.iter().filter(|s| s.is_late(goal) == late).flat_map(of).collect();
            // Where the line is full nothing else matters as much: it is tried first.
            all.sort_by_key(|r| r.kind != HolderKind::Rate);
            all
        };
        let tests: [&dyn Fn(&[Tried]) -> Vec<Removal>; 3] =
            [&|_| found(false), &|tried| together(tried), &|_| found(true)];
        let mut all: Vec<Tried> = Vec::new();
        for removals in tests {
            let first = all.len();
            let estimate = case.growth() * stage_packets(&with) as f64;
            let (tried, left_out) =
                self.try_all(removals(&all), (&scenario, &with), &measure, estimate as u64, budget);
            all.extend(tried);
            search.left_out.extend(left_out.iter().map(|r| self.named(r, None)));
            let holders = self.confirmed(&all[first..], (&scenario, &with), &measure, budget);
            search.tried.extend(all[first..].iter().map(|t| self.named(&t.removal, Some(t.gain))));
            if !holders.is_empty() {
                return self.with_drops(holders, &case, budget);
            }
        }
        Vec::new()
    }

    fn named(&self, r: &Removal, gain: Option<f64>) -> TriedSuspect {
        let (kind, place, also) = (r.kind, r.places[0].clone(), r.places[1..].to_vec());
        TriedSuspect { kind, place, also, flow: self.flow(), gain }
    }

    fn flow(&self) -> Option<String> {
        Some(self.wish.variant.scenario.flows[self.only?].name.clone())
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
            let estimates = rest.iter().take(BATCH).map(|j| j.estimate);
            let n = budget.admits(estimates);
            if n == 0 {
                break;
            }
            outcomes.extend(self.run(&rest[..n], budget));
        }
        outcomes
    }

    /// Switches off one suspect after the other. The second list: those that no run was left for.
    fn try_all(
        &self,
        removals: Vec<Removal>,
        (scenario, with): (&Scenario, &VariantResult),
        measure: &Measure,
        estimate: u64,
        budget: &mut Budget,
    ) -> (Vec<Tried>, Vec<Removal>) {
        let changed = |removal: Removal| {
            let mut other = scenario.clone();
            (removal.change)(&mut other);
            (other != *scenario && change::is_valid(&other)).then_some((removal, other))
        };
        let pairs: Vec<(Removal, Scenario)> = removals.into_iter().filter_map(changed).collect();
        let (seed, unrest) = self.seeds[0];
        let jobs: Vec<Job<'_>> =
            pairs.iter().map(|(_, scenario)| Job { scenario, seed, unrest, estimate }).collect();
        let mut outcomes = self.run_all(&jobs, budget).into_iter();
        let (mut tried, mut left_out) = (Vec::new(), Vec::new());
        for (removal, scenario) in pairs {
            let Some(outcome) = outcomes.next().flatten() else {
                left_out.push(removal);
                continue;
            };
            let gain = measured::gain(measure, with, &outcome.variant);
            tried.push(Tried { removal, scenario, without: outcome.variant, gain });
        }
        (tried, left_out)
    }

    /// The best of them, as far as further seeds bear them out.
    fn confirmed(
        &self,
        tried: &[Tried],
        (scenario, with): (&Scenario, &VariantResult),
        measure: &Measure,
        budget: &mut Budget,
    ) -> Vec<Holder> {
        let mut best: Vec<&Tried> = tried.iter().filter(|t| t.gain >= NOTICED).collect();
        best.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        best.truncate(MAX_HOLDERS);
        if best.is_empty() {
            return Vec::new();
        }
        // Seed by seed, each with its baseline: what the budget cuts off is the last seed.
        let mut runs: Vec<Vec<VariantResult>> =
            vec![std::iter::once(with).chain(best.iter().map(|t| &t.without)).cloned().collect()];
        for &(seed, unrest) in &self.seeds[1..] {
            let estimates = std::iter::once(with).chain(best.iter().map(|t| &t.without)).map(stage_packets);
            let scenarios = std::iter::once(scenario).chain(best.iter().map(|t| &t.scenario));
            let jobs: Vec<Job<'_>> = scenarios
                .zip(estimates)
                .map(|(scenario, estimate)| Job { scenario, seed, unrest, estimate })
                .collect();
            let outcomes = self.run_all(&jobs, budget);
            let results: Option<Vec<VariantResult>> =
                outcomes.into_iter().map(|o| Some(o?.variant)).collect();
            match results {
                Some(results) if results.len() == jobs.len() => runs.push(results),
                _ => break,
            }
        }
        let mut list: Vec<(usize, Holder)> = best
            .iter()
            .enumerate()
            .filter_map(|(i, t)| {
                let order =
                    SUSPECTS.iter().position(|s| s.kind() == t.removal.kind).unwrap_or(SUSPECTS.len());
                Some((order, self.holder(t, i + 1, &runs, measure)?))
            })
            .collect();
        list.sort_by(|a, b| b.1.gain.total_cmp(&a.1.gain));
        if let Some(largest) = list.first().map(|(_, h)| h.gain) {
            let near = list.iter().take_while(|(_, h)| h.gain * TIE >= largest).count();
            list[..near].sort_by_key(|(order, _)| *order);
        }
        list.into_iter().map(|(_, holder)| holder).collect()
    }

    /// The suspect at column `i` of the runs, if it gains in all of them together and loses in none.
    fn holder(&self, t: &Tried, i: usize, runs: &[Vec<VariantResult>], measure: &Measure) -> Option<Holder> {
        let gains: Vec<f64> = runs.iter().map(|run| measured::gain(measure, &run[0], &run[i])).collect();
        let gain = (gains.iter().map(|g| g.ln()).sum::<f64>() / gains.len() as f64).exp();
        let least_gain = gains.iter().copied().fold(f64::INFINITY, f64::min);
        if gain < NOTICED || least_gain < 1.0 {
            return None;
        }
        let own = &runs[..self.own.min(runs.len())];
        let mean = |m: &Measure, column: usize| {
            let values: Option<Vec<f64>> = own.iter().map(|run| m.of(&run[column])).collect();
            values.map(|v| v.iter().sum::<f64>() / v.len() as f64)
        };
        let finite = |x: Option<f64>| x.filter(|x| x.is_finite());
        let effect = |m: Measure| {
            let (with, without) = (mean(&m, 0), mean(&m, i));
            (with.is_some() && without.is_some()).then(|| HolderEffect {
                measure: m.name(),
                unit: m.unit().symbol().into(),
                with: finite(with),
                without: finite(without),
            })
        };
        let effects = measured::all(measure, self.wish.goals, &runs[0][0]);
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
            runs: runs.len() as u32,
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
        let (seed, unrest) = self.seeds[0];
        let job = Job { scenario: &scenario, seed, unrest, estimate: 0 };
        let Some(outcome) = self.run(&[job], budget).pop().flatten() else { return holders };
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
