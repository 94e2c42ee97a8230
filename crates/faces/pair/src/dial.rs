//! Peers that this end calls, and calls again when they are lost: at once, then after 0.25 s, 0.5 s, … 16 s.

use crate::keys::PrivateKey;
use noq_proto::crypto::rustls::QuicClientConfig;
use noq_proto::{ConnectionHandle, rustls};
use proxy::{HostPort, PairConfig};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first pause between two calls, doubled up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LAST_PAUSE: Duration = Duration::from_secs(16);

/// A peer that is called.
pub struct Called {
    /// Where it is called.
    pub address: HostPort,
    /// TLS of the call.
    pub crypto: Arc<QuicClientConfig>,
    /// The link that a call made.
    pub link: Option<ConnectionHandle>,
    /// When it is called next; `None` while a call or a link goes on.
    pub at: Option<Instant>,
    pause: Duration,
    /// How many calls were made: each takes the next of its addresses.
    pub tried: usize,
}

/// All peers that are called.
pub struct Dialer(pub BTreeMap<String, Called>);

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

    /// Called again after a pause.
    pub fn again(&mut self, now: Instant) {
        self.at = Some(now + self.pause);
        self.pause = (self.pause * 2).clamp(FIRST_PAUSE, LAST_PAUSE);
    }
}
