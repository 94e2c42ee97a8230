//! Runs scenarios through [`experiment`]: many at a time, and equal ones once.

use crate::error::PlanError;
use crate::plan_options::PlanOptions;
use experiment::{BatchRunner, Watcher};
use path::Stage;
use result::VariantResult;
use scenario::{HostJitter, Scenario};
use units::{Rate, Span};

/// The results of one option, by scenario and seed.
pub type Measured = Vec<Vec<VariantResult>>;

/// Runs sets of scenarios.
pub struct Runner<'a, 'w> {
    batches: BatchRunner<'a, 'w>,
}

impl<'a, 'w> Runner<'a, 'w> {
    /// Creates a runner with the threads of `plan_options`. `watch` gets the progress of each batch and may
    /// stop it.
    pub fn new(plan_options: &PlanOptions, watch: Option<&'a mut Watcher<'w>>) -> Runner<'a, 'w> {
        Runner { batches: BatchRunner::new(plan_options.threads, watch) }
    }

    /// Returns the number of runs so far.
    pub fn runs(&self) -> usize {
        self.batches.runs
    }

    /// Runs each of these sets of scenarios with `seeds` seeds.
    pub fn run(&mut self, sets: &[Vec<Scenario>], seeds: u32) -> Result<Vec<Measured>, PlanError> {
        let mut scenarios: Vec<Scenario> = Vec::new();
        // Two cures may lead to the same scenario.
        let mut index = |s: &Scenario| {
            scenarios.iter().position(|known| known == s).unwrap_or_else(|| {
                scenarios.push(s.clone());
                scenarios.len() - 1
            })
        };
        let places: Vec<Vec<usize>> = sets.iter().map(|set| set.iter().map(&mut index).collect()).collect();
        if scenarios.is_empty() {
            return Ok(Vec::new());
        }
        let measured = self.batches.run(scenarios, seeds)?;
        Ok(places.iter().map(|set| set.iter().map(|&i| measured[i].clone()).collect()).collect())
    }
}

/// Prepares a scenario for runs: without time series, and with the host jitter of repeats.
pub fn for_runs(s: &Scenario) -> Scenario {
    let mut s = s.clone().without_series();
    if s.host_jitter == HostJitter::Repeats {
        s.host_jitter = HostJitter::Always;
    }
    s
}

/// Returns how long a scenario is run to screen cures: a hundred round trips after the last start, and fewer
/// for fast paths. Scenarios in which something has an end, is measured in a given interval, or happens at
/// given times run in full.
pub fn screen_time(s: &Scenario, rtt: Span, rate: Option<Rate>) -> Span {
    /// Intended and smallest duration, in round trips.
    const ROUND_TRIPS: [u64; 2] = [100, 40];
    /// Intended and smallest duration, in time.
    const DURATIONS: [Span; 2] = [Span::from_secs(8), Span::from_secs(5)];
    /// Payload that is enough for a run, in bytes.
    const ENOUGH_BYTES: u64 = 400_000_000;
    let stages = s.links.iter().flat_map(|l| l.forward.iter().chain(&l.backward));
    let timed = |stage: &Stage| {
        matches!(stage, Stage::Outage(_) | Stage::Handover(_) | Stage::Train(_) | Stage::RateTrace(_))
    };
    let whole =
        s.measure.is_some() || s.flows.iter().any(|f| f.app.has_end()) || stages.map(|s| &s.stage).any(timed);
    if whole {
        return s.duration;
    }
    let last = s.flows.iter().map(|f| f.start.as_nanos() + f.stagger.as_nanos() * u64::from(f.count - 1));
    let [aim, shortest] =
        [0, 1].map(|i| Span::from_nanos(rtt.as_nanos().saturating_mul(ROUND_TRIPS[i])).max(DURATIONS[i]));
    let enough = rate.map_or(Span::MAX, |r| r.time_for(ENOUGH_BYTES));
    let time = last.max().unwrap_or(0).saturating_add(aim.min(enough).max(shortest).as_nanos());
    Span::from_nanos(time).min(s.duration)
}
