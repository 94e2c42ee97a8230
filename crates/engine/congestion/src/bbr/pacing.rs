//! Pacing: BBR's main control. The rate is the bandwidth estimate times the mode's gain, less
//! 1 % so that queues shrink on average; it never falls before the pipe has been full. The initial rate is
//! 2/ln 2 times the initial window per round trip (1 ms when none has been measured).
//!
//! Sources: BBR paper, "Matching the packet flow to the delivery path"; Linux `tcp_bbr.c`.

use super::Bbr;
use super::params::*;
use crate::jiffies::micros;
use crate::{MAX_TCP_HEADER, Socket, Window};

/// Largest burst of segmentation offload that BBR budgets for, bytes of payload.
const MAX_BURST: u64 = 65_536 - 1 - MAX_TCP_HEADER as u64;
/// Maximum burst in packets.
const MAX_BURST_SEGS: u64 = 127;

impl Bbr {
    /// Bandwidth times gain in bytes per second, less the margin.
    pub(super) fn rate_bytes_per_sec(&self, s: &Socket, bw: u32, gain: u32) -> u64 {
        let rate = (bw as u64).wrapping_mul(s.mss as u64).wrapping_mul(gain as u64) >> GAIN_SCALE;
        rate.wrapping_mul(1_000_000 / 100 * (100 - PACING_MARGIN_PERCENT)) >> BW_SCALE
    }

    fn pacing_rate(&self, s: &Socket, bw: u32, gain: u32) -> u64 {
        self.rate_bytes_per_sec(s, bw, gain).min(s.max_pacing_rate)
    }

    /// The initial rate: the window per round trip, multiplied by STARTUP's gain.
    pub(super) fn init_pacing_rate(&mut self, s: &Socket, w: &mut Window) {
        self.has_seen_rtt |= s.srtt.is_some();
        let rtt_us = s.srtt.map_or(1_000, |rtt| micros(rtt).max(1));
        let bw = w.cwnd as u64 * BW_UNIT / rtt_us as u64;
        w.pacing_rate = self.pacing_rate(s, bw as u32, HIGH_GAIN);
    }

    /// Paces at `gain` times `bw`.
    pub(super) fn set_pacing_rate(&mut self, s: &Socket, w: &mut Window, bw: u32, gain: u32) {
        let rate = self.pacing_rate(s, bw, gain);
        if !self.has_seen_rtt && s.srtt.is_some() {
            self.init_pacing_rate(s, w);
        }
        if self.full_bw_reached || rate > w.pacing_rate {
            w.pacing_rate = rate;
        }
    }

    /// Packets in one burst at the current rate (`bbr_tso_segs_goal`).
    pub(super) fn burst_segs(&self, s: &Socket, w: &Window) -> u32 {
        let bytes = w.pacing_rate.checked_shr(s.pacing_shift).unwrap_or(0).min(MAX_BURST);
        let segs = (bytes / s.mss.max(1) as u64).max(min_burst_segs(w) as u64);
        segs.min(MAX_BURST_SEGS) as u32
    }
}

/// Smallest burst: one packet at a low rate, otherwise two.
pub(super) fn min_burst_segs(w: &Window) -> u32 {
    if w.pacing_rate < MIN_TSO_RATE { 1 } else { 2 }
}
