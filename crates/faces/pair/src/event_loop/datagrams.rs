//! Passes datagrams between clients, peers and servers as QUIC datagrams (RFC 9221). Like UDP's, they may be
//! lost: also if they do not fit.

use super::PairLoop;
use crate::entrance::{Entrance, EntranceSocket, Listening};
use crate::flow::{DatagramFlow, FlowEnd};
use crate::frames::{Opening, StreamKind, read_datagram, write_datagram};
use crate::link::StreamUse;
use crate::relay::code;
use bytes::Bytes;
use noq_proto::{ConnectionHandle, StreamId, VarInt};
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The most datagrams to receive per readiness event.
const DATAGRAMS_PER_TURN: usize = 256;
/// How long the server's side keeps an idle flow: RFC 4787 section 4.3 requires at least 2 min and recommends
/// 5 min. The client's side may end it earlier, as its listener is configured.
const LONGEST_IDLE: Duration = Duration::from_secs(300);

impl PairLoop {
    /// Receives what clients have sent to a listener.
    pub(crate) fn take_datagrams(&mut self, token: u64) {
        let now = Instant::now();
        for _ in 0..DATAGRAMS_PER_TURN {
            let Some(Listening { socket: EntranceSocket::Udp(socket), entrance, .. }) =
                self.listening.get(&token)
            else {
                return;
            };
            let Ok((n, from)) = socket.recv_from(&mut self.buffer) else { return };
            let entrance = entrance.clone();
            if !entrance.is_allowed(from) {
                continue;
            }
            let Some(number) = self.flow_of(token, from, &entrance, now) else { continue };
            let payload = std::mem::take(&mut self.buffer);
            self.send_to_peer(number, &payload[..n], now);
            self.buffer = payload;
        }
    }

    /// The flow of a client, started if necessary.
    fn flow_of(&mut self, token: u64, from: SocketAddr, by: &Entrance, now: Instant) -> Option<u64> {
        if let Some(&number) = self.clients.get(&(token, from)) {
            return Some(number);
        }
        let upstream = by.config.upstream.clone()?;
        let opening = Opening { kind: StreamKind::Datagrams, upstream, client: None };
        let (link, stream, first) = self.open(&by.config.peer, &opening)?;
        let number = self.number();
        let there = self.links.get_mut(link)?;
        there.streams.insert(stream, StreamUse::Flow(number));
        there.conn.send_stream(stream).write(&first).ok()?;
        let end = FlowEnd::Client { listener: token, address: from };
        self.flows.insert(number, DatagramFlow { link, stream, end, last_moved: now });
        self.clients.insert((token, from), number);
        Some(number)
    }

    /// Sends a payload to the peer.
    fn send_to_peer(&mut self, number: u64, payload: &[u8], now: Instant) {
        let Some(flow) = self.flows.get_mut(&number) else { return };
        let Some(link) = self.links.get_mut(flow.link) else { return };
        flow.last_moved = now;
        let bytes = Bytes::from(write_datagram(flow.tag(), payload));
        // If it is too long for a packet or the peer accepts none, it is lost. If too many wait, the oldest
        // are lost.
        let _ = link.conn.datagrams().send(bytes, true);
    }

    /// A server has sent datagrams.
    pub(crate) fn on_server_datagrams(&mut self, number: u64) {
        let now = Instant::now();
        for _ in 0..DATAGRAMS_PER_TURN {
            let Some(DatagramFlow { end: FlowEnd::Server(socket), .. }) = self.flows.get(&number) else {
                return;
            };
            let n = match socket.recv(&mut self.buffer) {
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => continue, // an ICMP error of an earlier datagram, which is gone with this
            };
            let payload = std::mem::take(&mut self.buffer);
            self.send_to_peer(number, &payload[..n], now);
            self.buffer = payload;
        }
    }

    /// Delivers datagrams from a peer.
    pub(crate) fn deliver_datagrams(&mut self, handle: ConnectionHandle) {
        let now = Instant::now();
        while let Some(link) = self.links.get_mut(handle) {
            let Some(bytes) = link.conn.datagrams().recv() else { return };
            let Some((flow, payload)) = read_datagram(&bytes) else { continue };
            let stream = StreamId::from(VarInt::from_u32(flow));
            let Some(StreamUse::Flow(number)) = link.streams.get(&stream) else { continue };
            let Some(flow) = self.flows.get_mut(number) else { continue };
            flow.last_moved = now;
            match &flow.end {
                FlowEnd::Server(socket) => drop(socket.send(payload)),
                FlowEnd::Client { listener, address } => {
                    let listening = self.listening.get(listener).map(|listening| &listening.socket);
                    if let Some(EntranceSocket::Udp(socket)) = listening {
                        let _ = socket.send_to(payload, address);
                    }
                }
            }
        }
    }

    /// Ends a flow here, and at the peer unless the peer ended it.
    pub(crate) fn end_flow(&mut self, number: u64, tell_peer: bool) {
        let Some(flow) = self.flows.remove(&number) else { return };
        if let FlowEnd::Client { listener, address } = flow.end {
            self.clients.remove(&(listener, address));
        }
        let Some(link) = self.links.get_mut(flow.link) else { return };
        link.streams.remove(&flow.stream);
        let why = VarInt::from_u32(if tell_peer { code::IDLE } else { code::RESET });
        let _ = link.conn.send_stream(flow.stream).reset(why);
        let _ = link.conn.recv_stream(flow.stream).stop(why);
    }

    /// Ends idle flows.
    pub(crate) fn sweep_flows(&mut self, now: Instant) {
        let mut idle = Vec::new();
        for (number, flow) in &self.flows {
            let most = match &flow.end {
                FlowEnd::Server(_) => LONGEST_IDLE,
                // If the listener is gone, no answer can be sent.
                FlowEnd::Client { listener, .. } => {
                    let listening = self.listening.get(listener);
                    listening.map_or(Duration::ZERO, |listening| listening.entrance.idle_timeout(false))
                }
            };
            if flow.last_moved + most <= now {
                idle.push(*number);
            }
        }
        idle.into_iter().for_each(|number| self.end_flow(number, true));
    }
}
