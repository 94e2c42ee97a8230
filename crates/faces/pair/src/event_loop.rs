//! The event loop of one end: a UDP socket for all peers, listeners, relays and flows of datagrams.
//!
//! 1. Datagrams from the UDP socket go to the library, which says to which link they belong.
//! 2. A client's connection becomes a stream of the link to its peer ([`crate::relay`]), and waits while that
//!    link is down. A stream from a peer becomes a connection to a server ([`serve`]).
//! 3. Everything that became readable or writable is worked off, then each link that was touched sends what
//!    it may ([`crate::links`]).
//! 4. The loop sleeps until something happens or the earliest deadline of a link.

use crate::dial::Dialer;
use crate::entrance::{Listening, WaitingClients};
use crate::error::PairStartError;
use crate::flow::DatagramFlow;
use crate::keys::PrivateKey;
use crate::link::PairLink;
use crate::links::PairLinks;
use crate::pending::PendingStreams;
use crate::reader::MAX_READ;
use crate::relay::StreamRelay;
use crate::reload::{BoundEntrance, PairChange, open_entrances, server_tls};
use crate::resolve::Resolver;
use crate::socket::QuicSocket;
use crate::transport::transport;
use linux::epoll::{EventQueue, EventWatch, Readiness, take_wakes};
use linux::schedule::exact_timers;
use noq_proto::crypto::rustls::QuicServerConfig;
use noq_proto::{ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, FourTuple, ServerConfig, VarInt};
use proxy::{ClientSlots, PairConfig, PairStatus};
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
mod events;
mod serve;
mod view;

/// The event tokens of the wake counter and the QUIC socket; everything else has higher numbers.
const WAKE: u64 = 0;
const QUIC: u64 = 1;
/// How often timeouts of connections are checked.
const SWEEP_INTERVAL: Duration = Duration::from_millis(200);
/// The most datagrams to receive before their effects are worked off.
const DATAGRAMS_PER_TURN: usize = 256;
/// With this many unfinished handshakes, a new peer must first prove its address (Retry, RFC 9000 section
/// 8.1.2); with the second number it gets no answer.
const RETRY_ABOVE: usize = 64;
const MAX_HANDSHAKES: usize = 1024;
/// The largest UDP payload.
const MAX_UDP_PAYLOAD: usize = 65_535;

/// Receives log entries.
pub type PairLog = Box<dyn Fn(Map<String, Value>) + Send>;

/// Whether the end is running, draining or stopping.
#[derive(Debug, Default)]
pub struct PairEnding(AtomicU8);

impl PairEnding {
    /// Sets the state, unless it is higher already: 1 drains, 2 stops.
    pub fn raise(&self, to: u8) {
        self.0.fetch_max(to, Ordering::SeqCst);
    }

    /// Whether new connections are refused.
    pub fn drains(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= 1
    }

    /// Whether it stops at once.
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
    /// Flows by listener and client.
    pub(crate) clients: HashMap<(u64, SocketAddr), u64>,
    pub(crate) waiting: WaitingClients,
    /// Connections per client, for listeners that limit them.
    pub(crate) places: Arc<ClientSlots>,
    pub(crate) listening: HashMap<u64, Listening>,
    pub(crate) dialer: Dialer,
    pub(crate) pending: PendingStreams,
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
    pub(crate) status: PairStatus,
    next: u64,
    last_sweep: Instant,
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
        let server = server_tls(&config, key)?.map(|tls| ServerConfig::with_crypto(tls));
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
            waiting: WaitingClients::default(),
            places: Arc::default(),
            listening: HashMap::new(),
            dialer,
            pending: PendingStreams::default(),
            resolver,
            endpoint,
            dirty: BTreeSet::new(),
            buffer: vec![0; MAX_READ.max(MAX_UDP_PAYLOAD)],
            ending,
            socket,
            server,
            waker,
            log,
            changes,
            status: PairStatus::default(),
            next: QUIC + 1,
            last_sweep: now,
            answer: Vec::new(),
            config,
        };
        for listening in open_entrances(&this.config, &[])? {
            this.listen(listening)?;
        }
        Ok(this)
    }

    /// Starts accepting clients from a listener.
    pub(crate) fn listen(&mut self, listening: Listening) -> std::io::Result<()> {
        let token = self.number();
        self.queue.watch(listening.socket.as_fd(), token, EventWatch::Read)?;
        self.listening.insert(token, listening);
        Ok(())
    }

    /// The address that peers connect to.
    ///
    /// # Errors
    /// Fails with the error of the system.
    pub fn quic_address(&self) -> std::io::Result<SocketAddr> {
        self.socket.address()
    }

    /// The addresses of the listeners.
    ///
    /// # Errors
    /// Fails with the error of the system.
    pub fn bound(&self) -> std::io::Result<Vec<BoundEntrance>> {
        self.listening.values().map(Listening::bound).collect()
    }

    /// Changes the keys with which peers may connect.
    pub(crate) fn set_server_tls(&mut self, tls: Arc<QuicServerConfig>) {
        let Some(server) = &mut self.server else { return };
        server.crypto = tls;
        self.endpoint.set_server_config(Some(Arc::new(server.clone())));
    }

    /// A new unused number.
    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Writes an entry to the log.
    pub(crate) fn log_event(&self, event: &str, facts: &[(&str, String)]) {
        let mut entry = Map::new();
        entry.insert("event".into(), event.into());
        entry.extend(facts.iter().map(|(key, value)| (key.to_string(), Value::from(value.as_str()))));
        (self.log)(entry);
    }

    /// Runs until a stop is requested, or all connections have ended after a drain request.
    pub fn run(&mut self) {
        exact_timers();
        let bound = self.bound().unwrap_or_default();
        let bound = bound.iter().map(|bound| (bound.name.as_str(), bound.address.to_string()));
        let quic = self.quic_address().ok().map(|at| ("quic", at.to_string()));
        self.log_event("pair-started", &quic.into_iter().chain(bound).collect::<Vec<_>>());
        let mut events = Vec::new();
        loop {
            self.work();
            if self.is_over() {
                return;
            }
            let timeout = if self.dirty.is_empty() { self.sleep() } else { Duration::ZERO };
            if let Err(e) = self.queue.wait_exactly(&mut events, Some(timeout)) {
                self.log_event("pair-failed", &[("why", e.to_string())]);
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

    /// The time until something is due.
    fn sleep(&mut self) -> Duration {
        let now = Instant::now();
        let next = self.links.deadline(now).into_iter().chain([self.last_sweep + SWEEP_INTERVAL]);
        let next = next.chain(self.dialer.deadline()).min();
        next.map_or(SWEEP_INTERVAL, |at| at.saturating_duration_since(now))
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
                    self.on_server_datagrams(token);
                } else {
                    self.read_hello(token, event.ends, Instant::now());
                }
                if event.writable || event.failed {
                    self.on_server_ready(token, event.failed);
                }
            }
        }
    }

    /// Does everything that can be done now.
    fn work(&mut self) {
        let now = Instant::now();
        while let Ok(change) = self.changes.try_recv() {
            self.change(change);
        }
        while let Some((asker, found)) = self.resolver.answer() {
            self.resolved(asker, found);
        }
        self.dial(now);
        if now >= self.last_sweep + SWEEP_INTERVAL {
            self.last_sweep = now;
            self.sweep(now);
        }
        self.links.touch_due(now);
        for handle in self.links.touched() {
            self.links.get_mut(handle).into_iter().for_each(|link| link.expire(now));
            self.handle_events(handle);
        }
        for token in std::mem::take(&mut self.dirty) {
            self.turn(token, now);
        }
        let now = Instant::now();
        for handle in self.links.touched() {
            self.drive(handle, now);
        }
    }

    /// Sends what a link may send. The library has new events only after something was received or a timer
    /// ran.
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
        for _ in 0..DATAGRAMS_PER_TURN {
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
                Some(DatagramEvent::NewConnection(incoming)) => self.on_incoming(incoming, now),
                Some(DatagramEvent::Response(transmit)) => {
                    self.socket.send(transmit.destination, transmit.ecn, &self.answer[..transmit.size]);
                }
                None => {}
            }
        }
    }

    /// A peer connects. The handshake fails if its key is unknown.
    fn on_incoming(&mut self, incoming: noq_proto::Incoming, now: Instant) {
        let Some(server) = self.server.clone().filter(|_| !self.ending.drains()) else {
            self.endpoint.ignore(incoming);
            return;
        };
        let handshakes = self.links.iter().filter(|(_, link)| !link.is_up).count();
        if handshakes >= MAX_HANDSHAKES {
            self.endpoint.ignore(incoming);
            return;
        }
        if handshakes >= RETRY_ABOVE && incoming.may_retry() {
            self.answer.clear();
            if let Ok(transmit) = self.endpoint.retry(incoming, &mut self.answer) {
                self.socket.send(transmit.destination, transmit.ecn, &self.answer[..transmit.size]);
            }
            return;
        }
        // The peer is only known after the handshake; until then, the settings of the first peer apply.
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
