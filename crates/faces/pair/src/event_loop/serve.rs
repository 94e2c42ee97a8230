//! Handles streams from peers: the opening names an upstream, a server of it is connected to, and the stream
//! becomes a relay.

use super::PairLoop;
use crate::flow::DatagramFlow;
use crate::frames::{Opening, OpeningRead, StreamKind};
use crate::link::StreamUse;
use crate::pending::PendingStream;
use crate::reader::{StreamRead, StreamReader};
use crate::relay::{StreamRelay, code};
use crate::resolve::ResolveRequest;
use bytes::Bytes;
use linux::epoll::EventWatch;
use linux::socket::{connect_to, take_error, tcp_socket};
use noq_proto::{ConnectionHandle, Dir, VarInt};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How long the opening of a stream may take, like a proxy's `hello_timeout`.
const OPENING_TIMEOUT: Duration = Duration::from_secs(5);

impl PairLoop {
    /// Accepts the streams that the peer has opened.
    pub(crate) fn accept_streams(&mut self, handle: ConnectionHandle) {
        let now = Instant::now();
        loop {
            let number = self.number();
            let Some(link) = self.links.get_mut(handle) else { return };
            let Some(stream) = link.conn.streams().accept(Dir::Bi) else { return };
            link.streams.insert(stream, StreamUse::Relay(number));
            let pending = PendingStream {
                link: handle,
                stream,
                reader: StreamReader::default(),
                bytes: Vec::new(),
                opening: None,
                servers: Vec::new(),
                socket: None,
                deadline: now + OPENING_TIMEOUT,
            };
            self.pending.0.insert(number, pending);
            self.read_opening(number, now);
        }
    }

    /// Reads more of the opening. Returns whether the stream was one that waits for its opening.
    pub(crate) fn read_opening(&mut self, number: u64, now: Instant) -> bool {
        let Some(pending) = self.pending.0.get_mut(&number) else { return false };
        let Some(link) = self.links.get_mut(pending.link) else { return true };
        while pending.opening.is_none() {
            match pending.reader.read(&mut link.conn, pending.stream) {
                Ok(StreamRead::Bytes(bytes)) => pending.bytes.extend_from_slice(&bytes),
                Ok(StreamRead::Nothing) => return true,
                Ok(StreamRead::End) | Err(_) => {
                    self.refuse(number, code::BAD_OPENING);
                    return true;
                }
            }
            match Opening::read(&pending.bytes) {
                OpeningRead::More => {}
                OpeningRead::Bad => {
                    self.refuse(number, code::BAD_OPENING);
                    return true;
                }
                OpeningRead::Done(opening, length) => {
                    pending.bytes.drain(..length);
                    pending.opening = Some(opening);
                    self.find_server(number, now);
                    return true;
                }
            }
        }
        true
    }

    /// The upstream is known: checks whether the peer may use it, and looks up its servers.
    fn find_server(&mut self, number: u64, now: Instant) {
        let Some(handle) = self.pending.0.get(&number).map(|pending| pending.link) else { return };
        let peer = self.identify(handle);
        let Some(pending) = self.pending.0.get_mut(&number) else { return };
        let name = pending.opening.as_ref().map_or("", |opening| &opening.upstream);
        let upstream = self.config.upstreams.get(name).filter(|upstream| {
            peer.as_ref().is_some_and(|peer| upstream.peers.is_empty() || upstream.peers.contains(peer))
        });
        let Some(upstream) = upstream.filter(|_| !self.ending.drains()) else {
            self.refuse(number, code::REFUSED);
            return;
        };
        pending.deadline = now + Duration::from_nanos(upstream.connect_timeout.as_nanos());
        if let Some(found) = self.resolver.ask(ResolveRequest::Server(number), &upstream.servers.0) {
            self.servers_found(number, found, now);
        }
    }

    /// Host names were resolved.
    pub(crate) fn resolved(&mut self, asker: ResolveRequest, found: Vec<SocketAddr>) {
        let now = Instant::now();
        match asker {
            ResolveRequest::Peer(name) => self.call(&name, &found, now),
            ResolveRequest::Server(number) => self.servers_found(number, found, now),
        }
    }

    fn servers_found(&mut self, number: u64, mut found: Vec<SocketAddr>, now: Instant) {
        let Some(pending) = self.pending.0.get_mut(&number) else { return };
        found.reverse();
        pending.servers = found;
        match pending.opening.as_ref().map(|opening| opening.kind) {
            Some(StreamKind::Datagrams) => self.begin_flow(number, now),
            _ => self.connect_next(number, now),
        }
    }

    /// Connects to the next server. If none is left, the stream is refused.
    fn connect_next(&mut self, number: u64, now: Instant) {
        let timeout = self.connect_timeout(number);
        let Some(pending) = self.pending.0.get_mut(&number) else { return };
        while let Some(server) = pending.servers.pop() {
            let begun = tcp_socket(server.is_ipv6()).and_then(|socket| {
                connect_to(socket.as_fd(), server)?;
                self.queue.watch(socket.as_fd(), number, EventWatch::Stream)?;
                Ok(socket)
            });
            if let Ok(socket) = begun {
                pending.socket = Some(socket);
                pending.deadline = now + timeout;
                return;
            }
        }
        self.refuse(number, code::UNREACHABLE);
    }

    fn connect_timeout(&self, number: u64) -> Duration {
        let opening = self.pending.0.get(&number).and_then(|pending| pending.opening.as_ref());
        let upstream = opening.and_then(|opening| self.config.upstreams.get(&opening.upstream));
        upstream.map_or(OPENING_TIMEOUT, |upstream| Duration::from_nanos(upstream.connect_timeout.as_nanos()))
    }

    /// A connecting socket is ready, or has failed.
    pub(crate) fn on_server_ready(&mut self, number: u64, failed: bool) {
        let now = Instant::now();
        let Some(pending) = self.pending.0.get_mut(&number) else { return };
        let Some(socket) = &pending.socket else { return };
        if failed || take_error(socket.as_fd()).is_some() {
            pending.socket = None;
            self.connect_next(number, now);
            return;
        }
        let Some(pending) = self.pending.0.remove(&number) else { return };
        let mut bytes = self.header_of(&pending);
        let tcp = pending.socket.map(TcpStream::from);
        if let Some(tcp) = &tcp {
            let _ = tcp.set_nodelay(true);
        }
        bytes.extend_from_slice(&pending.bytes);
        let mut relay = StreamRelay::new(tcp, pending.link, pending.stream, now, Vec::new());
        relay.hand_down(Bytes::from(bytes), pending.reader);
        self.relays.insert(number, relay);
        self.dirty.insert(number);
    }

    /// The PROXY header for a server, if its upstream is configured for one and the peer sent the addresses.
    fn header_of(&self, pending: &PendingStream) -> Vec<u8> {
        let opening = pending.opening.as_ref();
        let upstream = opening.and_then(|opening| self.config.upstreams.get(&opening.upstream));
        let version = upstream.and_then(|upstream| upstream.proxy_protocol);
        let header = version.zip(opening.and_then(|opening| opening.client));
        header.map_or(Vec::new(), |(version, (from, to))| version.write(from, to))
    }

    /// Datagrams need no connection: a socket sends to the first server.
    fn begin_flow(&mut self, number: u64, now: Instant) {
        let Some(pending) = self.pending.0.remove(&number) else { return };
        let flow = pending.servers.last().and_then(|server| {
            DatagramFlow::to_server(*server, pending.link, pending.stream, now)
                .ok()
                .filter(|flow| flow.watch(&self.queue, number))
        });
        let Some(link) = self.links.get_mut(pending.link) else { return };
        match flow {
            Some(flow) => {
                link.streams.insert(pending.stream, StreamUse::Flow(number));
                self.flows.insert(number, flow);
            }
            None => {
                self.pending.0.insert(number, pending);
                self.refuse(number, code::UNREACHABLE);
            }
        }
    }

    fn refuse(&mut self, number: u64, why: u32) {
        let Some(pending) = self.pending.0.remove(&number) else { return };
        let Some(link) = self.links.get_mut(pending.link) else { return };
        link.streams.remove(&pending.stream);
        let _ = link.conn.send_stream(pending.stream).reset(VarInt::from_u32(why));
        let _ = link.conn.recv_stream(pending.stream).stop(VarInt::from_u32(why));
        let upstream = pending.opening.map_or(String::new(), |opening| opening.upstream);
        let peer = link.peer.clone().unwrap_or_default();
        let why = match why {
            code::REFUSED => "no such upstream for this peer",
            code::UNREACHABLE => "no server answers",
            _ => "not what a stream begins with",
        };
        self.log_event("pair-refused", &[("peer", peer), ("upstream", upstream), ("why", why.into())]);
    }

    /// Handles streams whose time is up.
    pub(crate) fn sweep_pending(&mut self, now: Instant) {
        let late = |(_, pending): &(&u64, &PendingStream)| pending.deadline <= now;
        let late: Vec<u64> = self.pending.0.iter().filter(late).map(|(number, _)| *number).collect();
        for number in late {
            let connects =
                self.pending.0.get_mut(&number).and_then(|pending| pending.socket.take()).is_some();
            if connects { self.connect_next(number, now) } else { self.refuse(number, code::UNREACHABLE) }
        }
    }

    /// Drops the streams of a link that is gone.
    pub(crate) fn drop_pending(&mut self, handle: ConnectionHandle) {
        self.pending.0.retain(|_, pending| pending.link != handle);
    }
}
