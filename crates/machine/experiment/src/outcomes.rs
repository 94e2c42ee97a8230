//! The results of an experiment.

use crate::{FailedRun, Order, RunJob};
use result::{Clock, Outcome, Run, combine, concat};
use scenario::Experiment;
use units::Goal;

/// All results of an experiment, complete or not.
#[derive(Debug)]
pub struct Outcomes {
    /// The experiment's name.
    pub scenario: String,
    /// The experiment's description.
    pub description: String,
    /// The goals to judge the variants by.
    pub goals: Vec<Goal>,
    /// The variant to compare the others with.
    pub baseline: Option<String>,
    /// The first variant's first seed; 0 for an experiment without variants.
    pub seed: u64,
    /// One entry per variant and clock, ordered by variant and then by clock. Includes those without any
    /// finished repeat.
    pub variants: Vec<VariantOutcomes>,
    /// Finished runs of single flows (`one_at_a_time`), in order. They are not combined, because another
    /// flow of the same repeat is missing.
    pub apart: Vec<(RunJob, Outcome)>,
    /// Runs that failed, in order.
    pub failed: Vec<FailedRun>,
    /// Runs that were not started, or that the caller or another run's failure stopped, in order.
    pub stopped: Vec<RunJob>,
    /// Notices about the emulation from runs on the kernel.
    pub notices: Vec<Notice>,
}

/// The results of a variant on one clock.
#[derive(Clone, Debug)]
pub struct VariantOutcomes {
    /// The variant's name.
    pub variant: String,
    pub clock: Clock,
    /// Numbers of the finished repeats, from 0, in order.
    pub repeats: Vec<u32>,
    /// The seed of each.
    pub seeds: Vec<u64>,
    /// The outcome of each. Flows measured one at a time are combined into one outcome ([`result::concat`]).
    pub outcomes: Vec<Outcome>,
}

/// A notice for the user about a run on the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The variant's name.
    pub variant: String,
    /// A sentence.
    pub text: String,
}

impl Outcomes {
    /// Whether every run of the order has a result.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty() && self.stopped.is_empty()
    }

    /// The summary: the means over the finished repeats for each variant and clock. Variants without a
    /// finished repeat are left out.
    pub fn run(&self) -> Run {
        let finished = self.variants.iter().filter(|v| !v.outcomes.is_empty());
        let summaries = finished.map(|v| combine(&v.outcomes, &v.seeds));
        Run {
            scenario: self.scenario.clone(),
            description: self.description.clone(),
            seed: self.seed,
            goals: self.goals.clone(),
            baseline: self.baseline.clone(),
            partial: !self.is_complete(),
            variants: summaries.collect(),
            ..Run::default()
        }
    }

    /// Results without any run yet.
    pub(crate) fn empty(experiment: &Experiment, order: &Order) -> Outcomes {
        let clocks = |name: &String| {
            let empty_variant = |&clock| VariantOutcomes {
                variant: name.clone(),
                clock,
                repeats: Vec::new(),
                seeds: Vec::new(),
                outcomes: Vec::new(),
            };
            order.clocks.iter().map(empty_variant).collect::<Vec<_>>()
        };
        Outcomes {
            scenario: experiment.name.clone(),
            description: experiment.description.clone(),
            goals: experiment.goals(),
            baseline: experiment.baseline().map(str::to_string),
            seed: experiment.variants.first().map_or(0, |v| order.seeds(v)[0]),
            variants: experiment.variants.iter().flat_map(|v| clocks(&v.name)).collect(),
            apart: Vec::new(),
            failed: Vec::new(),
            stopped: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Adds the finished runs on the clock with index `clock` of `clocks`. The runs are in order, so those of
    /// single flows follow each other.
    pub(crate) fn gather(
        &mut self,
        experiment: &Experiment,
        (clock, clocks): (usize, usize),
        done: Vec<(RunJob, Outcome)>,
    ) {
        let mut done = done.into_iter().peekable();
        while let Some((job, outcome)) = done.next() {
            let flows = &experiment.variants[job.variant].scenario.flows;
            let outcome = if job.flow.is_some() {
                let mut parts = vec![(job, outcome)];
                let same = |next: &RunJob| (next.variant, next.repeat) == (job.variant, job.repeat);
                while let Some(part) = done.next_if(|(next, _)| same(next)) {
                    parts.push(part);
                }
                if parts.len() < flows.len() {
                    self.apart.extend(parts);
                    continue;
                }
                concat(flows.iter().map(|f| f.name.clone()).zip(parts.into_iter().map(|p| p.1)).collect())
            } else {
                outcome
            };
            let variant = &mut self.variants[job.variant * clocks + clock];
            variant.repeats.push(job.repeat);
            variant.seeds.push(job.seed);
            variant.outcomes.push(outcome);
        }
    }
}
