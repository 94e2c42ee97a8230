//! What was sent and is not yet acknowledged, by sequence: the capture's copy of the sender's retransmission queue.

use crate::PackedSpan;
use std::collections::VecDeque;
use std::num::NonZeroU32;
use units::Time;

/// The most segments kept: a capture may never acknowledge.
pub const MOST: usize = 16_384;
/// So many segments are looked at one by one before the others are searched.
const NEAR: usize = 3;

/// A stretch of the stream that one packet carried, or that the capture never saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentSegment {
    /// First byte.
    pub seq: u64,
    /// When it was sent last; of one never seen, when it was missed.
    pub time: Time,
    /// Bytes.
    pub len: u32,
    /// RTT between capture and sender in force then.
    pub up: PackedSpan,
    /// Its number in the log.
    pub entry: u32,
    /// Timestamp of the packet; of one never seen, of the packet behind it.
    pub tsval: Option<NonZeroU32>,
    /// IP identification, likewise.
    pub id: u16,
    /// Without SACK: its first transmission stands so many entries before `entry`, and its fate is open until the ACK.
    pub first: Option<NonZeroU32>,
    /// How often it was seen.
    pub sent: u8,
    /// The receiver has it, by SACK.
    pub sacked: bool,
}

impl SentSegment {
    /// The byte after its last.
    pub fn end(&self) -> u64 {
        self.seq + self.len as u64
    }

    /// The capture never saw it.
    #[inline]
    pub fn is_unseen(&self) -> bool {
        self.sent == 0
    }

    /// The log's number of its first transmission, if its fate is open.
    #[inline]
    pub fn first_entry(&self) -> Option<u32> {
        self.first.map(|back| self.entry.wrapping_sub(back.get()))
    }
}

/// Segments in the order of sequence, without overlaps.
#[derive(Debug, Default)]
pub struct SentBoard {
    /// The segments.
    pub list: VecDeque<SentSegment>,
    /// Bytes of them that were sacked.
    pub sacked: u32,
}

impl SentBoard {
    /// Index of the first segment that ends behind `seq`.
    #[inline]
    pub fn find(&self, seq: u64) -> usize {
        // An ACK mostly covers a segment or two.
        let near = self.list.iter().take(NEAR).position(|s| s.end() > seq);
        near.unwrap_or_else(|| self.list.partition_point(|s| s.end() <= seq))
    }

    /// Cuts the segment at index `i` in two where `seq` is inside it; `true` if it was.
    pub fn cut(&mut self, i: usize, seq: u64) -> bool {
        let Some(s) = self.list.get_mut(i) else { return false };
        if seq <= s.seq || seq >= s.end() {
            return false;
        }
        let mut rest = *s;
        s.len = (seq - s.seq) as u32;
        rest.seq = seq;
        rest.len -= s.len;
        self.list.insert(i + 1, rest);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_cut_only_inside() {
        let segment = |seq, len| SentSegment { seq, len, ..SentSegment::default() };
        let mut board = SentBoard::default();
        board.list.extend([segment(100, 50), segment(150, 50)]);
        assert_eq!((board.find(99), board.find(149), board.find(150), board.find(200)), (0, 0, 1, 2));
        assert!(!board.cut(0, 100) && !board.cut(0, 150) && !board.cut(2, 120));
        assert!(board.cut(0, 120));
        let parts: Vec<_> = board.list.iter().map(|s| (s.seq, s.len)).collect();
        assert_eq!(parts, [(100, 20), (120, 30), (150, 50)]);
    }
}
