//! The path as results describe it: enough to draw it, but not to run it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Hosts and the links between them.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Topology {
    /// Names of the hosts, in the scenario's order.
    pub hosts: Vec<String>,
    /// Links, in the scenario's order.
    pub links: Vec<PathLink>,
    /// Split-TCP relays.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub relays: Vec<PathRelay>,
}

/// A link between two hosts.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathLink {
    /// Name of the link; its elements are named `name.forward.stage` and `name.backward.stage`.
    pub name: String,
    /// Names of the two hosts.
    pub between: [String; 2],
    /// Stages from the first host to the second, in the order in which packets pass them.
    pub forward: Vec<PathStage>,
    /// Stages from the second host to the first, in the order in which packets pass them.
    pub backward: Vec<PathStage>,
}

/// A stage of one direction of a link.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathStage {
    /// Name, unique in its direction of the link.
    pub name: String,
    /// Kind: `policer`, `shaper`, `link` ….
    pub kind: String,
    /// Settings that differ from the defaults of the kind, spelled as in the scenario: `rate` is `20Mbit/s`,
    /// `queue.packets` is `200`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub settings: BTreeMap<String, String>,
    /// Whether the simulator added the stage: it assumes a network card where nothing on a path takes time.
    /// Absent: false.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub assumed: bool,
}

/// A key of the scenario with its value.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// The table with the key: `hosts`, `links`, `relays` or `flows`; absent for keys of the run.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub section: String,
    /// Name of the host, link, relay or flow; absent for keys of the run.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub name: String,
    /// The key, with a dot for nested tables: `stack.mss`.
    pub key: String,
    /// The value, spelled as in the scenario; names in a list are joined by commas.
    pub value: String,
}

/// A split-TCP relay.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathRelay {
    /// Name of the relay.
    pub name: String,
    /// Name of the host on which the relay runs.
    pub host: String,
}
