//! Searches for the limitations of one subject: runs the baseline, then each suspect alone, then
//! combinations, and finally other congestion controls.

use super::budget::{Budget, stage_packets};
use super::case::Case;
use super::part::Part;
use super::silence::silence;
use super::suspects::{Removal, SUSPECTS};
use super::{
    BATCH_RUNS, CONFIRMATION_SEEDS, EXPECTED_CANDIDATES, FEW_CONFIRMATION_SEEDS, LimitationSearchOptions,
    MAX_CANDIDATES, MAX_LIMITATIONS, MAX_RATE_GAIN, MAX_SAMPLES, MAX_SEEDS, MAX_SUBJECTS, MIN_CANDIDATE_GAIN,
    MIN_GAIN, SCREENING_SEEDS, SMALL_FRACTION, TIE_FACTOR, change, length, measured,
};
use crate::parallel::{cores, in_parallel};
use crate::simulate;
use result::{
    Limitation, LimitationDrops, LimitationEffect, LimitationKind, LimitationSearch, Measure, Outcome,
    Quantity, TriedSuspect, VariantResult,
};
use scenario::{HostJitter, Scenario, Variant};
use std::ops::ControlFlow;
use units::{Goal, Span};

/// The full run is tried first if its work, with nothing held, is at most this fraction (one in …) of the
/// search's budget. Otherwise a short run first shows how much work to expect.
const LARGE_SHARE: f64 = 3.0;
/// The fraction (one in …) of the budget that this short run may use.
const PROBE_SHARE: f64 = 20.0;
/// The planned share of the remaining budget for a shortened search. It leaves a reserve, since an
/// unconstrained flow moves more data than expected.
const PLANNED_SHARE: f64 = 0.6;
/// A run is not repeated if its length would change by less than this.
const MIN_LENGTH_CHANGE: f64 = 0.25;

/// A run to execute.
struct Job<'s> {
    scenario: &'s Scenario,
    seed: u64,
    host_jitter: bool,
    /// Expected work of the run.
    estimate: u64,
}

/// Searches for the limitations of one subject.
pub(super) struct Finder<'a> {
    options: &'a LimitationSearchOptions<'a>,
    only: Option<usize>,
    threads: usize,
    /// The scenario without time series, shortened if the full run is too much work.
    scenario: Scenario,
    is_shortened: bool,
    /// The seeds to compare with, and whether to simulate host jitter for each.
    seeds: Vec<(u64, bool)>,
    /// Number of these seeds that are the variant's own.
    own: usize,
}

/// A suspect that has been tried.
struct Tried {
    removal: Removal,
    scenario: Scenario,
    /// Runs without the suspect's effect, by seed.
    without: Vec<VariantResult>,
}

/// The baseline and the measure to compare suspects by.
struct Comparison {
    measure: Measure,
    /// The baseline's runs, by seed.
    with: Vec<VariantResult>,
}

impl Comparison {
    /// The logarithms of a part's gains, by seed.
    fn log_gains(&self, part: &Part, without: &[VariantResult]) -> Vec<f64> {
        let pairs = self.with.iter().zip(without);
        let log_gain = |with, without| measured::gain(&self.measure, &part.of(with), &part.of(without)).ln();
        pairs.map(|(with, without)| log_gain(with, without)).collect()
    }

    fn gain(&self, part: &Part, t: &Tried) -> f64 {
        mean(&self.log_gains(part, &t.without)).exp()
    }
}

/// The weight of a limitation in the ranking: its gain, capped at two for the rate of a link. A flow that has
/// the link to itself gains at most that. If doubling the rate gains more, another flow took most of the link
/// and is the cause.
pub(super) fn weight(limitation: &Limitation) -> f64 {
    let is_goodput = limitation.effects.first().and_then(LimitationEffect::parsed_measure);
    let is_goodput = is_goodput.is_some_and(|m| m.quantity == Quantity::Goodput);
    if limitation.kind == LimitationKind::Rate && is_goodput {
        limitation.gain.min(MAX_RATE_GAIN)
    } else {
        limitation.gain
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Whether the mean is significantly above zero: one-sided, 95 % (Student's t). A single value counts as
/// significant.
fn is_significant(values: &[f64]) -> bool {
    /// For one degree of freedom and more.
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
    pub fn new(options: &'a LimitationSearchOptions<'a>, only: Option<usize>) -> Finder<'a> {
        let scenario = options.variant.scenario.clone().without_series();
        let own = options.seeds.len().clamp(1, CONFIRMATION_SEEDS);
        let first = options.seeds.first().copied().unwrap_or(scenario.seed);
        let has_host_jitter = |further: bool| match scenario.host_jitter {
            HostJitter::Always => true,
            HostJitter::Never => false,
            HostJitter::Repeats => options.seeds.len() > 1 || further,
        };
        let given =
            options.seeds.iter().copied().take(CONFIRMATION_SEEDS).map(|s| (s, has_host_jitter(false)));
        let mut seeds: Vec<(u64, bool)> = given.collect();
        let next = (seeds.len()..MAX_SEEDS).map(|i| (first.wrapping_add(i as u64), has_host_jitter(i > 0)));
        seeds.extend(next);
        let threads = options.threads.map_or_else(cores, usize::from);
        Finder { options, only, threads, scenario, is_shortened: false, seeds, own }
    }

    /// The limitations of each part of the flows, with the largest gain of a part first. Spends at most
    /// `work` of the budget.
    pub fn find(mut self, work: u64, budget: &mut Budget, search: &mut LimitationSearch) -> Vec<Limitation> {
        let Some((first, goal, measure)) = self.first_run(work, budget) else {
            search.unknown.get_or_insert_with(|| "no measure of the goal has a value".into());
            return Vec::new();
        };
        search.measure = measure.name();
        if self.is_shortened {
            search.simulated_s = Some(self.scenario.duration.as_secs_f64());
            search.simulated = measure.of(&first);
        }
        let scenario = self.scenario.clone();
        let case = Case::new(&scenario, &first, self.only, goal, self.is_shortened);
        let estimate = (case.growth() * stage_packets(&first) as f64) as u64;
        let suspects = suspects(&case, false);
        let small = estimate.saturating_mul(suspects.len() as u64) <= work / SMALL_FRACTION;
        if !small {
            self.seeds.truncate(FEW_CONFIRMATION_SEEDS);
            self.own = self.own.min(self.seeds.len());
        }
        let mut comparison = Comparison { measure, with: vec![first.clone()] };
        if small {
            self.add_baseline(&mut comparison, budget);
        }
        let mut open = Part::all(&case);
        open.truncate(MAX_SUBJECTS);
        type Next<'a> = &'a dyn Fn(&[Tried]) -> Vec<Removal>;
        let last_resort = || self::suspects(&case, true);
        let tests: [Next<'_>; 3] = [&|_| suspects.clone(), &|tried| combined(tried), &|_| last_resort()];
        let mut all: Vec<Tried> = Vec::new();
        let mut found = Vec::new();
        for removals in tests {
            let from = all.len();
            let screened = comparison.with.len().min(SCREENING_SEEDS);
            let (tried, left_out) = self.try_all(removals(&all), screened, estimate, budget);
            all.extend(tried);
            search.untried.extend(left_out.iter().map(|r| self.named(r, &Part::default(), None)));
            for part in std::mem::take(&mut open) {
                // A combination or another control does not explain anything that a single suspect explains
                // better, not even if that suspect's gain may be chance.
                let may = |t: &Tried| part.may_be_held_by(&t.removal, &scenario);
                let alone = all[..from]
                    .iter()
                    .filter(|t| may(t))
                    .map(|t| comparison.gain(&part, t))
                    .fold(1.0, f64::max);
                let mut limitations = self.confirmed(&mut all[from..], &part, &mut comparison, budget);
                limitations.retain(|h| h.gain > alone);
                let gains = all[from..]
                    .iter()
                    .filter(|t| may(t))
                    .map(|t| self.named(&t.removal, &part, Some(comparison.gain(&part, t))));
                search.tried.extend(gains);
                if limitations.is_empty() {
                    open.push(part);
                }
                found.extend(limitations);
            }
            if open.is_empty() {
                break;
            }
        }
        self.with_drops(found, &case, budget)
    }

    /// Runs the baseline with the first seed and chooses the goal and measure. Shortens the run if the search
    /// would exceed this much work.
    fn first_run(&mut self, work: u64, budget: &mut Budget) -> Option<(VariantResult, Goal, Measure)> {
        let whole = self.scenario.clone();
        let duration = whole.duration.as_secs_f64();
        let per_second = length::max_work_per_second(&whole, self.only);
        // The round trip is not known yet.
        if per_second * duration * LARGE_SHARE > work as f64
            && let Some(shortest) = length::shortest(&whole, Span::ZERO)
        {
            self.shorten(&whole, Span::from_secs_f64(work as f64 / PROBE_SHARE / per_second).max(shortest));
        }
        let mut first = self.run(&[self.job(&self.scenario, 0, 0)], budget).pop().flatten()?.variant;
        let (goal, measure) = measured::primary_measure(self.options.goals, &first)?;
        let scenario = self.scenario.clone();
        let case = Case::new(&scenario, &first, self.only, goal, self.is_shortened);
        let ran = stage_packets(&first) as f64;
        let expected = ran * planned_runs(suspects(&case, false).len(), case.growth());
        let left = work as f64 - ran;
        let part = self.scenario.duration.as_secs_f64() / duration;
        let is_affordable = expected / part <= left;
        // Completion times need runs that reach the end of the transfer.
        let shortest =
            length::shortest(&whole, case.rtt).filter(|_| matches!(goal, Goal::Goodput | Goal::Delay));
        let wanted = match shortest {
            Some(shortest) if !is_affordable => {
                let share = PLANNED_SHARE * left / expected;
                let affordable = Span::from_secs_f64(self.scenario.duration.as_secs_f64() * share);
                affordable.max(shortest).min(whole.duration)
            }
            _ => whole.duration,
        };
        let is_near = |a: Span, b: Span| (a.as_secs_f64() / b.as_secs_f64() - 1.0).abs() < MIN_LENGTH_CHANGE;
        if !is_near(wanted, self.scenario.duration) {
            self.shorten(&whole, wanted);
            first = self.run(&[self.job(&self.scenario, 0, 0)], budget).pop().flatten()?.variant;
        }
        Some((first, goal, measure))
    }

    fn shorten(&mut self, whole: &Scenario, duration: Span) {
        self.is_shortened = duration < whole.duration;
        self.scenario = if self.is_shortened { length::shortened(whole, duration) } else { whole.clone() };
    }

    fn job<'s>(&self, scenario: &'s Scenario, seed: usize, estimate: u64) -> Job<'s> {
        let (seed, host_jitter) = self.seeds[seed];
        Job { scenario, seed, host_jitter, estimate }
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

    fn named(&self, r: &Removal, part: &Part, gain: Option<f64>) -> TriedSuspect {
        let (kind, place, also) = (r.kind, r.places[0].clone(), r.places[1..].to_vec());
        TriedSuspect { kind, place, also, flow: self.flow(part), gain }
    }

    /// The flow that was measured alone, otherwise the first of the part.
    fn flow(&self, part: &Part) -> Option<String> {
        self.only.map(|i| &self.scenario.flows[i].name).or(part.flow()).cloned()
    }

    /// Simulates these jobs in parallel. A result is `None` if the run was stopped, which does not happen
    /// here.
    fn run(&self, jobs: &[Job<'_>], budget: &mut Budget) -> Vec<Option<Outcome>> {
        let one = |i: usize, pulse: &mut dyn FnMut()| {
            let job = &jobs[i];
            let variant = Variant { name: self.options.variant.name.clone(), scenario: job.scenario.clone() };
            let mut progress = |_| {
                pulse();
                ControlFlow::Continue(())
            };
            simulate(&variant, job.seed, self.only, job.host_jitter, None, None, &mut progress)
        };
        let outcomes = in_parallel(jobs.len(), self.threads, one, || ());
        outcomes.iter().flatten().for_each(|o| budget.spend(stage_packets(&o.variant)));
        outcomes
    }

    /// Runs the jobs in batches until the budget is used up.
    fn run_all(&self, jobs: &[Job<'_>], budget: &mut Budget) -> Vec<Option<Outcome>> {
        let mut outcomes = Vec::new();
        while outcomes.len() < jobs.len() {
            let rest = &jobs[outcomes.len()..];
            let n = budget.admits(rest.iter().take(BATCH_RUNS).map(|j| j.estimate));
            if n == 0 {
                break;
            }
            outcomes.extend(self.run(&rest[..n], budget));
        }
        outcomes
    }

    /// Switches off each suspect in turn, with the first `seeds` seeds. The second list has the suspects that
    /// the budget was too small for.
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

    /// The best suspects, as far as further seeds confirm them.
    fn confirmed(
        &self,
        tried: &mut [Tried],
        part: &Part,
        comparison: &mut Comparison,
        budget: &mut Budget,
    ) -> Vec<Limitation> {
        let mut best: Vec<&mut Tried> =
            tried.iter_mut().filter(|t| part.may_be_held_by(&t.removal, &self.scenario)).collect();
        best.retain(|t| comparison.gain(part, t) >= MIN_CANDIDATE_GAIN);
        best.sort_by(|a, b| comparison.gain(part, b).total_cmp(&comparison.gain(part, a)));
        best.truncate(MAX_CANDIDATES);
        if best.is_empty() {
            return Vec::new();
        }
        for seed in 1..self.seeds.len() {
            let largest = best.iter().map(|t| comparison.log_gains(part, &t.without));
            let largest = largest.max_by(|a, b| mean(a).total_cmp(&mean(b))).unwrap_or_default();
            if seed >= CONFIRMATION_SEEDS && (is_significant(&largest) || mean(&largest).exp() < MIN_GAIN) {
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
        let mut list: Vec<Limitation> =
            best.iter().filter_map(|t| self.limitation(t, part, comparison)).collect();
        list.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        if let Some(largest) = list.first().map(weight) {
            let near = list.iter().take_while(|h| weight(h) * TIE_FACTOR >= largest).count();
            list[..near].sort_by_key(|h| order(h.kind));
        }
        list.truncate(MAX_LIMITATIONS);
        list
    }

    /// Turns the suspect into a limitation if its gain is large enough and significant.
    fn limitation(&self, t: &Tried, part: &Part, comparison: &Comparison) -> Option<Limitation> {
        let gains = comparison.log_gains(part, &t.without);
        let gain = mean(&gains).exp();
        if gain < MIN_GAIN || !is_significant(&gains) {
            return None;
        }
        let min_gain = gains.iter().copied().fold(f64::INFINITY, f64::min).exp();
        let own = self.own.min(gains.len());
        let average = |m: &Measure, runs: &[VariantResult]| {
            let values: Option<Vec<f64>> = runs[..own].iter().map(|run| m.of(&part.of(run))).collect();
            values.map(|values| mean(&values))
        };
        let finite = |x: Option<f64>| x.filter(|x| x.is_finite());
        let effect = |m: Measure| {
            let (with, without) = (average(&m, &comparison.with), average(&m, &t.without));
            (with.is_some() && without.is_some()).then(|| LimitationEffect {
                measure: m.name(),
                unit: m.unit().symbol().into(),
                with: finite(with),
                without: finite(without),
            })
        };
        let effects =
            measured::measures(&comparison.measure, self.options.goals, &part.of(&comparison.with[0]));
        Some(Limitation {
            kind: t.removal.kind,
            place: t.removal.places[0].clone(),
            also: t.removal.places[1..].to_vec(),
            flow: self.flow(part),
            carries: part.carried(&t.removal, &self.scenario),
            drops: None,
            silence: None,
            simulated_s: self.is_shortened.then(|| self.scenario.duration.as_secs_f64()),
            rate_mbps: t.removal.rate_mbps,
            gain,
            min_gain,
            runs: gains.len() as u32,
            effects: effects.into_iter().filter_map(effect).collect(),
        })
    }

    /// Adds how often the limitations' stages dropped packets and for how long nothing arrived. This takes
    /// one more run with a sample interval of one round trip.
    fn with_drops(
        &self,
        mut limitations: Vec<Limitation>,
        case: &Case<'_>,
        budget: &mut Budget,
    ) -> Vec<Limitation> {
        let places =
            |h: &Limitation| -> Vec<String> { std::iter::once(&h.place).chain(&h.also).cloned().collect() };
        let dropped = |name: &String| case.element(name).is_some_and(|e| e.dropped_packets > 0);
        let interrupts = |h: &Limitation| super::silence::interrupts(h.kind);
        if !limitations.iter().any(|h| interrupts(h) || places(h).iter().any(dropped)) {
            return limitations;
        }
        let mut scenario =
            if self.is_shortened { self.scenario.clone() } else { self.options.variant.scenario.clone() };
        if scenario.measure.is_none() || self.is_shortened {
            let interval = Span::from_nanos(scenario.duration.as_nanos() / MAX_SAMPLES);
            (scenario.sample, scenario.measure) = (case.rtt.max(interval).max(Span::from_millis(1)), None);
        }
        let Some(outcome) = self.run(&[self.job(&scenario, 0, 0)], budget).pop().flatten() else {
            return limitations;
        };
        for limitation in &mut limitations {
            let (mut packets, mut events) = (0, 0);
            for name in places(limitation) {
                let Some(series) = outcome.element_series.iter().find(|s| s.name == name) else { continue };
                packets += case.element(&name).map_or(0, |e| e.dropped_packets);
                events += loss_events(&series.dropped);
            }
            limitation.drops = (packets > 0).then_some(LimitationDrops { packets, events: events.max(1) });
            limitation.silence = silence(limitation, case, &outcome);
        }
        limitations
    }
}

/// The case's suspects and how to switch them off: either those to try first, or (`last_resort`) those to try
/// only if the others have no gain.
fn suspects(case: &Case<'_>, last_resort: bool) -> Vec<Removal> {
    let removals = |s: &&'static dyn super::suspects::Suspect| s.find(case);
    let mut all: Vec<Removal> =
        SUSPECTS.iter().filter(|s| s.is_last_resort(case.goal) == last_resort).flat_map(removals).collect();
    // On a full link the rate matters most, so it is tried first.
    all.sort_by_key(|r| r.kind != LimitationKind::Rate);
    all
}

/// The expected work of a search, in units of a baseline run: every suspect and the baseline once, and the
/// expected candidates with the other seeds. Runs of these candidates are `growth` times as much work.
fn planned_runs(suspects: usize, growth: f64) -> f64 {
    let likely = suspects.min(EXPECTED_CANDIDATES);
    (suspects + 1 + (FEW_CONFIRMATION_SEEDS - 1) * (1 + likely)) as f64 + likely as f64 * (growth - 1.0)
}

/// Counts the loss events of a stage from its running count of drops. The first sample with a drop starts an
/// event, which lasts until the end of the next sample, about one round trip later (RFC 5348 section 5.2).
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

/// Combinations to try: all suspects of the same kind, if there are several, and all buffers.
fn combined(tried: &[Tried]) -> Vec<Removal> {
    let mut groups: Vec<(LimitationKind, Vec<&Removal>)> = Vec::new();
    for r in tried.iter().map(|t| &t.removal) {
        let kind = match r.kind {
            LimitationKind::ReceiveWindow | LimitationKind::SendBuffer | LimitationKind::RelayBuffer => {
                LimitationKind::Buffers
            }
            kind => kind,
        };
        match groups.iter_mut().find(|g| g.0 == kind) {
            Some(group) => group.1.push(r),
            None => groups.push((kind, vec![r])),
        }
    }
    let several = groups.into_iter().filter(|g| g.1.len() > 1 && g.0 != LimitationKind::CompetingFlow);
    several.map(|(kind, list)| Removal::combined(kind, &list)).collect()
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
