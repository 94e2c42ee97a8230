//! Another configuration for an end that runs.
//!
//! 1. [`PairChange::prepare`], on whatever thread: addresses are bound and TLS is made. Where that fails nothing has changed.
//! 2. [`PairLoop::change`], on the loop's: listeners, upstreams and peers are those of the new one. Connections go on as they
//!    began; only a peer that is taken out, or has another key, loses its link.

use crate::entrance::{Entrance, EntranceSocket, Listening};
use crate::event_loop::PairLoop;
use crate::keys::PrivateKey;
use crate::run::PairStartError;
use noq_proto::VarInt;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use proxy::{PairConfig, PairListenerConfig};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

/// An address that is listened on.
#[derive(Clone, Debug)]
pub struct BoundEntrance {
    /// As configured.
    pub wanted: SocketAddr,
    /// For datagrams.
    pub is_udp: bool,
    /// The listener's name.
    pub name: String,
    /// As bound.
    pub address: SocketAddr,
}

/// What is ready to take the place of the configuration that runs.
pub struct PairChange {
    config: PairConfig,
    opened: Vec<Listening>,
    called: Option<Arc<QuicServerConfig>>,
    calling: BTreeMap<String, Arc<QuicClientConfig>>,
}

/// The listener that a configuration has for an address; of one that the system chooses, the listener of that name.
fn owner<'a>(
    config: &'a PairConfig,
    wanted: SocketAddr,
    is_udp: bool,
    name: &str,
) -> Option<(&'a String, &'a PairListenerConfig)> {
    config.listeners.iter().find(|(known, listener)| {
        let is_same = wanted.port() != 0 || *known == name;
        is_same && listener.udp == is_udp && listener.listen.0.contains(&wanted)
    })
}

/// Binds the addresses of a configuration that are not bound yet.
///
/// # Errors
/// One cannot be had.
pub fn open_entrances(
    config: &PairConfig,
    bound: &[BoundEntrance],
) -> Result<Vec<Listening>, PairStartError> {
    let mut opened = Vec::new();
    for (name, listener) in &config.listeners {
        let entrance = Arc::new(Entrance::new(name, listener));
        for wanted in &listener.listen.0 {
            let is_bound = |b: &BoundEntrance| {
                let owner = owner(config, b.wanted, b.is_udp, &b.name);
                b.wanted == *wanted && b.is_udp == listener.udp && owner.is_some_and(|(n, _)| n == name)
            };
            if bound.iter().any(is_bound) {
                continue;
            }
            let socket = EntranceSocket::bind(*wanted, listener.udp)
                .map_err(|error| PairStartError::Listen { at: wanted.to_string(), error })?;
            opened.push(Listening { wanted: *wanted, entrance: entrance.clone(), socket });
        }
    }
    Ok(opened)
}

/// TLS of who is called by these peers, where peers call.
pub fn called_by(
    config: &PairConfig,
    key: &PrivateKey,
) -> Result<Option<Arc<QuicServerConfig>>, PairStartError> {
    let keys = config.peers.values().map(|peer| peer.key).collect();
    let early = config.peers.values().any(|peer| peer.early_data);
    let tls = config.listen.map(|_| key.called(keys, early)).transpose();
    Ok(tls.map_err(|e| PairStartError::Other(e.to_string()))?.map(Arc::new))
}

impl PairChange {
    /// Of a configuration, in place of `before`, of which these addresses are bound.
    ///
    /// # Errors
    /// Something of it cannot be had, or does not change without a restart.
    pub fn prepare(
        config: &PairConfig,
        before: &PairConfig,
        bound: &[BoundEntrance],
        key: &PrivateKey,
    ) -> Result<PairChange, PairStartError> {
        if config.key != before.key || config.listen != before.listen {
            return Err(PairStartError::Other("`key` and `listen` change with a restart only".into()));
        }
        let secrets = |config: &PairConfig| -> Vec<_> {
            config.peers.values().map(|peer| (peer.key, peer.early_data)).collect()
        };
        // Made anew only where it must be: with it goes what early data resumes by.
        let called = if secrets(config) == secrets(before) { None } else { called_by(config, key)? };
        let mut calling = BTreeMap::new();
        for (name, peer) in config.peers.iter().filter(|(_, peer)| peer.address.is_some()) {
            let was = before.peers.get(name).filter(|was| was.address.is_some());
            if was.is_none_or(|was| (was.key, was.early_data) != (peer.key, peer.early_data)) {
                let tls = key.calling(peer.key, peer.early_data);
                let tls = tls.map_err(|e| PairStartError::Other(e.to_string()))?;
                calling.insert(name.clone(), Arc::new(tls));
            }
        }
        let opened = open_entrances(config, bound)?;
        Ok(PairChange { config: config.clone(), opened, called, calling })
    }

    /// The addresses that are bound after it.
    ///
    /// # Errors
    /// The system's.
    pub fn bound_after(&self, before: &[BoundEntrance]) -> std::io::Result<Vec<BoundEntrance>> {
        let kept = before.iter().filter_map(|bound| {
            let (name, _) = owner(&self.config, bound.wanted, bound.is_udp, &bound.name)?;
            Some(BoundEntrance { name: name.clone(), ..bound.clone() })
        });
        kept.map(Ok).chain(self.opened.iter().map(Listening::bound)).collect()
    }

    /// The configuration.
    pub fn config(&self) -> &PairConfig {
        &self.config
    }
}

impl Listening {
    /// As it is bound.
    ///
    /// # Errors
    /// The system's.
    pub fn bound(&self) -> std::io::Result<BoundEntrance> {
        Ok(BoundEntrance {
            wanted: self.wanted,
            is_udp: self.socket.is_udp(),
            name: self.entrance.name.clone(),
            address: self.socket.address()?,
        })
    }
}

impl PairLoop {
    /// Goes on by another configuration.
    pub(crate) fn change(&mut self, change: PairChange) {
        let PairChange { config, opened, called, calling } = change;
        self.change_entrances(&config, opened);
        self.change_peers(&config);
        self.dialer.change(&config, calling, Instant::now());
        called.into_iter().for_each(|tls| self.be_called_by(tls));
        self.config = config;
        let bound = self.listening.values().filter_map(|listening| listening.bound().ok());
        let facts: Vec<_> = bound.map(|bound| (bound.name, bound.address.to_string())).collect();
        let facts: Vec<_> = facts.iter().map(|(name, at)| (name.as_str(), at.clone())).collect();
        self.tell("pair-reloaded", &facts);
    }

    /// Listeners that are wanted still keep their sockets and what waits in them; of the others, whoever waits is still taken.
    fn change_entrances(&mut self, config: &PairConfig, opened: Vec<Listening>) {
        let known = config.listeners.iter().map(|(name, l)| (name, Arc::new(Entrance::new(name, l))));
        let known: BTreeMap<&String, Arc<Entrance>> = known.collect();
        for token in self.listening.keys().copied().collect::<Vec<_>>() {
            let Some(listening) = self.listening.get_mut(&token) else { continue };
            let is_udp = listening.socket.is_udp();
            match owner(config, listening.wanted, is_udp, &listening.entrance.name) {
                Some((name, _)) => listening.entrance = known[name].clone(),
                None => {
                    self.accept_some(token, usize::MAX);
                    if let Some(gone) = self.listening.remove(&token) {
                        self.queue.forget(gone.socket.as_fd());
                    }
                }
            }
        }
        for listening in opened {
            let at = listening.wanted.to_string();
            if let Err(e) = self.listen(listening) {
                self.tell("pair-failed", &[("listen", at), ("why", e.to_string())]);
            }
        }
    }

    /// Links go on, with the control that their peer has now; those to nobody that is known any more end.
    fn change_peers(&mut self, config: &PairConfig) {
        let now = Instant::now();
        let links = self.links.iter().filter_map(|(handle, link)| Some((handle, link.peer.clone()?)));
        for (handle, name) in links.collect::<Vec<_>>() {
            let was = self.config.peers.get(&name);
            let is = config.peers.get(&name).filter(|is| was.is_some_and(|was| was.key == is.key));
            let Some(link) = self.links.get_mut(handle) else { continue };
            match (was, is) {
                (Some(was), Some(is)) if (&was.cc, was.pace) != (&is.cc, is.pace) => {
                    link.choice.change(&is.cc, is.pace.map(|rate| rate.as_bps() / 8));
                }
                (_, Some(_)) => {}
                (_, None) => {
                    link.conn.close(now, VarInt::from_u32(0), bytes::Bytes::new());
                    self.lose(handle, "no peer any more");
                }
            }
        }
    }
}
