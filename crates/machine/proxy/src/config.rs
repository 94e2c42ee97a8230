//! Configuration of a proxy: a TOML file, or a few flags that are equivalent to one.
//!
//! [`ProxyConfig::parse`] parses and checks a file; its errors contain file, line, column, key and what would
//! be right. Errors that depend on this machine (whether a congestion control exists, whether a port is free)
//! are reported at the start.

use crate::address::{HostPort, IpNetwork, ListenAt};
use crate::balance::Balance;
use crate::header::ProxyVersion;
use crate::health::HealthRule;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use units::{Bytes, Rate, Span};

mod check;
mod pair;
mod read;

pub use pair::{PairConfig, PairListenerConfig, PairUpstreamConfig, PeerConfig, PublicKey};
pub use read::ConfigError;

/// The complete configuration.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProxyConfig {
    /// Event loops; default: one per core that the process may use. A reload does not change it.
    #[serde(default)]
    pub workers: Option<usize>,
    /// User to switch to after binding, if started by root. A reload does not change it.
    #[serde(default)]
    pub user: Option<String>,
    /// Limit of concurrent connections; further ones wait in the kernel's accept queue.
    #[serde(default = "default_max_connections")]
    pub max_connections: usize,
    /// How long connections may continue after SIGTERM.
    #[serde(default = "half_a_minute")]
    pub drain_timeout: Span,
    /// Loopback address of metrics and the status page. A reload does not change it.
    #[serde(default)]
    pub status: Option<SocketAddr>,
    /// Whether to log each connection when it ends.
    #[serde(default)]
    pub log_connections: bool,
    /// The link to the other end of a pair, over QUIC.
    #[serde(default)]
    pub pair: Option<PairConfig>,
    /// Sources of connections, by name; at least one, unless there is a `pair`.
    #[serde(default)]
    pub listeners: BTreeMap<String, ListenerConfig>,
    /// Destinations of connections, by name; no others are reachable.
    #[serde(default)]
    pub upstreams: BTreeMap<String, UpstreamConfig>,
}

/// A source of connections.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListenerConfig {
    /// Addresses, or names of sockets that systemd passes.
    pub listen: OneOrMore<ListenAt>,
    /// Upstream for connections that match no pattern of `sni`; without it they are reset.
    #[serde(default)]
    pub upstream: Option<String>,
    /// Upstreams by the server name of a TLS ClientHello: `"www.example.com"`, `"*.example.com"`. The
    /// longest pattern wins.
    #[serde(default)]
    pub sni: BTreeMap<String, String>,
    /// Transparent mode (TPROXY, IP_TRANSPARENT, ip(7)): connections go to their original destination if it
    /// is in this list. Replaces `upstream` and `sni`; needs CAP_NET_ADMIN.
    #[serde(default)]
    pub transparent: Vec<IpNetwork>,
    /// In transparent mode: connections to the server also keep the client's address.
    #[serde(default)]
    pub keep_client_address: bool,
    /// Networks of accepted clients; default: all.
    #[serde(default)]
    pub allow: Vec<IpNetwork>,
    /// Limit of concurrent connections per client address (IPv6: per /64); further ones are reset.
    #[serde(default)]
    pub max_connections_per_client: Option<u32>,
    /// Networks whose connections must begin with a PROXY protocol header, of either version. Others must
    /// not send one, because they could claim any address.
    #[serde(default)]
    pub proxy_protocol_from: Vec<IpNetwork>,
    /// Timeout of a header or a ClientHello.
    #[serde(default = "five_seconds")]
    pub hello_timeout: Span,
    /// Idle time after which a connection is reset.
    #[serde(default = "an_hour")]
    pub idle_timeout: Span,
    /// Idle timeout once one side has ended its stream.
    #[serde(default = "five_minutes")]
    pub half_close_timeout: Span,
    /// TCP settings towards the client.
    #[serde(default)]
    pub client: SideConfig,
    /// TCP settings towards the destination of a transparent connection; other connections use their
    /// upstream's.
    #[serde(default)]
    pub server: SideConfig,
}

/// A destination of connections.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamConfig {
    /// Addresses or names, with ports. A name stands for all its addresses.
    pub servers: OneOrMore<HostPort>,
    /// Load balancing between the servers.
    #[serde(default)]
    pub balance: Balance,
    /// Timeout of a connection attempt before the next server is tried.
    #[serde(default = "five_seconds")]
    pub connect_timeout: Span,
    /// Number of further servers that are tried after a failure.
    #[serde(default = "two")]
    pub retries: u32,
    /// Interval between name resolutions.
    #[serde(default = "half_a_minute")]
    pub resolve_every: Span,
    /// Interval between health checks, which only connect; zero: no checks.
    #[serde(default)]
    pub check_every: Span,
    /// Consecutive failures after which a server is suspended.
    #[serde(default = "three")]
    pub failures: u32,
    /// Length of the first suspension; it doubles up to a minute.
    #[serde(default = "two_seconds")]
    pub rest: Span,
    /// Version of the PROXY protocol header sent to servers; default: none.
    #[serde(default)]
    pub proxy_protocol: Option<ProxyVersion>,
    /// TCP settings towards the servers.
    #[serde(default)]
    pub server: SideConfig,
}

/// TCP settings of one side of a connection. Unset ones keep the kernel's default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SideConfig {
    /// Congestion control: one of the kernel, or one of longfat's eBPF programs, which is then loaded for
    /// this process.
    #[serde(default)]
    pub cc: Option<String>,
    /// Maximum rate of one connection (SO_MAX_PACING_RATE, socket(7)).
    #[serde(default)]
    pub pace: Option<Rate>,
    /// SO_SNDBUF: the kernel doubles it and stops tuning the buffer.
    #[serde(default)]
    pub send_buffer: Option<Bytes>,
    /// SO_RCVBUF: the kernel doubles it and stops tuning the buffer.
    #[serde(default)]
    pub receive_buffer: Option<Bytes>,
    /// TCP_NOTSENT_LOWAT (tcp(7)): limit of unsent bytes in the kernel.
    #[serde(default)]
    pub notsent_lowat: Option<Bytes>,
    /// Idle time before a keep-alive probe; three unanswered probes at intervals of a third of it end the
    /// connection.
    #[serde(default)]
    pub keep_alive: Option<Span>,
}

/// `"x"`, or `["x", "y"]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneOrMore<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        use serde::de::{self, value};
        struct ListVisitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for ListVisitor<T> {
            type Value = Vec<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a text in quotes, or a list of them")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<T>, E> {
                T::deserialize(value::StrDeserializer::new(text)).map(|one| vec![one])
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(all)
            }
        }
        d.deserialize_any(ListVisitor(std::marker::PhantomData)).map(OneOrMore)
    }
}

fn default_max_connections() -> usize {
    100_000
}
fn half_a_minute() -> Span {
    Span::from_secs(30)
}
fn five_seconds() -> Span {
    Span::from_secs(5)
}
fn two_seconds() -> Span {
    Span::from_secs(2)
}
fn five_minutes() -> Span {
    Span::from_secs(300)
}
fn an_hour() -> Span {
    Span::from_secs(3600)
}
fn two() -> u32 {
    2
}
fn three() -> u32 {
    3
}

impl UpstreamConfig {
    /// An upstream with one server and default settings.
    pub fn of(server: HostPort) -> UpstreamConfig {
        UpstreamConfig {
            servers: OneOrMore(vec![server]),
            balance: Balance::default(),
            connect_timeout: five_seconds(),
            retries: two(),
            resolve_every: half_a_minute(),
            check_every: Span::ZERO,
            failures: three(),
            rest: two_seconds(),
            proxy_protocol: None,
            server: SideConfig::default(),
        }
    }

    /// Returns the rule that decides when its servers are down.
    pub fn health(&self) -> HealthRule {
        HealthRule { failures: self.failures, rest: self.rest, longest_rest: Span::from_secs(60) }
    }
}

impl ListenerConfig {
    /// A listener for one upstream with default settings.
    pub fn of(listen: ListenAt, upstream: &str) -> ListenerConfig {
        ListenerConfig {
            listen: OneOrMore(vec![listen]),
            upstream: Some(upstream.into()),
            sni: BTreeMap::new(),
            transparent: Vec::new(),
            keep_client_address: false,
            allow: Vec::new(),
            max_connections_per_client: None,
            proxy_protocol_from: Vec::new(),
            hello_timeout: five_seconds(),
            idle_timeout: an_hour(),
            half_close_timeout: five_minutes(),
            client: SideConfig::default(),
            server: SideConfig::default(),
        }
    }
}

impl ProxyConfig {
    /// A configuration from flags: one listener and one upstream, both named `main`.
    pub fn of(listener: ListenerConfig, upstream: UpstreamConfig) -> ProxyConfig {
        ProxyConfig {
            workers: None,
            user: None,
            max_connections: default_max_connections(),
            drain_timeout: half_a_minute(),
            status: None,
            log_connections: false,
            pair: None,
            listeners: BTreeMap::from([("main".into(), listener)]),
            upstreams: BTreeMap::from([("main".into(), upstream)]),
        }
    }

    /// A configuration from flags: one end of a pair and nothing else.
    pub fn of_pair(pair: PairConfig) -> ProxyConfig {
        ProxyConfig {
            workers: None,
            user: None,
            max_connections: default_max_connections(),
            drain_timeout: half_a_minute(),
            status: None,
            log_connections: false,
            pair: Some(pair),
            listeners: BTreeMap::new(),
            upstreams: BTreeMap::new(),
        }
    }

    /// A configuration for tests: one listener on a free port of 127.0.0.1, to a server there.
    pub fn on_loopback(server: SocketAddr) -> ProxyConfig {
        let listen = ListenAt::Address((Ipv4Addr::LOCALHOST, 0).into());
        ProxyConfig::of(ListenerConfig::of(listen, "main"), UpstreamConfig::of(HostPort::Address(server)))
    }
}
