//! Checks a host's TCP settings: collects the facts of every network namespace, judges them by rules, and
//! simulates what each finding costs on a given path.
//!
//! Call these functions in this order:
//!
//! 1. [`collect`] (Linux) inspects the host without changing anything. Tests and other callers may construct
//!    [`HostFacts`].
//! 2. [`judge`] applies every rule to every namespace, with a [`CheckedPath`] if the path is known.
//! 3. [`price`] simulates each proposal against the current state, and drops those without a gain.
//! 4. [`report()`] builds the [`CheckReport`] that is written as JSON; [`text`] formats it for a terminal.
//!
//! A rule is a file in `rule/` and a line in `rule.rs`. It proposes a list of [`result::LinuxSetting`]s, from
//! which the commands, their undo and the simulated scenario are derived.

mod change;
#[cfg(target_os = "linux")]
mod collect;
mod cost;
#[cfg(test)]
mod documents;
mod facts;
mod finding;
#[cfg(test)]
mod fixtures;
pub mod pacing;
mod path;
mod reconcile;
mod report;
mod rule;
mod settings;
mod text;
mod trial;

pub use change::{PlacedSetting, apply, fq, sysctl};
#[cfg(target_os = "linux")]
pub use collect::{ContainerProcess, collect, find_container, find_pod};
pub use cost::price;
pub use facts::{DeviceFacts, HostFacts, NamespaceFacts, ShaperFacts, SocketFacts, TcpMemory};
pub use finding::{AuditFinding, FindingLevel, Proposal};
pub use path::{CheckedPath, PathProblem};
pub use report::{CHECK_SCHEMA, CheckReport, ControlSockets, DeviceReport, NamespaceReport, report, schema};
pub use rule::{RULES, RuleEntry, judge};
pub use settings::{SYSCTLS, Settings};
pub use text::text;
pub use trial::{CostTrial, TrialEnds, TrialLoad};
