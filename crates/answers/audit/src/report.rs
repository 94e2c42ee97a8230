//! The report of `longfat check`, which is written as JSON.

use crate::facts::{HostFacts, NamespaceFacts};
use crate::finding::{AuditFinding, FindingLevel};
use crate::pacing::{PacingState, control_paces, of_control, of_socket};
use crate::path::CheckedPath;
use crate::reconcile::reconcile;
use result::change::ChangeEffect;
use serde::Serialize;
use std::collections::BTreeMap;

/// Name and version of the format.
pub const CHECK_SCHEMA: &str = "longfat-check/2";

/// The output of `longfat check --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckReport {
    /// Name and version of the format: `longfat-check/2`.
    pub schema: String,
    /// The kernel's release, as `uname -r` prints it.
    pub kernel: String,
    /// The path on which costs were simulated; absent where none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<CheckedPath>,
    /// Every network namespace that could be inspected, the host's first.
    pub namespaces: Vec<NamespaceReport>,
    /// The findings: problems before notes, each sorted by cost.
    pub findings: Vec<AuditFinding>,
    /// What could not be inspected, and why.
    pub not_seen: Vec<String>,
}

/// A network namespace.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NamespaceReport {
    /// The name shown: `host`, the name under /run/netns, that of a container, or a process in it.
    pub name: String,
    /// Inode of the namespace.
    pub inode: u64,
    /// Whether it is the initial namespace.
    pub initial: bool,
    /// The container in it; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Number of processes seen in it.
    pub processes: u32,
    /// Default congestion control of new connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
    /// How new connections are paced; absent where the congestion control is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<PacingState>,
    /// Available congestion controls.
    pub available: Vec<String>,
    /// Congestion controls that unprivileged programs may select.
    pub allowed: Vec<String>,
    /// The connections, grouped by congestion control and pacing.
    pub connections: Vec<ControlSockets>,
    /// Number of listening sockets.
    pub listeners: usize,
    /// The network devices.
    pub devices: Vec<DeviceReport>,
    /// The sysctls by name, as the kernel prints them.
    pub settings: BTreeMap<String, String>,
}

/// Connections with the same congestion control and pacing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ControlSockets {
    /// Congestion control.
    pub control: String,
    /// Whether it paces by itself; absent for an unknown one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paces: Option<bool>,
    /// Whether the connections are paced, and by what.
    pub pacing: PacingState,
    /// Number of connections.
    pub count: usize,
}

/// A network device.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeviceReport {
    /// The device's name.
    pub name: String,
    /// The driver's kind; empty for hardware.
    pub kind: String,
    /// MTU in bytes.
    pub mtu: u32,
    /// Whether the device is up.
    pub up: bool,
    /// Root queueing discipline.
    pub qdisc: String,
    /// Segmentation by the device (TSO); absent where it could not be queried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tso: Option<bool>,
    /// Segmentation in software, just above the device (GSO).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gso: Option<bool>,
    /// Merging of received packets (GRO).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gro: Option<bool>,
    /// Largest burst handed to the device in one piece, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gso_max_bytes: Option<u32>,
}

/// Builds the report: sorts the findings and gives each setting a single value.
pub fn report(host: &HostFacts, path: Option<CheckedPath>, mut findings: Vec<AuditFinding>) -> CheckReport {
    reconcile(host, &mut findings);
    let gain = |f: &AuditFinding| f.cost.as_ref().map_or(0.0, ChangeEffect::worth);
    findings.sort_by(|a, b| a.level.cmp(&b.level).then(gain(b).total_cmp(&gain(a))));
    CheckReport {
        schema: CHECK_SCHEMA.into(),
        kernel: host.kernel.clone(),
        path,
        namespaces: host.namespaces.iter().map(namespace).collect(),
        findings,
        not_seen: host.not_seen.clone(),
    }
}

impl CheckReport {
    /// Whether a finding is a problem.
    pub fn has_problems(&self) -> bool {
        self.findings.iter().any(|f| f.level == FindingLevel::Problem)
    }
}

/// Returns the JSON Schema (draft 7), the file `docs/check.schema.json`.
pub fn schema() -> &'static str {
    include_str!("../../../../docs/check.schema.json")
}

fn namespace(ns: &NamespaceFacts) -> NamespaceReport {
    let mut groups: BTreeMap<(&str, PacingState), usize> = BTreeMap::new();
    for s in ns.sockets.iter().filter(|s| !s.listens) {
        *groups.entry((&s.control, of_socket(ns, s))).or_default() += 1;
    }
    let connections = groups.into_iter().map(|((control, pacing), count)| ControlSockets {
        control: control.into(),
        paces: control_paces(control),
        pacing,
        count,
    });
    let devices = ns.devices.iter().map(|d| DeviceReport {
        name: d.name.clone(),
        kind: d.kind.clone(),
        mtu: d.mtu,
        up: d.up,
        qdisc: d.qdisc.clone(),
        tso: d.tso,
        gso: d.gso,
        gro: d.gro,
        gso_max_bytes: d.gso_max_bytes,
    });
    NamespaceReport {
        name: ns.name.clone(),
        inode: ns.inode,
        initial: ns.initial,
        container: ns.container.clone(),
        processes: ns.processes,
        control: ns.default_control().map(str::to_string),
        pacing: ns.default_control().map(|control| of_control(ns, control)),
        available: ns.settings.words("net.ipv4.tcp_available_congestion_control"),
        allowed: ns.settings.words("net.ipv4.tcp_allowed_congestion_control"),
        connections: connections.collect(),
        listeners: ns.sockets.iter().filter(|s| s.listens).count(),
        devices: devices.collect(),
        settings: ns.settings.all().clone(),
    }
}
