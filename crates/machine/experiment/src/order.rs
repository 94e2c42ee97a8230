//! Which runs an experiment needs: clocks × variants × repeats × (for `one_at_a_time`) flows.

use result::Clock;
use scenario::{Experiment, Unrest, Variant};
use std::num::NonZeroUsize;

/// How an experiment is to be run. The default is once, in virtual time, on all cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Each variant runs on each of these, one clock after the other.
    pub clocks: Vec<Clock>,
    /// How often each variant runs, each time with the next seed; at least once.
    pub repeats: u32,
    /// Seed of the first repeat; `None`: the scenario's.
    pub seed: Option<u64>,
    /// How many simulated runs at a time; `None`: one for each core.
    pub threads: Option<NonZeroUsize>,
    /// Whether the other runs are still begun when one has failed.
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
    /// What drives it.
    pub clock: Clock,
    /// Which repeat, from 0.
    pub repeat: u32,
    /// The only flow to run, where flows are measured one at a time.
    pub flow: Option<usize>,
    /// The run's seed.
    pub seed: u64,
    /// Whether simulated hosts are as restless as real ones; those of the kernel are anyway.
    pub unrest: bool,
}

impl Order {
    /// The seeds of a variant's repeats: the first, and those after it.
    pub fn seeds(&self, variant: &Variant) -> Vec<u64> {
        let first = self.seed.unwrap_or(variant.scenario.seed);
        (0..self.repeats.max(1)).map(|r| first.wrapping_add(u64::from(r))).collect()
    }

    /// All runs: clock by clock, in it variant by variant, in that repeat by repeat, in that flow by flow.
    pub fn jobs(&self, experiment: &Experiment) -> Vec<RunJob> {
        self.clocks.iter().flat_map(|&clock| self.jobs_on(clock, experiment)).collect()
    }

    /// Those on one clock.
    pub(crate) fn jobs_on(&self, clock: Clock, experiment: &Experiment) -> Vec<RunJob> {
        let mut jobs = Vec::new();
        for (variant, v) in experiment.variants.iter().enumerate() {
            let flows = v.scenario.flows.len();
            let alone: Vec<Option<usize>> = match v.scenario.one_at_a_time && flows > 0 {
                true => (0..flows).map(Some).collect(),
                false => vec![None],
            };
            let unrest = clock == Clock::Sim && self.is_restless(v);
            for (&seed, repeat) in self.seeds(v).iter().zip(0..) {
                let job = |&flow| RunJob { variant, clock, repeat, flow, seed, unrest };
                jobs.extend(alone.iter().map(job));
            }
        }
        jobs
    }

    /// Whether hosts are restless in every repeat: an interval is of runs that are all alike but for chance.
    fn is_restless(&self, variant: &Variant) -> bool {
        match variant.scenario.unrest {
            Unrest::Repeats => self.repeats > 1,
            Unrest::Always => true,
            Unrest::Never => false,
        }
    }

    /// What a run of this order is called, apart from all others of it: `<variant>[-clock][-repeatN][-<flow>]`,
    /// each part only where there are several. Names of a scenario are in it as they are there.
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
    /// The name that was asked for.
    pub name: String,
    /// Those there are.
    pub known: Vec<String>,
}

/// Whether the variants `names` are among those `known`.
///
/// # Errors
/// One is not.
pub fn known_variants(known: &[String], names: &[String]) -> Result<(), UnknownVariant> {
    match names.iter().find(|name| !known.contains(name)) {
        Some(unknown) => Err(UnknownVariant { name: unknown.clone(), known: known.to_vec() }),
        None => Ok(()),
    }
}

/// Leaves only the variants called `names`, in the scenario's order; all when there are no names.
///
/// # Errors
/// There is none of that name; the experiment is as it was.
pub fn choose(experiment: &mut Experiment, names: &[String]) -> Result<(), UnknownVariant> {
    let known: Vec<String> = experiment.variants.iter().map(|v| v.name.clone()).collect();
    known_variants(&known, names)?;
    if !names.is_empty() {
        experiment.variants.retain(|v| names.contains(&v.name));
    }
    Ok(())
}
