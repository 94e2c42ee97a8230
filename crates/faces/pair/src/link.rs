//! A QUIC connection to a peer: the library's state machine, and the packet that waits to be sent.
//!
//! The library paces at the control's rate, but allows bursts of up to ten packets. A control that knows of a
//! smaller bucket decides when each packet may be sent. The packet waits here until then, and no other packet
//! is requested from the library: timers are late, and when the next packet may be sent depends on when this
//! one was.

use crate::contract::ContractTerms;
use crate::control::CongestionChoice;
use crate::socket::QuicSocket;
use noq_proto::{Connection, ConnectionHandle, EcnCodepoint, Endpoint, StreamId, Transmit};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// A packet due within this time is sent now. Timers are later than that, and it is the time of one packet at
/// 120 Mbit/s.
const SEND_SLACK: Duration = Duration::from_micros(100);

/// A packet that waits for its sending time.
struct HeldPacket {
    at: Instant,
    to: SocketAddr,
    ecn: Option<EcnCodepoint>,
    bytes: Vec<u8>,
}

/// The use of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamUse {
    /// The relay with this number.
    Relay(u64),
    /// The datagrams of the flow with this number.
    Flow(u64),
}

/// A connection to a peer.
pub struct PairLink {
    pub conn: Connection,
    /// The name of the peer; `None` until its key is known.
    pub peer: Option<String>,
    /// The use of each stream.
    pub streams: HashMap<StreamId, StreamUse>,
    /// Whether data may be sent: the handshake is done, or early data is enabled and possible.
    pub is_up: bool,
    /// Whether the connection has ended. It is kept until the library releases it.
    pub is_lost: bool,
    pub choice: CongestionChoice,
    /// The terms of a contract that were logged last.
    pub logged_terms: Option<ContractTerms>,
    last_departure: u64,
    held: Option<HeldPacket>,
    buffer: Vec<u8>,
}

impl PairLink {
    /// A link with a connection that has just started.
    pub fn new(conn: Connection, peer: Option<String>, choice: &CongestionChoice) -> PairLink {
        PairLink {
            conn,
            peer,
            streams: HashMap::new(),
            is_up: false,
            is_lost: false,
            choice: choice.clone(),
            logged_terms: None,
            last_departure: 0,
            held: None,
            buffer: Vec::new(),
        }
    }

    /// Runs the library's timers that are due. The caller must handle its events afterwards.
    pub fn expire(&mut self, now: Instant) {
        if self.conn.poll_timeout().is_some_and(|at| at <= now) {
            self.conn.handle_timeout(now);
        }
    }

    /// Sends what may be sent now, and passes the library's events on to its endpoint. Returns whether the
    /// connection is gone.
    pub fn drive(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        endpoint: &mut Endpoint,
        socket: &QuicSocket,
    ) -> bool {
        let mut is_gone = false;
        while let Some(event) = self.conn.poll_endpoint_events() {
            is_gone |= event.is_drained();
            if let Some(answer) = endpoint.handle_event(handle, event) {
                self.conn.handle_event(answer);
            }
        }
        self.release(now, socket);
        while self.held.is_none() {
            self.buffer.clear();
            let Some(transmit) = self.conn.poll_transmit(now, NonZeroUsize::MIN, &mut self.buffer) else {
                break;
            };
            self.send(now, &transmit, socket);
        }
        is_gone
    }

    fn send(&mut self, now: Instant, transmit: &Transmit, socket: &QuicSocket) {
        let (at, order) = self.choice.departure.get();
        let is_paced = order != self.last_departure;
        self.last_departure = order;
        let bytes = &self.buffer[..transmit.size];
        if is_paced && at > now + SEND_SLACK {
            self.held =
                Some(HeldPacket { at, to: transmit.destination, ecn: transmit.ecn, bytes: bytes.to_vec() });
        } else {
            socket.send(transmit.destination, transmit.ecn, bytes);
        }
    }

    fn release(&mut self, now: Instant, socket: &QuicSocket) {
        if let Some(packet) = self.held.take_if(|packet| packet.at <= now) {
            self.choice.departure.set_left(now);
            socket.send(packet.to, packet.ecn, &packet.bytes);
        }
    }

    /// When it must be driven next even if nothing happens.
    pub fn deadline(&self) -> Option<Instant> {
        let held = self.held.as_ref().map(|packet| packet.at);
        let own = self.conn.poll_timeout();
        held.into_iter().chain(own).min()
    }
}
