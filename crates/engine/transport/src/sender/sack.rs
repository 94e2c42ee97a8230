//! Processing of SACK blocks (RFC 2018) and D-SACKs (RFC 2883): `tcp_sacktag_write_queue`.

use super::{AckInfo, Sender};
use crate::scoreboard::flag;
use crate::segment::Segment;
use congestion::CaState;

/// Maximum reordering degree, packets (`sysctl_tcp_max_reordering`).
pub(super) const MAX_REORDERING: u32 = 300;

/// State from SACK blocks.
pub(super) struct Sacks {
    /// Offset after the highest SACKed byte.
    pub(super) highest: u64,
    /// SACK blocks of the last ACK, which need not be tagged again (`recv_sack_cache`).
    pub(super) cache: [(u64, u64); 4],
    /// Number of packets by which the path may reorder.
    pub(super) reordering: u32,
    /// Duplicate packets that the peer reported (`dsack_dups`).
    pub(super) duplicates: u64,
}

impl Default for Sacks {
    fn default() -> Sacks {
        Sacks { highest: 0, cache: [(0, 0); 4], reordering: 3, duplicates: 0 }
    }
}

impl Sender {
    /// Tags packets that SACK blocks report, skipping the blocks of the previous ACK.
    pub(super) fn tag_sacks(&mut self, seg: &Segment, a: &mut AckInfo) {
        let mut blocks = [(0u64, 0u64); 4];
        let n = seg.sacks as usize;
        for (slot, r) in blocks.iter_mut().zip(seg.sack_ranges()) {
            *slot = r;
        }
        let mut first = 0;
        // A first block below the ACK, or inside the second, is a D-SACK (RFC 2883 section 4).
        let (s, e) = blocks[0];
        if s < seg.ack || (n > 1 && s >= blocks[1].0 && e <= blocks[1].1) {
            first = 1;
            self.handle_dsack(s, e, a);
        }
        blocks[first..n].sort_unstable();
        let cache = self.sacks.cache;
        for &(s, e) in &blocks[first..n] {
            let e = e.min(self.s.snd_nxt);
            let mut at = s.max(self.s.snd_una);
            while at < e {
                match cache.iter().filter(|c| c.0 < c.1 && c.1 > at && c.0 < e).min_by_key(|c| c.0) {
                    Some(&(cs, ce)) => {
                        if cs > at {
                            self.tag_range(at, cs, a);
                        }
                        at = at.max(ce);
                    }
                    None => {
                        self.tag_range(at, e, a);
                        at = e;
                    }
                }
            }
        }
        self.sacks.cache = [(0, 0); 4];
        self.sacks.cache[..n - first].copy_from_slice(&blocks[first..n]);
        if let Some(low) = a.reord
            && (self.s.state != CaState::Loss || self.undo.marker.is_some())
        {
            self.check_reordering(low);
        }
    }

    /// Tags all packets that are entirely inside `start..end` as SACKed.
    fn tag_range(&mut self, start: u64, end: u64, a: &mut AckInfo) {
        let mut n = self.scoreboard.find(start);
        while n != self.scoreboard.end() {
            let p = self.scoreboard.get(n);
            if p.end() > end {
                break;
            }
            if p.seq >= start && !p.is(flag::SACKED) {
                self.tag(n, a);
            }
            n = n.wrapping_add(1);
        }
        self.sacks.highest = self.sacks.highest.max(end);
    }

    fn tag(&mut self, n: u32, a: &mut AckInfo) {
        let p = self.scoreboard.get(n).brief();
        self.rack_advance(&p);
        let highest = self.highest_sacked();
        if p.is(flag::RETRANS) {
            // Not marked lost: the retransmission may still be in flight.
            if p.is(flag::LOST) {
                self.scoreboard.get_mut(n).flags &= !(flag::LOST | flag::RETRANS);
                self.count.lost -= 1;
                self.count.retrans -= 1;
            }
        } else {
            if !p.is(flag::EVER_RETRANS) {
                if p.seq < highest {
                    a.reord = Some(a.reord.map_or(p.seq, |r| r.min(p.seq)));
                }
                if p.end() <= self.recovery.high_seq {
                    a.orig_sacked = true;
                }
                a.first_sacked.get_or_insert(p.at);
                a.last_sacked = Some(p.at);
            }
            if p.is(flag::LOST) {
                self.scoreboard.get_mut(n).flags &= !flag::LOST;
                self.count.lost -= 1;
            }
        }
        self.sample_delivery(n, a);
        self.scoreboard.get_mut(n).flags |= flag::SACKED | flag::SAMPLED;
        self.scoreboard.unlink(n);
        a.data_sacked = true;
        self.count.sacked += 1;
        self.s.delivered += 1;
    }

    /// Handles a D-SACK: the receiver already had the data. It may show that retransmissions were unnecessary
    /// (RFC 3708), or that the tail loss probe was (RFC 8985 section 7.4.2).
    fn handle_dsack(&mut self, start: u64, end: u64, a: &mut AckInfo) {
        if start >= end {
            return;
        }
        let packets = (end - start).div_ceil(self.s.mss as u64);
        let is_probe = packets == 1 && self.tlp.high_seq == Some(end);
        a.dsack_tlp |= is_probe;
        // More duplicates than retransmissions: the network duplicates packets.
        self.sacks.duplicates += packets;
        if self.sacks.duplicates > self.stats.retransmitted {
            return;
        }
        // Only retransmissions caused by RACK widen its window.
        self.rack.dsack_seen |= self.rack.reordering_seen && !is_probe;
        a.dsack = true;
        self.s.delivered += packets;
        let undoable = self.undo.marker.is_some_and(|marker| end > marker);
        if end <= a.prior_una {
            if undoable && self.undo.retrans > 0 {
                self.undo.retrans = (self.undo.retrans - packets as i64).max(0);
            }
            return;
        }
        let mut n = self.scoreboard.find(start);
        while n != self.scoreboard.end() && self.scoreboard.get(n).end() <= end {
            let una = self.s.snd_una;
            let p = self.scoreboard.get_mut(n);
            if p.is(flag::RETRANS | flag::EVER_RETRANS) {
                if undoable && self.undo.retrans > 0 {
                    self.undo.retrans -= 1;
                }
                if p.is(flag::SACKED) {
                    a.reord = Some(a.reord.map_or(p.seq, |r| r.min(p.seq)));
                }
            }
            if p.end() > una && p.is(flag::SACKED) && p.is(flag::RETRANS) {
                p.flags &= !flag::RETRANS; // this retransmission was delivered
                self.count.retrans -= 1;
            }
            n = n.wrapping_add(1);
        }
    }

    /// End of the highest SACKed packet; `snd_una` where no packet is known to have arrived above it
    /// (`tcp_highest_sack_seq`).
    pub(super) fn highest_sacked(&self) -> u64 {
        if self.count.sacked == 0 || !self.rules.sack { self.s.snd_una } else { self.sacks.highest }
    }

    /// Handles reordering seen below the highest SACK (`tcp_check_sack_reordering`).
    pub(super) fn check_reordering(&mut self, low: u64) {
        let highest = self.highest_sacked();
        if low >= highest {
            return;
        }
        let mss = self.s.mss as u64;
        let metric = highest - low;
        if metric > self.sacks.reordering as u64 * mss {
            self.sacks.reordering = (metric.div_ceil(mss) as u32).min(MAX_REORDERING);
        }
        self.rack.reordering_seen = true;
    }
}
