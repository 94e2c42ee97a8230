//! BtlBw: the largest delivery rate of the last ten round trips. A round trip is packet-timed:
//! it ends when a packet sent after the last one ended is delivered. Application-limited samples
//! only count when they beat the estimate. The maximum is kept in three samples
//! (`windowed_max.rs`).
//!
//! Sources: BBR paper, "Characterizing the bottleneck"; Linux `tcp_bbr.c`.

use super::Bbr;
use super::params::*;
use crate::hsr::RestoredBandwidth;
use crate::jiffies::micros;
use crate::{RateSample, Socket};

impl Bbr {
    /// The maximum recent delivery rate.
    pub(super) fn max_bw(&self) -> u32 {
        self.bw.get()
    }

    /// The estimated bandwidth of the path: a policer's rate if one was detected, otherwise the maximum.
    pub(super) fn bw(&self) -> u32 {
        if self.lt.use_bw { self.lt.bw } else { self.max_bw() }
    }

    /// Counts rounds and records the ACK's delivery rate.
    pub(super) fn update_bw(&mut self, s: &Socket, rs: &RateSample) {
        self.round_start = false;
        let Some((delivered, interval_us)) = valid(rs) else { return };

        if rs.prior_delivered >= self.next_rtt_delivered {
            self.next_rtt_delivered = s.delivered;
            self.rounds = self.rounds.wrapping_add(1);
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.sample_long_term_bw(s, rs);

        let bw = delivered as u64 * BW_UNIT / interval_us;
        if !rs.is_app_limited || bw >= self.max_bw() as u64 {
            self.bw.update(BW_ROUNDS, self.rounds, bw as u32);
        }
    }

    /// BBR-HSR: raises BtlBw to BW_rec after a handover. `held` is the BtlBw before this ACK.
    pub(super) fn restore_bw(&mut self, s: &Socket, rs: &RateSample, held: u32) {
        let (Some(hsr), Some(rtt)) = (&mut self.hsr, rs.rtt) else { return };
        let bw = match hsr.update(micros(rtt), held) {
            Some(RestoredBandwidth::Held(bw)) => bw,
            Some(RestoredBandwidth::Rate(bytes)) => from_bytes_per_sec(bytes, s.mss),
            None => return,
        };
        if bw > self.max_bw() {
            self.bw.update(BW_ROUNDS, self.rounds, bw);
        }
    }
}

/// Payload in bytes per second as packets/µs << 24.
fn from_bytes_per_sec(bytes: u64, mss: u32) -> u32 {
    ((bytes << BW_SCALE) / (mss.max(1) as u64 * 1_000_000)).min(u32::MAX as u64) as u32
}

/// Packets and microseconds of a valid sample.
pub(super) fn valid(rs: &RateSample) -> Option<(u32, u64)> {
    let us = rs.interval.as_micros();
    rs.delivered.filter(|_| us > 0).map(|delivered| (delivered, us))
}
