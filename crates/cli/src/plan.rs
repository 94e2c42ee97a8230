//! Which runs an experiment needs: variants × repeats × (for `one_at_a_time`) flows.

use crate::problem::Problem;
use scenario::{Experiment, Variant};

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Index of the variant.
    pub variant: usize,
    /// Which repeat, from 0.
    pub repeat: u32,
    /// The only flow to run, where flows are measured one at a time.
    pub flow: Option<usize>,
    /// The run's seed.
    pub seed: u64,
}

/// Leaves only the variants called `names`, in the scenario's order; all when there are no names.
pub fn choose(experiment: &mut Experiment, names: &[String]) -> Result<(), Problem> {
    let known: Vec<&str> = experiment.variants.iter().map(|v| v.name.as_str()).collect();
    if let Some(unknown) = names.iter().find(|n| !known.contains(&n.as_str())) {
        let list = known.join(", ");
        return Err(Problem::Usage(format!(
            "--variant: no variant is called `{unknown}`; there are: {list}"
        )));
    }
    if !names.is_empty() {
        experiment.variants.retain(|v| names.contains(&v.name));
    }
    Ok(())
}

/// The seeds of a variant's repeats: `first` or else the scenario's, and those after it.
pub fn seeds(variant: &Variant, first: Option<u64>, repeats: u32) -> Vec<u64> {
    let first = first.unwrap_or(variant.scenario.seed);
    (0..repeats).map(|r| first.wrapping_add(r as u64)).collect()
}

/// All runs: variant by variant, in it repeat by repeat, in that flow by flow.
pub fn jobs(variants: &[Variant], seed: Option<u64>, repeats: u32) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (index, variant) in variants.iter().enumerate() {
        let flows = variant.scenario.flows.len();
        let alone: Vec<Option<usize>> = match variant.scenario.one_at_a_time && flows > 0 {
            true => (0..flows).map(Some).collect(),
            false => vec![None],
        };
        for (repeat, &seed) in seeds(variant, seed, repeats).iter().enumerate() {
            jobs.extend(alone.iter().map(|&flow| Job { variant: index, repeat: repeat as u32, flow, seed }));
        }
    }
    jobs
}
