//! A split-TCP proxy: it ends a connection near its user and carries it on, each side with its own congestion control,
//! pacing and buffers.
//!
//! Pure, and tested alone: the configuration ([`ProxyConfig`]), the PROXY protocol ([`read_header`]), the name a TLS client
//! asks for ([`server_name`]), whom a connection goes to ([`Balance`]), whether a server is up ([`ServerHealth`]).
//!
//! On Linux: [`Proxy`]. A pinned event loop a core takes connections from sockets of its own (SO_REUSEPORT); what is small is
//! copied, what is large is spliced through a pipe borrowed from a pool (`lane.rs`).

mod address;
mod balance;
mod board;
mod config;
mod first;
mod header;
mod health;
mod hello;
mod places;

pub use address::{HostPort, IpNetwork, ListenAt, lets_in, plain};
pub use balance::{Balance, ServerChoice};
pub use board::{PairBoard, PairLinkView, StatusPage, StatusTable};
pub use config::{
    ConfigError, ListenerConfig, OneOrMore, PairConfig, PairListenerConfig, PairUpstreamConfig, PeerConfig,
    ProxyConfig, PublicKey, SideConfig, UpstreamConfig,
};
pub use first::{FirstStep, NameRoutes, first_step};
pub use header::{BadHeader, HeaderRead, LONGEST_HEADER, ProxyVersion, read_header};
pub use health::{HealthNews, HealthRule, ServerHealth};
pub use hello::{HelloRead, LONGEST_HELLO, fits, sample_hello, server_name};

#[cfg(target_os = "linux")]
mod assemble;
#[cfg(target_os = "linux")]
mod chores;
#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod lane;
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

pub use places::{ClientPlace, ClientPlaces};

#[cfg(target_os = "linux")]
pub use error::ProxyError;
#[cfg(target_os = "linux")]
pub use proxy::{Proxy, become_configured};
#[cfg(target_os = "linux")]
pub use service::{ActivatedSockets, ProxyService, ServiceLog, serve};
#[cfg(target_os = "linux")]
pub use shared::LogSink;
#[cfg(target_os = "linux")]
pub use slow::{DirectionEvidence, SlowCause, SlowEnd, slow_end};
#[cfg(target_os = "linux")]
pub use stats::{PathStats, ProxyCounter, SideGauges};
