//! Recent retransmissions. A D-SACK, a timestamp or an ACK that comes too soon may show that one was
//! spurious.

use std::collections::VecDeque;

/// Maximum number of retransmissions remembered.
const MAX_REMEMBERED: usize = 1024;

/// A range of the stream that was retransmitted.
#[derive(Clone, Copy, Debug)]
pub struct Retransmission {
    pub seq: u64,
    /// The byte after its last byte.
    pub end: u64,
    /// Log number of the previous transmission, presumed lost.
    pub entry: u32,
    /// Known to be spurious.
    pub needless: bool,
    /// A D-SACK reported it (RFC 2883).
    pub by_dsack: bool,
}

/// Retransmissions in order of time.
#[derive(Debug, Default)]
pub struct Retransmissions {
    list: VecDeque<Retransmission>,
}

impl Retransmissions {
    /// Adds a retransmission.
    pub fn push(&mut self, retransmission: Retransmission) {
        if self.list.len() >= MAX_REMEMBERED {
            self.list.pop_front();
        }
        self.list.push_back(retransmission);
    }

    /// Frees unused capacity.
    pub fn shrink(&mut self) {
        self.list.shrink_to_fit();
    }

    /// Marks the last retransmission of the bytes from `seq` to `end` as spurious, reported by a D-SACK or
    /// inferred from an ACK. Calls `found` for what was not known yet, with the log number of the
    /// transmission that had arrived and the number of bytes.
    pub fn mark_spurious(&mut self, seq: u64, end: u64, by_dsack: bool, mut found: impl FnMut(u32, u32)) {
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
                // Part of a super-packet: the other part is acknowledged later.
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
        list.mark_spurious(0, 100, false, |entry, n| seen.push((entry, n)));
        list.mark_spurious(0, 100, true, |entry, n| seen.push((entry, n)));
        assert_eq!(seen, [(2, 100)]);
        list.mark_spurious(0, 100, true, |entry, n| seen.push((entry, n)));
        list.mark_spurious(0, 100, true, |entry, n| seen.push((entry, n)));
        assert_eq!(seen, [(2, 100), (1, 100)]);
    }

    #[test]
    fn a_super_packet_is_marked_piece_by_piece() {
        let mut list = Retransmissions::default();
        list.push(record(0, 300, 1));
        let mut sum = 0;
        for seq in [0, 200, 100] {
            list.mark_spurious(seq, seq + 100, true, |_, n| sum += n);
        }
        assert_eq!(sum, 300);
    }
}
