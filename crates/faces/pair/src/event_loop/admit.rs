//! From a client's connection to a stream.
//!
//! 1. A connection is accepted and takes one of its client's places, or is reset.
//! 2. If its first bytes matter (a PROXY header, the server name in a ClientHello), they are waited for
//!    ([`proxy::first_step`]).
//! 3. It waits for a stream while its peer is down or allows no more streams, then becomes a relay.
//!
//! Each connection keeps the settings its listener had when it came; a reload does not change them.

use super::PairLoop;
use crate::entrance::{Entrance, EntranceSocket, Listening, WaitingClient};
use crate::frames::{Opening, StreamKind};
use crate::link::StreamUse;
use crate::relay::StreamRelay;
use linux::epoll::EventWatch;
use linux::socket::reset_on_close;
use proxy::{FirstStep, LONGEST_HELLO, plain};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most connections to accept per readiness event.
const MAX_ACCEPTS: usize = 64;
/// How long a connection waits for its peer, and how many may wait.
const PEER_WAIT: Duration = Duration::from_secs(10);
const MAX_WAITING: usize = 1024;

impl PairLoop {
    /// Accepts what has arrived at a listener.
    pub(crate) fn accept_at(&mut self, token: u64) {
        if self.listening.get(&token).is_some_and(|listening| listening.socket.is_udp()) {
            return self.take_datagrams(token);
        }
        self.accept_some(token, MAX_ACCEPTS);
    }

    /// Accepts up to `most` connections of a listener.
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
                // No client is waiting, there are no file descriptors left, or the client has gone: the next
                // readiness event tries again.
                Err(_) => break,
            }
        }
        self.open_waiting(now);
    }

    /// Admits or refuses a connection.
    fn admit(&mut self, tcp: TcpStream, from: SocketAddr, entrance: Arc<Entrance>, now: Instant) {
        let config = &entrance.config;
        let awaits_header = config.proxy_protocol_from.iter().any(|net| net.contains(from.ip()));
        let number = self.number();
        let waiting = self.waiting.hellos.len() + self.waiting.for_stream.len();
        let mut client = WaitingClient {
            number,
            deadline: now + entrance.hello_timeout(),
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
            || waiting >= MAX_WAITING
            || !awaits_header && !self.take_place(&mut client)
            || client.tcp.set_nonblocking(true).is_err()
            || self.queue.watch(client.tcp.as_fd(), number, EventWatch::Stream).is_err();
        if is_refused {
            return reset_on_close(client.tcp.as_fd());
        }
        let _ = client.tcp.set_nodelay(true);
        self.waiting.hellos.insert(number, client);
        self.read_hello(number, false, now);
    }

    /// Whether a client with a known address is admitted; takes its place.
    fn take_place(&self, client: &mut WaitingClient) -> bool {
        if !client.entrance.is_allowed(client.client) {
            return false;
        }
        let Some(most) = client.entrance.config.max_connections_per_client else { return true };
        client.place = self.places.take(client.client.ip(), most);
        client.place.is_some()
    }

    /// Evaluates the first bytes of a client that waits for them.
    pub(crate) fn read_hello(&mut self, number: u64, ends: bool, now: Instant) {
        let Some(mut client) = self.waiting.hellos.remove(&number) else { return };
        client.ends |= ends;
        loop {
            let step = client.read_first_bytes(&mut self.buffer[..LONGEST_HELLO]);
            let name = match step {
                FirstStep::Wait => {
                    self.waiting.hellos.insert(number, client);
                    return;
                }
                FirstStep::Header(..) if self.take_place(&mut client) => continue,
                FirstStep::Header(..) | FirstStep::Refuse => return reset_on_close(client.tcp.as_fd()),
                FirstStep::Route(name) => name,
            };
            let by_name = name.and_then(|name| client.entrance.routes.find(&name));
            let Some(upstream) = by_name.or(client.entrance.config.upstream.as_ref()) else {
                return reset_on_close(client.tcp.as_fd());
            };
            (client.upstream, client.deadline) = (upstream.clone(), now + PEER_WAIT);
            self.waiting.for_stream.push_back(client);
            return self.open_waiting(now);
        }
    }

    /// Opens streams for the clients that wait for one.
    pub(crate) fn open_waiting(&mut self, now: Instant) {
        for client in std::mem::take(&mut self.waiting.for_stream) {
            if client.deadline <= now {
                reset_on_close(client.tcp.as_fd());
                continue;
            }
            let opening = Opening {
                kind: StreamKind::Connection,
                upstream: client.upstream.clone(),
                client: client.addresses(),
            };
            let Some((handle, stream, first)) = self.open(&client.entrance.config.peer, &opening) else {
                self.waiting.for_stream.push_back(client);
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

    /// Resets clients whose first bytes did not come in time.
    pub(crate) fn sweep_hellos(&mut self, now: Instant) {
        let late = self.waiting.hellos.extract_if(|_, client| client.deadline <= now);
        late.for_each(|(_, client)| reset_on_close(client.tcp.as_fd()));
    }
}
