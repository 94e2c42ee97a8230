//! Reassembly and the SACK blocks that tell of it (RFC 2018, RFC 2883).

use super::Receiver;
use crate::segment::{SackBlock, Segment};

/// An ACK has room for three or four blocks and may be lost: this many are counted on
/// (`TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED: usize = 2;

/// What came out of order.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    /// Disjoint ranges in order of sequence.
    pub(super) ranges: Vec<(u64, u64)>,
    /// Bytes in them.
    pub(super) bytes: u64,
    /// Ranges to report, most recently changed first.
    pub(super) recent: [(u64, u64); 4],
    pub(super) recents: usize,
    /// A duplicate to report.
    pub(super) dsack: Option<(u64, u64)>,
}

impl Held {
    /// `start..end` came twice. Of several such ranges in one segment what touches the first is told
    /// (`tcp_dsack_extend`).
    fn came_twice(&mut self, start: u64, end: u64) {
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
    /// Whether compressed ACKs must leave before `seg` is taken: it opens or changes a block that would
    /// push out of the next ACK one that no ACK has told of (`tcp_sack_new_ofo_skb`).
    #[inline]
    pub fn would_forget(&self, seg: &Segment) -> bool {
        if self.acks.compressed == 0 || seg.seq <= self.rcv_nxt {
            return false;
        }
        let end = seg.seq + seg.len as u64;
        let known = self.held.recent[..self.held.recents].iter().position(|&(s, e)| seg.seq <= e && end >= s);
        known.unwrap_or(self.held.recents) >= EXPECTED
    }

    /// Moves what has become in order out of the gaps. From the first byte that the segment just taken
    /// brought again to its end all counts as duplicate (`tcp_ofo_queue`).
    pub(super) fn fill(&mut self) {
        let (mut eaten, end) = (0, self.rcv_nxt);
        while let Some(&(s, e)) = self.held.ranges.get(eaten).filter(|r| r.0 <= self.rcv_nxt) {
            if eaten == 0 {
                self.held.came_twice(s, end);
            }
            self.rcv_nxt = self.rcv_nxt.max(e);
            self.held.bytes -= e - s;
            eaten += 1;
        }
        if eaten > 0 {
            self.held.ranges.drain(..eaten);
            let (nxt, n) = (self.rcv_nxt, self.held.recents);
            let mut kept = 0;
            for i in 0..n {
                if self.held.recent[i].0 >= nxt {
                    self.held.recent[kept] = self.held.recent[i];
                    kept += 1;
                }
            }
            self.held.recents = kept;
        }
    }

    /// Adds an out-of-order range and moves its block to the front (RFC 2018 section 4); what of it is held
    /// is a duplicate (`tcp_data_queue_ofo`).
    pub(super) fn insert(&mut self, seq: u64, end: u64) {
        let at = self.held.ranges.partition_point(|&(_, e)| e < seq);
        let (mut s, mut e) = (seq, end);
        let mut until = at;
        while until < self.held.ranges.len() && self.held.ranges[until].0 <= end {
            let (gs, ge) = self.held.ranges[until];
            self.held.came_twice(gs.max(seq), ge.min(end)); // RFC 2883 section 4.2
            (s, e) = (s.min(gs), e.max(ge));
            self.held.bytes -= ge - gs;
            until += 1;
        }
        self.held.ranges.splice(at..until, [(s, e)]);
        self.held.bytes += e - s;
        let n = self.held.recents;
        let mut kept = [(s, e); 4];
        let mut count = 1;
        for &(bs, be) in &self.held.recent[..n] {
            if (be < s || bs > e) && count < 4 {
                kept[count] = (bs, be);
                count += 1;
            }
        }
        (self.held.recent, self.held.recents) = (kept, count);
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
        if let Some(d) = self.held.dsack.take() {
            seg.sack[n] = block(d);
            n += 1;
        }
        for &r in &self.held.recent[..self.held.recents] {
            if n == most {
                break;
            }
            seg.sack[n] = block(r);
            n += 1;
        }
        seg.sacks = n as u8;
    }
}
