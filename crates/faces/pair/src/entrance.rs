//! Where clients come in: a listener as it runs, and who is on the way from there to a stream.

use proxy::{ClientPlace, FirstStep, NameRoutes, PairListenerConfig, first_step, lets_in, plain};
use std::collections::{HashMap, VecDeque};
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use units::Span;

/// A listener's settings.
pub struct Entrance {
    /// Its name.
    pub name: String,
    /// As configured.
    pub config: PairListenerConfig,
    /// Upstreams by the name in a ClientHello.
    pub routes: NameRoutes<String>,
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
    /// Its connection.
    pub tcp: TcpStream,
    /// The listener it came by, as that was then.
    pub entrance: Arc<Entrance>,
    /// Its number in the event queue.
    pub number: u64,
    /// Until when its first bytes, and then its peer, are waited for.
    pub deadline: Instant,
    /// Its place among its client's, where they are limited.
    pub place: Option<ClientPlace>,
    /// A PROXY header comes first.
    pub awaits_header: bool,
    /// It has ended its stream.
    pub ends: bool,
    /// Its address, or the one that its header names.
    pub client: SocketAddr,
    /// What it connected to, where its header names that.
    pub destination: Option<SocketAddr>,
    /// Where it goes, once that is known.
    pub upstream: String,
}

/// Those that wait.
#[derive(Default)]
pub struct WaitingRoom {
    /// For their first bytes.
    pub hellos: HashMap<u64, WaitingClient>,
    /// For a stream, in the order in which they came.
    pub seats: VecDeque<WaitingClient>,
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

    /// How long a client's first bytes may take.
    pub fn hello_timeout(&self) -> Duration {
        duration(self.config.hello_timeout)
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

impl WaitingClient {
    /// Who the client is, and what it connected to.
    pub fn addresses(&self) -> Option<(SocketAddr, SocketAddr)> {
        let to = self.destination.or_else(|| self.tcp.local_addr().ok().map(plain))?;
        Some((self.client, to))
    }

    /// What a client's first bytes lead to; a header is taken.
    pub fn look(&mut self, buffer: &mut [u8]) -> FirstStep {
        let wants_name = !self.entrance.routes.is_empty();
        if !self.awaits_header && !wants_name {
            return FirstStep::Route(None);
        }
        let n = match self.tcp.peek(buffer) {
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return FirstStep::Wait,
            Err(_) => return FirstStep::Refuse,
        };
        // Nothing but the end of the stream, or no room for more of it.
        let is_all = self.ends || n == buffer.len() || n == 0;
        let step = first_step(&buffer[..n], is_all, self.awaits_header, wants_name);
        if let FirstStep::Header(length, between) = step {
            self.awaits_header = false;
            if let Some((from, to)) = between {
                (self.client, self.destination) = (plain(from), Some(plain(to)));
            }
            if self.tcp.read_exact(&mut buffer[..length]).is_err() {
                return FirstStep::Refuse;
            }
        }
        step
    }
}
