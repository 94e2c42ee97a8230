//! Runs a scenario in real time on this machine's kernel.
//!
//! Each host is a network namespace and each link a pair of TUN devices. Between the devices run the same
//! [`path::Chain`]s that the simulator drives; the endpoints are the kernel's own TCP. [`run`] returns the
//! same [`result::Outcome`] as the simulator.
//!
//! All namespaces, devices and sockets belong to descriptors and threads of this process, so they disappear
//! with the process, however it ends. Traffic stays inside the namespaces. The caller's own namespaces are
//! not changed.
//!
//! Needs root, or CAP_SYS_ADMIN and CAP_NET_ADMIN. Without them the lab uses a user namespace where the
//! system allows one and every user may open `/dev/net/tun`. It then lacks real-time priority, and
//! `net.core.rmem_max` bounds the windows.
//!
//! Relays are real proxies: longfat's own runs in threads of this process, nginx and HAProxy as unprivileged
//! processes.
//!
//! [`shell`] runs a user's programs in the same network, without privileges.
//!
//! The engine delivers every packet separately, as a wire without receive offload does. Above 40,000 packets
//! per second it joins segments that leave a link at the same moment.
//!
//! Where the numbers of a result come from, compared with the simulator:
//!
//! | number | here |
//! |---|---|
//! | `rtt_ms` | the kernel's smoothed RTT, read every millisecond in which an ACK arrived; `min` is the kernel's own minimum |
//! | `sent_packets`, `retransmitted_packets` | `tcpi_data_segs_out`, `tcpi_total_retrans` of all ends |
//! | `timeouts` | `tcpi_total_rto` (Linux 6.7 and later; 0 before) |
//! | a relay (`relay.rs`) | the same counters of its sockets, read with sock_diag |
//! | a program's flow | its sockets' counters, read every 2 ms and when they close; `delivered` is `tcpi_bytes_received` |
//! | `lost_packets` | packets that the path dropped, assigned to flows by port; inside a tunnel by order and size (`inner_packet.rs`) |
//! | delays of datagrams | from the scheduled send time until the receiving thread reads the datagram; `real_time` covers datagrams with at least 16 bytes of payload (sequence number and time), not iperf3's |
//! | series `rtt_ms` | also the smoothed RTT: the kernel does not report single samples |

mod affinity;
mod app;
mod attach;
mod clock;
mod collect;
mod controls;
mod daemon;
mod datagram_counter;
mod datagram_endpoints;
mod emulator_burst;
mod engine;
mod error;
mod failures;
mod fragment_loss;
mod gro;
mod host;
mod hosts;
mod identity;
mod inner_packet;
mod launch;
mod machine;
mod netlink;
mod network;
mod options;
mod packages;
mod pcap;
mod plan;
mod preflight;
mod program;
mod relay;
mod retransmission;
mod routing;
mod run;
mod script;
mod series;
mod serve;
mod shell;
mod socket_stats;
mod tool;
mod user_namespace;
mod wire;

pub use app::WRITE_INTERVAL;
pub use attach::{
    AttachEnd, AttachError, AttachEvent, AttachMethod, AttachOptions, AttachPath, AttachPlace, AttachStatus,
    AttachTarget, DirectionProof, MAX_DELAY_ERROR_MS, MAX_RATE_ERROR, attach, watch_attached,
};
pub use error::LabError;
pub use identity::{SandboxSupport, guards};
pub use linux::interrupt::{catch_interrupts, interrupted};
pub use linux::sock_diag::sockets_by_control;
pub use packages::install_command;
pub use pcap::Captures;
pub use plan::FIRST_PORT;
pub use preflight::{MissingNeed, missing};
pub use relay::proxy_commands;
pub use run::{LabOptions, run, trusted};
pub use scenario::default_address as address;
pub use script::{LabScript, try_scripts};
pub use shell::{Serve, ShellOptions, shell};
