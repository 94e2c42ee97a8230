//! What was seen of a host, as plain data: rules judge it, tests make it up.

use crate::settings::Settings;
use result::command::HtbClass;
use std::net::SocketAddr;

/// A host and its network namespaces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostFacts {
    /// `uname -r`.
    pub kernel: String,
    /// Every network namespace that could be looked at; the initial one first, where it is among them.
    pub namespaces: Vec<NamespaceFacts>,
    /// Memory of all TCP sockets; `None` where it could not be read.
    pub tcp_memory: Option<TcpMemory>,
    /// Packets dropped before the stack since boot: the backlog of a CPU was full (`/proc/net/softnet_stat`).
    pub backlog_drops: Option<u64>,
    /// What could not be looked at, and why, in sentences.
    pub not_seen: Vec<String>,
}

impl HostFacts {
    /// The namespace that others copy their defaults from.
    pub fn initial(&self) -> Option<&NamespaceFacts> {
        self.namespaces.iter().find(|n| n.initial)
    }
}

/// Memory of TCP sockets, of the whole host (`tcp_mem`, `/proc/net/sockstat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpMemory {
    /// Pages in use.
    pub used_pages: u64,
    /// Below this nothing is done.
    pub low_pages: u64,
    /// Above this the kernel moderates buffers.
    pub pressure_pages: u64,
    /// No more than this.
    pub high_pages: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
}

/// A network namespace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamespaceFacts {
    /// What it is called here: `host`, the name under /run/netns, the container's, or a process of it.
    pub name: String,
    /// The inode by which the kernel knows it.
    pub inode: u64,
    /// Whether it is the one that the kernel began with. Only that has `net.ipv4.tcp_mem`.
    pub initial: bool,
    /// `docker 0123456789ab`, `podman …`, `containerd …`, `kubernetes …`; `None` where no container is seen in it.
    pub container: Option<String>,
    /// Processes in it that could be seen.
    pub processes: u32,
    /// What a command is prefixed with to run in it; empty for the namespace that longfat runs in, `None` where nothing
    /// enters it.
    pub enter: Option<String>,
    /// Its sysctls.
    pub settings: Settings,
    /// Its network devices.
    pub devices: Vec<DeviceFacts>,
    /// Its TCP sockets, but those in TIME-WAIT.
    pub sockets: Vec<SocketFacts>,
    /// Connections dropped since it was made, because the accept queue was full (`ListenOverflows`).
    pub listen_overflows: Option<u64>,
    /// Whether some rule of its packet filter changes the MSS of what it forwards; `None` where that could not be read.
    pub clamps_mss: Option<bool>,
}

impl NamespaceFacts {
    /// Its default congestion control.
    pub fn default_control(&self) -> Option<&str> {
        self.settings.text("net.ipv4.tcp_congestion_control")
    }

    /// Devices that are up, but loopback.
    pub fn links(&self) -> impl Iterator<Item = &DeviceFacts> {
        self.devices.iter().filter(|d| d.up && !d.loopback)
    }

    /// Whether it can reach others at all.
    pub fn is_connected(&self) -> bool {
        self.links().next().is_some()
    }

    /// Whether every link paces what it sends (`fq`); `false` without links.
    pub fn links_pace(&self) -> bool {
        self.is_connected() && self.links().all(|d| d.qdisc == "fq")
    }
}

/// A network device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceFacts {
    /// Its name.
    pub name: String,
    /// The driver's kind as `ip link add type` calls it: `veth`, `wireguard`; empty for hardware.
    pub kind: String,
    /// Largest packet, bytes.
    pub mtu: u32,
    /// Whether it is up.
    pub up: bool,
    /// Whether it is loopback.
    pub loopback: bool,
    /// Root queueing discipline: `pfifo_fast`, `fq`, `noqueue`; `mq` counts as that of its queues where these agree.
    pub qdisc: String,
    /// Whether the root queueing discipline was set by somebody: it has a handle. The kernel's default has none.
    pub qdisc_set: bool,
    /// Segmentation by the device (TSO); `None` where it could not be asked.
    pub tso: Option<bool>,
    /// Segmentation just above the device (GSO).
    pub gso: Option<bool>,
    /// Joining of received packets (GRO).
    pub gro: Option<bool>,
    /// Largest burst handed to it in one piece, bytes.
    pub gso_max_bytes: Option<u32>,
    /// Most segments handed to it in one piece.
    pub gso_max_segs: Option<u32>,
    /// The local shaper at its root, where there is one.
    pub shaper: Option<ShaperFacts>,
    /// The classes of an HTB at its root.
    pub classes: Vec<HtbClass>,
}

impl DeviceFacts {
    /// Whether it is handed segments one by one.
    pub fn sends_singly(&self) -> bool {
        self.gso_max_segs == Some(1) || (self.tso, self.gso) == (Some(false), Some(false))
    }
}

/// A token bucket filter at a device's root (tc-tbf(8)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShaperFacts {
    /// Rate, bytes a second.
    pub bytes_per_second: u64,
    /// Bucket, bytes.
    pub burst_bytes: u64,
    /// Bytes that may wait, the bucket's not among them.
    pub limit_bytes: u64,
}

/// A TCP socket.
#[derive(Clone, Debug, PartialEq)]
pub struct SocketFacts {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Whether it waits for connections.
    pub listens: bool,
    /// Congestion control.
    pub control: String,
    /// The rate that its program caps it to (`SO_MAX_PACING_RATE`), bytes a second; `None` for no cap. With a cap the kernel
    /// paces.
    pub capped_rate: Option<u64>,
    /// Of one that listens: connections that wait to be accepted.
    pub accept_queue: u32,
    /// Of one that listens: how many may.
    pub accept_limit: u32,
}
