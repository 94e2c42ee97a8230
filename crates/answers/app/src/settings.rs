//! What a run was asked to do, and whether a folder's results are of the same: results of other work are not replaced
//! unasked.

use crate::regular;
use experiment::Order;
use scenario::Experiment;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What is asked for, besides the scenario's text. Part of `provenance.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSettings {
    /// The scenario's name.
    pub scenario: String,
    /// The arguments of `--set`.
    pub overrides: Vec<String>,
    /// The variants that are run, in order.
    pub variants: Vec<String>,
    /// `sim`, `kernel` or both.
    pub clocks: Vec<String>,
    /// The first repeat's.
    pub seed: u64,
    /// How often each variant is run.
    pub repeats: u32,
}

impl RunSettings {
    /// Of this order, with what was set (`--set`).
    pub fn of(overrides: &[String], experiment: &Experiment, order: &Order) -> RunSettings {
        RunSettings {
            scenario: experiment.name.clone(),
            overrides: overrides.to_vec(),
            variants: experiment.variants.iter().map(|v| v.name.clone()).collect(),
            clocks: order.clocks.iter().map(|c| c.name().into()).collect(),
            seed: experiment.variants.first().map_or(0, |v| order.seeds(v)[0]),
            repeats: order.repeats,
        }
    }

    /// What of `there` is not as it is here; `None` where all is.
    pub fn difference(&self, there: &RunSettings) -> Option<String> {
        let list = |all: &[String]| if all.is_empty() { "none".into() } else { all.join(" ") };
        let all = [
            ("scenario", self.scenario.clone(), there.scenario.clone()),
            ("--set", list(&self.overrides), list(&there.overrides)),
            ("variants", list(&self.variants), list(&there.variants)),
            ("--on", list(&self.clocks), list(&there.clocks)),
            ("seed", self.seed.to_string(), there.seed.to_string()),
            ("repeats", self.repeats.to_string(), there.repeats.to_string()),
        ];
        let differ = all.into_iter().filter(|(_, here, there)| here != there);
        let told: Vec<String> =
            differ.map(|(what, here, there)| format!("{what}: {there}, now {here}")).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}

/// What a folder holds before a run writes to it.
#[derive(Debug, PartialEq, Eq)]
pub enum FolderState {
    /// No results.
    Empty,
    /// Results of the same work; whether all of it was done.
    Same {
        /// It was.
        complete: bool,
    },
    /// Results of other work: what differs.
    Other(String),
}

/// Looks into a folder.
pub fn state(folder: &Path, text: &str, settings: &RunSettings) -> FolderState {
    let read = |name: &str| regular::read_text(&folder.join(name)).ok();
    let Some(result) = read("result.json") else { return FolderState::Empty };
    let there = read("provenance.json").and_then(|t| serde_json::from_str::<RunSettings>(&t).ok());
    let Some(there) = there else { return FolderState::Other("of what settings is not known".into()) };
    if let Some(difference) = settings.difference(&there) {
        return FolderState::Other(difference);
    }
    if read("scenario.toml").is_none_or(|there| there != text) {
        return FolderState::Other("the scenario's text has changed since".into());
    }
    let partial = |run: result::Run| run.partial;
    FolderState::Same { complete: result::read_json(&result).is_ok_and(|run| !partial(run)) }
}
