//! What a scenario says, for the page: its variants, and of one of them path, flows and what can be tuned.

use crate::request::{Refusal, ScenarioText};
use crate::tunable::{Tunable, tunables};
use serde::Serialize;
use serde_json::Value;

/// A scenario that was read.
#[derive(Debug, Serialize)]
pub struct ReadReply {
    /// The experiment's name.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// Its variants' names, in order.
    pub variants: Vec<String>,
    /// The one that was asked for.
    pub variant: ReadVariant,
}

/// A variant as the page works on it.
#[derive(Debug, Serialize)]
pub struct ReadVariant {
    /// Its name.
    pub name: String,
    /// How long it runs, seconds.
    pub duration_s: f64,
    /// Its seed.
    pub seed: u64,
    /// What can be tuned, what matters most first.
    pub tunables: Vec<Tunable>,
    /// Tables of the file: `hosts`, `links`, `relays`, `flows`.
    pub tables: Value,
    /// All hosts' names.
    pub hosts: Vec<String>,
}

/// Reads it.
pub(crate) fn read(text: &ScenarioText) -> Result<ReadReply, Refusal> {
    let experiment = text.chosen()?;
    let chosen = &experiment.variants[0];
    let scenario = &chosen.scenario;
    let variant = ReadVariant {
        name: chosen.name.clone(),
        duration_s: scenario.duration.as_secs_f64(),
        seed: scenario.seed,
        tunables: tunables(scenario),
        tables: scenario.to_json(),
        hosts: scenario.hosts.iter().map(|h| h.name.clone()).collect(),
    };
    let variants = text.variants()?;
    Ok(ReadReply { name: experiment.name, description: experiment.description, variants, variant })
}

/// The scenario with its overrides as the text of a file.
pub(crate) fn toml(text: &ScenarioText) -> Result<Value, Refusal> {
    let experiment = text.all()?;
    Ok(serde_json::json!({ "toml": experiment.to_toml() }))
}
