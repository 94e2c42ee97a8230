//! Another configuration for an end that runs.
//!
//! 1. [`PairChange::prepare`], on whatever thread: addresses are bound and TLS is made. Where that fails nothing has changed.
//! 2. `PairLoop::change`, on the loop's: listeners, upstreams and peers are those of the new one. Connections go on as they
//!    began; only a peer that is taken out, or has another key, loses its link.

use crate::entrance::{Entrance, EntranceSocket, Listening};
use crate::error::PairStartError;
use crate::keys::PrivateKey;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use proxy::{PairConfig, PairListenerConfig};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

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
    /// The configuration.
    pub config: PairConfig,
    /// Addresses that were not bound before.
    pub opened: Vec<Listening>,
    /// TLS of who is called, where it changes.
    pub called: Option<Arc<QuicServerConfig>>,
    /// TLS of calls, by peer, where it changes.
    pub calling: BTreeMap<String, Arc<QuicClientConfig>>,
}

/// The listener that a configuration has for an address; of one that the system chooses, the listener of that name.
pub fn owner<'a>(
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
