//! STARTUP and DRAIN. STARTUP raises the rate by 2/ln 2 per round until bandwidth has grown by
//! less than a quarter in three rounds that were not application-limited: the pipe is full.
//! DRAIN then sends below the estimate until no more than one BDP is in flight.
//!
//! Sources: BBR paper, "Startup and drain"; Linux `tcp_bbr.c`.

use super::params::*;
use super::{Bbr, Mode};
use crate::{RateSample, Socket, Window};

/// Whether the pipe is full.
#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    /// The bandwidth that must be exceeded by a quarter.
    pub bw: u32,
    /// Consecutive rounds in which the bandwidth grew by less than a quarter.
    pub rounds: u8,
}

impl Bbr {
    /// Checks once per round whether the bandwidth has stopped growing.
    pub(super) fn check_full_pipe(&mut self, rs: &RateSample) {
        if self.full_bw_reached || !self.round_start || rs.is_app_limited {
            return;
        }
        let threshold = ((self.full.bw as u64 * FULL_BW_THRESH) >> GAIN_SCALE) as u32;
        if self.max_bw() >= threshold {
            self.full = FullPipe { bw: self.max_bw(), rounds: 0 };
            return;
        }
        self.full.rounds += 1;
        self.full_bw_reached = self.full.rounds >= FULL_BW_CNT;
    }

    /// Changes from STARTUP to DRAIN, and from DRAIN to PROBE_BW.
    pub(super) fn check_drain(&mut self, s: &Socket, w: &mut Window) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            w.ssthresh = self.inflight_target(s, w, self.max_bw(), UNIT);
        }
        if self.mode == Mode::Drain
            && self.in_net_at_departure(s, w, s.inflight) <= self.inflight_target(s, w, self.max_bw(), UNIT)
        {
            self.enter_probe_bw(s);
        }
    }
}
