//! Simulates scenarios with several seeds and keeps only the results. Searches run hundreds of these.

use crate::{CaptureSink, Hooks, Order, Watcher, run};
use result::VariantResult;
use scenario::{Experiment, Scenario, Variant};
use std::num::NonZeroUsize;

/// Why a batch has no results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// A run failed, with this message.
    Failed(String),
    /// The watcher stopped the batch.
    Stopped,
}

/// Simulates scenarios and keeps only their results.
pub struct BatchRunner<'a, 'w> {
    /// Number of parallel runs; `None`: one per core.
    pub threads: Option<NonZeroUsize>,
    /// Called with the progress of each batch; may stop it.
    pub watch: Option<&'a mut Watcher<'w>>,
    /// Number of runs so far.
    pub runs: usize,
}

impl<'a, 'w> BatchRunner<'a, 'w> {
    /// Creates a runner that has not run anything yet.
    pub fn new(threads: Option<NonZeroUsize>, watch: Option<&'a mut Watcher<'w>>) -> BatchRunner<'a, 'w> {
        BatchRunner { threads, watch, runs: 0 }
    }

    /// Runs each scenario with `seeds` seeds. The results are grouped by scenario and ordered by seed.
    ///
    /// # Errors
    /// Fails if a run fails or the watcher stops the batch.
    pub fn run(
        &mut self,
        scenarios: Vec<Scenario>,
        seeds: u32,
    ) -> Result<Vec<Vec<VariantResult>>, Unfinished> {
        self.run_captured(scenarios, seeds, None)
    }

    /// Like [`BatchRunner::run`], but also passes the packets to `captures`. The variant in a
    /// [`crate::RunJob`] is the scenario's index in the list.
    ///
    /// # Errors
    /// As for [`BatchRunner::run`].
    pub fn run_captured(
        &mut self,
        scenarios: Vec<Scenario>,
        seeds: u32,
        captures: Option<&dyn CaptureSink>,
    ) -> Result<Vec<Vec<VariantResult>>, Unfinished> {
        if scenarios.is_empty() {
            return Ok(Vec::new());
        }
        let named = |(i, scenario)| Variant { name: format!("v{i}"), scenario };
        let experiment = Experiment {
            name: "batch".into(),
            description: String::new(),
            goal: Vec::new(),
            baseline: None,
            variants: scenarios.into_iter().enumerate().map(named).collect(),
        };
        let order = Order { repeats: seeds, threads: self.threads, ..Order::default() };
        self.runs += order.jobs(&experiment).len();
        let hooks = match &mut self.watch {
            Some(watch) => Hooks { progress: Some(&mut **watch), captures, ..Hooks::default() },
            None => Hooks { captures, ..Hooks::default() },
        };
        let outcomes = run(&experiment, &order, hooks);
        if let Some(failed) = outcomes.failed.first() {
            return Err(Unfinished::Failed(failed.to_string()));
        }
        if !outcomes.is_complete() {
            return Err(Unfinished::Stopped);
        }
        let results = |v: crate::VariantOutcomes| v.outcomes.into_iter().map(|o| o.variant).collect();
        Ok(outcomes.variants.into_iter().map(results).collect())
    }
}
