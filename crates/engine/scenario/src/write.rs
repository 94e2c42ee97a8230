//! Writes a scenario as a file: commented TOML that parses back to an equal scenario.
//!
//! Keys with default values are left out. Quantities are written as their types print them, which is exact.
//! Comments are the descriptions of [`crate::schema`], as in `docs/scenario.md`. A stage with data from a
//! file names that file.
//!
//! The scenario must be one that the parser can return: hosts in the order in which links name them, values
//! in range.

mod docs;
mod prune;
mod settings;
mod text;
mod tree;
mod variants;

pub use settings::ScenarioSetting;

use crate::model::{Experiment, Scenario};
use document::written::Written;
use text::ScenarioText;

impl Scenario {
    /// The scenario as the text of a file without variants.
    pub fn to_toml(&self) -> String {
        let mut written = ScenarioText::default();
        written.scenario(&tree::tables(self), &Vec::new());
        written.text
    }

    /// The tables `hosts`, `links`, `relays` and `flows` as JSON, without default values.
    pub fn to_json(&self) -> serde_json::Value {
        let tree = tree::tables(self);
        let sections =
            [("hosts", tree.hosts), ("links", tree.links), ("relays", tree.relays), ("flows", tree.flows)];
        let tables = sections.map(|(name, table)| (name.to_string(), Written::Table(table)));
        serde_json::to_value(Written::Table(tables.into())).unwrap_or_default()
    }

    /// The overrides (`KEY=VALUE`, as `--set` takes them) that turn `base` into this scenario, in order of
    /// application.
    pub fn overrides_of(&self, base: &Scenario) -> Vec<String> {
        let spelt = |(key, value): &(String, Written)| {
            let mut text = format!("{key}=");
            value.spell(&mut text);
            text
        };
        variants::overrides(&tree::tables(base), &tree::tables(self)).iter().map(spelt).collect()
    }

    /// All settings except name and stages, in file order.
    pub fn settings(&self) -> Vec<ScenarioSetting> {
        settings::list(&tree::tables(self))
    }
}

impl Experiment {
    /// The experiment as the text of a file: the first variant's scenario, and the others as overrides of it.
    pub fn to_toml(&self) -> String {
        let mut written = ScenarioText::default();
        let trees: Vec<_> = self.variants.iter().map(|v| tree::tables(&v.scenario)).collect();
        let Some(base) = trees.first() else { return written.text };
        written.scenario(base, &tree::shared_keys(self));
        if self.variants.len() > 1 || self.variants[0].name != "default" {
            for (variant, tree) in self.variants.iter().zip(&trees) {
                written.variant(&variant.name, &variants::overrides(base, tree));
            }
        }
        written.text
    }
}
