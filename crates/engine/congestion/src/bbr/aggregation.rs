//! extra_acked: how many packets are acknowledged at once beyond what the bandwidth explains
//! (Wi-Fi, cable and radio links bundle ACKs). The maximum over the last five to ten rounds is
//! added to the window, so that the sender can continue while no ACKs arrive; at most 100 ms worth.
//!
//! Source: Linux `tcp_bbr.c` (`bbr_update_ack_aggregation`). Not in the BBR paper.

use super::Bbr;
use super::bandwidth::valid;
use super::params::*;
use crate::{RateSample, Socket, Window};
use units::Time;

const WINDOW_ROUNDS: u8 = 5;
const EPOCH_ACKED_MAX: u32 = 0xF_FFFF;
const EPOCH_RESET: u32 = 1 << 20;
const MAX_US: u64 = 100_000;

/// State of the aggregation estimate: two half windows of maxima.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    epoch: Time,
    /// Packets delivered in the epoch.
    acked: u32,
    extra: [u16; 2],
    half: usize,
    half_rounds: u8,
}

impl Aggregation {
    /// Starts a new epoch with no packets delivered.
    pub(super) fn start_epoch(&mut self, now: Time) {
        self.epoch = now;
        self.acked = 0;
    }

    fn max(&self) -> u16 {
        self.extra[0].max(self.extra[1])
    }
}

impl Bbr {
    /// Measures this ACK's excess.
    pub(super) fn update_ack_aggregation(&mut self, s: &Socket, w: &Window, rs: &RateSample) {
        if rs.acked_sacked == 0 || valid(rs).is_none() {
            return;
        }
        let bw = self.bw() as u64;
        let a = &mut self.aggregation;
        if self.round_start {
            a.half_rounds = (a.half_rounds + 1).min(31);
            if a.half_rounds >= WINDOW_ROUNDS {
                a.half_rounds = 0;
                a.half ^= 1;
                a.extra[a.half] = 0;
            }
        }
        let epoch_us = s.delivered_time.as_micros().saturating_sub(a.epoch.as_micros());
        let mut expected = (bw.wrapping_mul(epoch_us) / BW_UNIT) as u32;
        // ACKs come slower than expected: no aggregate, so a new epoch.
        if a.acked <= expected || a.acked.saturating_add(rs.acked_sacked) >= EPOCH_RESET {
            a.start_epoch(s.delivered_time);
            expected = 0;
        }
        a.acked = a.acked.saturating_add(rs.acked_sacked).min(EPOCH_ACKED_MAX);
        let extra = (a.acked - expected).min(w.cwnd);
        if extra > a.extra[a.half] as u32 {
            a.extra[a.half] = extra as u16;
        }
    }

    /// Packets to add to the window; zero until the pipe has been full.
    pub(super) fn aggregation_cwnd(&self) -> u32 {
        if !self.full_bw_reached {
            return 0;
        }
        let max = (self.bw() as u64 * MAX_US / BW_UNIT) as u32;
        (self.aggregation.max() as u32).min(max)
    }
}
