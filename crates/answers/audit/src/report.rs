//! What is written as JSON.

use crate::facts::{HostFacts, NamespaceFacts};
use crate::finding::{AuditFinding, FindingLevel};
use crate::pacing::{PacingState, control_paces, of_control, of_socket};
use crate::path::CheckedPath;
use crate::settle::settle;
use result::change::ChangeEffect;
use serde::Serialize;
use std::collections::BTreeMap;

/// The version of the format.
pub const CHECK_SCHEMA: &str = "longfat-check/2";

/// What `longfat check --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckReport {
    /// `longfat-check/2`.
    pub schema: String,
    /// The kernel, as `uname -r` has it.
    pub kernel: String,
    /// The path that costs are of; absent where none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<CheckedPath>,
    /// Every network namespace that could be looked at, the host's own first.
    pub namespaces: Vec<NamespaceReport>,
    /// What was found: problems first, in each the most costly first.
    pub findings: Vec<AuditFinding>,
    /// What could not be looked at, and why.
    pub not_seen: Vec<String>,
}

/// A network namespace.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NamespaceReport {
    /// What it is called here: `host`, its name under /run/netns, its container, or a process in it.
    pub name: String,
    /// The inode by which the kernel knows it.
    pub inode: u64,
    /// Whether it is the one that the kernel began with.
    pub initial: bool,
    /// The container in it; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Processes in it that could be seen.
    pub processes: u32,
    /// Congestion control that new connections begin with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<String>,
    /// How new connections are paced; absent where the control is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<PacingState>,
    /// Congestion controls that are there.
    pub available: Vec<String>,
    /// Those that programs without privileges may choose.
    pub allowed: Vec<String>,
    /// Its connections by congestion control and pacing.
    pub connections: Vec<ControlSockets>,
    /// Sockets that wait for connections.
    pub listeners: usize,
    /// Its devices.
    pub devices: Vec<DeviceReport>,
    /// Its sysctls, by name, as the kernel writes them.
    pub settings: BTreeMap<String, String>,
}

/// Connections alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ControlSockets {
    /// Congestion control.
    pub control: String,
    /// Whether it paces by itself; absent for one that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paces: Option<bool>,
    /// Whether they are paced, and by what.
    pub pacing: PacingState,
    /// How many.
    pub count: usize,
}

/// A network device.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeviceReport {
    /// Its name.
    pub name: String,
    /// Its driver's kind; empty for hardware.
    pub kind: String,
    /// Largest packet, bytes.
    pub mtu: u32,
    /// Whether it is up.
    pub up: bool,
    /// Root queueing discipline.
    pub qdisc: String,
    /// Segmentation by the device; absent where it could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tso: Option<bool>,
    /// Segmentation just above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gso: Option<bool>,
    /// Joining of received packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gro: Option<bool>,
    /// Largest burst handed to it in one piece, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gso_max_bytes: Option<u32>,
}

/// All of it, findings in order, each setting with one value.
pub fn report(host: &HostFacts, path: Option<CheckedPath>, mut findings: Vec<AuditFinding>) -> CheckReport {
    settle(host, &mut findings);
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
    /// Whether something is wrong.
    pub fn has_problems(&self) -> bool {
        self.findings.iter().any(|f| f.level == FindingLevel::Problem)
    }
}

/// The JSON Schema (draft 7): `docs/check.schema.json`.
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
