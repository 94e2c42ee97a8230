//! What peers bring: a stream's beginning says where it goes, a server of that upstream is connected to, then it is a relay.

use super::PairLoop;
use crate::flow::DatagramFlow;
use crate::frames::{Carriage, Opening, OpeningRead};
use crate::link::StreamUse;
use crate::reader::{StreamRead, StreamReader};
use crate::relay::{StreamRelay, code};
use crate::resolve::NameAsker;
use crate::serving::Served;
use bytes::Bytes;
use linux::epoll::EventWatch;
use linux::socket::{connect_to, take_error, tcp_socket};
use noq_proto::{ConnectionHandle, Dir, VarInt};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How long the beginning of a stream may take, as a proxy's `hello_timeout` does.
const OPENING: Duration = Duration::from_secs(5);

impl PairLoop {
    /// Streams that the peer has opened.
    pub(crate) fn accept_streams(&mut self, handle: ConnectionHandle) {
        let now = Instant::now();
        loop {
            let number = self.number();
            let Some(link) = self.links.get_mut(handle) else { return };
            let Some(stream) = link.conn.streams().accept(Dir::Bi) else { return };
            link.streams.insert(stream, StreamUse::Relay(number));
            let served = Served {
                link: handle,
                stream,
                reader: StreamReader::default(),
                bytes: Vec::new(),
                opening: None,
                servers: Vec::new(),
                socket: None,
                deadline: now + OPENING,
            };
            self.serving.0.insert(number, served);
            self.read_opening(number, now);
        }
    }

    /// Reads on, as far as the beginning goes. True when the stream is one that begins.
    pub(crate) fn read_opening(&mut self, number: u64, now: Instant) -> bool {
        let Some(served) = self.serving.0.get_mut(&number) else { return false };
        let Some(link) = self.links.get_mut(served.link) else { return true };
        while served.opening.is_none() {
            match served.reader.read(&mut link.conn, served.stream) {
                Ok(StreamRead::Bytes(bytes)) => served.bytes.extend_from_slice(&bytes),
                Ok(StreamRead::Nothing) => return true,
                Ok(StreamRead::End) | Err(_) => {
                    self.refuse(number, code::NONSENSE);
                    return true;
                }
            }
            match Opening::read(&served.bytes) {
                OpeningRead::More => {}
                OpeningRead::Bad => {
                    self.refuse(number, code::NONSENSE);
                    return true;
                }
                OpeningRead::Done(opening, length) => {
                    served.bytes.drain(..length);
                    served.opening = Some(opening);
                    self.seek_server(number, now);
                    return true;
                }
            }
        }
        true
    }

    /// The upstream is known: are its servers, and may this peer go there?
    fn seek_server(&mut self, number: u64, now: Instant) {
        let Some(handle) = self.serving.0.get(&number).map(|served| served.link) else { return };
        let peer = self.identify(handle);
        let Some(served) = self.serving.0.get_mut(&number) else { return };
        let name = served.opening.as_ref().map_or("", |opening| &opening.upstream);
        let upstream = self.config.upstreams.get(name).filter(|upstream| {
            peer.as_ref().is_some_and(|peer| upstream.peers.is_empty() || upstream.peers.contains(peer))
        });
        let Some(upstream) = upstream.filter(|_| !self.ending.drains()) else {
            self.refuse(number, code::REFUSED);
            return;
        };
        served.deadline = now + Duration::from_nanos(upstream.connect_timeout.as_nanos());
        if let Some(found) = self.resolver.ask(NameAsker::Server(number), &upstream.servers.0) {
            self.servers_found(number, found, now);
        }
    }

    /// Names have become addresses.
    pub(crate) fn resolved(&mut self, asker: NameAsker, found: Vec<SocketAddr>) {
        let now = Instant::now();
        match asker {
            NameAsker::Peer(name) => self.call(&name, &found, now),
            NameAsker::Server(number) => self.servers_found(number, found, now),
        }
    }

    fn servers_found(&mut self, number: u64, mut found: Vec<SocketAddr>, now: Instant) {
        let Some(served) = self.serving.0.get_mut(&number) else { return };
        found.reverse();
        served.servers = found;
        match served.opening.as_ref().map(|opening| opening.carriage) {
            Some(Carriage::Datagrams) => self.begin_flow(number, now),
            _ => self.connect_next(number, now),
        }
    }

    /// Tries the next server; with none left the stream is broken off.
    fn connect_next(&mut self, number: u64, now: Instant) {
        let timeout = self.connect_timeout(number);
        let Some(served) = self.serving.0.get_mut(&number) else { return };
        while let Some(server) = served.servers.pop() {
            let begun = tcp_socket(server.is_ipv6()).and_then(|socket| {
                connect_to(socket.as_fd(), server)?;
                self.queue.watch(socket.as_fd(), number, EventWatch::Stream)?;
                Ok(socket)
            });
            if let Ok(socket) = begun {
                served.socket = Some(socket);
                served.deadline = now + timeout;
                return;
            }
        }
        self.refuse(number, code::UNREACHABLE);
    }

    fn connect_timeout(&self, number: u64) -> Duration {
        let opening = self.serving.0.get(&number).and_then(|served| served.opening.as_ref());
        let upstream = opening.and_then(|opening| self.config.upstreams.get(&opening.upstream));
        upstream.map_or(OPENING, |upstream| Duration::from_nanos(upstream.connect_timeout.as_nanos()))
    }

    /// A socket that was connecting has something to say.
    pub(crate) fn server_answers(&mut self, number: u64, failed: bool) {
        let now = Instant::now();
        let Some(served) = self.serving.0.get_mut(&number) else { return };
        let Some(socket) = &served.socket else { return };
        if failed || take_error(socket.as_fd()).is_some() {
            served.socket = None;
            self.connect_next(number, now);
            return;
        }
        let Some(served) = self.serving.0.remove(&number) else { return };
        let mut bytes = self.header_of(&served);
        let tcp = served.socket.map(TcpStream::from);
        if let Some(tcp) = &tcp {
            let _ = tcp.set_nodelay(true);
        }
        bytes.extend_from_slice(&served.bytes);
        let mut relay = StreamRelay::new(tcp, served.link, served.stream, now, Vec::new());
        relay.hand_down(Bytes::from(bytes), served.reader);
        self.relays.insert(number, relay);
        self.dirty.insert(number);
    }

    /// What a connection to a server begins with: whose it is, where its upstream wants that and the peer told it.
    fn header_of(&self, served: &Served) -> Vec<u8> {
        let opening = served.opening.as_ref();
        let upstream = opening.and_then(|opening| self.config.upstreams.get(&opening.upstream));
        let version = upstream.and_then(|upstream| upstream.proxy_protocol);
        let header = version.zip(opening.and_then(|opening| opening.client));
        header.map_or(Vec::new(), |(version, (from, to))| version.write(from, to))
    }

    /// Datagrams need no connection: a socket that sends to the first server.
    fn begin_flow(&mut self, number: u64, now: Instant) {
        let Some(served) = self.serving.0.remove(&number) else { return };
        let flow = served.servers.last().and_then(|server| {
            DatagramFlow::to_server(*server, served.link, served.stream, now)
                .ok()
                .filter(|flow| flow.watch(&self.queue, number))
        });
        let Some(link) = self.links.get_mut(served.link) else { return };
        match flow {
            Some(flow) => {
                link.streams.insert(served.stream, StreamUse::Flow(number));
                self.flows.insert(number, flow);
            }
            None => {
                self.serving.0.insert(number, served);
                self.refuse(number, code::UNREACHABLE);
            }
        }
    }

    fn refuse(&mut self, number: u64, why: u32) {
        let Some(served) = self.serving.0.remove(&number) else { return };
        let Some(link) = self.links.get_mut(served.link) else { return };
        link.streams.remove(&served.stream);
        let _ = link.conn.send_stream(served.stream).reset(VarInt::from_u32(why));
        let _ = link.conn.recv_stream(served.stream).stop(VarInt::from_u32(why));
        let upstream = served.opening.map_or(String::new(), |opening| opening.upstream);
        let peer = link.peer.clone().unwrap_or_default();
        let why = match why {
            code::REFUSED => "no such upstream for this peer",
            code::UNREACHABLE => "no server answers",
            _ => "not what a stream begins with",
        };
        self.tell("pair-refused", &[("peer", peer), ("upstream", upstream), ("why", why.into())]);
    }

    /// Who has taken too long.
    pub(crate) fn sweep_served(&mut self, now: Instant) {
        let late = |(_, served): &(&u64, &Served)| served.deadline <= now;
        let late: Vec<u64> = self.serving.0.iter().filter(late).map(|(number, _)| *number).collect();
        for number in late {
            let connects = self.serving.0.get_mut(&number).and_then(|served| served.socket.take()).is_some();
            if connects { self.connect_next(number, now) } else { self.refuse(number, code::UNREACHABLE) }
        }
    }

    /// The link of these is gone.
    pub(crate) fn lose_served(&mut self, handle: ConnectionHandle) {
        self.serving.0.retain(|_, served| served.link != handle);
    }
}
