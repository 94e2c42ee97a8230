//! Applies another configuration ([`PairChange`]) to the running loop.

use super::PairLoop;
use crate::entrance::{Entrance, Listening};
use crate::reload::{PairChange, owner};
use noq_proto::VarInt;
use proxy::PairConfig;
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

impl PairLoop {
    /// Applies another configuration.
    pub(crate) fn change(&mut self, change: PairChange) {
        let PairChange { config, opened, server_tls, client_tls } = change;
        self.change_entrances(&config, opened);
        self.change_peers(&config);
        self.dialer.change(&config, client_tls, Instant::now());
        server_tls.into_iter().for_each(|tls| self.set_server_tls(tls));
        self.config = config;
        let bound = self.listening.values().filter_map(|listening| listening.bound().ok());
        let facts: Vec<_> = bound.map(|bound| (bound.name, bound.address.to_string())).collect();
        let facts: Vec<_> = facts.iter().map(|(name, at)| (name.as_str(), at.clone())).collect();
        self.log_event("pair-reloaded", &facts);
    }

    /// Listeners that remain keep their sockets and the clients that wait in them. Clients that wait in the
    /// others are still accepted.
    fn change_entrances(&mut self, config: &PairConfig, opened: Vec<Listening>) {
        let known = config.listeners.iter().map(|(name, l)| (name, Arc::new(Entrance::new(name, l))));
        let known: BTreeMap<&String, Arc<Entrance>> = known.collect();
        for token in self.listening.keys().copied().collect::<Vec<_>>() {
            let Some(listening) = self.listening.get_mut(&token) else { continue };
            let is_udp = listening.socket.is_udp();
            match owner(config, listening.configured, is_udp, &listening.entrance.name) {
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
            let at = listening.configured.to_string();
            if let Err(e) = self.listen(listening) {
                self.log_event("pair-failed", &[("listen", at), ("why", e.to_string())]);
            }
        }
    }

    /// Links stay and take the congestion control that their peer now has. Links to peers that were removed
    /// end.
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
                    self.lose(handle, "removed from the configuration");
                }
            }
        }
    }
}
