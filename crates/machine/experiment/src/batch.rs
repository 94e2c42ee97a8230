//! Scenarios simulated with several seeds, of which only the results are wanted: what searches do by the hundred.

use crate::{CaptureSink, Hooks, Order, Watcher, run};
use result::VariantResult;
use scenario::{Experiment, Scenario, Variant};
use std::num::NonZeroUsize;

/// Why there are no results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// A run failed, and how.
    Failed(String),
    /// The watcher ended it.
    Stopped,
}

/// Simulates scenarios and keeps the results alone.
pub struct BatchRunner<'a, 'w> {
    /// How many runs at a time; `None`: one for each core.
    pub threads: Option<NonZeroUsize>,
    /// Is told how far each batch is, and may end it.
    pub watch: Option<&'a mut Watcher<'w>>,
    /// Runs so far.
    pub runs: usize,
}

impl<'a, 'w> BatchRunner<'a, 'w> {
    /// None so far.
    pub fn new(threads: Option<NonZeroUsize>, watch: Option<&'a mut Watcher<'w>>) -> BatchRunner<'a, 'w> {
        BatchRunner { threads, watch, runs: 0 }
    }

    /// Runs each of these with so many seeds: by scenario, in it by seed.
    ///
    /// # Errors
    /// A run failed, or the watcher ended it.
    pub fn run(
        &mut self,
        scenarios: Vec<Scenario>,
        seeds: u32,
    ) -> Result<Vec<Vec<VariantResult>>, Unfinished> {
        self.run_captured(scenarios, seeds, None)
    }

    /// The same, with their packets for who takes them: the variant in a [`crate::RunJob`] is the scenario's place in the list.
    ///
    /// # Errors
    /// As [`BatchRunner::run`].
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
        let of = |v: crate::VariantOutcomes| v.outcomes.into_iter().map(|o| o.variant).collect();
        Ok(outcomes.variants.into_iter().map(of).collect())
    }
}
