//! Lets the packets of known connections by. Whose a connection is becomes known a little after its first packets, so all
//! packets wait here for that long, in their order.

use crate::headers::{PacketOwner, owner};
use std::collections::{BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use units::{Span, Time};

/// Packets wait so long for the socket that they are of to be found.
pub const HOLD: Span = Span::from_millis(300);
/// Packets that wait, at most: at a higher rate they wait for a shorter time.
const MOST_HELD: usize = 65_536;
/// Bytes kept of a packet, at most.
const KEPT: usize = capture::SNAPLEN as usize;

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub struct HeldPacket {
    /// When it passed.
    pub time: Time,
    /// Bytes of the whole packet.
    pub length: u32,
    kept: u8,
    bytes: [u8; KEPT],
}

impl HeldPacket {
    /// Of a packet's first bytes.
    pub fn new(time: Time, bytes: &[u8], length: u32) -> HeldPacket {
        let mut held = HeldPacket { time, length, kept: bytes.len().min(KEPT) as u8, bytes: [0; KEPT] };
        let kept = usize::from(held.kept);
        held.bytes[..kept].copy_from_slice(&bytes[..kept]);
        held
    }

    /// Its first bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.kept)]
    }
}

/// The connections that are let by; the rest is dropped.
#[derive(Default)]
pub struct Gate {
    held: VecDeque<HeldPacket>,
    /// The ends of each connection, the lesser first.
    connections: BTreeSet<(SocketAddr, SocketAddr)>,
    hosts: BTreeSet<(IpAddr, IpAddr)>,
}

impl Gate {
    /// Lets a connection by from now on, and what still waits of it.
    pub fn admit(&mut self, a: SocketAddr, b: SocketAddr) {
        self.connections.insert((a.min(b), a.max(b)));
        self.hosts.insert((a.ip().min(b.ip()), a.ip().max(b.ip())));
    }

    /// Stops letting a connection by, which has ended.
    pub fn dismiss(&mut self, a: SocketAddr, b: SocketAddr) {
        self.connections.remove(&(a.min(b), a.max(b)));
    }

    /// Takes a packet.
    pub fn push(&mut self, packet: HeldPacket) {
        self.held.push_back(packet);
    }

    /// The next packet that has waited for long enough at `now` and is let by.
    pub fn pop(&mut self, now: Time) -> Option<HeldPacket> {
        loop {
            let first = self.held.front()?;
            if first.time + HOLD > now && self.held.len() <= MOST_HELD {
                return None;
            }
            let packet = self.held.pop_front()?;
            if self.lets_by(packet.bytes()) {
                return Some(packet);
            }
        }
    }

    fn lets_by(&self, packet: &[u8]) -> bool {
        match owner(packet) {
            PacketOwner::Connection(a, b) => self.connections.contains(&(a.min(b), a.max(b))),
            // A router's ICMP message comes from neither end.
            PacketOwner::Hosts(a, b) => {
                self.hosts.contains(&(a.min(b), a.max(b)))
                    || self.hosts.iter().any(|(x, y)| *x == b || *y == b)
            }
            PacketOwner::Other => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::tests::packet;

    #[test]
    fn a_connection_that_is_found_later_keeps_its_first_packets() {
        let mut gate = Gate::default();
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let push = |gate: &mut Gate, ms, port| gate.push(HeldPacket::new(at(ms), &packet(6, port), 1500));
        push(&mut gate, 0, 443);
        push(&mut gate, 1, 22);
        push(&mut gate, 2, 443);
        assert!(gate.pop(at(299)).is_none(), "too early");
        gate.admit("10.0.0.2:443".parse().unwrap(), "10.0.0.1:40000".parse().unwrap());
        let passed: Vec<Time> = std::iter::from_fn(|| gate.pop(at(302))).map(|p| p.time).collect();
        assert_eq!(passed, [at(0), at(2)]);
        assert!(gate.pop(at(9_000)).is_none());
        push(&mut gate, 9_000, 443);
        assert_eq!(gate.pop(at(9_300)).map(|p| (p.length, p.bytes().len())), Some((1500, 40)));
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut gate = Gate::default();
        gate.admit("10.0.0.2:443".parse().unwrap(), "10.0.0.1:40000".parse().unwrap());
        (0..MOST_HELD + 10).for_each(|_| gate.push(HeldPacket::new(Time::ZERO, &packet(6, 443), 60)));
        assert_eq!(std::iter::from_fn(|| gate.pop(Time::ZERO)).count(), 10, "no longer than there is room");
    }
}
