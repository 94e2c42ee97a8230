//! What clients bring here, what the library tells of links, whose turn it is, and who has been idle for too long.

use crate::event_loop::{Listening, PairLoop};
use crate::frames::{Carriage, Opening};
use crate::keys::key_of;
use crate::link::{PairLink, StreamUse};
use crate::relay::{StreamRelay, Turn, code};
use noq_proto::rustls::pki_types::CertificateDer;
use noq_proto::{ConnectionHandle, Dir, Event, StreamEvent, StreamId};
use proxy::{EventWatch, lets_in, reset_on_close};
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Connections that one readiness takes at most.
const ACCEPTS: usize = 64;
/// How long a connection waits for its peer, and how many do.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_WAITING: usize = 1024;

/// A client whose peer is not there, or has no room for a stream.
pub struct WaitingClient {
    tcp: TcpStream,
    listener: String,
    since: Instant,
}

/// Those that wait, in the order in which they came.
pub type WaitingRoom = VecDeque<WaitingClient>;

impl PairLoop {
    /// Takes what a listener has.
    pub(crate) fn accept_at(&mut self, token: u64) {
        for _ in 0..ACCEPTS {
            let (tcp, from, name) = match self.listening.get(&token) {
                Some(Listening::Tcp(listener, name)) => match listener.accept() {
                    Ok((tcp, from)) => (tcp, from, name.clone()),
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                    // Out of descriptors, or a client that is gone: the sweep tries again.
                    Err(_) => return,
                },
                Some(Listening::Udp(..)) => return self.take_datagrams(token),
                None => return,
            };
            let refused = !self.is_allowed(&name, from) || self.ending.drains();
            if refused || self.waiting.len() >= MOST_WAITING {
                reset_on_close(tcp.as_fd());
                continue;
            }
            let _ = tcp.set_nodelay(true);
            if tcp.set_nonblocking(true).is_ok() {
                self.waiting.push_back(WaitingClient { tcp, listener: name, since: Instant::now() });
            }
        }
        self.seat(Instant::now());
    }

    /// Whether a listener takes clients of this address.
    pub(crate) fn is_allowed(&self, listener: &str, from: SocketAddr) -> bool {
        self.config.listeners.get(listener).is_some_and(|l| lets_in(&l.allow, from.ip()))
    }

    /// The link to a peer, where it is up.
    pub(crate) fn link_to(&mut self, peer: &str) -> Option<(ConnectionHandle, &mut PairLink)> {
        let fits = |link: &PairLink| link.is_up && !link.is_lost && link.peer.as_deref() == Some(peer);
        self.links.iter_mut().find(|(_, link)| fits(link)).map(|(handle, link)| (*handle, link))
    }

    /// Opens a stream for a client of a listener.
    pub(crate) fn open(
        &mut self,
        listener: &str,
        carriage: Carriage,
    ) -> Option<(ConnectionHandle, StreamId, Vec<u8>)> {
        let config = self.config.listeners.get(listener)?;
        let (peer, upstream) = (config.peer.clone(), config.upstream.clone());
        let (handle, link) = self.link_to(&peer)?;
        let stream = link.conn.streams().open(Dir::Bi)?;
        Some((handle, stream, Opening { carriage, upstream }.write()))
    }

    /// Clients that waited get their streams.
    fn seat(&mut self, now: Instant) {
        for client in std::mem::take(&mut self.waiting) {
            if client.since + PATIENCE <= now {
                reset_on_close(client.tcp.as_fd());
                continue;
            }
            let Some((handle, stream, first)) = self.open(&client.listener, Carriage::Connection) else {
                self.waiting.push_back(client);
                continue;
            };
            let number = self.number();
            if self.queue.watch(client.tcp.as_fd(), number, EventWatch::Stream).is_err() {
                reset_on_close(client.tcp.as_fd());
                continue;
            }
            if let Some(link) = self.links.get_mut(&handle) {
                link.streams.insert(stream, StreamUse::Relay(number));
            }
            let mut relay = StreamRelay::new(Some(client.tcp), handle, stream, now, first);
            relay.listener = Some(client.listener);
            self.relays.insert(number, relay);
            self.dirty.insert(number);
        }
    }

    /// What the library has to tell of a link.
    pub(crate) fn heed(&mut self, handle: ConnectionHandle) {
        while let Some(event) = self.links.get_mut(&handle).and_then(|link| link.conn.poll()) {
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
        let used = self.links.get(&handle).and_then(|link| link.streams.get(&id)).copied();
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
        let link = self.links.get_mut(&handle)?;
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
        let Some(link) = self.links.get_mut(&handle) else { return };
        link.is_up = true;
        let early = link.conn.accepted_0rtt();
        self.dialer.is_up(handle);
        self.tell("pair-up", &[("peer", name), ("early_data", early.to_string())]);
        self.seat(Instant::now());
    }

    /// A link has ended, and all that went over it with it.
    pub(crate) fn lose(&mut self, handle: ConnectionHandle, why: &str) {
        let Some(link) = self.links.get_mut(&handle).filter(|link| !link.is_lost) else { return };
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
        let Some(link) = self.links.get_mut(&relay.link) else { return };
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
        for link in self.links.values_mut() {
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
        self.seat(now);
        self.tell_contracts();
        self.sweep_served(now);
        self.sweep_flows(now);
        let mut idle = Vec::new();
        for (number, relay) in &self.relays {
            let listener = relay.listener.as_ref().and_then(|name| self.config.listeners.get(name));
            let Some(listener) = listener else { continue };
            let most =
                if relay.is_half_closed() { listener.half_close_timeout } else { listener.idle_timeout };
            if relay.moved + Duration::from_nanos(most.as_nanos()) <= now {
                idle.push(*number);
            }
        }
        for number in idle {
            let Some(mut relay) = self.relays.remove(&number) else { continue };
            if let Some(link) = self.links.get_mut(&relay.link) {
                link.streams.remove(&relay.stream);
                relay.abort(&mut link.conn, code::IDLE);
            }
        }
    }
}
