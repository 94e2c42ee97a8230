//! Assigns dropped fragments to their flow, and counts each packet once however many of its fragments are
//! dropped.
//!
//! Only the first fragment contains the ports (`wire.rs`); for the others the hash of their flow is known.

use crate::wire::{self, Wire};
use path::{Packet, Stage};
use scenario::Scenario;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of packets and of flows to remember; beyond it the oldest is dropped.
const MAX_REMEMBERED: usize = 4096;

/// Fragments on the path, and the packets that lost one.
#[derive(Default)]
pub struct FragmentedPackets {
    /// Whether an element of the path fragments packets.
    has_fragments: bool,
    /// Ports of flows with payload, by the hash of the flow.
    ports: BTreeMap<u32, [u16; 2]>,
    /// Packets that have been counted as lost.
    lost: BTreeSet<u64>,
}

impl FragmentedPackets {
    pub fn new(scenario: &Scenario) -> FragmentedPackets {
        let stages = scenario.links.iter().flat_map(|l| l.forward.iter().chain(&l.backward));
        let has_fragments = stages.into_iter().any(|s| matches!(&s.stage, Stage::Tunnel(t) if t.fragment));
        FragmentedPackets { has_fragments, ..FragmentedPackets::default() }
    }

    /// Records a whole packet that enters a link.
    #[inline]
    pub fn record(&mut self, packet: &Packet<Wire>) {
        if !self.has_fragments {
            return;
        }
        if let Some(ports) = wire::data_ports(packet.body.ip()) {
            self.ports.insert(packet.flow, ports);
            if self.ports.len() > MAX_REMEMBERED {
                self.ports.pop_first();
            }
        }
    }

    /// Returns the ports of a dropped data packet; `None` for other packets, and for further fragments of a
    /// packet that was already returned.
    pub fn ports(&mut self, packet: &Packet<Wire>) -> Option<[u16; 2]> {
        if packet.fragment.is_none() {
            return wire::data_ports(packet.body.ip());
        }
        if !self.lost.insert(packet.id) {
            return None;
        }
        if self.lost.len() > MAX_REMEMBERED {
            self.lost.pop_first();
        }
        // A fragmented ACK would count as data here, but ACKs are too small to be fragmented.
        self.ports.get(&packet.flow).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Pool, VIRTIO, receive, tests::super_packet};
    use path::{Body, Fragment};

    #[test]
    fn two_dropped_fragments_of_a_packet_count_as_one_loss() {
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
        let mut lost = FragmentedPackets { has_fragments: true, ..FragmentedPackets::default() };
        lost.record(&whole);
        assert_eq!(lost.ports(&piece(1)), Some([0x0102, 0x0304]));
        assert_eq!(lost.ports(&piece(0)), None);
        assert_eq!(lost.ports(&whole), Some([0x0102, 0x0304]));
    }
}
