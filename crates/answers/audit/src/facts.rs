//! The facts of a host as plain data. Rules judge them; tests construct them.

use crate::settings::Settings;
use result::command::HtbClass;
use std::net::SocketAddr;

/// A host and its network namespaces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostFacts {
    /// The kernel's release, as `uname -r` prints it.
    pub kernel: String,
    /// Every network namespace that could be inspected; the initial one first, if it is among them.
    pub namespaces: Vec<NamespaceFacts>,
    /// Memory of all TCP sockets; `None` where it could not be read.
    pub tcp_memory: Option<TcpMemory>,
    /// Packets dropped since boot because a CPU's backlog was full (`/proc/net/softnet_stat`).
    pub backlog_drops: Option<u64>,
    /// What could not be inspected, and why, in sentences.
    pub not_seen: Vec<String>,
}

impl HostFacts {
    /// Returns the namespace from which others copy their defaults.
    pub fn initial(&self) -> Option<&NamespaceFacts> {
        self.namespaces.iter().find(|n| n.initial)
    }
}

/// Memory of all TCP sockets of the host (`tcp_mem`, `/proc/net/sockstat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpMemory {
    /// Pages in use.
    pub used_pages: u64,
    /// Mark below which the kernel does nothing.
    pub low_pages: u64,
    /// Mark above which the kernel moderates buffers.
    pub pressure_pages: u64,
    /// The upper limit.
    pub high_pages: u64,
    pub page_bytes: u64,
}

/// A network namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamespaceFacts {
    /// The name that longfat shows: `host`, the name under /run/netns, that of a container, or a process in
    /// it.
    pub name: String,
    /// Inode of the namespace.
    pub inode: u64,
    /// Whether it is the initial namespace, the only one with `net.ipv4.tcp_mem`.
    pub initial: bool,
    /// The container in it, such as `docker 0123456789ab`; `None` where none is seen.
    pub container: Option<String>,
    /// Number of processes seen in it.
    pub processes: u32,
    /// Command prefix that enters the namespace; empty for longfat's own namespace, `None` where nothing
    /// enters it.
    pub enter: Option<String>,
    pub settings: Settings,
    pub devices: Vec<DeviceFacts>,
    /// TCP sockets, except those in TIME-WAIT or SYN-RECV.
    pub sockets: Vec<SocketFacts>,
    /// Connections dropped since the namespace was created because the accept queue was full
    /// (`ListenOverflows`).
    pub listen_overflows: Option<u64>,
    /// Whether a rule of its packet filter changes the MSS of forwarded connections; `None` where that is
    /// unknown.
    pub clamps_mss: Option<bool>,
}

impl NamespaceFacts {
    /// Returns the default congestion control.
    pub fn default_control(&self) -> Option<&str> {
        self.settings.text("net.ipv4.tcp_congestion_control")
    }

    /// Returns the devices that are up, except loopback.
    pub fn links(&self) -> impl Iterator<Item = &DeviceFacts> {
        self.devices.iter().filter(|d| d.up && !d.loopback)
    }

    /// Whether the namespace can reach other hosts at all.
    pub fn is_connected(&self) -> bool {
        self.links().next().is_some()
    }

    /// Whether every link paces its packets (`fq`); `false` without links.
    pub fn links_pace(&self) -> bool {
        self.is_connected() && self.links().all(|d| d.qdisc == "fq")
    }
}

/// A network device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceFacts {
    pub name: String,
    /// The kind in `ip link add type`, such as `veth` or `wireguard`; empty for hardware.
    pub kind: String,
    /// MTU in bytes.
    pub mtu: u32,
    pub up: bool,
    pub loopback: bool,
    /// Root queueing discipline, such as `pfifo_fast`, `fq` or `noqueue`. For `mq`, that of its queues where
    /// they agree.
    pub qdisc: String,
    /// Whether the root queueing discipline was set explicitly, so that it has a handle. The kernel's
    /// default has none.
    pub qdisc_set: bool,
    /// Segmentation by the device (TSO); `None` where it could not be queried.
    pub tso: Option<bool>,
    /// Segmentation in software, just above the device (GSO).
    pub gso: Option<bool>,
    /// Merging of received packets (GRO).
    pub gro: Option<bool>,
    /// Largest burst handed to the device in one piece, in bytes.
    pub gso_max_bytes: Option<u32>,
    /// Largest number of segments handed to the device in one piece.
    pub gso_max_segs: Option<u32>,
    /// The token bucket filter at the root, if there is one.
    pub shaper: Option<ShaperFacts>,
    /// Classes of the HTB at the root.
    pub classes: Vec<HtbClass>,
}

impl DeviceFacts {
    /// Whether the device gets segments one by one.
    pub fn sends_singly(&self) -> bool {
        self.gso_max_segs == Some(1) || (self.tso, self.gso) == (Some(false), Some(false))
    }
}

/// A token bucket filter at a device's root (tc-tbf(8)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShaperFacts {
    pub bytes_per_second: u64,
    /// Bucket size in bytes.
    pub burst_bytes: u64,
    /// Bytes that may wait in the queue, without those in the bucket.
    pub limit_bytes: u64,
}

/// A TCP socket.
#[derive(Clone, Debug, PartialEq)]
pub struct SocketFacts {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    /// Whether it is listening.
    pub listens: bool,
    /// Congestion control.
    pub control: String,
    /// Rate cap set by its program (`SO_MAX_PACING_RATE`), in bytes per second; `None` for no cap. The
    /// kernel paces a socket with a cap.
    pub capped_rate: Option<u64>,
    /// Connections that wait to be accepted by a listening socket.
    pub accept_queue: u32,
    /// Limit of the connections that may wait to be accepted.
    pub accept_limit: u32,
}
