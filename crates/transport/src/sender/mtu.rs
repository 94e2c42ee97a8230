//! A path that carries less than was thought: the sender is told by ICMP (RFC 1191 section 6.4; `tcp_simple_retransmit`),
//! or finds out by timeouts in vain (RFC 4821; `tcp_mtu_probing`).
//!
//! | here | Linux |
//! |---|---|
//! | the search shrinks segments only: to 1024 bytes, then to half each time, 48 at least | and then tries larger ones (`tcp_mtu_probe`), up to 8 bytes below what the path carries |
//! | each packet outstanding is cut for itself | bursts (skbs) are cut anew, whatever packets they were |

use super::{Outgoing, Sender};
use crate::config::MtuProbing;
use crate::receive::timestamp;
use crate::scoreboard::{Sent, flag};
use congestion::CaState;
use units::Time;

/// `tcp_base_mss`: segments of this size are hoped to pass everywhere, bytes of payload.
const BASE_MSS: u32 = 1024;
/// `tcp_mtu_probe_floor`: the search goes no lower.
const FLOOR_MSS: u32 = 48;
/// Timeouts in vain for so long speak of a black hole, ms: three doublings of the least timeout, 200 ms, as
/// `tcp_retries1` = 3 has it (`retransmits_timed_out`).
const BLACK_HOLE_MS: u32 = ((2 << 3) - 1) * 200;

/// The search for the path's MTU (`icsk_mtup`), in payload of a segment.
pub(super) struct MtuSearch {
    mode: MtuProbing,
    enabled: bool,
    /// What is believed to pass (`search_low`).
    low: u32,
}

impl MtuSearch {
    /// As the stack begins (`tcp_mtup_init`).
    pub(super) fn new(mode: MtuProbing) -> MtuSearch {
        MtuSearch { mode, enabled: mode == MtuProbing::Always, low: BASE_MSS }
    }

    /// The size of a segment, by what is believed to pass (`tcp_sync_mss`).
    #[inline]
    pub(super) fn bound(&self, mss: u32) -> u32 {
        if self.enabled { mss.min(self.low) } else { mss }
    }
}

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
        self.split(mss, |piece| {
            if !piece.is(flag::SACKED) {
                piece.flags = piece.flags & !flag::RETRANS | flag::LOST;
                cut += 1;
            }
        });
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

    /// A timeout: where several were in vain, large segments may be what does not pass (`tcp_mtu_probing`).
    pub(super) fn search_mtu(&mut self) {
        let since = self.undo.retrans_stamp.filter(|_| self.timers.retransmits > 0);
        let vain = since.is_some_and(|since| timestamp(self.s.now).wrapping_sub(since) >= BLACK_HOLE_MS);
        if self.mtu.mode == MtuProbing::Off || !vain {
            return;
        }
        if self.mtu.enabled {
            self.mtu.low = (self.mtu.low >> 1).clamp(FLOOR_MSS, BASE_MSS);
        }
        self.mtu.enabled = true;
        let before = self.s.mss;
        self.fit_mss();
        if self.s.mss < before {
            self.split(self.s.mss, |_| ());
        }
    }

    /// Cuts what is outstanding and larger than `mss`, and counts anew.
    fn split(&mut self, mss: u32, cut: impl FnMut(&mut Sent)) {
        self.board.split(mss, cut);
        (self.count.sacked, self.count.lost, self.count.retrans) = match self.board.counts() {
            (_, lost, retrans) if !self.rules.sack => (self.count.sacked, lost, retrans),
            counts => counts,
        };
        self.recovery.hint = None;
    }
}

/// What every link carries: 68 bytes less header and timestamps is less than Linux's
/// `tcp_min_snd_mss` of 48.
const SMALLEST: u32 = 48;
