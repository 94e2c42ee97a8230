//! PROBE_BW, where a flow spends nearly all its time: eight phases of about one minimum RTT each,
//! first 5/4 of the bandwidth to probe for more, then 3/4 to drain the resulting queue,
//! then six at the bandwidth itself. A flow starts in a random phase (not the draining one), so
//! that flows do not probe together.
//!
//! Sources: BBR paper, "Steady-state behavior"; Linux `tcp_bbr.c`.

use super::params::*;
use super::{Bbr, Mode};
use crate::{RateSample, Socket, Window};

impl Bbr {
    /// Begins gain cycling at a random phase.
    pub(super) fn enter_probe_bw(&mut self, s: &Socket) {
        self.mode = Mode::ProbeBw;
        self.cycle = PACING_GAINS.len() - 1 - self.random.below(CYCLE_RAND) as usize;
        self.next_phase(s);
    }

    fn next_phase(&mut self, s: &Socket) {
        self.cycle = (self.cycle + 1) % PACING_GAINS.len();
        self.cycle_start = s.delivered_time;
    }

    /// Advances to the next phase when the current one is complete.
    pub(super) fn update_cycle_phase(&mut self, s: &Socket, w: &Window, rs: &RateSample) {
        if self.mode == Mode::ProbeBw && self.phase_is_over(s, w, rs) {
            self.next_phase(s);
        }
    }

    fn phase_is_over(&self, s: &Socket, w: &Window, rs: &RateSample) -> bool {
        let lasted = s.delivered_time.as_micros().saturating_sub(self.cycle_start.as_micros());
        let full_length = lasted > self.min_rtt_us.unwrap_or(u32::MAX) as u64;
        if self.pacing_gain == UNIT {
            return full_length;
        }
        let inflight = self.in_net_at_departure(s, w, rs.prior_in_flight);
        let bw = self.max_bw();
        if self.pacing_gain > UNIT {
            // The phase lasts until the extra packets are in flight or some are lost.
            return full_length
                && (rs.losses > 0 || inflight >= self.inflight_target(s, w, bw, self.pacing_gain));
        }
        full_length || inflight <= self.inflight_target(s, w, bw, UNIT)
    }

    /// The phase's pacing gain; a policed flow does not probe.
    pub(super) fn cycle_gain(&self) -> u32 {
        if self.lt.use_bw { UNIT } else { PACING_GAINS[self.cycle] }
    }
}
