//! A path that carries less than was thought: the sender is told by ICMP (RFC 1191 section 6.4; `tcp_simple_retransmit`),
//! or finds out by timeouts in vain (RFC 4821; `tcp_mtu_probing`).
//!
//! A search begins low and goes up: one segment of the size halfway between what passes and what may pass leaves ahead of
//! the others (`tcp_mtu_probe`). If it arrives, that size is what passes; if it alone is lost, it is too large. The search
//! ends when the two are less than 8 bytes apart, and begins anew after ten minutes.
//!
//! | here | Linux |
//! |---|---|
//! | sizes are payload | MTUs; the headers between them are always the same |
//! | each packet outstanding is cut for itself | bursts (skbs) are cut anew, whatever packets they were |

use super::output::Write;
use super::{Outgoing, Sender};
use crate::config::MtuProbing;
use crate::receive::timestamp;
use crate::scoreboard::{Sent, flag};
use congestion::CaState;
use units::{Span, Time};

/// `tcp_base_mss`: segments of this size are hoped to pass everywhere, bytes of payload.
const BASE_MSS: u32 = 1024;
/// `tcp_mtu_probe_floor`: the search goes no lower.
const FLOOR_MSS: u32 = 48;
/// Timeouts in vain for so long speak of a black hole, ms: three doublings of the least timeout, 200 ms, as
/// `tcp_retries1` = 3 has it (`retransmits_timed_out`).
const BLACK_HOLE_MS: u32 = ((2 << 3) - 1) * 200;

/// `tcp_probe_interval`: after so long larger segments are tried again.
const INTERVAL: Span = Span::from_secs(600);
/// `tcp_probe_threshold`: sizes less than this apart are as good as found.
const THRESHOLD: u32 = 8;
/// A smaller window has no packet to spare for a probe (`tcp_mtu_probe`).
const LEAST_WINDOW: u32 = 11;
/// What an MTU has more than the payload with timestamps: 40 bytes of headers, 12 of option.
const HEADERS: u32 = 52;

/// The search for the path's MTU (`icsk_mtup`), in payload of a segment.
pub(super) struct MtuSearch {
    mode: MtuProbing,
    enabled: bool,
    /// What is believed to pass (`search_low`).
    low: u32,
    /// The most that may pass (`search_high`).
    high: u32,
    /// The probe under way: where it begins, and its payload (`probe_size`).
    probe: Option<(u64, u32)>,
    /// When the search began (`probe_timestamp`).
    since: Time,
}

/// What may leave beside a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ProbeTurn {
    /// Anything: no probe is due.
    None,
    /// Nothing yet: the window is to make room for one.
    Wait,
    /// One left.
    Sent,
}

impl MtuSearch {
    /// As the stack begins (`tcp_mtup_init`).
    pub(super) fn new(mode: MtuProbing) -> MtuSearch {
        MtuSearch {
            mode,
            enabled: mode == MtuProbing::Always,
            low: BASE_MSS,
            high: u32::MAX,
            probe: None,
            since: Time::ZERO,
        }
    }

    /// The path carries no more than this.
    pub(super) fn limit(&mut self, mss: u32) {
        self.high = self.high.min(mss);
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
        self.mtu.limit(self.full_mss);
        if mss >= self.s.mss {
            return;
        }
        self.s.now = now;
        self.s.mss = mss;
        self.send_larger_again(mss, out);
    }

    /// Packets outstanding that are larger than `mss` are cut and sent again, as lost for their size
    /// (`tcp_simple_retransmit`).
    fn send_larger_again(&mut self, mss: u32, out: &mut Vec<Outgoing>) {
        let (mut cut, mut fresh) = (0u32, 0u64);
        self.split(mss, |piece| {
            if !piece.is(flag::SACKED) {
                fresh += u64::from(!piece.is(flag::LOST));
                piece.flags = piece.flags & !flag::RETRANS | flag::LOST;
                cut += 1;
            }
        });
        if cut == 0 {
            return;
        }
        self.s.lost += fresh;
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
        if !std::mem::replace(&mut self.mtu.enabled, true) {
            self.mtu.since = self.s.now;
        }
        let before = self.s.mss;
        self.fit_mss();
        if self.s.mss < before {
            self.split(self.s.mss, |_| ());
        }
    }

    /// Whether it is time to try a larger segment; if so, it leaves (`tcp_mtu_probe`).
    pub(super) fn probe_mtu(&mut self, how: Write, out: &mut Vec<Outgoing>) -> ProbeTurn {
        if !self.mtu.enabled
            || self.mtu.probe.is_some()
            || !matches!(how, Write::Normal | Write::Push)
            || self.s.state != CaState::Open
            || self.w.cwnd < LEAST_WINDOW
        {
            return ProbeTurn::None;
        }
        let (mss, low, high) = (self.s.mss, self.mtu.low, self.mtu.high);
        let size = ((u64::from(low) + u64::from(high)) / 2) as u32;
        if high < low || high - low < THRESHOLD {
            self.search_again();
            return ProbeTurn::None;
        }
        // What follows it shows its loss.
        let needed = u64::from(size) + u64::from(self.sacks.reordering + 1) * u64::from(mss);
        if self.stream.end - self.s.snd_nxt.min(self.stream.end) < needed || self.peer.window < needed {
            return ProbeTurn::None;
        }
        if self.s.snd_nxt + needed > self.s.snd_una + self.peer.window {
            return ProbeTurn::Wait;
        }
        if self.in_flight() + 2 > self.w.cwnd {
            return if self.in_flight() == 0 { ProbeTurn::None } else { ProbeTurn::Wait };
        }
        self.mtu.probe = Some((self.s.snd_nxt, size));
        self.s.mss = size;
        self.send_burst(size.into(), out);
        self.s.mss = mss;
        // One packet less beside it (RFC 4821 section 7.2); given back if it is lost for its size.
        self.w.cwnd -= 1;
        ProbeTurn::Sent
    }

    /// What did not pass may do so ten minutes later (`tcp_mtu_check_reprobe`).
    fn search_again(&mut self) {
        if self.s.now.since(self.mtu.since) >= INTERVAL {
            (self.mtu.low, self.mtu.high) = (self.s.mss, self.full_mss);
            self.mtu.since = self.s.now;
        }
    }

    /// All below `snd_una` has arrived: a probe there passed, and segments are of its size from now on; the window holds as
    /// many bytes as before (`tcp_mtup_probe_success`).
    pub(super) fn end_probe(&mut self) {
        let Some((start, size)) = self.mtu.probe else { return };
        if start + u64::from(size) > self.s.snd_una {
            return;
        }
        let bytes = u64::from(self.w.cwnd) * u64::from(self.s.mss + HEADERS);
        self.w.cwnd = (bytes / u64::from(size + HEADERS)).max(1) as u32;
        self.w.cwnd_cnt = 0;
        self.usage.stamp = self.s.now;
        self.w.ssthresh = self.current_ssthresh();
        (self.mtu.low, self.mtu.probe) = (size, None);
        self.fit_mss();
    }

    /// The packet that is missing first is the probe: it was too large, and says nothing of congestion
    /// (`tcp_fastretrans_alert`).
    pub(super) fn loses_probe(&self) -> bool {
        self.s.state < CaState::Cwr && self.mtu.probe.is_some_and(|probe| probe.0 == self.s.snd_una)
    }

    /// The probe is lost, for its size alone (`tcp_mtup_probe_failed`).
    pub(super) fn fail_probe(&mut self, out: &mut Vec<Outgoing>) {
        let Some((_, size)) = self.mtu.probe.take() else { return };
        self.mtu.high = size - 1;
        self.w.cwnd += 1;
        self.send_larger_again(self.s.mss, out);
    }

    /// Something is to be sent again: whether the probe passes will not be known, and if it is sent again it is cut
    /// (`__tcp_retransmit_skb`).
    pub(super) fn give_up_probe(&mut self) {
        if self.mtu.probe.take().is_some() {
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
