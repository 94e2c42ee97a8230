//! Losses in a receiver's trace: packet numbers that never arrived, and later packets that carry the same
//! data.
//!
//! A gap in the numbers alone is not a loss: senders skip numbers on purpose (RFC 9000 section 21.4). So a
//! missing packet counts as lost only if stream data that it must have contained arrived later, in a packet
//! with a higher number.

use super::trace::{APPLICATION, PacketNumber, QlogKind, QlogTrace, StreamPart};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A longer gap does not mean losses but a new range of numbers.
pub(super) const MAX_NUMBER_GAP: u64 = 10_000;

/// Packets of the peer that arrived, and those that were lost.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// Numbers of packets with data that arrived.
    pub arrived: BTreeSet<PacketNumber>,
    /// Numbers that were lost, each with the number of the packet that carried its data.
    pub lost: BTreeMap<PacketNumber, PacketNumber>,
    /// Inverse of `lost`: the lost packet by the number of the packet that carried its data.
    pub repairs: BTreeMap<PacketNumber, PacketNumber>,
}

impl Arrivals {
    pub fn of(trace: &QlogTrace) -> Arrivals {
        let mut out = Arrivals::default();
        let received = || {
            trace.events.iter().filter_map(|e| match &e.kind {
                QlogKind::Received(p) if p.number.0 == APPLICATION => Some(p),
                _ => None,
            })
        };
        let all: BTreeSet<u64> = received().map(|p| p.number.1).collect();
        out.arrived.extend(received().filter(|p| p.eliciting && p.length > 0).map(|p| p.number));
        // The application's numbers that are missing and that no gap in a stream explains yet.
        let mut missing: VecDeque<u64> = VecDeque::new();
        let mut highest: Option<u64> = None;
        let mut streams: BTreeMap<u64, Gaps> = BTreeMap::new();
        for p in received() {
            let number = p.number.1;
            if let Some(before) = highest
                && number > before
                && number - before <= MAX_NUMBER_GAP
            {
                missing.extend((before + 1..number).filter(|n| !all.contains(n)));
            }
            let is_late = highest.is_some_and(|highest| number < highest);
            highest = highest.max(Some(number));
            for part in &p.parts {
                let gaps = streams.entry(part.stream).or_default();
                let lost = gaps.fill(part);
                gaps.open(part, &mut missing);
                // A packet that arrived late fills its own gap, and one packet repairs one.
                if let Some(lost) = lost.filter(|_| !is_late && !out.repairs.contains_key(&p.number)) {
                    out.lost.insert((APPLICATION, lost), p.number);
                    out.repairs.insert(p.number, (APPLICATION, lost));
                }
            }
        }
        out
    }
}

/// Data of a stream that has not arrived although later data has.
#[derive(Debug, Default)]
struct Gaps {
    highest: u64,
    /// Maximum of the bytes that a packet carried.
    largest: u64,
    open: Vec<Gap>,
}

#[derive(Debug)]
struct Gap {
    from: u64,
    to: u64,
    /// Numbers of the packets that contained the data.
    numbers: VecDeque<u64>,
}

impl Gaps {
    /// Fills a gap with the part. Returns the number of the packet that it repairs.
    fn fill(&mut self, part: &StreamPart) -> Option<u64> {
        let i = self.open.iter().position(|h| part.from < h.to && part.to > h.from)?;
        let gap = &mut self.open[i];
        let number = gap.numbers.pop_front();
        // Repairs usually come in order. If one comes from the middle, the part before it counts as filled.
        gap.from = part.to.max(gap.from);
        if gap.from >= gap.to {
            self.open.remove(i);
        }
        number
    }

    /// Opens a gap if the part is beyond everything that arrived before. It belongs to the last missing
    /// packets that together had as many bytes.
    fn open(&mut self, part: &StreamPart, missing: &mut VecDeque<u64>) {
        self.largest = self.largest.max(part.to.saturating_sub(part.from));
        if part.from > self.highest {
            let packets = (part.from - self.highest).div_ceil(self.largest.max(1));
            let first = missing.len().saturating_sub(usize::try_from(packets).unwrap_or(usize::MAX));
            self.open.push(Gap { from: self.highest, to: part.from, numbers: missing.split_off(first) });
        }
        self.highest = self.highest.max(part.to);
    }
}

#[cfg(test)]
mod tests {
    use super::super::trace::{QlogEvent, QlogPacket};
    use super::*;
    use units::Time;

    fn trace(packets: &[(u64, u64, u64)]) -> QlogTrace {
        let event = |&(number, from, to): &(u64, u64, u64)| QlogEvent {
            time: Time::ZERO,
            kind: QlogKind::Received(QlogPacket {
                number: (APPLICATION, number),
                parts: vec![StreamPart { stream: 0, from, to, fin: false }],
                ..QlogPacket::default()
            }),
        };
        QlogTrace { events: packets.iter().map(event).collect(), ..QlogTrace::default() }
    }

    #[test]
    fn a_missing_number_is_a_loss_only_if_its_data_comes_later() {
        // Number 1 is skipped on purpose, 3 and 4 are lost and repaired by 7 and 9, 6 arrives late.
        let all = Arrivals::of(&trace(&[
            (0, 0, 100),
            (2, 100, 200),
            (5, 400, 500),
            (7, 200, 300),
            (6, 500, 600),
            (8, 600, 700),
            (9, 300, 400),
            (10, 0, 100),
        ]));
        let lost: Vec<(u64, u64)> = all.lost.iter().map(|(lost, by)| (lost.1, by.1)).collect();
        assert_eq!(lost, [(3, 7), (4, 9)]);
        let none = Arrivals::of(&trace(&[(0, 0, 100), (2, 100, 200), (3, 200, 300)]));
        assert!(none.lost.is_empty());
    }
}
