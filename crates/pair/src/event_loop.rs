//! The event loop of one end: a UDP socket for all peers, listeners, relays, flows of datagrams.
//!
//! 1. Datagrams of the UDP socket go to the library, which says whose they are.
//! 2. A client's connection becomes a stream of the link to its peer ([`crate::relay`]); where the peer is not there yet, it
//!    waits. A stream of a peer becomes a connection to a server ([`crate::accept`]).
//! 3. What became readable or writable gets its turn, then each link sends what it may ([`crate::link`]).
//! 4. The loop sleeps until something happens, or the earliest deadline of any link.

use crate::accept::WaitingRoom;
use crate::control::CongestionChoice;
use crate::dial::Dialer;
use crate::flow::DatagramFlow;
use crate::keys::PrivateKey;
use crate::link::PairLink;
use crate::relay::{READ, StreamRelay};
use crate::resolve::Resolver;
use crate::run::{PairEnding, PairLog, PairStartError};
use crate::serve::Serving;
use crate::socket::QuicSocket;
use noq_proto::{
    ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, FourTuple, IdleTimeout, ServerConfig,
    TransportConfig, VarInt,
};
use proxy::{EventQueue, EventWatch, PairConfig, PeerConfig, Readiness, take_wakes};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the wake counter and the socket of QUIC are registered with; all else gets the numbers above.
const WAKE: u64 = 0;
const QUIC: u64 = 1;
/// How often timeouts of connections are looked at.
const SWEEP: Duration = Duration::from_millis(200);
/// Datagrams taken in one go, before what they bring is worked off.
const DATAGRAMS: usize = 256;
/// Connections and flows one peer may have open at once.
const STREAMS: u32 = 10_000;
/// What a peer may send of one stream ahead of what is read here, bytes. The library gives up a connection one of whose
/// streams has 1024 gaps: in 2048 packets of 1200 bytes there are never as many. 98 Mbit/s a stream at 200 ms.
const STREAM_WINDOW: u32 = 2048 * 1200;
/// The same of all streams together: 2.7 Gbit/s at 200 ms.
const WINDOW: u32 = 64 << 20;
/// What is kept until the peer has acknowledged it, bytes, of all streams together: 640 Mbit/s at 200 ms.
const SEND_WINDOW: u64 = 16 << 20;
/// With so many handshakes unfinished a caller must first show that it has the address it writes from (Retry, RFC 9000
/// section 8.1.2), with so many more it is not answered.
const UNPROVEN: usize = 64;
const MOST_UNPROVEN: usize = 1024;
/// The largest UDP payload.
const LARGEST: usize = 65_535;

/// What a number of the event queue stands for, besides relays and flows.
pub enum Listening {
    /// TCP, of the listener of this name.
    Tcp(TcpListener, String),
    /// UDP, likewise.
    Udp(UdpSocket, String),
}

/// One end of a pair.
pub struct PairLoop {
    pub(crate) config: PairConfig,
    pub(crate) queue: EventQueue,
    pub(crate) links: HashMap<ConnectionHandle, PairLink>,
    pub(crate) relays: HashMap<u64, StreamRelay>,
    pub(crate) flows: HashMap<u64, DatagramFlow>,
    /// The flow of a client of a listener.
    pub(crate) clients: HashMap<(u64, SocketAddr), u64>,
    pub(crate) waiting: WaitingRoom,
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
    ) -> Result<PairLoop, PairStartError> {
        let listen_error = |at: &dyn std::fmt::Display| {
            let at = at.to_string();
            |error| PairStartError::Listen { at, error }
        };
        let socket = QuicSocket::bind(config.listen).map_err(|error| {
            let at = config.listen.map_or("any address".into(), |at| at.to_string());
            PairStartError::Listen { at, error }
        })?;
        let tls = |e: noq_proto::rustls::Error| PairStartError::Other(e.to_string());
        let early = config.peers.values().any(|peer| peer.early_data);
        let keys = config.peers.values().map(|peer| peer.key).collect();
        let server = match config.listen {
            Some(_) => Some(ServerConfig::with_crypto(Arc::new(key.called(keys, early).map_err(tls)?))),
            None => None,
        };
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
            links: HashMap::new(),
            relays: HashMap::new(),
            flows: HashMap::new(),
            clients: HashMap::new(),
            waiting: WaitingRoom::new(),
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
            next: QUIC + 1,
            swept: now,
            answer: Vec::new(),
            config,
        };
        for (name, listener) in &this.config.listeners.clone() {
            for at in &listener.listen.0 {
                this.listen(name, *at, listener.udp).map_err(listen_error(at))?;
            }
        }
        Ok(this)
    }

    fn listen(&mut self, name: &str, at: SocketAddr, udp: bool) -> std::io::Result<()> {
        let token = self.number();
        let listening = if udp {
            let socket = UdpSocket::bind(at)?;
            socket.set_nonblocking(true)?;
            self.queue.watch(socket.as_fd(), token, EventWatch::Read)?;
            Listening::Udp(socket, name.into())
        } else {
            let socket = TcpListener::bind(at)?;
            socket.set_nonblocking(true)?;
            self.queue.watch(socket.as_fd(), token, EventWatch::Read)?;
            Listening::Tcp(socket, name.into())
        };
        self.listening.insert(token, listening);
        Ok(())
    }

    /// Where it listens.
    pub fn addresses(&self) -> std::io::Result<Vec<(String, SocketAddr)>> {
        let mut all = vec![("quic".to_string(), self.socket.address()?)];
        for listening in self.listening.values() {
            all.push(match listening {
                Listening::Tcp(socket, name) => (name.clone(), socket.local_addr()?),
                Listening::Udp(socket, name) => (name.clone(), socket.local_addr()?),
            });
        }
        Ok(all)
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
        let addresses = self.addresses().unwrap_or_default();
        let facts: Vec<(&str, String)> =
            addresses.iter().map(|(name, at)| (name.as_str(), at.to_string())).collect();
        self.tell("pair-started", &facts);
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
        for (handle, link) in &mut self.links {
            link.conn.close(now, VarInt::from_u32(0), bytes::Bytes::new());
            link.drive(now, *handle, &mut self.endpoint, &self.socket);
        }
        true
    }

    /// How long nothing is due.
    fn sleep(&mut self) -> Duration {
        let now = Instant::now();
        let links = self.links.values_mut().filter_map(PairLink::deadline);
        let next = links.chain([self.swept + SWEEP]).chain(self.dialer.deadline()).min();
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
        while let Some((asker, found)) = self.resolver.answer() {
            self.resolved(asker, found);
        }
        self.dial(now);
        if now >= self.swept + SWEEP {
            self.swept = now;
            self.sweep(now);
        }
        for handle in self.handles() {
            self.heed(handle);
        }
        for token in std::mem::take(&mut self.dirty) {
            self.turn(token, now);
        }
        let now = Instant::now();
        for handle in self.handles() {
            let Some(link) = self.links.get_mut(&handle) else { continue };
            if link.drive(now, handle, &mut self.endpoint, &self.socket) {
                self.lose(handle, "closed");
                self.links.remove(&handle);
            }
        }
        for handle in self.handles() {
            self.heed(handle);
        }
    }

    fn handles(&self) -> Vec<ConnectionHandle> {
        self.links.keys().copied().collect()
    }

    fn receive(&mut self) {
        let now = Instant::now();
        for _ in 0..DATAGRAMS {
            let Some((n, from)) = self.socket.receive(&mut self.buffer) else { return };
            self.answer.clear();
            let data = bytes::BytesMut::from(&self.buffer[..n]);
            let path = FourTuple::from_remote(from);
            match self.endpoint.handle(now, path, None, data, &mut self.answer) {
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    if let Some(link) = self.links.get_mut(&handle) {
                        link.conn.handle_event(event);
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => self.welcome(incoming, now),
                Some(DatagramEvent::Response(transmit)) => {
                    self.socket.send(transmit.destination, &self.answer[..transmit.size]);
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
        let unproven = self.links.values().filter(|link| !link.is_up).count();
        if unproven >= MOST_UNPROVEN {
            self.endpoint.ignore(incoming);
            return;
        }
        if unproven >= UNPROVEN && incoming.may_retry() {
            self.answer.clear();
            if let Ok(transmit) = self.endpoint.retry(incoming, &mut self.answer) {
                self.socket.send(transmit.destination, &self.answer[..transmit.size]);
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
                    self.socket.send(transmit.destination, &self.answer[..transmit.size]);
                }
            }
        }
    }
}

/// What the library is told of a connection to a peer, and the control it gets.
pub fn transport(peer: &PeerConfig, seed: u64, now: Instant) -> (TransportConfig, CongestionChoice) {
    let pace = peer.pace.map(|rate| rate.as_bps() / 8);
    let choice = CongestionChoice::new(&peer.cc, pace, seed, now);
    let mut config = TransportConfig::default();
    let idle = peer.idle_timeout.as_nanos() / 1_000_000;
    let idle = u32::try_from(idle).unwrap_or(u32::MAX);
    config
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(SEND_WINDOW)
        .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(idle))))
        .keep_alive_interval(Some(Duration::from_millis(u64::from(idle) / 3)))
        .congestion_controller_factory(Arc::new(choice.clone()));
    (config, choice)
}
