//! Passes only packets of wanted connections. Whether a connection is wanted becomes known shortly after its
//! first packets, so all packets wait here for that time, in order.

use crate::headers::{PacketOwner, owner};
use std::collections::{BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use units::{Span, Time};

/// Time that packets wait for their socket to be found.
pub const MAX_LOOKUP_TIME: Span = Span::from_millis(300);
/// Maximum number of waiting packets; at a higher rate they wait for a shorter time.
const MAX_WAITING: usize = 65_536;
/// Bytes kept of each packet.
const KEPT_BYTES: usize = capture::SNAPLEN as usize;

/// A waiting packet.
#[derive(Clone, Copy, Debug)]
pub struct HeldPacket {
    /// Time of capture.
    pub time: Time,
    /// Length of the whole packet, bytes.
    pub length: u32,
    kept: u8,
    bytes: [u8; KEPT_BYTES],
}

impl HeldPacket {
    /// Stores a packet's first bytes.
    pub fn new(time: Time, bytes: &[u8], length: u32) -> HeldPacket {
        let mut held =
            HeldPacket { time, length, kept: bytes.len().min(KEPT_BYTES) as u8, bytes: [0; KEPT_BYTES] };
        let kept = usize::from(held.kept);
        held.bytes[..kept].copy_from_slice(&bytes[..kept]);
        held
    }

    /// Returns the packet's first bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.kept)]
    }
}

/// Passes packets of wanted connections; drops the others.
#[derive(Default)]
pub struct Gate {
    held: VecDeque<HeldPacket>,
    /// The ends of each connection, the smaller address first.
    connections: BTreeSet<(SocketAddr, SocketAddr)>,
    hosts: BTreeSet<(IpAddr, IpAddr)>,
}

impl Gate {
    /// Passes a connection's packets from now on, including those that still wait.
    pub fn admit(&mut self, a: SocketAddr, b: SocketAddr) {
        self.connections.insert((a.min(b), a.max(b)));
        self.hosts.insert((a.ip().min(b.ip()), a.ip().max(b.ip())));
    }

    /// Stops passing the packets of a connection that has ended.
    pub fn dismiss(&mut self, a: SocketAddr, b: SocketAddr) {
        self.connections.remove(&(a.min(b), a.max(b)));
    }

    /// Adds a packet.
    pub fn push(&mut self, packet: HeldPacket) {
        self.held.push_back(packet);
    }

    /// Returns the next wanted packet that has waited long enough at `now`.
    pub fn pop(&mut self, now: Time) -> Option<HeldPacket> {
        loop {
            let first = self.held.front()?;
            if first.time + MAX_LOOKUP_TIME > now && self.held.len() <= MAX_WAITING {
                return None;
            }
            let packet = self.held.pop_front()?;
            if self.is_wanted(packet.bytes()) {
                return Some(packet);
            }
        }
    }

    fn is_wanted(&self, packet: &[u8]) -> bool {
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
    fn a_connection_found_later_keeps_its_first_packets() {
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
    fn the_number_of_waiting_packets_is_bounded() {
        let mut gate = Gate::default();
        gate.admit("10.0.0.2:443".parse().unwrap(), "10.0.0.1:40000".parse().unwrap());
        (0..MAX_WAITING + 10).for_each(|_| gate.push(HeldPacket::new(Time::ZERO, &packet(6, 443), 60)));
        assert_eq!(
            std::iter::from_fn(|| gate.pop(Time::ZERO)).count(),
            10,
            "only the packets beyond the limit"
        );
    }
}
