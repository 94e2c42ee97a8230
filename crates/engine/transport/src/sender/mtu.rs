//! Path MTU discovery: the sender learns from ICMP (RFC 1191 section 6.4; `tcp_simple_retransmit`), or by
//! probing after unsuccessful timeouts (RFC 4821; `tcp_mtu_probing`), that the path's MTU is smaller than
//! assumed.
//!
//! A search starts low and goes up: one segment of the size halfway between what passes and what may pass is
//! sent ahead of the others (`tcp_mtu_probe`). If it arrives, that size passes; if it alone is lost, that
//! size is too large. The search ends when the two bounds are less than 8 bytes apart, and starts again after
//! ten minutes.
//!
//! | here | Linux |
//! |---|---|
//! | sizes are payload | sizes are MTUs; the difference is constant |
//! | each outstanding packet is split separately | whole bursts (skbs) are split, regardless of the packets sent |

use super::output::WriteMode;
use super::{Outgoing, Sender};
use crate::config::MtuProbing;
use crate::receive::timestamp;
use crate::scoreboard::{Sent, flag};
use congestion::CaState;
use units::{Span, Time};

/// Segment size that is assumed to pass everywhere, bytes of payload (`tcp_base_mss`).
const BASE_MSS: u32 = 1024;
/// Lower limit of the search, bytes of payload (`tcp_mtu_probe_floor`).
const FLOOR_MSS: u32 = 48;
/// Duration of unsuccessful timeouts that indicates a black hole, ms: three doublings of the minimum timeout,
/// 200 ms, as for `tcp_retries1` = 3 (`retransmits_timed_out`).
const BLACK_HOLE_MS: u32 = ((2 << 3) - 1) * 200;

/// Time after which larger segments are tried again (`tcp_probe_interval`).
const REPROBE_INTERVAL: Span = Span::from_secs(600);
/// Difference of the bounds below which the search ends (`tcp_probe_threshold`).
const SEARCH_PRECISION: u32 = 8;
/// Minimum congestion window for a probe, packets (`tcp_mtu_probe`).
const MIN_PROBE_CWND: u32 = 11;
/// Difference between MTU and payload with timestamps, bytes: 40 of headers, 12 of option.
const HEADER_BYTES: u32 = 52;

/// The search for the path MTU (`icsk_mtup`), in payload bytes of a segment.
pub(super) struct MtuSearch {
    mode: MtuProbing,
    enabled: bool,
    /// Size that is believed to pass (`search_low`).
    low: u32,
    /// Largest size that may pass (`search_high`).
    high: u32,
    /// The probe in flight: its first byte and its payload (`probe_size`).
    probe: Option<(u64, u32)>,
    /// Start of the search (`probe_timestamp`).
    since: Time,
}

/// Whether an MTU probe was sent, and whether other data may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ProbeResult {
    /// No probe is due; other data may be sent.
    None,
    /// The window must first make room for a probe.
    Wait,
    /// A probe was sent.
    Sent,
}

impl MtuSearch {
    /// The initial state (`tcp_mtup_init`).
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

    /// Limits the search to a size that the path is known to carry at most.
    pub(super) fn limit(&mut self, mss: u32) {
        self.high = self.high.min(mss);
    }

    /// Segment size that is believed to pass, at most `mss` (`tcp_sync_mss`).
    #[inline]
    pub(super) fn bound(&self, mss: u32) -> u32 {
        if self.enabled { mss.min(self.low) } else { mss }
    }
}

impl MtuSearch {
    /// Whether a probe is outstanding.
    pub(super) fn has_probe(&self) -> bool {
        self.probe.is_some()
    }
}

impl Sender {
    /// Splits outstanding packets larger than `mss`, marks them lost and retransmits them, in the Loss state
    /// but without a reduction, as they were not lost to congestion.
    pub(crate) fn reduce_mss(&mut self, now: Time, mss: u32, out: &mut Vec<Outgoing>) {
        let mss = mss.max(MIN_MSS);
        self.full_mss = self.full_mss.min(mss);
        self.mtu.limit(self.full_mss);
        if mss >= self.s.mss {
            return;
        }
        self.s.now = now;
        self.s.mss = mss;
        self.send_larger_again(mss, out);
    }

    /// Splits outstanding packets larger than `mss` and retransmits them as lost because of their size
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

    /// Handles a timeout: after several unsuccessful ones, large segments may not pass (`tcp_mtu_probing`).
    pub(super) fn search_mtu(&mut self) {
        let since = self.undo.retrans_stamp.filter(|_| self.timers.retransmits > 0);
        let is_black_hole =
            since.is_some_and(|since| timestamp(self.s.now).wrapping_sub(since) >= BLACK_HOLE_MS);
        if self.mtu.mode == MtuProbing::Off || !is_black_hole {
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

    /// Sends an MTU probe if one is due (`tcp_mtu_probe`).
    pub(super) fn probe_mtu(&mut self, how: WriteMode, out: &mut Vec<Outgoing>) -> ProbeResult {
        if !self.mtu.enabled
            || self.mtu.probe.is_some()
            || !matches!(how, WriteMode::Normal | WriteMode::Push)
            || self.s.state != CaState::Open
            || self.w.cwnd < MIN_PROBE_CWND
        {
            return ProbeResult::None;
        }
        let (mss, low, high) = (self.s.mss, self.mtu.low, self.mtu.high);
        let size = ((u64::from(low) + u64::from(high)) / 2) as u32;
        if high < low || high - low < SEARCH_PRECISION {
            self.search_again();
            return ProbeResult::None;
        }
        // Data must follow the probe, so that its loss is noticed.
        let needed = u64::from(size) + u64::from(self.sacks.reordering + 1) * u64::from(mss);
        if self.stream.end - self.s.snd_nxt.min(self.stream.end) < needed || self.peer.window < needed {
            return ProbeResult::None;
        }
        if self.s.snd_nxt + needed > self.s.snd_una + self.peer.window {
            return ProbeResult::Wait;
        }
        if self.in_flight() + 2 > self.w.cwnd {
            return if self.in_flight() == 0 { ProbeResult::None } else { ProbeResult::Wait };
        }
        self.mtu.probe = Some((self.s.snd_nxt, size));
        self.s.mss = size;
        self.send_burst(size.into(), out);
        self.s.mss = mss;
        // The window is reduced by the probe (RFC 4821 section 7.2), and restored if the probe is lost
        // because of its size.
        self.w.cwnd -= 1;
        ProbeResult::Sent
    }

    /// Restarts the search after ten minutes, as larger sizes may pass by then (`tcp_mtu_check_reprobe`).
    fn search_again(&mut self) {
        if self.s.now.since(self.mtu.since) >= REPROBE_INTERVAL {
            (self.mtu.low, self.mtu.high) = (self.s.mss, self.full_mss);
            self.mtu.since = self.s.now;
        }
    }

    /// Ends a probe below `snd_una`, which has arrived: segments have its size from now on, and the window
    /// keeps its size in bytes (`tcp_mtup_probe_success`).
    pub(super) fn end_probe(&mut self) {
        let Some((start, size)) = self.mtu.probe else { return };
        if start + u64::from(size) > self.s.snd_una {
            return;
        }
        let bytes = u64::from(self.w.cwnd) * u64::from(self.s.mss + HEADER_BYTES);
        self.w.cwnd = (bytes / u64::from(size + HEADER_BYTES)).max(1) as u32;
        self.w.cwnd_cnt = 0;
        self.usage.stamp = self.s.now;
        self.w.ssthresh = self.current_ssthresh();
        (self.mtu.low, self.mtu.probe) = (size, None);
        self.fit_mss();
    }

    /// Whether the first missing packet is the probe: then it was too large, which does not indicate
    /// congestion (`tcp_fastretrans_alert`).
    pub(super) fn has_lost_probe(&self) -> bool {
        self.s.state < CaState::Cwr && self.mtu.probe.is_some_and(|probe| probe.0 == self.s.snd_una)
    }

    /// Handles the loss of the probe because of its size (`tcp_mtup_probe_failed`).
    pub(super) fn fail_probe(&mut self, out: &mut Vec<Outgoing>) {
        let Some((_, size)) = self.mtu.probe.take() else { return };
        self.mtu.high = size - 1;
        self.w.cwnd += 1;
        self.send_larger_again(self.s.mss, out);
    }

    /// Gives up the probe because of a retransmission: its fate will not be known, and if it is itself
    /// retransmitted it is split (`__tcp_retransmit_skb`).
    pub(super) fn give_up_probe(&mut self) {
        if self.mtu.probe.take().is_some() {
            self.split(self.s.mss, |_| ());
        }
    }

    /// Splits outstanding packets larger than `mss`, and updates the counters.
    fn split(&mut self, mss: u32, cut: impl FnMut(&mut Sent)) {
        self.scoreboard.split(mss, cut);
        (self.count.sacked, self.count.lost, self.count.retrans) = match self.scoreboard.counts() {
            (_, lost, retrans) if !self.rules.sack => (self.count.sacked, lost, retrans),
            counts => counts,
        };
        self.recovery.hint = None;
    }
}

/// Minimum segment size: 68 bytes, which every link carries, minus header and timestamps are less than
/// Linux's `tcp_min_snd_mss` of 48.
const MIN_MSS: u32 = 48;
