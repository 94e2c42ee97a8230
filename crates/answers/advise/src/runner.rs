//! Runs scenarios through [`experiment`]: many at a time, each once however often it is asked for.

use crate::error::PlanError;
use crate::wish::PlanWish;
use experiment::{BatchRunner, Watcher};
use path::Stage;
use result::VariantResult;
use scenario::{Scenario, Unrest};
use units::{Rate, Span};

/// Of one option: by scenario, in it by seed.
pub type Measured = Vec<Vec<VariantResult>>;

/// What runs.
pub struct Runner<'a, 'w> {
    batches: BatchRunner<'a, 'w>,
}

impl<'a, 'w> Runner<'a, 'w> {
    /// With the threads of `wish`; `watch` is told how far each batch is and may end it.
    pub fn new(wish: &PlanWish, watch: Option<&'a mut Watcher<'w>>) -> Runner<'a, 'w> {
        Runner { batches: BatchRunner::new(wish.threads, watch) }
    }

    /// Runs so far.
    pub fn runs(&self) -> usize {
        self.batches.runs
    }

    /// Runs each of these sets of scenarios with so many seeds.
    pub fn run(&mut self, sets: &[Vec<Scenario>], seeds: u32) -> Result<Vec<Measured>, PlanError> {
        let mut scenarios: Vec<Scenario> = Vec::new();
        // Two cures may come to the same scenario.
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

/// The scenario as it is run: without time series where none is needed, and as restless as repeats are.
pub fn for_runs(s: &Scenario) -> Scenario {
    let mut s = s.clone().without_series();
    if s.unrest == Unrest::Repeats {
        s.unrest = Unrest::Always;
    }
    s
}

/// How long a scenario is run to screen cures: a hundred round trips after the last start, of fast paths fewer. All of its
/// time where something has an end, is measured in an interval of its own, or happens at times of its own.
pub fn screen_time(s: &Scenario, rtt: Span, rate: Option<Rate>) -> Span {
    /// Round trips and time that are aimed at, and that there are at least.
    const ROUNDS: [u64; 2] = [100, 40];
    const TIME: [Span; 2] = [Span::from_secs(8), Span::from_secs(5)];
    /// Payload of a run that is enough, bytes.
    const ENOUGH: u64 = 400_000_000;
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
    let [aim, least] =
        [0, 1].map(|i| Span::from_nanos(rtt.as_nanos().saturating_mul(ROUNDS[i])).max(TIME[i]));
    let enough = rate.map_or(Span::MAX, |r| r.time_for(ENOUGH));
    let time = last.max().unwrap_or(0).saturating_add(aim.min(enough).max(least).as_nanos());
    Span::from_nanos(time).min(s.duration)
}
