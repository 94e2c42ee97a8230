//! The settings of a run, compared with those of the results in a folder, so that results of other work are
//! replaced only on request.

use crate::regular;
use experiment::Order;
use scenario::Experiment;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The settings of a run, besides the scenario's text. Part of `provenance.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSettings {
    /// The scenario's name.
    pub scenario: String,
    /// The arguments of `--set`.
    pub overrides: Vec<String>,
    /// The variants to run, in order.
    pub variants: Vec<String>,
    /// The clocks: `sim`, `kernel` or both.
    pub clocks: Vec<String>,
    /// The seed of the first repeat.
    pub seed: u64,
    /// Number of runs of each variant.
    pub repeats: u32,
}

impl RunSettings {
    /// Collects the settings of `order`, with the `overrides` of `--set`.
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

    /// Describes how `there` differs from these settings; `None` where it does not.
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
        let differences: Vec<String> =
            differ.map(|(what, here, there)| format!("{what}: {there}, now {here}")).collect();
        (!differences.is_empty()).then(|| differences.join("; "))
    }
}

/// The results that a folder holds before a run writes to it.
#[derive(Debug, PartialEq, Eq)]
pub enum FolderState {
    /// No results.
    Empty,
    /// Results of the same work.
    Same {
        /// Whether all of the work was done.
        complete: bool,
    },
    /// Results of other work; the text says what differs.
    Other(String),
}

/// Compares the results in a folder with the scenario's text and the settings.
pub fn state(folder: &Path, text: &str, settings: &RunSettings) -> FolderState {
    let read = |name: &str| regular::read_text(&folder.join(name)).ok();
    let Some(result) = read("result.json") else { return FolderState::Empty };
    let there = read("provenance.json").and_then(|t| serde_json::from_str::<RunSettings>(&t).ok());
    let Some(there) = there else { return FolderState::Other("its settings are not known".into()) };
    if let Some(difference) = settings.difference(&there) {
        return FolderState::Other(difference);
    }
    if read("scenario.toml").is_none_or(|there| there != text) {
        return FolderState::Other("the scenario's text has changed since".into());
    }
    let partial = |run: result::Run| run.partial;
    FolderState::Same { complete: result::read_json(&result).is_ok_and(|run| !partial(run)) }
}
