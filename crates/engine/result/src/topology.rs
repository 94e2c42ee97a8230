//! What packets pass, as a result tells it: enough to draw it, not enough to run it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Hosts and the links between them.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Topology {
    /// Hosts' names, in the scenario's order.
    pub hosts: Vec<String>,
    /// Links, in the scenario's order.
    pub links: Vec<PathLink>,
    /// Split-TCP relays.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub relays: Vec<PathRelay>,
}

/// A link: two hosts and what packets meet between them.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathLink {
    /// Its name; `name.forward.stage` is an element's.
    pub name: String,
    /// Two hosts' names.
    pub between: [String; 2],
    /// From the first to the second, in the order packets meet them.
    pub forward: Vec<PathStage>,
    /// From the second to the first, in the order packets meet them.
    pub backward: Vec<PathStage>,
}

/// What packets meet at one place of a link.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathStage {
    /// Unique in its direction of its link.
    pub name: String,
    /// `policer`, `shaper`, `link` ….
    pub kind: String,
    /// What the scenario says of it beyond its kind's defaults, spelt as there: `rate` is `20Mbit/s`, `queue.packets`
    /// is `200`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub settings: BTreeMap<String, String>,
    /// The scenario does not have it: where nothing on a path takes time the simulator assumes a network card.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub assumed: bool,
}

/// A key of the scenario and its value.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// The table that it stands in: `hosts`, `links`, `relays`, `flows`; absent for keys of the run.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub section: String,
    /// Whose it is; absent for keys of the run.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub name: String,
    /// The key, of tables within with a dot: `stack.mss`.
    pub key: String,
    /// The value, spelt as there; names in a list are joined by commas.
    pub value: String,
}

/// A split-TCP relay and where it runs.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathRelay {
    /// Its name.
    pub name: String,
    /// A host's name.
    pub host: String,
}
