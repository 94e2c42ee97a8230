//! The real clock: a scenario on this machine's kernel.
//!
//! Each host is a network namespace, each link a pair of TUN devices with the same
//! [`path::Chain`]s between them that the simulator drives, and the ends are the kernel's own TCP.
//! [`run`] yields the same [`result::Outcome`] as the simulator.
//!
//! Everything it makes (namespaces, devices, sockets) is held by descriptors and threads of this
//! process alone, and so is gone when the process is, however it ends. Traffic stays within the
//! namespaces. The caller's own namespaces are not touched.
//!
//! As root, or with CAP_SYS_ADMIN and CAP_NET_ADMIN; without, in a user namespace where the system
//! allows it and `/dev/net/tun` is open to all (then without real-time priority, and windows bounded by
//! `net.core.rmem_max`).
//!
//! Relays are real proxies: longfat's in threads of this process, nginx and HAProxy as processes without privileges.
//!
//! [`shell`] runs a user's programs in the same network, without any privileges.
//!
//! The engine hands every packet over alone, as a wire without receive offload does. Above 40,000
//! packets a second segments that leave a link at the same moment are joined.
//!
//! How numbers differ in origin from the simulator's:
//!
//! | number | here |
//! |---|---|
//! | `rtt_ms` | the kernel's smoothed RTT, looked at every millisecond in which something was acknowledged; `min` is the kernel's own |
//! | `sent_packets`, `retransmitted_packets` | `tcpi_data_segs_out`, `tcpi_total_retrans` of all ends |
//! | `timeouts` | `tcpi_total_rto` (Linux 6.7 and later; 0 before) |
//! | of a relay (`relay.rs`) | the same numbers of its sockets, asked for by sock_diag |
//! | a program's flow | what its sockets say, every 2 ms and at their end; `delivered` is `tcpi_bytes_received` |
//! | `lost_packets` | what the path dropped, by its ports; inside a tunnel by order and size (`inner.rs`) |
//! | delays of datagrams | from when one was due to when the receiving thread took it; `real_time` of those with 16 bytes of payload (the number and the time), not of iperf3's |
//! | series `rtt_ms` | the smoothed RTT too: the kernel does not tell single samples |

mod apart;
mod app;
mod bunch;
mod clock;
mod collect;
mod controls;
mod crew;
mod daemon;
mod datagrams;
mod deaths;
mod engine;
mod error;
mod host;
mod hosts;
mod identity;
mod inner;
mod join;
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
mod resent;
mod routing;
mod run;
mod script;
mod series;
mod serve;
mod shell;
mod sources;
mod tally;
mod tool;
mod torn;
mod wire;

pub use app::WRITE_INTERVAL;
pub use error::LabError;
pub use identity::{Guards, guards};
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
