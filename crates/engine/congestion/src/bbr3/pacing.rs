//! The pacing rate: gain times bandwidth, less 1 % so that queues shrink on average. It only
//! rises until the pipe has been full. The quantum is the size of a burst, 1 ms worth of data.
//!
//! Source: draft-ietf-ccwg-bbr-06, sections "Pacing Rate" and "Send Quantum".

use super::Bbr3;
use super::params::*;
use crate::{Socket, Window};

impl Bbr3 {
    /// InitPacingRate: the initial window per round trip, times STARTUP's gain; with an RTT of 1 ms
    /// while none is known.
    pub(super) fn init_pacing_rate(&mut self, s: &Socket, w: &mut Window) {
        self.has_seen_rtt |= s.srtt.is_some();
        let us = s.srtt.map_or(1_000, |rtt| rtt.as_micros().max(1));
        let window = self.initial_cwnd as u64 * s.mss as u64;
        let rate = window.saturating_mul(STARTUP_PACING_GAIN * (1_000_000 / UNIT)) / us;
        w.pacing_rate = rate.min(s.max_pacing_rate);
    }

    /// SetPacingRateWithGain.
    pub(super) fn set_pacing_rate(&mut self, s: &Socket, w: &mut Window, gain: u64) {
        if !self.has_seen_rtt && s.srtt.is_some() {
            self.init_pacing_rate(s, w);
        }
        // packets/µs << 24 times B/packet; 10^6 µs/s cancel the two thousandths.
        let rate = (self.bw as u128 * (s.mss as u64 * gain * PACED) as u128) >> BW_SCALE;
        let rate = rate.min(s.max_pacing_rate as u128) as u64;
        if self.full_bw_reached || rate > w.pacing_rate {
            w.pacing_rate = rate;
        }
    }

    /// SetSendQuantum, packets.
    pub(super) fn quantum(&self, s: &Socket, w: &Window) -> u32 {
        let bytes = (w.pacing_rate / 1_000).min(MAX_QUANTUM);
        ((bytes / s.mss.max(1) as u64) as u32).max(2)
    }
}
