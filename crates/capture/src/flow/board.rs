//! The scoreboard: what was sent and is not yet acknowledged, by sequence.

use std::collections::VecDeque;

/// The most segments kept: a capture may never acknowledge.
pub const MOST: usize = 16_384;

/// A stretch of the stream that one packet carried (or that was never seen).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
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
    /// How often it was sent.
    pub times: u8,
    /// The receiver has it, by SACK.
    pub sacked: bool,
    /// It was not seen.
    pub hole: bool,
}

impl Segment {
    pub fn end(&self) -> u64 {
        self.seq + self.len as u64
    }
}

/// Segments in the order of sequence, without overlaps.
#[derive(Debug, Default)]
pub struct Board {
    pub list: VecDeque<Segment>,
}

impl Board {
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
