//! Recent retransmissions. A D-SACK, a timestamp or an ACK that comes too soon may show that one was needless.

use std::collections::VecDeque;

/// The most remembered.
const MOST: usize = 1024;

/// A stretch of the stream that was sent again.
#[derive(Clone, Copy, Debug)]
pub struct Retransmission {
    /// First byte.
    pub seq: u64,
    /// The byte after its last.
    pub end: u64,
    /// The log's number of the transmission before, thought lost.
    pub entry: u32,
    /// It is known to have been needless.
    pub needless: bool,
    /// A D-SACK said so (RFC 2883).
    pub by_dsack: bool,
}

/// In the order of time.
#[derive(Debug, Default)]
pub struct Retransmissions {
    list: VecDeque<Retransmission>,
}

impl Retransmissions {
    /// Something was sent again.
    pub fn push(&mut self, again: Retransmission) {
        if self.list.len() >= MOST {
            self.list.pop_front();
        }
        self.list.push_back(again);
    }

    /// Gives back what its list has in reserve.
    pub fn rest(&mut self) {
        self.list.shrink_to_fit();
    }

    /// The last retransmission of the bytes from `seq` to `end` was needless: a D-SACK says so, or else an ACK does.
    /// `found` hears of what was not yet known: the log's number of the transmission that had arrived, and how many
    /// bytes.
    pub fn needless(&mut self, seq: u64, end: u64, by_dsack: bool, mut found: impl FnMut(u32, u32)) {
        let mut left = end.saturating_sub(seq);
        for a in self.list.iter_mut().rev() {
            let common = a.end.min(end).saturating_sub(a.seq.max(seq));
            if common == 0 || by_dsack && a.by_dsack {
                continue;
            }
            if !a.needless {
                found(a.entry, common as u32);
            }
            if common < a.end - a.seq {
                // Part of a super-packet: the ACK of the other part comes later.
                (a.seq, a.end) = if a.seq < seq { (a.seq, seq) } else { (end, a.end) };
            } else {
                a.needless = true;
                a.by_dsack |= by_dsack;
            }
            left = left.saturating_sub(common);
            if left == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seq: u64, end: u64, entry: u32) -> Retransmission {
        Retransmission { seq, end, entry, needless: false, by_dsack: false }
    }

    #[test]
    fn each_dsack_counts_one_transmission() {
        let mut list = Retransmissions::default();
        list.push(record(0, 100, 1));
        list.push(record(0, 100, 2));
        let mut seen = Vec::new();
        list.needless(0, 100, false, |entry, n| seen.push((entry, n)));
        list.needless(0, 100, true, |entry, n| seen.push((entry, n)));
        assert_eq!(seen, [(2, 100)]);
        list.needless(0, 100, true, |entry, n| seen.push((entry, n)));
        list.needless(0, 100, true, |entry, n| seen.push((entry, n)));
        assert_eq!(seen, [(2, 100), (1, 100)]);
    }

    #[test]
    fn a_super_packet_is_told_of_piece_by_piece() {
        let mut list = Retransmissions::default();
        list.push(record(0, 300, 1));
        let mut sum = 0;
        for seq in [0, 200, 100] {
            list.needless(seq, seq + 100, true, |_, n| sum += n);
        }
        assert_eq!(sum, 300);
    }
}
