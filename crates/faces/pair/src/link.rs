//! One QUIC connection to a peer: the library's state machine, what it wants sent and when.
//!
//! The library paces by the control's rate, but lets up to ten packets go at once. A control that knows a bucket which holds
//! fewer says when each may leave; it waits here until then, and the library is asked for no more: when the next may leave
//! depends on when this one did, and timers are late.

use crate::contract::ContractTerms;
use crate::control::CongestionChoice;
use crate::socket::QuicSocket;
use noq_proto::{Connection, ConnectionHandle, EcnCodepoint, Endpoint, StreamId, Transmit};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// What is due within this is sent now: less than timers are late by, and a burst of one packet at 120 Mbit/s.
const GRAIN: Duration = Duration::from_micros(100);

/// A packet that waits for its time.
struct HeldPacket {
    at: Instant,
    to: SocketAddr,
    ecn: Option<EcnCodepoint>,
    bytes: Vec<u8>,
}

/// What came of an opened stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamUse {
    /// The relay of this number.
    Relay(u64),
    /// The datagrams of the flow of this number.
    Flow(u64),
}

/// One connection to a peer.
pub struct PairLink {
    /// The library's.
    pub conn: Connection,
    /// The peer, by its key; `None` until it is known.
    pub peer: Option<String>,
    /// What streams are used for.
    pub streams: HashMap<StreamId, StreamUse>,
    /// Whether data may be sent: the handshake is done, or early data was asked for and is possible.
    pub is_up: bool,
    /// The connection has ended; it is kept until the library lets go of it.
    pub is_lost: bool,
    /// The control of what is sent.
    pub choice: CongestionChoice,
    /// What the log was told of a contract last.
    pub told: Option<ContractTerms>,
    last_departure: u64,
    held: Option<HeldPacket>,
    buffer: Vec<u8>,
}

impl PairLink {
    /// A link of a connection that has just begun.
    pub fn new(conn: Connection, peer: Option<String>, choice: &CongestionChoice) -> PairLink {
        PairLink {
            conn,
            peer,
            streams: HashMap::new(),
            is_up: false,
            is_lost: false,
            choice: choice.clone(),
            told: None,
            last_departure: 0,
            held: None,
            buffer: Vec::new(),
        }
    }

    /// Lets the library's timers run that are due; what it has to say of that is heeded next.
    pub fn expire(&mut self, now: Instant) {
        if self.conn.poll_timeout().is_some_and(|at| at <= now) {
            self.conn.handle_timeout(now);
        }
    }

    /// Sends what may be sent now, and hands on what the library tells its endpoint. True when it is gone.
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
        if is_paced && at > now + GRAIN {
            self.held =
                Some(HeldPacket { at, to: transmit.destination, ecn: transmit.ecn, bytes: bytes.to_vec() });
        } else {
            socket.send(transmit.destination, transmit.ecn, bytes);
        }
    }

    fn release(&mut self, now: Instant, socket: &QuicSocket) {
        if let Some(packet) = self.held.take_if(|packet| packet.at <= now) {
            self.choice.departure.left(now);
            socket.send(packet.to, packet.ecn, &packet.bytes);
        }
    }

    /// When it has to be driven next, whatever happens.
    pub fn deadline(&self) -> Option<Instant> {
        let held = self.held.as_ref().map(|packet| packet.at);
        let own = self.conn.poll_timeout();
        held.into_iter().chain(own).min()
    }
}
