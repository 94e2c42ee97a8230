//! Whose packet it was that the path dropped, and each once however many of its fragments.
//!
//! The first fragment alone has the ports (`wire.rs`); of the others the number of their flow is known.

use crate::wire::{self, Wire};
use path::{Packet, Stage};
use scenario::Scenario;
use std::collections::{BTreeMap, BTreeSet};

/// Torn packets and flows remembered, at most; the oldest gives way.
const MOST: usize = 4096;

/// Packets that lost a fragment.
#[derive(Default)]
pub struct TornPackets {
    /// Something on the path makes fragments.
    cuts: bool,
    /// Ports of the flows that carry data, by their number.
    ports: BTreeMap<u32, [u16; 2]>,
    /// Packets whose loss was counted by one of their fragments.
    torn: BTreeSet<u64>,
}

impl TornPackets {
    /// None yet.
    pub fn new(scenario: &Scenario) -> TornPackets {
        let stages = scenario.links.iter().flat_map(|l| l.forward.iter().chain(&l.backward));
        let cuts = stages.into_iter().any(|s| matches!(&s.stage, Stage::Tunnel(t) if t.fragment));
        TornPackets { cuts, ..TornPackets::default() }
    }

    /// A whole packet enters a link.
    #[inline]
    pub fn note(&mut self, packet: &Packet<Wire>) {
        if !self.cuts {
            return;
        }
        if let Some(ports) = wire::data_ports(packet.body.ip()) {
            self.ports.insert(packet.flow, ports);
            if self.ports.len() > MOST {
                self.ports.pop_first();
            }
        }
    }

    /// The ports of a packet of data that was dropped; `None` of other packets, and of a further fragment of one.
    pub fn ports(&mut self, packet: &Packet<Wire>) -> Option<[u16; 2]> {
        if packet.fragment.is_none() {
            return wire::data_ports(packet.body.ip());
        }
        if !self.torn.insert(packet.id) {
            return None;
        }
        if self.torn.len() > MOST {
            self.torn.pop_first();
        }
        // An ACK that was cut is no data; but ACKs are too small to be.
        self.ports.get(&packet.flow).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Pool, VIRTIO, receive, tests::super_packet};
    use path::{Body, Fragment};

    #[test]
    fn a_packet_of_which_two_fragments_are_dropped_is_lost_once() {
        let mut whole = Vec::new();
        receive(&super_packet(1400, 0), &mut Pool::default(), &mut 0, |p| whole.push(p));
        let whole = whole.remove(0);
        let piece = |index: u8| {
            let mut piece = whole.clone();
            piece.body = whole.body.fragment(index as u32 * 800, 800);
            piece.fragment = Some(Fragment { index, count: 2 });
            piece
        };
        assert!(piece(1).body.ip().is_empty() && piece(0).body.ip().len() > VIRTIO);
        let mut torn = TornPackets { cuts: true, ..TornPackets::default() };
        torn.note(&whole);
        assert_eq!(torn.ports(&piece(1)), Some([0x0102, 0x0304]));
        assert_eq!(torn.ports(&piece(0)), None);
        assert_eq!(torn.ports(&whole), Some([0x0102, 0x0304]));
    }
}
