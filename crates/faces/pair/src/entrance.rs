//! Where clients come in: a listener as it runs, and who is on the way from there to a stream.
//!
//! 1. A connection is accepted, and has a place among its client's, or is reset.
//! 2. Where its first bytes say more (a PROXY header, the name in a ClientHello) they are waited for ([`proxy::first_step`]).
//! 3. It waits for a stream, as long as its peer is away or lets no more be opened, and becomes a relay.
//!
//! Each keeps the listener it came by as that was then: a reload changes nothing for it.

use crate::event_loop::PairLoop;
use crate::frames::{Carriage, Opening};
use crate::link::StreamUse;
use crate::relay::StreamRelay;
use proxy::{
    ClientPlace, EventWatch, FirstStep, LONGEST_HELLO, NameRoutes, PairListenerConfig, first_step, lets_in,
    plain, reset_on_close,
};
use std::collections::{HashMap, VecDeque};
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use units::Span;

/// Connections that one readiness takes at most.
const ACCEPTS: usize = 64;
/// How long a connection waits for its peer, and how many do.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_WAITING: usize = 1024;

/// A listener's settings.
pub struct Entrance {
    /// Its name.
    pub name: String,
    /// As configured.
    pub config: PairListenerConfig,
    routes: NameRoutes<String>,
}

/// What a listener listens by.
pub enum EntranceSocket {
    /// Connections.
    Tcp(TcpListener),
    /// Datagrams.
    Udp(UdpSocket),
}

/// One address of a listener.
pub struct Listening {
    /// As configured.
    pub wanted: SocketAddr,
    /// Whose it is.
    pub entrance: Arc<Entrance>,
    /// Bound to it.
    pub socket: EntranceSocket,
}

/// A client that has no stream yet.
pub struct WaitingClient {
    tcp: TcpStream,
    entrance: Arc<Entrance>,
    /// Its number in the event queue.
    number: u64,
    /// Until when its first bytes, and then its peer, are waited for.
    deadline: Instant,
    place: Option<ClientPlace>,
    awaits_header: bool,
    ends: bool,
    client: SocketAddr,
    destination: Option<SocketAddr>,
    upstream: String,
}

/// Those that wait.
#[derive(Default)]
pub struct WaitingRoom {
    /// For their first bytes.
    hellos: HashMap<u64, WaitingClient>,
    /// For a stream, in the order in which they came.
    seats: VecDeque<WaitingClient>,
}

fn duration(t: Span) -> Duration {
    Duration::from_nanos(t.as_nanos())
}

impl Entrance {
    /// Of a listener's settings.
    pub fn new(name: &str, config: &PairListenerConfig) -> Entrance {
        let routes = config.sni.iter().map(|(pattern, to)| (pattern.clone(), to.clone()));
        Entrance { name: name.into(), config: config.clone(), routes: NameRoutes::of(routes) }
    }

    /// Whether clients of this address may come.
    pub fn is_allowed(&self, from: SocketAddr) -> bool {
        lets_in(&self.config.allow, from.ip())
    }

    /// How long nothing may move, of a connection whose ends are both open, or one of them.
    pub fn idle_timeout(&self, is_half_closed: bool) -> Duration {
        duration(if is_half_closed { self.config.half_close_timeout } else { self.config.idle_timeout })
    }
}

impl EntranceSocket {
    /// Bound to an address.
    ///
    /// # Errors
    /// The system's.
    pub fn bind(at: SocketAddr, udp: bool) -> io::Result<EntranceSocket> {
        if udp {
            let socket = UdpSocket::bind(at)?;
            socket.set_nonblocking(true)?;
            return Ok(EntranceSocket::Udp(socket));
        }
        let socket = TcpListener::bind(at)?;
        socket.set_nonblocking(true)?;
        Ok(EntranceSocket::Tcp(socket))
    }

    /// Where it is bound.
    ///
    /// # Errors
    /// The system's.
    pub fn address(&self) -> io::Result<SocketAddr> {
        match self {
            EntranceSocket::Tcp(socket) => socket.local_addr(),
            EntranceSocket::Udp(socket) => socket.local_addr(),
        }
    }

    /// Whether it takes datagrams.
    pub fn is_udp(&self) -> bool {
        matches!(self, EntranceSocket::Udp(_))
    }
}

impl AsFd for EntranceSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            EntranceSocket::Tcp(socket) => socket.as_fd(),
            EntranceSocket::Udp(socket) => socket.as_fd(),
        }
    }
}

impl PairLoop {
    /// Takes what a listener has.
    pub(crate) fn accept_at(&mut self, token: u64) {
        if self.listening.get(&token).is_some_and(|listening| listening.socket.is_udp()) {
            return self.take_datagrams(token);
        }
        self.accept_some(token, ACCEPTS);
    }

    /// Takes connections of a listener, at most so many.
    pub(crate) fn accept_some(&mut self, token: u64, most: usize) {
        let now = Instant::now();
        for _ in 0..most {
            let Some(Listening { socket: EntranceSocket::Tcp(listener), entrance, .. }) =
                self.listening.get(&token)
            else {
                return;
            };
            match listener.accept() {
                Ok((tcp, from)) => {
                    let entrance = entrance.clone();
                    self.admit(tcp, plain(from), entrance, now);
                }
                // Nobody there, out of descriptors, or a client that is gone: the next readiness tries again.
                Err(_) => break,
            }
        }
        self.seat(now);
    }

    /// Gives a connection its place, or none.
    fn admit(&mut self, tcp: TcpStream, from: SocketAddr, entrance: Arc<Entrance>, now: Instant) {
        let config = &entrance.config;
        let awaits_header = config.proxy_protocol_from.iter().any(|net| net.contains(from.ip()));
        let number = self.number();
        let waiting = self.waiting.hellos.len() + self.waiting.seats.len();
        let mut client = WaitingClient {
            number,
            deadline: now + duration(config.hello_timeout),
            place: None,
            awaits_header,
            ends: false,
            client: from,
            destination: None,
            upstream: String::new(),
            tcp,
            entrance,
        };
        let is_refused = self.ending.drains()
            || waiting >= MOST_WAITING
            || !awaits_header && !self.let_in(&mut client)
            || client.tcp.set_nonblocking(true).is_err()
            || self.queue.watch(client.tcp.as_fd(), number, EventWatch::Stream).is_err();
        if is_refused {
            return reset_on_close(client.tcp.as_fd());
        }
        let _ = client.tcp.set_nodelay(true);
        self.waiting.hellos.insert(number, client);
        self.read_hello(number, false, now);
    }

    /// Whether a client, whose address is known, may come; takes its place.
    fn let_in(&self, client: &mut WaitingClient) -> bool {
        if !client.entrance.is_allowed(client.client) {
            return false;
        }
        let Some(most) = client.entrance.config.max_connections_per_client else { return true };
        client.place = self.places.take(client.client.ip(), most);
        client.place.is_some()
    }

    /// Looks at the first bytes of a client, if it is one whose first bytes count.
    pub(crate) fn read_hello(&mut self, number: u64, ends: bool, now: Instant) {
        let Some(mut client) = self.waiting.hellos.remove(&number) else { return };
        client.ends |= ends;
        loop {
            let step = look(&mut client, &mut self.buffer[..LONGEST_HELLO]);
            let name = match step {
                FirstStep::Wait => {
                    self.waiting.hellos.insert(number, client);
                    return;
                }
                FirstStep::Header(..) if self.let_in(&mut client) => continue,
                FirstStep::Header(..) | FirstStep::Refuse => return reset_on_close(client.tcp.as_fd()),
                FirstStep::Route(name) => name,
            };
            let by_name = name.and_then(|name| client.entrance.routes.find(&name));
            let Some(upstream) = by_name.or(client.entrance.config.upstream.as_ref()) else {
                return reset_on_close(client.tcp.as_fd());
            };
            (client.upstream, client.deadline) = (upstream.clone(), now + PATIENCE);
            self.waiting.seats.push_back(client);
            return self.seat(now);
        }
    }

    /// Clients that waited for their peer get their streams.
    pub(crate) fn seat(&mut self, now: Instant) {
        for client in std::mem::take(&mut self.waiting.seats) {
            if client.deadline <= now {
                reset_on_close(client.tcp.as_fd());
                continue;
            }
            let opening = Opening {
                carriage: Carriage::Connection,
                upstream: client.upstream.clone(),
                client: client.addresses(),
            };
            let Some((handle, stream, first)) = self.open(&client.entrance.config.peer, &opening) else {
                self.waiting.seats.push_back(client);
                continue;
            };
            let number = client.number;
            if let Some(link) = self.links.get_mut(handle) {
                link.streams.insert(stream, StreamUse::Relay(number));
            }
            let mut relay = StreamRelay::new(Some(client.tcp), handle, stream, now, first);
            (relay.entrance, relay.place) = (Some(client.entrance), client.place);
            self.relays.insert(number, relay);
            self.dirty.insert(number);
        }
    }

    /// Who has not said in time what it must begin with.
    pub(crate) fn sweep_hellos(&mut self, now: Instant) {
        let late = self.waiting.hellos.extract_if(|_, client| client.deadline <= now);
        late.for_each(|(_, client)| reset_on_close(client.tcp.as_fd()));
    }
}

impl WaitingClient {
    /// Who the client is, and what it connected to.
    fn addresses(&self) -> Option<(SocketAddr, SocketAddr)> {
        let to = self.destination.or_else(|| self.tcp.local_addr().ok().map(plain))?;
        Some((self.client, to))
    }
}

/// What a client's first bytes lead to; a header is taken.
fn look(client: &mut WaitingClient, buffer: &mut [u8]) -> FirstStep {
    let wants_name = !client.entrance.routes.is_empty();
    if !client.awaits_header && !wants_name {
        return FirstStep::Route(None);
    }
    let n = match client.tcp.peek(buffer) {
        Ok(n) => n,
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => return FirstStep::Wait,
        Err(_) => return FirstStep::Refuse,
    };
    // Nothing but the end of the stream, or no room for more of it.
    let is_all = client.ends || n == buffer.len() || n == 0;
    let step = first_step(&buffer[..n], is_all, client.awaits_header, wants_name);
    if let FirstStep::Header(length, between) = step {
        client.awaits_header = false;
        if let Some((from, to)) = between {
            (client.client, client.destination) = (plain(from), Some(plain(to)));
        }
        if client.tcp.read_exact(&mut buffer[..length]).is_err() {
            return FirstStep::Refuse;
        }
    }
    step
}
