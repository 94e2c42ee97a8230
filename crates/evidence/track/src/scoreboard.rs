//! Segments that were sent and are not yet acknowledged, in order of sequence: the capture's copy of the
//! sender's retransmission queue.

use crate::PackedSpan;
use std::collections::VecDeque;
use std::num::NonZeroU32;
use units::Time;

/// Maximum number of segments kept: a capture may contain no ACK.
pub const MAX_SEGMENTS: usize = 16_384;
/// Number of segments searched linearly before the binary search of the others.
const LINEAR_SEARCH: usize = 3;

/// A range of the stream that one packet carried, or that the capture never saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentSegment {
    /// Unwrapped sequence number of the first byte.
    pub seq: u64,
    /// When it was sent last; for a segment that was never seen, when the gap was noticed.
    pub time: Time,
    pub len: u32,
    /// RTT between capture and sender at that time.
    pub up: PackedSpan,
    /// Log number.
    pub entry: u32,
    /// Timestamp (TSval) of the packet; for a segment that was never seen, that of the packet after it.
    pub tsval: Option<NonZeroU32>,
    /// IP identification of the packet; for a segment that was never seen, that of the packet after it.
    pub id: u16,
    /// Without SACK: the first transmission is this many log entries before `entry`, and its fate is open
    /// until the ACK.
    pub first: Option<NonZeroU32>,
    /// Number of transmissions seen.
    pub sent: u8,
    /// A SACK block covers it.
    pub sacked: bool,
}

impl SentSegment {
    /// The byte after its last byte.
    pub fn end(&self) -> u64 {
        self.seq + self.len as u64
    }

    /// Whether the capture never saw it.
    #[inline]
    pub fn is_unseen(&self) -> bool {
        self.sent == 0
    }

    /// Log number of its first transmission, if the fate of that is open.
    #[inline]
    pub fn first_entry(&self) -> Option<u32> {
        self.first.map(|back| self.entry.wrapping_sub(back.get()))
    }
}

/// Segments in order of sequence, without overlaps.
#[derive(Debug, Default)]
pub struct Scoreboard {
    pub list: VecDeque<SentSegment>,
    /// Bytes of segments that are covered by SACK.
    pub sacked: u32,
}

impl Scoreboard {
    /// Index of the first segment that ends after `seq`.
    #[inline]
    pub fn find(&self, seq: u64) -> usize {
        // Most ACKs cover one or two segments.
        let ends_after = |i: &usize| self.list.get(*i).is_none_or(|s| s.end() > seq);
        let near = (0..LINEAR_SEARCH).find(ends_after);
        near.unwrap_or_else(|| self.list.partition_point(|s| s.end() <= seq))
    }

    /// Splits segment `i` at `seq`. Returns whether `seq` is inside it.
    pub fn split(&mut self, i: usize, seq: u64) -> bool {
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
    fn a_segment_is_split_only_inside() {
        let segment = |seq, len| SentSegment { seq, len, ..SentSegment::default() };
        let mut board = Scoreboard::default();
        board.list.extend([segment(100, 50), segment(150, 50)]);
        assert_eq!((board.find(99), board.find(149), board.find(150), board.find(200)), (0, 0, 1, 2));
        assert!(!board.split(0, 100) && !board.split(0, 150) && !board.split(2, 120));
        assert!(board.split(0, 120));
        let parts: Vec<_> = board.list.iter().map(|s| (s.seq, s.len)).collect();
        assert_eq!(parts, [(100, 20), (120, 30), (150, 50)]);
    }
}
