//! The scoreboard: what was sent and is not yet acknowledged, by sequence.

use std::collections::VecDeque;

/// The most segments kept: a capture may never acknowledge.
pub const MOST: usize = 16_384;

/// A stretch of the stream that one packet carried (or that was never seen).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentSegment {
    /// First byte.
    pub seq: u64,
    /// When it was sent last; of a hole, when it was noticed.
    pub time: u64,
    /// Bytes.
    pub len: u32,
    /// RTT between capture and sender in force then, µs.
    pub up: u32,
    /// Its number in the log.
    pub entry: u32,
    /// Timestamp of the packet; of a hole, of the packet behind it.
    pub tsval: u32,
    /// IP identification, likewise.
    pub id: u16,
    /// So many entries before that one stands its first transmission, whose fate its acknowledgement tells; 0: none.
    pub first: u32,
    /// How often it was sent; 0: it was not seen.
    pub times: u8,
    /// The receiver has it, by SACK.
    pub sacked: bool,
}

impl SentSegment {
    pub fn end(&self) -> u64 {
        self.seq + self.len as u64
    }

    /// It was not seen.
    #[inline]
    pub fn is_hole(&self) -> bool {
        self.times == 0
    }

    /// The log's number of its first transmission, if its fate is open.
    #[inline]
    pub fn doubted(&self) -> Option<u32> {
        (self.first > 0).then(|| self.entry.wrapping_sub(self.first))
    }
}

/// Segments in the order of sequence, without overlaps.
#[derive(Debug, Default)]
pub struct SentBoard {
    pub list: VecDeque<SentSegment>,
}

impl SentBoard {
    /// Index of the first segment that ends behind `seq`.
    #[inline]
    pub fn find(&self, seq: u64) -> usize {
        match self.list.front() {
            Some(first) if first.end() > seq => 0,
            None => 0,
            _ => self.list.partition_point(|s| s.end() <= seq),
        }
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
