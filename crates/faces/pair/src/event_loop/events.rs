//! Handles the library's events of links, runs relays and ends idle ones.

use super::PairLoop;
use crate::frames::Opening;
use crate::keys::key_of;
use crate::link::{PairLink, StreamUse};
use crate::relay::{Turn, code};
use noq_proto::rustls::pki_types::CertificateDer;
use noq_proto::{ConnectionHandle, Dir, Event, StreamEvent, StreamId};
use std::time::Instant;

impl PairLoop {
    /// The link to a peer, if it is up.
    pub(crate) fn link_to(&mut self, peer: &str) -> Option<(ConnectionHandle, &mut PairLink)> {
        let fits = |link: &PairLink| link.is_up && !link.is_lost && link.peer.as_deref() == Some(peer);
        let (handle, _) = self.links.iter().find(|(_, link)| fits(link))?;
        self.links.get_mut(handle).map(|link| (handle, link))
    }

    /// Opens a stream to a peer. The caller must send the returned opening.
    pub(crate) fn open(
        &mut self,
        peer: &str,
        opening: &Opening,
    ) -> Option<(ConnectionHandle, StreamId, Vec<u8>)> {
        let (handle, link) = self.link_to(peer)?;
        let stream = link.conn.streams().open(Dir::Bi)?;
        Some((handle, stream, opening.write()))
    }

    /// Handles the library's events of a link.
    pub(crate) fn handle_events(&mut self, handle: ConnectionHandle) {
        while let Some(event) = self.links.get_mut(handle).and_then(|link| link.conn.poll()) {
            match event {
                Event::Connected => self.on_connected(handle),
                Event::ConnectionLost { reason } => {
                    self.lose(handle, &reason.to_string());
                    return;
                }
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => self.accept_streams(handle),
                Event::Stream(StreamEvent::Available { dir: Dir::Bi }) => self.open_waiting(Instant::now()),
                Event::Stream(StreamEvent::Readable { id }) => self.wake_stream(handle, id),
                Event::Stream(StreamEvent::Writable { id } | StreamEvent::Stopped { id, .. }) => {
                    self.wake_stream(handle, id);
                }
                Event::DatagramReceived => self.deliver_datagrams(handle),
                _ => {}
            }
        }
    }

    fn wake_stream(&mut self, handle: ConnectionHandle, id: StreamId) {
        let used = self.links.get(handle).and_then(|link| link.streams.get(&id)).copied();
        match used {
            Some(StreamUse::Relay(number)) => {
                if let Some(relay) = self.relays.get_mut(&number) {
                    relay.stream_readable = true;
                    self.dirty.insert(number);
                } else {
                    self.read_opening(number, Instant::now());
                }
            }
            // A flow's stream carries no data: any event is its end.
            Some(StreamUse::Flow(number)) => self.end_flow(number, false),
            None => {}
        }
    }

    /// The peer of a link, by its key. It is known after the handshake, or with the early data of a resumed
    /// connection.
    pub(crate) fn identify(&mut self, handle: ConnectionHandle) -> Option<String> {
        let link = self.links.get_mut(handle)?;
        if link.peer.is_some() {
            return link.peer.clone();
        }
        let identity = link.conn.crypto_session().peer_identity();
        let certificates = identity.and_then(|any| any.downcast::<Vec<CertificateDer<'static>>>().ok());
        let key = certificates.and_then(|list| key_of(list.first()?));
        let (name, peer) = self.config.peers.iter().find(|(_, peer)| Some(peer.key) == key)?;
        link.choice.change(&peer.cc, peer.pace.map(|rate| rate.as_bps() / 8));
        link.peer = Some(name.clone());
        link.peer.clone()
    }

    /// The handshake is complete.
    fn on_connected(&mut self, handle: ConnectionHandle) {
        let Some(name) = self.identify(handle) else { return };
        let Some(link) = self.links.get_mut(handle) else { return };
        link.is_up = true;
        let early = link.conn.accepted_0rtt();
        self.dialer.is_up(handle);
        self.log_event("pair-up", &[("peer", name), ("early_data", early.to_string())]);
        self.open_waiting(Instant::now());
    }

    /// A link has ended, and everything that used it.
    pub(crate) fn lose(&mut self, handle: ConnectionHandle, why: &str) {
        let Some(link) = self.links.get_mut(handle).filter(|link| !link.is_lost) else { return };
        (link.is_lost, link.is_up) = (true, false);
        let peer = link.peer.clone().unwrap_or_default();
        for mut relay in self.relays.extract_if(|_, relay| relay.link == handle).map(|(_, relay)| relay) {
            relay.abort_tcp();
        }
        self.flows.retain(|_, flow| flow.link != handle);
        self.drop_pending(handle);
        self.dialer.is_lost(handle, Instant::now());
        self.log_event("pair-down", &[("peer", peer), ("why", why.into())]);
    }

    /// Runs a relay.
    pub(crate) fn turn(&mut self, number: u64, now: Instant) {
        let Some(relay) = self.relays.get_mut(&number) else { return };
        let Some(link) = self.links.get_mut(relay.link) else { return };
        match relay.turn(&mut link.conn, &mut self.buffer, now) {
            Turn::Waits => {}
            Turn::More => drop(self.dirty.insert(number)),
            Turn::Done | Turn::Reset => {
                link.streams.remove(&relay.stream);
                self.relays.remove(&number);
            }
        }
    }

    /// Logs contracts that have been learnt, have changed by more than 1 %, or are no longer believed.
    fn log_contracts(&mut self) {
        let mut news = Vec::new();
        for (_, link) in self.links.iter_mut() {
            let (now, logged_terms) = (link.choice.terms(), link.logged_terms);
            let differs = |a: f64, b: f64| (a - b).abs() > 0.01 * b;
            let is_new = match (now, logged_terms) {
                (Some(a), Some(b)) => differs(a.rate, b.rate) || differs(a.bucket, b.bucket),
                (a, b) => a.is_some() != b.is_some(),
            };
            if is_new {
                link.logged_terms = now;
                news.push((link.peer.clone().unwrap_or_default(), now));
            }
        }
        for (peer, terms) in news {
            let what = terms.map_or("no longer believed".into(), |terms| {
                format!("{:.2} Mbit/s, bucket {:.1} kB", terms.rate * 8e-6, terms.bucket * 1e-3)
            });
            self.log_event("pair-contract", &[("peer", peer), ("contract", what)]);
        }
    }

    /// Ends what is idle and retries what waits.
    pub(crate) fn sweep(&mut self, now: Instant) {
        self.sweep_hellos(now);
        self.open_waiting(now);
        self.log_contracts();
        self.show_links();
        self.sweep_pending(now);
        self.sweep_flows(now);
        let mut idle = Vec::new();
        for (number, relay) in &self.relays {
            // Idle connections are ended by the client's side.
            let Some(entrance) = &relay.entrance else { continue };
            if relay.last_moved + entrance.idle_timeout(relay.is_half_closed()) <= now {
                idle.push(*number);
            }
        }
        for number in idle {
            let Some(mut relay) = self.relays.remove(&number) else { continue };
            if let Some(link) = self.links.get_mut(relay.link) {
                link.streams.remove(&relay.stream);
                relay.abort(&mut link.conn, code::IDLE);
            }
        }
    }
}
