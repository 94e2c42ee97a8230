//! Connects to peers when it is due.

use super::PairLoop;
use crate::dial::DialedPeer;
use crate::link::PairLink;
use crate::resolve::ResolveRequest;
use crate::transport::transport;
use noq_proto::ClientConfig;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

impl PairLoop {
    /// Connects to all peers that are due.
    pub(crate) fn dial(&mut self, now: Instant) {
        let is_due = |(_, called): &(&String, &DialedPeer)| called.at.is_some_and(|at| at <= now);
        let due: Vec<String> = self.dialer.0.iter().filter(is_due).map(|(name, _)| name.clone()).collect();
        for name in due {
            let Some(called) = self.dialer.0.get_mut(&name) else { continue };
            called.at = None;
            let asker = ResolveRequest::Peer(name.clone());
            let found = self.resolver.ask(asker, std::slice::from_ref(&called.address));
            if let Some(found) = found {
                self.call(&name, &found, now);
            }
        }
    }

    /// Connects to a peer at the next of its addresses.
    pub(crate) fn call(&mut self, name: &str, found: &[SocketAddr], now: Instant) {
        let seed = self.number();
        let (Some(called), Some(peer)) = (self.dialer.0.get_mut(name), self.config.peers.get(name)) else {
            return;
        };
        called.attempts += 1;
        let Some(address) = found.get((called.attempts - 1) % found.len().max(1)) else {
            called.again(now);
            let facts = [("peer", name.to_string()), ("why", format!("{} has no address", called.address))];
            self.log_event("pair-unreachable", &facts);
            return;
        };
        let (transport, choice) = transport(peer, seed, now);
        let mut config = ClientConfig::new(called.crypto.clone());
        config.transport_config(Arc::new(transport));
        // The name does not matter: the key identifies the peer.
        match self.endpoint.connect(now, config, *address, "pair.invalid") {
            Ok((handle, conn)) => {
                called.link = Some(handle);
                let mut link = PairLink::new(conn, Some(name.into()), &choice);
                link.is_up = link.conn.has_0rtt();
                self.links.insert(handle, link);
            }
            Err(e) => {
                called.again(now);
                self.log_event("pair-unreachable", &[("peer", name.to_string()), ("why", e.to_string())]);
            }
        }
    }
}
