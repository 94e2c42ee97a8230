//! Reads a scenario for the page: its variants, and one variant's path, flows and sliders.

use crate::request::{Refusal, ScenarioText};
use crate::tunable::{Tunable, tunables};
use serde::Serialize;
use serde_json::Value;

/// The answer to [`crate::PageQuestion::Read`].
#[derive(Debug, Serialize)]
pub struct ReadReply {
    /// Name of the scenario.
    pub name: String,
    pub description: String,
    /// Names of all variants, in order.
    pub variants: Vec<String>,
    /// The requested variant.
    pub variant: ReadVariant,
}

/// A variant that was read.
#[derive(Debug, Serialize)]
pub struct ReadVariant {
    pub name: String,
    pub duration_s: f64,
    pub seed: u64,
    /// The sliders, the most important first.
    pub tunables: Vec<Tunable>,
    /// Tables of the file: `hosts`, `links`, `relays`, `flows`.
    pub tables: Value,
    /// Names of all hosts.
    pub hosts: Vec<String>,
}

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

/// Returns the text of the scenario with its overrides applied.
pub(crate) fn toml(text: &ScenarioText) -> Result<Value, Refusal> {
    let experiment = text.all()?;
    Ok(serde_json::json!({ "toml": experiment.to_toml() }))
}
