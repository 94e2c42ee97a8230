//! What the library tells of links, whose turn it is, and who has been idle for too long.

use super::PairLoop;
use crate::frames::Opening;
use crate::keys::key_of;
use crate::link::{PairLink, StreamUse};
use crate::relay::{Turn, code};
use noq_proto::rustls::pki_types::CertificateDer;
use noq_proto::{ConnectionHandle, Dir, Event, StreamEvent, StreamId};
use std::time::Instant;

impl PairLoop {
    /// The link to a peer, where it is up.
    pub(crate) fn link_to(&mut self, peer: &str) -> Option<(ConnectionHandle, &mut PairLink)> {
        let fits = |link: &PairLink| link.is_up && !link.is_lost && link.peer.as_deref() == Some(peer);
        let (handle, _) = self.links.iter().find(|(_, link)| fits(link))?;
        self.links.get_mut(handle).map(|link| (handle, link))
    }

    /// Opens a stream to a peer; what it begins with is still to be sent.
    pub(crate) fn open(
        &mut self,
        peer: &str,
        opening: &Opening,
    ) -> Option<(ConnectionHandle, StreamId, Vec<u8>)> {
        let (handle, link) = self.link_to(peer)?;
        let stream = link.conn.streams().open(Dir::Bi)?;
        Some((handle, stream, opening.write()))
    }

    /// What the library has to tell of a link.
    pub(crate) fn heed(&mut self, handle: ConnectionHandle) {
        while let Some(event) = self.links.get_mut(handle).and_then(|link| link.conn.poll()) {
            match event {
                Event::Connected => self.greet(handle),
                Event::ConnectionLost { reason } => {
                    self.lose(handle, &reason.to_string());
                    return;
                }
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => self.accept_streams(handle),
                Event::Stream(StreamEvent::Available { dir: Dir::Bi }) => self.seat(Instant::now()),
                Event::Stream(StreamEvent::Readable { id }) => self.wake_stream(handle, id),
                Event::Stream(StreamEvent::Writable { id } | StreamEvent::Stopped { id, .. }) => {
                    self.wake_stream(handle, id);
                }
                Event::DatagramReceived => self.hand_out_datagrams(handle),
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
            // A flow's stream carries nothing: what comes is its end.
            Some(StreamUse::Flow(number)) => self.end_flow(number, false),
            None => {}
        }
    }

    /// Who the other end is, by its key; known when the handshake is done, or with the early data of a resumed connection.
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

    /// The handshake is done.
    fn greet(&mut self, handle: ConnectionHandle) {
        let Some(name) = self.identify(handle) else { return };
        let Some(link) = self.links.get_mut(handle) else { return };
        link.is_up = true;
        let early = link.conn.accepted_0rtt();
        self.dialer.is_up(handle);
        self.tell("pair-up", &[("peer", name), ("early_data", early.to_string())]);
        self.seat(Instant::now());
    }

    /// A link has ended, and all that went over it with it.
    pub(crate) fn lose(&mut self, handle: ConnectionHandle, why: &str) {
        let Some(link) = self.links.get_mut(handle).filter(|link| !link.is_lost) else { return };
        (link.is_lost, link.is_up) = (true, false);
        let peer = link.peer.clone().unwrap_or_default();
        for mut relay in self.relays.extract_if(|_, relay| relay.link == handle).map(|(_, relay)| relay) {
            relay.abort_tcp();
        }
        self.flows.retain(|_, flow| flow.link != handle);
        self.lose_served(handle);
        self.dialer.is_lost(handle, Instant::now());
        self.tell("pair-down", &[("peer", peer), ("why", why.into())]);
    }

    /// A relay's turn.
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

    /// Tells the log of contracts that have been learnt, have changed by more than 1 %, or are not believed any more.
    fn tell_contracts(&mut self) {
        let mut news = Vec::new();
        for (_, link) in self.links.iter_mut() {
            let (now, told) = (link.choice.terms(), link.told);
            let differs = |a: f64, b: f64| (a - b).abs() > 0.01 * b;
            let is_new = match (now, told) {
                (Some(a), Some(b)) => differs(a.rate, b.rate) || differs(a.bucket, b.bucket),
                (a, b) => a.is_some() != b.is_some(),
            };
            if is_new {
                link.told = now;
                news.push((link.peer.clone().unwrap_or_default(), now));
            }
        }
        for (peer, terms) in news {
            let what = terms.map_or("not believed any more".into(), |terms| {
                format!("{:.2} Mbit/s, bucket {:.1} kB", terms.rate * 8e-6, terms.bucket * 1e-3)
            });
            self.tell("pair-contract", &[("peer", peer), ("contract", what)]);
        }
    }

    /// Ends what is idle, tries again what waits.
    pub(crate) fn sweep(&mut self, now: Instant) {
        self.sweep_hellos(now);
        self.seat(now);
        self.tell_contracts();
        self.show_links();
        self.sweep_served(now);
        self.sweep_flows(now);
        let mut idle = Vec::new();
        for (number, relay) in &self.relays {
            // The server's side leaves idle ones to the client's.
            let Some(entrance) = &relay.entrance else { continue };
            if relay.moved + entrance.idle_timeout(relay.is_half_closed()) <= now {
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
