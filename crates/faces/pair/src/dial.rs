//! Peers that this end calls, and calls again when they are lost: at once, then after 0.25 s, 0.5 s, … 16 s.

use crate::event_loop::{PairLoop, transport};
use crate::keys::PrivateKey;
use crate::link::PairLink;
use crate::resolve::NameAsker;
use noq_proto::crypto::rustls::QuicClientConfig;
use noq_proto::{ClientConfig, ConnectionHandle, rustls};
use proxy::{HostPort, PairConfig};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first pause between two calls, doubled up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LAST_PAUSE: Duration = Duration::from_secs(16);

/// A peer that is called.
struct Called {
    address: HostPort,
    crypto: Arc<QuicClientConfig>,
    link: Option<ConnectionHandle>,
    at: Option<Instant>,
    pause: Duration,
    tried: usize,
}

/// All peers that are called.
pub struct Dialer(BTreeMap<String, Called>);

impl Dialer {
    /// Those with an address.
    pub fn new(config: &PairConfig, key: &PrivateKey, now: Instant) -> Result<Dialer, rustls::Error> {
        let mut all = BTreeMap::new();
        for (name, peer) in &config.peers {
            let Some(address) = peer.address.clone() else { continue };
            let crypto = Arc::new(key.calling(peer.key, peer.early_data)?);
            all.insert(name.clone(), Called::new(address, crypto, now));
        }
        Ok(Dialer(all))
    }

    /// Those of another configuration; `calling` has the TLS of whom it is new for. Links go on, and are called anew by it.
    pub fn change(
        &mut self,
        config: &PairConfig,
        mut calling: BTreeMap<String, Arc<QuicClientConfig>>,
        now: Instant,
    ) {
        self.0.retain(|name, _| config.peers.get(name).is_some_and(|peer| peer.address.is_some()));
        for (name, peer) in &config.peers {
            let Some(address) = peer.address.clone() else { continue };
            let crypto = calling.remove(name);
            if let Some(called) = self.0.get_mut(name) {
                if called.address != address && called.at.is_some() {
                    (called.at, called.pause) = (Some(now), Duration::ZERO);
                }
                called.address = address;
                called.crypto = crypto.unwrap_or_else(|| called.crypto.clone());
            } else if let Some(crypto) = crypto {
                self.0.insert(name.clone(), Called::new(address, crypto, now));
            }
        }
    }

    /// When the next call is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.values().filter_map(|called| called.at).min()
    }

    /// The peer answers: its next loss is answered at once.
    pub fn is_up(&mut self, handle: ConnectionHandle) {
        for called in self.0.values_mut().filter(|called| called.link == Some(handle)) {
            called.pause = Duration::ZERO;
        }
    }

    /// The link is gone: it is called again.
    pub fn is_lost(&mut self, handle: ConnectionHandle, now: Instant) {
        for called in self.0.values_mut().filter(|called| called.link == Some(handle)) {
            called.link = None;
            called.again(now);
        }
    }
}

impl Called {
    /// Called at once.
    fn new(address: HostPort, crypto: Arc<QuicClientConfig>, now: Instant) -> Called {
        Called { address, crypto, link: None, at: Some(now), pause: Duration::ZERO, tried: 0 }
    }

    fn again(&mut self, now: Instant) {
        self.at = Some(now + self.pause);
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LAST_PAUSE);
    }
}

impl PairLoop {
    /// Calls whoever is due.
    pub(crate) fn dial(&mut self, now: Instant) {
        let is_due = |(_, called): &(&String, &Called)| called.at.is_some_and(|at| at <= now);
        let due: Vec<String> = self.dialer.0.iter().filter(is_due).map(|(name, _)| name.clone()).collect();
        for name in due {
            let Some(called) = self.dialer.0.get_mut(&name) else { continue };
            called.at = None;
            let asker = NameAsker::Peer(name.clone());
            let found = self.resolver.ask(asker, std::slice::from_ref(&called.address));
            if let Some(found) = found {
                self.call(&name, &found, now);
            }
        }
    }

    /// Calls a peer at one of its addresses, each in its turn.
    pub(crate) fn call(&mut self, name: &str, found: &[SocketAddr], now: Instant) {
        let seed = self.number();
        let (Some(called), Some(peer)) = (self.dialer.0.get_mut(name), self.config.peers.get(name)) else {
            return;
        };
        called.tried += 1;
        let Some(address) = found.get((called.tried - 1) % found.len().max(1)) else {
            called.again(now);
            let facts = [("peer", name.to_string()), ("why", format!("{} has no address", called.address))];
            self.tell("pair-unreachable", &facts);
            return;
        };
        let (transport, choice) = transport(peer, seed, now);
        let mut config = ClientConfig::new(called.crypto.clone());
        config.transport_config(Arc::new(transport));
        // No name is looked at: the key is what counts.
        match self.endpoint.connect(now, config, *address, "pair.invalid") {
            Ok((handle, conn)) => {
                called.link = Some(handle);
                let mut link = PairLink::new(conn, Some(name.into()), &choice);
                link.is_up = link.conn.has_0rtt();
                self.links.insert(handle, link);
            }
            Err(e) => {
                called.again(now);
                self.tell("pair-unreachable", &[("peer", name.to_string()), ("why", e.to_string())]);
            }
        }
    }
}
