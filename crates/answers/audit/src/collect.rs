//! Inspects the host and its network namespaces without changing anything: reads files below /proc, and
//! queries netlink and the devices' features.
//!
//! A separate thread enters each namespace and ends after the inspection: /proc/sys/net and netlink show a
//! thread its own namespace. The other threads stay where they are.

mod container;
mod container_name;
mod containers;
mod devices;
mod filter;
mod htb;
mod list;
mod namespaces;
mod procfs;
mod sock_diag;

pub use containers::{ContainerProcess, find_container, find_pod};

use crate::facts::{HostFacts, NamespaceFacts, TcpMemory};
use linux::namespace::within;
use namespaces::FoundNamespace;
use std::fs;
use std::os::fd::AsFd;

/// Inspects every network namespace that a process is in or that has a name under /run/netns.
///
/// What cannot be inspected, for lack of privileges or because it disappeared, is in [`HostFacts::not_seen`].
pub fn collect() -> HostFacts {
    let mut found = namespaces::find();
    let mut host = HostFacts {
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().into(),
        not_seen: std::mem::take(&mut found.not_seen),
        ..HostFacts::default()
    };
    for namespace in &found.namespaces {
        match inspect(namespace) {
            Ok((facts, missing)) => {
                host.not_seen.extend(missing.into_iter().map(|m| format!("{}: {m}", facts.name)));
                host.namespaces.push(facts);
            }
            Err(why) => host.not_seen.push(format!("namespace {}: {why}", namespace.name)),
        }
    }
    if let Some(i) = host.namespaces.iter().position(|n| n.initial) {
        host.namespaces[..=i].rotate_right(1);
    } else {
        host.not_seen.push(
            "the host's namespace: longfat runs in a container, or may not enter it; nothing is compared \
             with the host's defaults"
                .into(),
        );
    }
    host.tcp_memory = host.initial().and_then(tcp_memory);
    host.backlog_drops = fs::read_to_string("/proc/net/softnet_stat").ok().map(|t| procfs::backlog_drops(&t));
    host
}

/// Returns the facts of a namespace, and what of it could not be read.
fn inspect(namespace: &FoundNamespace) -> Result<(NamespaceFacts, Vec<String>), String> {
    let inspect = || {
        let mut missing = Vec::new();
        let facts = facts_inside(namespace, &mut missing);
        (facts, missing)
    };
    // Longfat's own namespace needs no entering, and so no privileges.
    if namespace.own {
        return Ok(inspect());
    }
    let entered = namespace.open().and_then(|file| within(file.as_fd(), inspect));
    entered.map_err(|e| match e.raw_os_error() {
        Some(libc::EPERM) => "entering it requires root (CAP_SYS_ADMIN)".into(),
        _ => e.to_string(),
    })
}

/// Returns the facts of the calling thread's namespace.
fn facts_inside(namespace: &FoundNamespace, missing: &mut Vec<String>) -> NamespaceFacts {
    let settings = procfs::settings();
    let mut note = |what: &str, e: std::io::Error| missing.push(format!("{what}: {e}"));
    let devices = devices::devices().map_err(|e| note("devices", e)).unwrap_or_default();
    let sockets = sock_diag::sockets().map_err(|e| note("sockets", e)).unwrap_or_default();
    let netstat = fs::read_to_string("/proc/thread-self/net/netstat").ok();
    // The memory of all sockets is a sysctl of the initial namespace only (ipv4_table,
    // net/ipv4/sysctl_net_ipv4.c).
    let initial = settings.text("net.ipv4.tcp_mem").is_some();
    NamespaceFacts {
        name: if initial { "host".into() } else { namespace.name.clone() },
        inode: namespace.inode,
        initial,
        container: namespace.container.clone().filter(|_| !initial),
        processes: namespace.processes,
        enter: namespace.enter.clone(),
        listen_overflows: netstat.and_then(|t| procfs::counter(&t, "TcpExt", "ListenOverflows")),
        clamps_mss: filter::clamps_mss(),
        settings,
        devices,
        sockets,
    }
}

/// Returns `tcp_mem` of the initial namespace and the memory in use. `mem` in /proc/net/sockstat covers all
/// namespaces.
fn tcp_memory(initial: &NamespaceFacts) -> Option<TcpMemory> {
    let marks = |i| initial.settings.nth("net.ipv4.tcp_mem", i);
    Some(TcpMemory {
        used_pages: procfs::tcp_pages(&fs::read_to_string("/proc/net/sockstat").ok()?)?,
        low_pages: marks(0)?,
        pressure_pages: marks(1)?,
        high_pages: marks(2)?,
        page_bytes: linux::process::page_bytes(),
    })
}
