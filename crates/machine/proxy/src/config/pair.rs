//! The `[pair]` section: this end's key, its peers and their keys, and the traffic between them.

use super::{OneOrMore, an_hour, five_minutes, five_seconds};
use crate::address::{HostPort, IpNetwork};
use crate::header::ProxyVersion;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use units::{Rate, Span};

/// One end of a pair: it connects to peers, accepts their connections, or both.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairConfig {
    /// The file of this end's private key (PKCS#8, PEM, Ed25519).
    pub key: PathBuf,
    /// UDP address on which peers connect; default: none.
    #[serde(default)]
    pub listen: Option<SocketAddr>,
    /// The peers of this end, by name; no others are accepted.
    pub peers: BTreeMap<String, PeerConfig>,
    /// Sources of connections and datagrams on this end, by name.
    #[serde(default)]
    pub listeners: BTreeMap<String, PairListenerConfig>,
    /// Destinations for peers' connections and datagrams on this end, by name; no others are reachable.
    #[serde(default)]
    pub upstreams: BTreeMap<String, PairUpstreamConfig>,
}

/// A peer that may connect.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerConfig {
    /// The peer's public key.
    pub key: PublicKey,
    /// Address of the peer; default: the peer connects to this end.
    #[serde(default)]
    pub address: Option<HostPort>,
    /// Congestion control of traffic to the peer: `contract` (default) or one of the simulator's.
    #[serde(default = "contract")]
    pub cc: String,
    /// Maximum rate of traffic to the peer.
    #[serde(default)]
    pub pace: Option<Rate>,
    /// Sends the first bytes of a resumed connection before the peer has answered. An attacker can replay
    /// them (RFC 9001 section 9.2).
    #[serde(default)]
    pub early_data: bool,
    /// Time without packets from the peer after which the link is down.
    #[serde(default = "half_a_minute")]
    pub idle_timeout: Span,
}

/// A source of connections or datagrams.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairListenerConfig {
    /// Addresses to listen on.
    pub listen: OneOrMore<SocketAddr>,
    /// The peer that forwards them.
    pub peer: String,
    /// The peer's upstream for connections that match no pattern of `sni`; without it they are reset.
    #[serde(default)]
    pub upstream: Option<String>,
    /// The peer's upstreams by the server name of a TLS ClientHello: `"www.example.com"`, `"*.example.com"`.
    /// The longest pattern wins.
    #[serde(default)]
    pub sni: BTreeMap<String, String>,
    /// Whether it listens for UDP datagrams.
    #[serde(default)]
    pub udp: bool,
    /// Networks of accepted clients; default: all.
    #[serde(default)]
    pub allow: Vec<IpNetwork>,
    /// Limit of concurrent connections per client address (IPv6: per /64); further ones are reset.
    #[serde(default)]
    pub max_connections_per_client: Option<u32>,
    /// Networks whose connections must begin with a PROXY protocol header, of either version; others must
    /// not send one.
    #[serde(default)]
    pub proxy_protocol_from: Vec<IpNetwork>,
    /// Timeout of a header or a ClientHello.
    #[serde(default = "five_seconds")]
    pub hello_timeout: Span,
    /// Idle time after which a connection, or a client's flow of datagrams, is closed.
    #[serde(default = "an_hour")]
    pub idle_timeout: Span,
    /// Idle timeout once one side has ended its stream.
    #[serde(default = "five_minutes")]
    pub half_close_timeout: Span,
}

/// A destination for peers' traffic.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairUpstreamConfig {
    /// Addresses or names, with ports; tried in order.
    pub servers: OneOrMore<HostPort>,
    /// Peers that may use it; default: all.
    #[serde(default)]
    pub peers: Vec<String>,
    /// Version of the PROXY protocol header that tells servers the client's address; default: none.
    #[serde(default)]
    pub proxy_protocol: Option<ProxyVersion>,
    /// Timeout of a connection attempt before the next server is tried.
    #[serde(default = "five_seconds")]
    pub connect_timeout: Span,
}

fn contract() -> String {
    PairConfig::CONTRACT.into()
}

fn half_a_minute() -> Span {
    Span::from_secs(30)
}

impl PairConfig {
    /// The congestion control that learns a policer's contract.
    pub const CONTRACT: &str = "contract";

    /// A pair with one peer and no listeners or upstreams.
    pub fn of(key: PathBuf, peer: PeerConfig) -> PairConfig {
        let peers = BTreeMap::from([("main".into(), peer)]);
        PairConfig { key, listen: None, peers, listeners: BTreeMap::new(), upstreams: BTreeMap::new() }
    }
}

impl PeerConfig {
    /// A peer with this key and default settings.
    pub fn of(key: PublicKey, address: Option<HostPort>) -> PeerConfig {
        PeerConfig {
            key,
            address,
            cc: contract(),
            pace: None,
            early_data: false,
            idle_timeout: half_a_minute(),
        }
    }
}

impl PairListenerConfig {
    /// A listener on one address for the upstream `main` of the peer `main`.
    pub fn of(listen: SocketAddr) -> PairListenerConfig {
        PairListenerConfig {
            listen: OneOrMore(vec![listen]),
            peer: "main".into(),
            upstream: Some("main".into()),
            sni: BTreeMap::new(),
            udp: false,
            allow: Vec::new(),
            max_connections_per_client: None,
            proxy_protocol_from: Vec::new(),
            hello_timeout: five_seconds(),
            idle_timeout: an_hour(),
            half_close_timeout: five_minutes(),
        }
    }
}

impl PairUpstreamConfig {
    /// An upstream with these servers, for all peers.
    pub fn of(servers: Vec<HostPort>) -> PairUpstreamConfig {
        PairUpstreamConfig {
            servers: OneOrMore(servers),
            peers: Vec::new(),
            proxy_protocol: None,
            connect_timeout: five_seconds(),
        }
    }
}

/// An Ed25519 public key (RFC 8032), as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PublicKey(pub [u8; 32]);

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = String;
    fn from_str(text: &str) -> Result<PublicKey, String> {
        let wrong = || {
            format!(
                "`{text}` is not a public key: expected 64 hexadecimal digits, as printed by `longfat-pair --make-key FILE`"
            )
        };
        let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect();
        let digits = digits.filter(|d| d.len() == 64).ok_or_else(wrong)?;
        let mut key = [0; 32];
        for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        Ok(PublicKey(key))
    }
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(D::Error::custom)
    }
}
