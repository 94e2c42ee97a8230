//! A split-TCP proxy: it terminates a connection near the client and opens another one to the server. Each
//! side has its own congestion control, pacing and buffers.
//!
//! Pure parts, tested separately: the configuration ([`ProxyConfig`]), the PROXY protocol ([`read_header`]),
//! the server name in a TLS ClientHello ([`server_name`]), load balancing ([`Balance`]), server health
//! ([`ServerHealth`]).
//!
//! On Linux: [`Proxy`]. Each core has a pinned event loop that accepts connections from its own sockets
//! (SO_REUSEPORT). Small amounts of data are copied; large ones are spliced through a pipe borrowed from a
//! pool (`direction.rs`).

mod address;
mod balance;
mod client_slots;
mod config;
pub mod exposition;
mod first_bytes;
mod header;
mod health;
mod hello;
pub mod http;
mod pair_status;

pub use address::{HostPort, IpNetwork, ListenAt, allows_address, plain};
pub use balance::{Balance, ServerChoice};
pub use config::{
    ConfigError, ListenerConfig, OneOrMore, PairConfig, PairListenerConfig, PairUpstreamConfig, PeerConfig,
    ProxyConfig, PublicKey, SideConfig, UpstreamConfig,
};
pub use first_bytes::{FirstBytes, NameRoutes, classify_first_bytes};
pub use header::{BadHeader, HeaderRead, MAX_HEADER_BYTES, ProxyVersion, read_header};
pub use health::{HealthChange, HealthRule, ServerHealth};
pub use hello::{HelloRead, MAX_HELLO_BYTES, fits, sample_hello, server_name};
pub use pair_status::{PairLinkView, PairStatus, StatusPage, StatusTable};

#[cfg(target_os = "linux")]
mod assemble;
#[cfg(target_os = "linux")]
mod background;
#[cfg(target_os = "linux")]
mod direction;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod metrics;
#[cfg(target_os = "linux")]
mod pipes;
#[cfg(target_os = "linux")]
mod proxy;
#[cfg(target_os = "linux")]
mod sample;
#[cfg(target_os = "linux")]
mod service;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod shared;
#[cfg(target_os = "linux")]
mod side;
#[cfg(target_os = "linux")]
mod slow;
#[cfg(target_os = "linux")]
mod stats;
#[cfg(target_os = "linux")]
mod status;
#[cfg(target_os = "linux")]
mod upstream;
#[cfg(target_os = "linux")]
mod worker;

pub use client_slots::{ClientSlot, ClientSlots};

#[cfg(target_os = "linux")]
pub use error::ProxyError;
#[cfg(target_os = "linux")]
pub use proxy::{Proxy, switch_to_configured_user};
#[cfg(target_os = "linux")]
pub use service::{ActivatedSockets, ProxyService, ServiceLog, serve};
#[cfg(target_os = "linux")]
pub use shared::LogSink;
#[cfg(target_os = "linux")]
pub use slow::{DirectionEvidence, SlowCause, SlowEnd, slow_end};
#[cfg(target_os = "linux")]
pub use stats::{PathStats, ProxyCounter, SideGauges};
