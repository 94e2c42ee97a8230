//! Loss marking without RACK, for stacks that count duplicate ACKs: RFC 6675 (SACK) and, for all stacks
//! without SACK, RFC 6582 (NewReno).
//!
//! With SACK, a packet is lost when three packets above it are SACKed (RFC 6675 section 4, IsLost). Without,
//! the third duplicate ACK marks the first packet lost, and each partial ACK the next (RFC 6582 section 3.2).
//! Limited transmit (RFC 3042) follows from counting SACKed packets as no longer in flight; without SACK each
//! duplicate ACK counts as one such packet (`tcp_add_reno_sack`), which is the reason for RFC 6582's window
//! inflation.

use super::Sender;
use super::sack::MAX_REORDERING;
use crate::scoreboard::flag;
use congestion::CaState;

/// Number of duplicate ACKs that indicate a loss (RFC 5681 section 3.2).
const DUP_THRESHOLD: u32 = 3;

impl Sender {
    /// Counts duplicate ACKs without SACK: each means that a packet has left the network.
    pub(super) fn add_dup_acks(&mut self, dup: u32) {
        if self.rules.sack || dup == 0 {
            return;
        }
        let prior = self.count.sacked;
        self.count.sacked += dup;
        self.limit_dup_acks(0);
        self.s.delivered += self.count.sacked.saturating_sub(prior) as u64;
    }

    /// Corrects the count when `acked` packets are acknowledged: one filled the hole, the others had been
    /// counted.
    pub(super) fn remove_dup_acks(&mut self, acked: u32) {
        self.s.delivered += acked.saturating_sub(self.count.sacked).max(1) as u64;
        self.count.sacked = self.count.sacked.saturating_sub(acked - 1);
        self.limit_dup_acks(acked);
    }

    /// Limits the count to the packets that can have caused duplicates; an excess means that the path
    /// reorders.
    pub(super) fn limit_dup_acks(&mut self, more: u32) {
        if self.rules.sack {
            return;
        }
        let holes = self.count.lost.max(1).min(self.packets_out());
        if self.count.sacked + holes > self.packets_out() {
            self.count.sacked = self.packets_out() - holes;
            if self.rules.linux {
                self.sacks.reordering = (self.packets_out() + more).clamp(1, MAX_REORDERING);
                self.rack.reordering_seen = true;
            }
        }
    }

    pub(super) fn reset_dup_acks(&mut self) {
        if !self.rules.sack {
            self.count.sacked = 0;
        }
    }

    /// Marks the first packet lost after the third duplicate ACK, or a partial ACK in recovery.
    pub(super) fn mark_by_dup_acks(&mut self, una_advanced: bool) {
        if self.scoreboard.is_empty() {
            return;
        }
        let threshold = if self.rules.linux { self.sacks.reordering } else { DUP_THRESHOLD };
        let state = self.s.state;
        let first = self.scoreboard.first();
        if ((state < CaState::Recovery && self.count.sacked >= threshold)
            || (state == CaState::Recovery && una_advanced))
            && !self.scoreboard.get(first).is(flag::LOST)
        {
            self.mark_lost(first);
        }
    }

    /// Marks packets lost that have three SACKed packets above them.
    pub(super) fn mark_by_sacks(&mut self) {
        if self.scoreboard.is_empty() || self.count.sacked < DUP_THRESHOLD {
            return;
        }
        // From the top down: below three SACKed packets, everything not SACKed is lost.
        let mut above = 0;
        let mut n = self.scoreboard.end();
        let mut left = self.count.sacked;
        while n != self.scoreboard.first() {
            n = n.wrapping_sub(1);
            let p = self.scoreboard.get(n);
            if p.is(flag::SACKED) {
                above += 1;
                left -= 1;
            } else if above >= DUP_THRESHOLD && !p.is(flag::LOST | flag::EVER_RETRANS) {
                self.mark_lost(n);
            } else if above >= DUP_THRESHOLD && p.is(flag::LOST | flag::EVER_RETRANS) && left == 0 {
                break; // everything below was judged on an earlier ACK
            }
        }
    }
}
