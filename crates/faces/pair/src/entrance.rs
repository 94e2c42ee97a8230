//! Listeners, and clients that have no stream yet.

use proxy::{
    ClientSlot, FirstBytes, NameRoutes, PairListenerConfig, allows_address, classify_first_bytes, plain,
};
use std::collections::{HashMap, VecDeque};
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use units::Span;

/// The settings of a listener.
pub struct Entrance {
    pub name: String,
    pub config: PairListenerConfig,
    /// Upstreams by the server name of a ClientHello.
    pub routes: NameRoutes<String>,
}

/// The socket of a listener.
pub enum EntranceSocket {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

/// One address of a listener.
pub struct Listening {
    /// The address in the configuration.
    pub configured: SocketAddr,
    pub entrance: Arc<Entrance>,
    pub socket: EntranceSocket,
}

/// A client that has no stream yet.
pub struct WaitingClient {
    pub tcp: TcpStream,
    /// The listener it came from, with the settings of that time.
    pub entrance: Arc<Entrance>,
    /// The token in the event queue.
    pub number: u64,
    /// When waiting for its first bytes, and then for its peer, ends.
    pub deadline: Instant,
    /// The slot of this connection, if the listener limits connections per client.
    pub place: Option<ClientSlot>,
    /// Whether a PROXY header is still to come.
    pub awaits_header: bool,
    /// Whether the client has ended its direction of the connection.
    pub ends: bool,
    /// The client's address: the peer of the TCP connection, or the one in the PROXY header.
    pub client: SocketAddr,
    /// The address that the client connected to, if the PROXY header has one.
    pub destination: Option<SocketAddr>,
    /// The name of the upstream; empty until known.
    pub upstream: String,
}

/// All clients that wait.
#[derive(Default)]
pub struct WaitingClients {
    /// Clients whose first bytes are still to come.
    pub hellos: HashMap<u64, WaitingClient>,
    /// Clients that wait for a stream, in the order in which they came.
    pub for_stream: VecDeque<WaitingClient>,
}

fn duration(t: Span) -> Duration {
    Duration::from_nanos(t.as_nanos())
}

impl Entrance {
    /// An entrance with the settings of a listener.
    pub fn new(name: &str, config: &PairListenerConfig) -> Entrance {
        let routes = config.sni.iter().map(|(pattern, to)| (pattern.clone(), to.clone()));
        Entrance { name: name.into(), config: config.clone(), routes: NameRoutes::of(routes) }
    }

    /// Whether clients from this address are allowed.
    pub fn is_allowed(&self, from: SocketAddr) -> bool {
        allows_address(&self.config.allow, from.ip())
    }

    /// How long to wait for a client's first bytes.
    pub fn hello_timeout(&self) -> Duration {
        duration(self.config.hello_timeout)
    }

    /// How long a connection may be idle if both directions are open, or one.
    pub fn idle_timeout(&self, is_half_closed: bool) -> Duration {
        duration(if is_half_closed { self.config.half_close_timeout } else { self.config.idle_timeout })
    }
}

impl EntranceSocket {
    /// Binds to an address.
    ///
    /// # Errors
    /// Fails with the error of the system.
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

    /// The bound address.
    ///
    /// # Errors
    /// Fails with the error of the system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        match self {
            EntranceSocket::Tcp(socket) => socket.local_addr(),
            EntranceSocket::Udp(socket) => socket.local_addr(),
        }
    }

    /// Whether it is for datagrams.
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
    /// The address of the client and the one it connected to.
    pub fn addresses(&self) -> Option<(SocketAddr, SocketAddr)> {
        let to = self.destination.or_else(|| self.tcp.local_addr().ok().map(plain))?;
        Some((self.client, to))
    }

    /// Evaluates a client's first bytes. A PROXY header is consumed.
    pub fn read_first_bytes(&mut self, buffer: &mut [u8]) -> FirstBytes {
        let wants_name = !self.entrance.routes.is_empty();
        if !self.awaits_header && !wants_name {
            return FirstBytes::Route(None);
        }
        let n = match self.tcp.peek(buffer) {
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return FirstBytes::Wait,
            Err(_) => return FirstBytes::Refuse,
        };
        // Either the stream has ended, or there is no room for more of it.
        let is_all = self.ends || n == buffer.len() || n == 0;
        let step = classify_first_bytes(&buffer[..n], is_all, self.awaits_header, wants_name);
        if let FirstBytes::Header(length, between) = step {
            self.awaits_header = false;
            if let Some((from, to)) = between {
                (self.client, self.destination) = (plain(from), Some(plain(to)));
            }
            if self.tcp.read_exact(&mut buffer[..length]).is_err() {
                return FirstBytes::Refuse;
            }
        }
        step
    }
}
