//! The runs that an experiment needs: clocks × variants × repeats × (for `one_at_a_time`) flows.

use result::Clock;
use scenario::{Experiment, HostJitter, Variant};
use std::num::NonZeroUsize;

/// How to run an experiment. The default is once, in virtual time, on all cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The clocks to run each variant on, one after the other.
    pub clocks: Vec<Clock>,
    /// Number of runs of each variant, each with the next seed; at least one.
    pub repeats: u32,
    /// Seed of the first repeat; `None`: the scenario's.
    pub seed: Option<u64>,
    /// Number of parallel simulations; `None`: one per core.
    pub threads: Option<NonZeroUsize>,
    /// Whether to start the remaining runs after one has failed.
    pub keep_going: bool,
}

impl Default for Order {
    fn default() -> Order {
        Order { clocks: vec![Clock::Sim], repeats: 1, seed: None, threads: None, keep_going: false }
    }
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunJob {
    /// Index of the variant.
    pub variant: usize,
    /// The clock that drives the run.
    pub clock: Clock,
    /// Number of the repeat, from 0.
    pub repeat: u32,
    /// The only flow to run, if flows are measured one at a time.
    pub flow: Option<usize>,
    /// The run's seed.
    pub seed: u64,
    /// Whether to simulate host jitter. Runs on the kernel have it anyway.
    pub host_jitter: bool,
}

impl Order {
    /// The seeds of a variant's repeats: the first seed and the ones after it.
    pub fn seeds(&self, variant: &Variant) -> Vec<u64> {
        let first = self.seed.unwrap_or(variant.scenario.seed);
        (0..self.repeats.max(1)).map(|r| first.wrapping_add(u64::from(r))).collect()
    }

    /// All runs, ordered by clock, then variant, repeat and flow.
    pub fn jobs(&self, experiment: &Experiment) -> Vec<RunJob> {
        self.clocks.iter().flat_map(|&clock| self.jobs_on(clock, experiment)).collect()
    }

    /// The runs on one clock.
    pub(crate) fn jobs_on(&self, clock: Clock, experiment: &Experiment) -> Vec<RunJob> {
        let mut jobs = Vec::new();
        for (variant, v) in experiment.variants.iter().enumerate() {
            let flows = v.scenario.flows.len();
            let alone: Vec<Option<usize>> = match v.scenario.one_at_a_time && flows > 0 {
                true => (0..flows).map(Some).collect(),
                false => vec![None],
            };
            let host_jitter = clock == Clock::Sim && self.has_host_jitter(v);
            for (&seed, repeat) in self.seeds(v).iter().zip(0..) {
                let job = |&flow| RunJob { variant, clock, repeat, flow, seed, host_jitter };
                jobs.extend(alone.iter().map(job));
            }
        }
        jobs
    }

    /// Whether to simulate host jitter, in all repeats alike: a confidence interval needs runs that differ
    /// only by chance.
    fn has_host_jitter(&self, variant: &Variant) -> bool {
        match variant.scenario.host_jitter {
            HostJitter::Repeats => self.repeats > 1,
            HostJitter::Always => true,
            HostJitter::Never => false,
        }
    }

    /// The unique label of a run within this order: `<variant>[-clock][-repeatN][-<flow>]`, where each
    /// optional part is present only if there are several. Names are used as they are in the scenario.
    pub fn label(&self, experiment: &Experiment, job: &RunJob) -> String {
        let variant = &experiment.variants[job.variant];
        let mut label = variant.name.clone();
        if self.clocks.len() > 1 {
            label += &format!("-{}", job.clock.name());
        }
        if self.repeats > 1 {
            label += &format!("-repeat{}", job.repeat + 1);
        }
        if let Some(flow) = job.flow {
            label += &format!("-{}", variant.scenario.flows[flow].name);
        }
        label
    }
}

/// A variant that the experiment does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no variant is called `{name}`; there are: {}", .known.join(", "))]
pub struct UnknownVariant {
    /// The requested name.
    pub name: String,
    /// The existing names.
    pub known: Vec<String>,
}

/// Checks that all `names` are among the `known` variants.
///
/// # Errors
/// Fails for a name that is not known.
pub fn known_variants(known: &[String], names: &[String]) -> Result<(), UnknownVariant> {
    match names.iter().find(|name| !known.contains(name)) {
        Some(unknown) => Err(UnknownVariant { name: unknown.clone(), known: known.to_vec() }),
        None => Ok(()),
    }
}

/// Keeps only the variants called `names`, in the scenario's order; keeps all if `names` is empty.
///
/// # Errors
/// Fails for an unknown name and leaves the experiment unchanged.
pub fn choose(experiment: &mut Experiment, names: &[String]) -> Result<(), UnknownVariant> {
    let known: Vec<String> = experiment.variants.iter().map(|v| v.name.clone()).collect();
    known_variants(&known, names)?;
    if !names.is_empty() {
        experiment.variants.retain(|v| names.contains(&v.name));
    }
    Ok(())
}
