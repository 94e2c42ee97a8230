//! The loop goes on by another configuration ([`PairChange`]).

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
