//! The event loop of one end: a UDP socket for all peers, listeners, relays, flows of datagrams.
//!
//! 1. Datagrams of the UDP socket go to the library, which says whose they are.
//! 2. A client's connection becomes a stream of the link to its peer ([`crate::relay`]); where the peer is not there yet, it
//!    waits. A stream of a peer becomes a connection to a server ([`serve`]).
//! 3. What became readable or writable gets its turn, then each link that was touched sends what it may ([`crate::links`]).
//! 4. The loop sleeps until something happens, or the earliest deadline of any link.

use crate::dial::Dialer;
use crate::entrance::{Listening, WaitingRoom};
use crate::error::PairStartError;
use crate::flow::DatagramFlow;
use crate::keys::PrivateKey;
use crate::link::PairLink;
use crate::links::PairLinks;
use crate::reader::READ;
use crate::relay::StreamRelay;
use crate::reload::{BoundEntrance, PairChange, called_by, open_entrances};
use crate::resolve::Resolver;
use crate::serving::Serving;
use crate::socket::QuicSocket;
use crate::transport::transport;
use linux::epoll::{EventQueue, EventWatch, Readiness, take_wakes};
use linux::schedule::exact_timers;
use noq_proto::crypto::rustls::QuicServerConfig;
use noq_proto::{ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, FourTuple, ServerConfig, VarInt};
use proxy::{ClientPlaces, PairBoard, PairConfig};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

mod admit;
mod change;
mod datagrams;
mod dial;
mod heed;
mod serve;
mod view;

/// What the wake counter and the socket of QUIC are registered with; all else gets the numbers above.
const WAKE: u64 = 0;
const QUIC: u64 = 1;
/// How often timeouts of connections are looked at.
const SWEEP: Duration = Duration::from_millis(200);
/// Datagrams taken in one go, before what they bring is worked off.
const DATAGRAMS: usize = 256;
/// With so many handshakes unfinished a caller must first show that it has the address it writes from (Retry, RFC 9000
/// section 8.1.2), with so many more it is not answered.
const UNPROVEN: usize = 64;
const MOST_UNPROVEN: usize = 1024;
/// The largest UDP payload.
const LARGEST: usize = 65_535;

/// Where log entries go.
pub type PairLog = Box<dyn Fn(Map<String, Value>) + Send>;

/// How far the end has come.
#[derive(Debug, Default)]
pub struct PairEnding(AtomicU8);

impl PairEnding {
    /// Ends it so far, or as far as it has come already: 1 drains, 2 stops.
    pub fn raise(&self, to: u8) {
        self.0.fetch_max(to, Ordering::SeqCst);
    }

    /// No new connections.
    pub fn drains(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= 1
    }

    /// At once.
    pub fn stops(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= 2
    }
}

/// One end of a pair.
pub struct PairLoop {
    pub(crate) config: PairConfig,
    pub(crate) queue: EventQueue,
    pub(crate) links: PairLinks,
    pub(crate) relays: HashMap<u64, StreamRelay>,
    pub(crate) flows: HashMap<u64, DatagramFlow>,
    /// The flow of a client of a listener.
    pub(crate) clients: HashMap<(u64, SocketAddr), u64>,
    pub(crate) waiting: WaitingRoom,
    /// Connections of each client, where a listener limits them.
    pub(crate) places: Arc<ClientPlaces>,
    pub(crate) listening: HashMap<u64, Listening>,
    pub(crate) dialer: Dialer,
    pub(crate) serving: Serving,
    pub(crate) resolver: Resolver,
    pub(crate) endpoint: Endpoint,
    /// Relays that may be able to move something.
    pub(crate) dirty: BTreeSet<u64>,
    pub(crate) buffer: Vec<u8>,
    pub(crate) ending: Arc<PairEnding>,
    socket: QuicSocket,
    server: Option<ServerConfig>,
    waker: Arc<OwnedFd>,
    log: PairLog,
    changes: Receiver<PairChange>,
    pub(crate) board: PairBoard,
    next: u64,
    swept: Instant,
    answer: Vec<u8>,
}

impl PairLoop {
    /// Binds everything.
    pub fn new(
        config: PairConfig,
        key: &PrivateKey,
        log: PairLog,
        waker: Arc<OwnedFd>,
        ending: Arc<PairEnding>,
        changes: Receiver<PairChange>,
    ) -> Result<PairLoop, PairStartError> {
        let socket = QuicSocket::bind(config.listen).map_err(|error| {
            let at = config.listen.map_or("any address".into(), |at| at.to_string());
            PairStartError::Listen { at, error }
        })?;
        let tls = |e: noq_proto::rustls::Error| PairStartError::Other(e.to_string());
        let server = called_by(&config, key)?.map(|tls| ServerConfig::with_crypto(tls));
        let quic = Arc::new(EndpointConfig::default());
        let endpoint = Endpoint::new(quic, server.clone().map(Arc::new), true);
        let now = Instant::now();
        let dialer = Dialer::new(&config, key, now).map_err(tls)?;
        let queue = EventQueue::new()?;
        queue.watch(waker.as_fd(), WAKE, EventWatch::Read)?;
        queue.watch(socket.as_fd(), QUIC, EventWatch::Read)?;
        let resolver = Resolver::new(waker.clone());
        let mut this = PairLoop {
            queue,
            links: PairLinks::default(),
            relays: HashMap::new(),
            flows: HashMap::new(),
            clients: HashMap::new(),
            waiting: WaitingRoom::default(),
            places: Arc::default(),
            listening: HashMap::new(),
            dialer,
            serving: Serving::default(),
            resolver,
            endpoint,
            dirty: BTreeSet::new(),
            buffer: vec![0; READ.max(LARGEST)],
            ending,
            socket,
            server,
            waker,
            log,
            changes,
            board: PairBoard::default(),
            next: QUIC + 1,
            swept: now,
            answer: Vec::new(),
            config,
        };
        for listening in open_entrances(&this.config, &[])? {
            this.listen(listening)?;
        }
        Ok(this)
    }

    /// Takes what comes by a listener from now on.
    pub(crate) fn listen(&mut self, listening: Listening) -> std::io::Result<()> {
        let token = self.number();
        self.queue.watch(listening.socket.as_fd(), token, EventWatch::Read)?;
        self.listening.insert(token, listening);
        Ok(())
    }

    /// Where peers call it.
    ///
    /// # Errors
    /// The system's.
    pub fn quic_address(&self) -> std::io::Result<SocketAddr> {
        self.socket.address()
    }

    /// Where clients come in.
    ///
    /// # Errors
    /// The system's.
    pub fn bound(&self) -> std::io::Result<Vec<BoundEntrance>> {
        self.listening.values().map(Listening::bound).collect()
    }

    /// Peers call by other keys from now on.
    pub(crate) fn be_called_by(&mut self, tls: Arc<QuicServerConfig>) {
        let Some(server) = &mut self.server else { return };
        server.crypto = tls;
        self.endpoint.set_server_config(Some(Arc::new(server.clone())));
    }

    /// A number that stands for nothing yet.
    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Tells the log.
    pub(crate) fn tell(&self, event: &str, facts: &[(&str, String)]) {
        let mut entry = Map::new();
        entry.insert("event".into(), event.into());
        entry.extend(facts.iter().map(|(key, value)| (key.to_string(), Value::from(value.as_str()))));
        (self.log)(entry);
    }

    /// Until it is told to end.
    pub fn run(&mut self) {
        exact_timers();
        let bound = self.bound().unwrap_or_default();
        let bound = bound.iter().map(|bound| (bound.name.as_str(), bound.address.to_string()));
        let quic = self.quic_address().ok().map(|at| ("quic", at.to_string()));
        self.tell("pair-started", &quic.into_iter().chain(bound).collect::<Vec<_>>());
        let mut events = Vec::new();
        loop {
            self.work();
            if self.is_over() {
                return;
            }
            let timeout = if self.dirty.is_empty() { self.sleep() } else { Duration::ZERO };
            if let Err(e) = self.queue.wait_exactly(&mut events, Some(timeout)) {
                self.tell("pair-failed", &[("why", e.to_string())]);
                return;
            }
            for event in &events {
                self.take(event);
            }
        }
    }

    fn is_over(&mut self) -> bool {
        let is_idle = self.relays.is_empty() && self.flows.is_empty();
        let is_over = self.ending.stops() || self.ending.drains() && is_idle;
        if !is_over {
            return false;
        }
        let now = Instant::now();
        for (handle, link) in self.links.iter_mut() {
            link.conn.close(now, VarInt::from_u32(0), bytes::Bytes::new());
            link.drive(now, handle, &mut self.endpoint, &self.socket);
        }
        true
    }

    /// How long nothing is due.
    fn sleep(&mut self) -> Duration {
        let now = Instant::now();
        let next = self.links.deadline(now).into_iter().chain([self.swept + SWEEP]);
        let next = next.chain(self.dialer.deadline()).min();
        next.map_or(SWEEP, |at| at.saturating_duration_since(now))
    }

    fn take(&mut self, event: &Readiness) {
        match event.token {
            WAKE => take_wakes(self.waker.as_fd()),
            QUIC => self.receive(),
            token if self.listening.contains_key(&token) => self.accept_at(token),
            token => {
                if let Some(relay) = self.relays.get_mut(&token) {
                    relay.tcp_readable |= event.readable;
                    relay.tcp_writable |= event.writable;
                    self.dirty.insert(token);
                } else if self.flows.contains_key(&token) {
                    self.flow_answers(token);
                } else {
                    self.read_hello(token, event.ends, Instant::now());
                }
                if event.writable || event.failed {
                    self.server_answers(token, event.failed);
                }
            }
        }
    }

    /// Everything that can be done now.
    fn work(&mut self) {
        let now = Instant::now();
        while let Ok(change) = self.changes.try_recv() {
            self.change(change);
        }
        while let Some((asker, found)) = self.resolver.answer() {
            self.resolved(asker, found);
        }
        self.dial(now);
        if now >= self.swept + SWEEP {
            self.swept = now;
            self.sweep(now);
        }
        self.links.touch_due(now);
        for handle in self.links.touched() {
            self.links.get_mut(handle).into_iter().for_each(|link| link.expire(now));
            self.heed(handle);
        }
        for token in std::mem::take(&mut self.dirty) {
            self.turn(token, now);
        }
        let now = Instant::now();
        for handle in self.links.touched() {
            self.drive(handle, now);
        }
    }

    /// Sends what a link may send. The library is asked for events again only after something came or a timer ran.
    fn drive(&mut self, handle: ConnectionHandle, now: Instant) {
        let Some(link) = self.links.get_mut(handle) else { return };
        if link.drive(now, handle, &mut self.endpoint, &self.socket) {
            self.lose(handle, "closed");
            self.links.remove(handle);
        } else {
            self.links.settle(handle);
        }
    }

    fn receive(&mut self) {
        let now = Instant::now();
        for _ in 0..DATAGRAMS {
            let Some((n, from, ecn)) = self.socket.receive(&mut self.buffer) else { return };
            self.answer.clear();
            let data = bytes::BytesMut::from(&self.buffer[..n]);
            let path = FourTuple::from_remote(from);
            match self.endpoint.handle(now, path, ecn, data, &mut self.answer) {
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    if let Some(link) = self.links.get_mut(handle) {
                        link.conn.handle_event(event);
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => self.welcome(incoming, now),
                Some(DatagramEvent::Response(transmit)) => {
                    self.socket.send(transmit.destination, transmit.ecn, &self.answer[..transmit.size]);
                }
                None => {}
            }
        }
    }

    /// A peer calls: whoever has no key that is known does not get through the handshake.
    fn welcome(&mut self, incoming: noq_proto::Incoming, now: Instant) {
        let Some(server) = self.server.clone().filter(|_| !self.ending.drains()) else {
            self.endpoint.ignore(incoming);
            return;
        };
        let unproven = self.links.iter().filter(|(_, link)| !link.is_up).count();
        if unproven >= MOST_UNPROVEN {
            self.endpoint.ignore(incoming);
            return;
        }
        if unproven >= UNPROVEN && incoming.may_retry() {
            self.answer.clear();
            if let Ok(transmit) = self.endpoint.retry(incoming, &mut self.answer) {
                self.socket.send(transmit.destination, transmit.ecn, &self.answer[..transmit.size]);
            }
            return;
        }
        // Who it is, is known after the handshake only: until then the first peer's settings stand.
        let peer = self.config.peers.values().next().expect("there is a peer");
        let (transport, choice) = transport(peer, self.next, now);
        let mut server = server;
        server.transport_config(Arc::new(transport));
        self.answer.clear();
        match self.endpoint.accept(incoming, now, &mut self.answer, Some(Arc::new(server))) {
            Ok((handle, conn)) => {
                self.links.insert(handle, PairLink::new(conn, None, &choice));
            }
            Err(refused) => {
                if let Some(transmit) = refused.response {
                    self.socket.send(transmit.destination, transmit.ecn, &self.answer[..transmit.size]);
                }
            }
        }
    }
}
