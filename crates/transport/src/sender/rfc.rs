//! Loss marking without RACK, for stacks that only count: RFC 6675 (SACK) and RFC 6582 (NewReno).
//!
//! With SACK a packet is lost when three packets above it are SACKed (RFC 6675 section 4, IsLost);
//! without, the third duplicate ACK loses the first packet and each partial ACK the next
//! (RFC 6582 section 3.2). Entering recovery sets cwnd to ssthresh at once; limited transmit
//! (RFC 3042) follows from counting SACKed packets out of flight.

use super::{AckInfo, Sender};
use crate::scoreboard::flag;
use congestion::CaState;

/// RFC 5681 section 3.2.
const DUP_THRESHOLD: u32 = 3;

impl Sender {
    /// Counts duplicate ACKs where there is no SACK: each means one packet left the network.
    pub(super) fn count_dup(&mut self, a: &AckInfo, dup: u32) {
        if self.sack {
            return;
        }
        if a.una_advanced {
            let newly = ((self.s.snd_una - self.high_seq.min(self.s.snd_una)) > 0) as u32;
            self.dup_acks = 0;
            self.sacked_out = if newly > 0 { 0 } else { self.sacked_out.saturating_sub(1) };
        } else if dup > 0 {
            self.dup_acks += 1;
            if self.sacked_out + self.lost_out < self.packets_out() {
                self.sacked_out += 1;
                self.s.delivered += 1;
            }
        }
    }

    pub(super) fn reset_dup(&mut self) {
        self.dup_acks = 0;
        if !self.sack {
            self.sacked_out = 0;
        }
    }

    /// Marks losses from counts.
    pub(super) fn mark_by_dup_acks(&mut self) {
        if self.board.is_empty() {
            return;
        }
        if !self.sack {
            let partial = self.s.state == CaState::Recovery;
            let first = self.board.first();
            let head = self.board.get(first);
            if !head.is(flag::LOST)
                && (self.dup_acks >= DUP_THRESHOLD || (partial && !head.is(flag::RETRANS)))
            {
                self.sacked_out = self.sacked_out.min(self.packets_out() - 1);
                self.mark_lost(first);
            }
            return;
        }
        if self.sacked_out < DUP_THRESHOLD {
            return;
        }
        // From the top down: once three SACKed packets were passed, what follows is lost.
        let mut above = 0;
        let mut n = self.board.end();
        let mut left = self.sacked_out;
        while n != self.board.first() {
            n = n.wrapping_sub(1);
            let p = self.board.get(n);
            if p.is(flag::SACKED) {
                above += 1;
                left -= 1;
            } else if above >= DUP_THRESHOLD && !p.is(flag::LOST | flag::EVER_RETRANS) {
                self.mark_lost(n);
            } else if above >= DUP_THRESHOLD && p.is(flag::LOST | flag::EVER_RETRANS) && left == 0 {
                break; // below here everything was judged on an earlier ACK
            }
        }
    }
}
