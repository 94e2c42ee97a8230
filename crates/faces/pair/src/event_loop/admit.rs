//! The way of a client's connection to a stream.
//!
//! 1. A connection is accepted, and has a place among its client's, or is reset.
//! 2. Where its first bytes say more (a PROXY header, the name in a ClientHello) they are waited for ([`proxy::first_step`]).
//! 3. It waits for a stream, as long as its peer is away or lets no more be opened, and becomes a relay.
//!
//! Each keeps the listener it came by as that was then: a reload changes nothing for it.

use super::PairLoop;
use crate::entrance::{Entrance, EntranceSocket, Listening, WaitingClient};
use crate::frames::{Carriage, Opening};
use crate::link::StreamUse;
use crate::relay::StreamRelay;
use linux::epoll::EventWatch;
use linux::socket::reset_on_close;
use proxy::{FirstStep, LONGEST_HELLO, plain};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Connections that one readiness takes at most.
const ACCEPTS: usize = 64;
/// How long a connection waits for its peer, and how many do.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_WAITING: usize = 1024;

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
            let step = client.look(&mut self.buffer[..LONGEST_HELLO]);
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
