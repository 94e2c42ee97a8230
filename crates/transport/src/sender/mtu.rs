//! A path that carries less than was thought (RFC 1191 section 6.4; `tcp_simple_retransmit`).

use super::{Outgoing, Sender};
use crate::scoreboard::flag;
use congestion::CaState;
use units::Time;

impl Sender {
    /// Packets outstanding that are larger than `mss` are cut, marked lost and sent again, in the
    /// Loss state but without a reduction: what was lost was not lost to congestion.
    pub(crate) fn reduce_mss(&mut self, now: Time, mss: u32, out: &mut Vec<Outgoing>) {
        let mss = mss.max(SMALLEST);
        self.full_mss = self.full_mss.min(mss);
        if mss >= self.s.mss {
            return;
        }
        self.s.now = now;
        self.s.mss = mss;
        let mut cut = 0u32;
        self.board.split(mss, |piece| {
            if !piece.is(flag::SACKED) {
                piece.flags = piece.flags & !flag::RETRANS | flag::LOST;
                cut += 1;
            }
        });
        (self.count.sacked, self.count.lost, self.count.retrans) = match self.board.counts() {
            (_, lost, retrans) if !self.rules.sack => (self.count.sacked, lost, retrans),
            counts => counts,
        };
        self.recovery.hint = None;
        if cut == 0 {
            return;
        }
        self.s.lost += cut as u64;
        self.limit_dup_acks(0);
        if self.s.state != CaState::Loss {
            self.recovery.high_seq = self.s.snd_nxt;
            self.w.ssthresh = self.current_ssthresh();
            self.undo.prior_ssthresh = 0;
            self.undo.marker = None;
            self.recovery.frto = false;
            self.set_state(CaState::Loss);
        }
        self.write_lost(out);
        if self.timers.armed.is_none() {
            self.rearm_rto();
        }
    }
}

/// What every link carries: 68 bytes less header and timestamps is less than Linux's
/// `tcp_min_snd_mss` of 48.
const SMALLEST: u32 = 48;
