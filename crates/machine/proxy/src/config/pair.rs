//! What `[pair]` says: this end's key, the peers that it knows by theirs, and what is carried between them.

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

/// One end of a pair: it calls peers, is called by them, or both.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairConfig {
    /// The file of this end's private key (PKCS#8, PEM, Ed25519).
    pub key: PathBuf,
    /// The UDP address at which peers call; default: none do.
    #[serde(default)]
    pub listen: Option<SocketAddr>,
    /// Whom this end talks to, by name; nobody else gets in.
    pub peers: BTreeMap<String, PeerConfig>,
    /// Where connections and datagrams come from here, by name.
    #[serde(default)]
    pub listeners: BTreeMap<String, PairListenerConfig>,
    /// Where those of peers go to from here, by name: nowhere else.
    #[serde(default)]
    pub upstreams: BTreeMap<String, PairUpstreamConfig>,
}

/// A peer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerConfig {
    /// Its public key.
    pub key: PublicKey,
    /// Where it is called; default: it calls.
    #[serde(default)]
    pub address: Option<HostPort>,
    /// Congestion control of what is sent to it: `contract` (default) or one of the simulator's.
    #[serde(default = "contract")]
    pub cc: String,
    /// The most that is sent to it.
    #[serde(default)]
    pub pace: Option<Rate>,
    /// Sends the first bytes of a resumed connection before the peer has answered. They can be replayed (RFC 9001 section 9.2).
    #[serde(default)]
    pub early_data: bool,
    /// A peer of which nothing is heard for so long is gone.
    #[serde(default = "half_a_minute")]
    pub idle_timeout: Span,
}

/// One place where connections, or datagrams, come from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairListenerConfig {
    /// Addresses.
    pub listen: OneOrMore<SocketAddr>,
    /// The peer that carries them on.
    pub peer: String,
    /// The name that the peer has for where whatever `sni` names none for goes; without it such connections are reset.
    #[serde(default)]
    pub upstream: Option<String>,
    /// The peer's names by the server name of a TLS ClientHello: `"www.example.com"`, `"*.example.com"`. The longest pattern wins.
    #[serde(default)]
    pub sni: BTreeMap<String, String>,
    /// Whether it is datagrams (UDP) that come here.
    #[serde(default)]
    pub udp: bool,
    /// Networks of clients; default: all.
    #[serde(default)]
    pub allow: Vec<IpNetwork>,
    /// Connections at once of one address (of IPv6: of one /64); more are reset.
    #[serde(default)]
    pub max_connections_per_client: Option<u32>,
    /// Networks whose connections begin with a PROXY protocol header, of either version; required of them, refused of others.
    #[serde(default)]
    pub proxy_protocol_from: Vec<IpNetwork>,
    /// How long a header or a ClientHello may take.
    #[serde(default = "five_seconds")]
    pub hello_timeout: Span,
    /// A connection, or a client's datagrams, on which nothing moves for so long is ended.
    #[serde(default = "an_hour")]
    pub idle_timeout: Span,
    /// The same once one side has ended its stream.
    #[serde(default = "five_minutes")]
    pub half_close_timeout: Span,
}

/// One place where what peers bring goes to.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairUpstreamConfig {
    /// Addresses or names, with ports; tried in turn.
    pub servers: OneOrMore<HostPort>,
    /// The peers that may; default: all.
    #[serde(default)]
    pub peers: Vec<String>,
    /// Connections to its servers begin with a PROXY protocol header of this version, which says whose they are.
    #[serde(default)]
    pub proxy_protocol: Option<ProxyVersion>,
    /// How long a server has to answer before the next is tried.
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
    /// The control that learns a policer's contract.
    pub const CONTRACT: &str = "contract";

    /// One peer and nothing carried yet.
    pub fn of(key: PathBuf, peer: PeerConfig) -> PairConfig {
        let peers = BTreeMap::from([("main".into(), peer)]);
        PairConfig { key, listen: None, peers, listeners: BTreeMap::new(), upstreams: BTreeMap::new() }
    }
}

impl PeerConfig {
    /// A peer of this key, everything else as it is by default.
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
    /// From one address to what the peer `main` has under that name.
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
    /// These servers, for all peers.
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
                "`{text}` is no public key: 64 hexadecimal digits are wanted, as `longfat-pair --make-key FILE` prints them"
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
