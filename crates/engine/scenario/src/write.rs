//! A scenario as a file: commented TOML that reads back to the same scenario.
//!
//! What has its default is left out; quantities are written as their types print them, which is exact; comments are
//! the doc strings that [`crate::schema`] and `docs/scenario.md` are made of. A stage whose content came from a file
//! names that file.
//!
//! Meant for what the parser can yield: hosts in the order in which links name them, values in range.

mod docs;
mod lean;
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
        written.scenario(&tree::of(self), &Vec::new());
        written.text
    }

    /// The tables of its file without what has its default, as JSON: `hosts`, `links`, `relays`, `flows`, each by name.
    pub fn to_json(&self) -> serde_json::Value {
        let tree = tree::of(self);
        let sections =
            [("hosts", tree.hosts), ("links", tree.links), ("relays", tree.relays), ("flows", tree.flows)];
        let tables = sections.map(|(name, table)| (name.to_string(), Written::Table(table)));
        serde_json::to_value(Written::Table(tables.into())).unwrap_or_default()
    }

    /// What it changes of `base`, as `--set` takes it (`KEY=VALUE`), in an order in which it can be applied.
    pub fn overrides_of(&self, base: &Scenario) -> Vec<String> {
        let spelt = |(key, value): &(String, Written)| {
            let mut text = format!("{key}=");
            value.spell(&mut text);
            text
        };
        variants::overrides(&tree::of(base), &tree::of(self)).iter().map(spelt).collect()
    }

    /// What it says beside its stages, key by key, in the order of the file.
    pub fn settings(&self) -> Vec<ScenarioSetting> {
        settings::of(&tree::of(self))
    }
}

impl Experiment {
    /// The experiment as the text of a file: the first variant's scenario, and what the others change of it.
    pub fn to_toml(&self) -> String {
        let mut written = ScenarioText::default();
        let trees: Vec<_> = self.variants.iter().map(|v| tree::of(&v.scenario)).collect();
        let Some(base) = trees.first() else { return written.text };
        written.scenario(base, &tree::of_all(self));
        if self.variants.len() > 1 || self.variants[0].name != "default" {
            for (variant, tree) in self.variants.iter().zip(&trees) {
                written.variant(&variant.name, &variants::overrides(base, tree));
            }
        }
        written.text
    }
}
