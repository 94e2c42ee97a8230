//! A scenario as a file: commented TOML that reads back to the same scenario.
//!
//! What has its default is left out; quantities are written as their types print them, which is exact; comments are
//! the doc strings that [`crate::schema`] and `docs/scenario.md` are made of. A stage whose content came from a file
//! names that file.
//!
//! Meant for what the parser can yield: hosts in the order in which links name them, values in range.

mod docs;
mod document;
mod lean;
mod settings;
mod tree;
mod value;
mod variants;

pub use settings::ScenarioSetting;

use crate::address::quote;
use crate::{Experiment, Scenario};
use document::Document;
use serde::Serialize;
use value::Written;

/// A value as TOML writes it in one line: what stands behind the `=` of a `--set`. Tables are `{ … }`; what serde leaves
/// out, or has as null, is left out.
pub fn inline_toml(data: &impl Serialize) -> String {
    let mut text = String::new();
    Written::of(data).spell(&mut text);
    text
}

/// A dotted path as `--set` takes it, its steps in quotes where they need them.
pub fn key_path(steps: &[&str]) -> String {
    steps.iter().map(|step| quote(step)).collect::<Vec<_>>().join(".")
}

impl Scenario {
    /// The scenario as the text of a file without variants.
    pub fn to_toml(&self) -> String {
        let mut document = Document::default();
        document.scenario(&tree::of(self), &Vec::new());
        document.text
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
        let spelt = |(key, value): &(String, value::Written)| {
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
        let mut document = Document::default();
        let trees: Vec<_> = self.variants.iter().map(|v| tree::of(&v.scenario)).collect();
        let Some(base) = trees.first() else { return document.text };
        document.scenario(base, &tree::of_all(self));
        if self.variants.len() > 1 || self.variants[0].name != "default" {
            for (variant, tree) in self.variants.iter().zip(&trees) {
                document.variant(&variant.name, &variants::overrides(base, tree));
            }
        }
        document.text
    }
}
