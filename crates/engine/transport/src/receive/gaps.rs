//! Reassembly, and the SACK blocks that report gaps (RFC 2018, RFC 2883).

use super::Receiver;
use crate::segment::{SackBlock, Segment};

/// Number of SACK blocks that are expected to reach the sender: an ACK has room for three or four, but may be
/// lost (`TCP_SACK_BLOCKS_EXPECTED`).
const SACK_BLOCKS_EXPECTED: usize = 2;

/// Data received out of order.
#[derive(Clone, Debug, Default)]
pub(super) struct OutOfOrder {
    /// Disjoint ranges, sorted by sequence.
    pub(super) ranges: Vec<(u64, u64)>,
    /// Number of bytes in the ranges.
    pub(super) bytes: u64,
    /// Ranges to report as SACK blocks, the most recently changed first.
    pub(super) recent: [(u64, u64); 4],
    pub(super) recents: usize,
    /// A duplicate range to report as D-SACK.
    pub(super) dsack: Option<(u64, u64)>,
}

impl OutOfOrder {
    /// Notes that `start..end` was received twice. Of several duplicate ranges in one segment, those that
    /// touch the first are merged into it (`tcp_dsack_extend`).
    fn note_duplicate(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        self.dsack = match self.dsack {
            None => Some((start, end)),
            Some((s, e)) if start <= e && s <= end => Some((s.min(start), e.max(end))),
            first => first,
        };
    }
}

impl Receiver {
    /// Whether compressed ACKs must be sent before `seg` is handled, because it opens or changes a block that
    /// would displace from the next ACK one that no ACK has reported yet (`tcp_sack_new_ofo_skb`).
    #[inline]
    pub fn would_displace_block(&self, seg: &Segment) -> bool {
        if self.acks.compressed == 0 || seg.seq <= self.rcv_nxt {
            return false;
        }
        let end = seg.seq + seg.len as u64;
        let known = self.out_of_order.recent[..self.out_of_order.recents]
            .iter()
            .position(|&(s, e)| seg.seq <= e && end >= s);
        known.unwrap_or(self.out_of_order.recents) >= SACK_BLOCKS_EXPECTED
    }

    /// Moves data that is now in order out of the gaps. Everything from the first byte that the current
    /// segment duplicated to its end counts as a duplicate (`tcp_ofo_queue`).
    pub(super) fn fill(&mut self) {
        let (mut eaten, end) = (0, self.rcv_nxt);
        while let Some(&(s, e)) = self.out_of_order.ranges.get(eaten).filter(|r| r.0 <= self.rcv_nxt) {
            if eaten == 0 {
                self.out_of_order.note_duplicate(s, end);
            }
            self.rcv_nxt = self.rcv_nxt.max(e);
            self.out_of_order.bytes -= e - s;
            eaten += 1;
        }
        if eaten > 0 {
            self.out_of_order.ranges.drain(..eaten);
            let (nxt, n) = (self.rcv_nxt, self.out_of_order.recents);
            let mut kept = 0;
            for i in 0..n {
                if self.out_of_order.recent[i].0 >= nxt {
                    self.out_of_order.recent[kept] = self.out_of_order.recent[i];
                    kept += 1;
                }
            }
            self.out_of_order.recents = kept;
        }
    }

    /// Adds an out-of-order range and moves its block to the front (RFC 2018 section 4); the part already
    /// held is a duplicate (`tcp_data_queue_ofo`).
    pub(super) fn insert(&mut self, seq: u64, end: u64) {
        let at = self.out_of_order.ranges.partition_point(|&(_, e)| e < seq);
        let (mut s, mut e) = (seq, end);
        let mut until = at;
        while until < self.out_of_order.ranges.len() && self.out_of_order.ranges[until].0 <= end {
            let (gs, ge) = self.out_of_order.ranges[until];
            self.out_of_order.note_duplicate(gs.max(seq), ge.min(end)); // RFC 2883 section 4.2
            (s, e) = (s.min(gs), e.max(ge));
            self.out_of_order.bytes -= ge - gs;
            until += 1;
        }
        self.out_of_order.ranges.splice(at..until, [(s, e)]);
        self.out_of_order.bytes += e - s;
        let n = self.out_of_order.recents;
        let mut kept = [(s, e); 4];
        let mut count = 1;
        for &(bs, be) in &self.out_of_order.recent[..n] {
            if (be < s || bs > e) && count < 4 {
                kept[count] = (bs, be);
                count += 1;
            }
        }
        (self.out_of_order.recent, self.out_of_order.recents) = (kept, count);
    }

    pub(super) fn stamp_sacks(&mut self, seg: &mut Segment, room: u32) {
        let ack = self.rcv_nxt;
        let block = |(s, e): (u64, u64)| -> SackBlock {
            ((s as i64 - ack as i64) as i32, (e as i64 - ack as i64) as i32)
        };
        let most = ((room.saturating_sub(4) / 8) as usize).min(if seg.ts_val != 0 { 3 } else { 4 });
        if most == 0 {
            return;
        }
        let mut n = 0;
        if let Some(d) = self.out_of_order.dsack.take() {
            seg.sack[n] = block(d);
            n += 1;
        }
        for &r in &self.out_of_order.recent[..self.out_of_order.recents] {
            if n == most {
                break;
            }
            seg.sack[n] = block(r);
            n += 1;
        }
        seg.sacks = n as u8;
    }
}
