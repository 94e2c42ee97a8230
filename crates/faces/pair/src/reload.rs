//! Another configuration for a running end.
//!
//! 1. [`PairChange::prepare`], on any thread: binds addresses and prepares TLS. If that fails, nothing has
//!    changed.
//! 2. `PairLoop::change`, on the thread of the loop: takes the new listeners, upstreams and peers.
//!    Connections stay as they started; only a peer that was removed or has another key loses its link.

use crate::entrance::{Entrance, EntranceSocket, Listening};
use crate::error::PairStartError;
use crate::keys::PrivateKey;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use proxy::{PairConfig, PairListenerConfig};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// An address on which a listener listens.
#[derive(Clone, Debug)]
pub struct BoundEntrance {
    /// The address in the configuration.
    pub configured: SocketAddr,
    /// Whether it is for datagrams.
    pub is_udp: bool,
    pub name: String,
    pub address: SocketAddr,
}

/// A prepared change of the configuration.
pub struct PairChange {
    pub config: PairConfig,
    /// Addresses that were not bound before.
    pub opened: Vec<Listening>,
    /// TLS for connections from peers, if it changes.
    pub server_tls: Option<Arc<QuicServerConfig>>,
    /// TLS for connections to peers, by peer, if it changes.
    pub client_tls: BTreeMap<String, Arc<QuicClientConfig>>,
}

/// The listener for an address in a configuration; if the system chooses the port, the listener with that
/// name.
pub fn owner<'a>(
    config: &'a PairConfig,
    configured: SocketAddr,
    is_udp: bool,
    name: &str,
) -> Option<(&'a String, &'a PairListenerConfig)> {
    config.listeners.iter().find(|(known, listener)| {
        let is_same = configured.port() != 0 || *known == name;
        is_same && listener.udp == is_udp && listener.listen.0.contains(&configured)
    })
}

/// Binds the addresses in a configuration that are not bound yet.
///
/// # Errors
/// Fails if an address cannot be bound.
pub fn open_entrances(
    config: &PairConfig,
    bound: &[BoundEntrance],
) -> Result<Vec<Listening>, PairStartError> {
    let mut opened = Vec::new();
    for (name, listener) in &config.listeners {
        let entrance = Arc::new(Entrance::new(name, listener));
        for configured in &listener.listen.0 {
            let is_bound = |b: &BoundEntrance| {
                let owner = owner(config, b.configured, b.is_udp, &b.name);
                b.configured == *configured
                    && b.is_udp == listener.udp
                    && owner.is_some_and(|(n, _)| n == name)
            };
            if bound.iter().any(is_bound) {
                continue;
            }
            let socket = EntranceSocket::bind(*configured, listener.udp)
                .map_err(|error| PairStartError::Listen { at: configured.to_string(), error })?;
            opened.push(Listening { configured: *configured, entrance: entrance.clone(), socket });
        }
    }
    Ok(opened)
}

/// TLS for connections from peers, if there are any.
pub fn server_tls(
    config: &PairConfig,
    key: &PrivateKey,
) -> Result<Option<Arc<QuicServerConfig>>, PairStartError> {
    let keys = config.peers.values().map(|peer| peer.key).collect();
    let early = config.peers.values().any(|peer| peer.early_data);
    let tls = config.listen.map(|_| key.server_tls(keys, early)).transpose();
    Ok(tls.map_err(|e| PairStartError::Other(e.to_string()))?.map(Arc::new))
}

impl PairChange {
    /// Prepares the change from `before`, with these bound addresses, to another configuration.
    ///
    /// # Errors
    /// Fails if an address cannot be bound, TLS cannot be set up, or the change needs a restart.
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
        // Only made when necessary, as it invalidates the tickets for early data.
        let server_tls = if secrets(config) == secrets(before) { None } else { server_tls(config, key)? };
        let mut client_tls = BTreeMap::new();
        for (name, peer) in config.peers.iter().filter(|(_, peer)| peer.address.is_some()) {
            let was = before.peers.get(name).filter(|was| was.address.is_some());
            if was.is_none_or(|was| (was.key, was.early_data) != (peer.key, peer.early_data)) {
                let tls = key.client_tls(peer.key, peer.early_data);
                let tls = tls.map_err(|e| PairStartError::Other(e.to_string()))?;
                client_tls.insert(name.clone(), Arc::new(tls));
            }
        }
        let opened = open_entrances(config, bound)?;
        Ok(PairChange { config: config.clone(), opened, server_tls, client_tls })
    }

    /// The bound addresses after the change.
    ///
    /// # Errors
    /// Fails with the error of the system.
    pub fn bound_after(&self, before: &[BoundEntrance]) -> std::io::Result<Vec<BoundEntrance>> {
        let kept = before.iter().filter_map(|bound| {
            let (name, _) = owner(&self.config, bound.configured, bound.is_udp, &bound.name)?;
            Some(BoundEntrance { name: name.clone(), ..bound.clone() })
        });
        kept.map(Ok).chain(self.opened.iter().map(Listening::bound)).collect()
    }
}

impl Listening {
    /// This listener's bound address.
    ///
    /// # Errors
    /// Fails with the error of the system.
    pub fn bound(&self) -> std::io::Result<BoundEntrance> {
        Ok(BoundEntrance {
            configured: self.configured,
            is_udp: self.socket.is_udp(),
            name: self.entrance.name.clone(),
            address: self.socket.address()?,
        })
    }
}
