//! What a host does to TCP: the facts of every network namespace, rules that judge them, and what each finding costs on a
//! given path, simulated.
//!
//! What to call, in this order:
//!
//! 1. [`collect`] (Linux): looks, and changes nothing. Tests and other callers may make [`HostFacts`] up.
//! 2. [`judge`]: every rule over every namespace, with a [`CheckedPath`] where the path is known.
//! 3. [`price`]: runs each proposal beside what is there, in the simulator, and drops what turns out to cost nothing.
//! 4. [`report()`]: the [`CheckReport`] that is written as JSON; [`text`] is the same for a terminal.
//!
//! A rule is a file in `rule/` and a line in `rule.rs`. What it proposes is a list of [`result::LinuxSetting`]s: the
//! commands, how to undo them and the scenario that is simulated all come from that one list.

mod change;
#[cfg(target_os = "linux")]
mod collect;
mod cost;
#[cfg(test)]
mod documents;
mod facts;
mod finding;
#[cfg(test)]
mod made_up;
pub mod pacing;
mod path;
mod report;
mod rule;
mod settings;
mod settle;
mod text;
mod trial;

pub use change::{PlacedSetting, apply, fq, sysctl};
#[cfg(target_os = "linux")]
pub use collect::collect;
pub use cost::price;
pub use facts::{DeviceFacts, HostFacts, NamespaceFacts, ShaperFacts, SocketFacts, TcpMemory};
pub use finding::{AuditFinding, FindingLevel, Proposal};
pub use path::{CheckedPath, PathProblem};
pub use report::{CHECK_SCHEMA, CheckReport, ControlSockets, DeviceReport, NamespaceReport, report, schema};
pub use rule::{RULES, RuleEntry, judge};
pub use settings::{LOOKED_AT, Settings};
pub use text::text;
pub use trial::{CostTrial, TrialEnds, TrialLoad};
