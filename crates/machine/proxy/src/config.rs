//! What a proxy is told to do: a TOML file, or a few flags that stand for one.
//!
//! [`ProxyConfig::parse`] reads and checks a file; its errors have file, line, column, key and what would be right. What only
//! this machine can tell (whether a congestion control is there, whether a port is free) is told at the start.

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

/// All of it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProxyConfig {
    /// Event loops; default: one a core that the process may use. Not changed by a reload.
    #[serde(default)]
    pub workers: Option<usize>,
    /// Whom to become once everything is bound, where root starts it. Not changed by a reload.
    #[serde(default)]
    pub user: Option<String>,
    /// Connections at once, of all clients together; more wait in the kernel's accept queue.
    #[serde(default = "most_connections")]
    pub max_connections: usize,
    /// How long connections may go on after the wish to end (SIGTERM).
    #[serde(default = "half_a_minute")]
    pub drain_timeout: Span,
    /// Where metrics and the status page are told; a loopback address. Not changed by a reload.
    #[serde(default)]
    pub status: Option<SocketAddr>,
    /// A line a connection in the log, when it has ended.
    #[serde(default)]
    pub log_connections: bool,
    /// The other half of this proxy, and what QUIC carries between the two.
    #[serde(default)]
    pub pair: Option<PairConfig>,
    /// Where connections come from, by name; at least one, unless there is a `pair`.
    #[serde(default)]
    pub listeners: BTreeMap<String, ListenerConfig>,
    /// Where they go to, by name: nowhere else.
    #[serde(default)]
    pub upstreams: BTreeMap<String, UpstreamConfig>,
}

/// One place where connections come from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListenerConfig {
    /// Addresses, or names of sockets that systemd hands over.
    pub listen: OneOrMore<ListenAt>,
    /// The upstream of whatever `sni` names none for; without it such connections are reset.
    #[serde(default)]
    pub upstream: Option<String>,
    /// Upstreams by the server name of a TLS ClientHello: `"www.example.com"`, `"*.example.com"`. The longest pattern wins.
    #[serde(default)]
    pub sni: BTreeMap<String, String>,
    /// Connections keep the address they were made to, as TPROXY hands them over (IP_TRANSPARENT, ip(7)); they go there where
    /// this list says that they may. In place of `upstream` and `sni`; needs CAP_NET_ADMIN.
    #[serde(default)]
    pub transparent: Vec<IpNetwork>,
    /// In transparent mode: upstream connections keep the client's address too.
    #[serde(default)]
    pub keep_client_address: bool,
    /// Networks of clients; default: all.
    #[serde(default)]
    pub allow: Vec<IpNetwork>,
    /// Connections at once of one address (of IPv6: of one /64); more are reset.
    #[serde(default)]
    pub max_connections_per_client: Option<u32>,
    /// Networks whose connections begin with a PROXY protocol header, of either version. It is required of them, and refused
    /// of others, who could pass themselves off as anybody.
    #[serde(default)]
    pub proxy_protocol_from: Vec<IpNetwork>,
    /// How long a header or a ClientHello may take.
    #[serde(default = "five_seconds")]
    pub hello_timeout: Span,
    /// A connection on which nothing moves for so long is reset.
    #[serde(default = "an_hour")]
    pub idle_timeout: Span,
    /// The same once one side has ended its stream.
    #[serde(default = "five_minutes")]
    pub half_close_timeout: Span,
    /// TCP towards the client.
    #[serde(default)]
    pub client: SideConfig,
    /// TCP towards the destination of a transparent connection; others have that of their upstream.
    #[serde(default)]
    pub server: SideConfig,
}

/// One place where connections go to.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UpstreamConfig {
    /// Addresses or names, with ports. A name stands for all its addresses.
    pub servers: OneOrMore<HostPort>,
    /// Who gets the next connection.
    #[serde(default)]
    pub balance: Balance,
    /// How long one server has to answer before the next is tried.
    #[serde(default = "five_seconds")]
    pub connect_timeout: Span,
    /// How many further servers are tried when one does not answer.
    #[serde(default = "two")]
    pub retries: u32,
    /// How often names are resolved anew.
    #[serde(default = "half_a_minute")]
    pub resolve_every: Span,
    /// How often each server is connected to, to know whether it is up; zero: only connections tell.
    #[serde(default)]
    pub check_every: Span,
    /// So many failures in a row and a server rests.
    #[serde(default = "three")]
    pub failures: u32,
    /// How long it rests at first; it doubles up to a minute.
    #[serde(default = "two_seconds")]
    pub rest: Span,
    /// The PROXY protocol header that servers are sent.
    #[serde(default)]
    pub proxy_protocol: Option<ProxyVersion>,
    /// TCP towards the servers.
    #[serde(default)]
    pub server: SideConfig,
}

/// TCP of one side of a connection. What is not set is the kernel's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SideConfig {
    /// Congestion control: the kernel's, or one of longfat's eBPF programs, which is then loaded for this process.
    #[serde(default)]
    pub cc: Option<String>,
    /// The most that one connection sends (SO_MAX_PACING_RATE, socket(7)).
    #[serde(default)]
    pub pace: Option<Rate>,
    /// SO_SNDBUF, as the kernel takes it: it doubles it, and stops tuning it.
    #[serde(default)]
    pub send_buffer: Option<Bytes>,
    /// SO_RCVBUF, likewise.
    #[serde(default)]
    pub receive_buffer: Option<Bytes>,
    /// TCP_NOTSENT_LOWAT (tcp(7)): how much may wait unsent in the kernel.
    #[serde(default)]
    pub notsent_lowat: Option<Bytes>,
    /// Time without a packet before a keep-alive probe; three probes a third of it apart unanswered end the connection.
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

fn most_connections() -> usize {
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
    /// One server, everything else as it is by default.
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

    /// When its servers are down.
    pub fn health(&self) -> HealthRule {
        HealthRule { failures: self.failures, rest: self.rest, longest_rest: Span::from_secs(60) }
    }
}

impl ListenerConfig {
    /// To one upstream, everything else as it is by default.
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
    /// One listener, called `main`, to one upstream of that name; what flags say.
    pub fn of(listener: ListenerConfig, upstream: UpstreamConfig) -> ProxyConfig {
        ProxyConfig {
            workers: None,
            user: None,
            max_connections: most_connections(),
            drain_timeout: half_a_minute(),
            status: None,
            log_connections: false,
            pair: None,
            listeners: BTreeMap::from([("main".into(), listener)]),
            upstreams: BTreeMap::from([("main".into(), upstream)]),
        }
    }

    /// One end of a pair and nothing else; what flags say.
    pub fn of_pair(pair: PairConfig) -> ProxyConfig {
        ProxyConfig {
            workers: None,
            user: None,
            max_connections: most_connections(),
            drain_timeout: half_a_minute(),
            status: None,
            log_connections: false,
            pair: Some(pair),
            listeners: BTreeMap::new(),
            upstreams: BTreeMap::new(),
        }
    }

    /// One listener on a free port of 127.0.0.1, to a server there; what tests begin with.
    pub fn on_loopback(server: SocketAddr) -> ProxyConfig {
        let listen = ListenAt::Address((Ipv4Addr::LOCALHOST, 0).into());
        ProxyConfig::of(ListenerConfig::of(listen, "main"), UpstreamConfig::of(HostPort::Address(server)))
    }
}
