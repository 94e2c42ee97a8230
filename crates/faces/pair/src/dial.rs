//! Peers that this end connects to. When a connection is lost, it connects again at once, then after 0.25 s,
//! 0.5 s, … 16 s.

use crate::keys::PrivateKey;
use noq_proto::crypto::rustls::QuicClientConfig;
use noq_proto::{ConnectionHandle, rustls};
use proxy::{HostPort, PairConfig};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first and the longest pause between two attempts; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LAST_PAUSE: Duration = Duration::from_secs(16);

/// A peer to connect to.
pub struct DialedPeer {
    pub address: HostPort,
    pub crypto: Arc<QuicClientConfig>,
    pub link: Option<ConnectionHandle>,
    /// When to connect next; `None` while an attempt or a link exists.
    pub at: Option<Instant>,
    pause: Duration,
    /// The number of attempts: each uses the next of its addresses.
    pub attempts: usize,
}

/// All peers to connect to.
pub struct Dialer(pub BTreeMap<String, DialedPeer>);

impl Dialer {
    /// The peers that have an address.
    pub fn new(config: &PairConfig, key: &PrivateKey, now: Instant) -> Result<Dialer, rustls::Error> {
        let mut all = BTreeMap::new();
        for (name, peer) in &config.peers {
            let Some(address) = peer.address.clone() else { continue };
            let crypto = Arc::new(key.client_tls(peer.key, peer.early_data)?);
            all.insert(name.clone(), DialedPeer::new(address, crypto, now));
        }
        Ok(Dialer(all))
    }

    /// Takes the peers of another configuration. `client_tls` has the TLS of the peers for which it is new.
    /// Links stay; the new configuration applies to their next attempt.
    pub fn change(
        &mut self,
        config: &PairConfig,
        mut client_tls: BTreeMap<String, Arc<QuicClientConfig>>,
        now: Instant,
    ) {
        self.0.retain(|name, _| config.peers.get(name).is_some_and(|peer| peer.address.is_some()));
        for (name, peer) in &config.peers {
            let Some(address) = peer.address.clone() else { continue };
            let crypto = client_tls.remove(name);
            if let Some(called) = self.0.get_mut(name) {
                if called.address != address && called.at.is_some() {
                    (called.at, called.pause) = (Some(now), Duration::ZERO);
                }
                called.address = address;
                called.crypto = crypto.unwrap_or_else(|| called.crypto.clone());
            } else if let Some(crypto) = crypto {
                self.0.insert(name.clone(), DialedPeer::new(address, crypto, now));
            }
        }
    }

    /// When the next attempt is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.values().filter_map(|called| called.at).min()
    }

    /// The peer has answered: after its next loss, it is called at once.
    pub fn is_up(&mut self, handle: ConnectionHandle) {
        for called in self.0.values_mut().filter(|called| called.link == Some(handle)) {
            called.pause = Duration::ZERO;
        }
    }

    /// The link is gone: connect again.
    pub fn is_lost(&mut self, handle: ConnectionHandle, now: Instant) {
        for called in self.0.values_mut().filter(|called| called.link == Some(handle)) {
            called.link = None;
            called.again(now);
        }
    }
}

impl DialedPeer {
    /// A peer to connect to at once.
    fn new(address: HostPort, crypto: Arc<QuicClientConfig>, now: Instant) -> DialedPeer {
        DialedPeer { address, crypto, link: None, at: Some(now), pause: Duration::ZERO, attempts: 0 }
    }

    /// Schedules the next attempt after a pause.
    pub fn again(&mut self, now: Instant) {
        self.at = Some(now + self.pause);
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LAST_PAUSE);
    }
}
