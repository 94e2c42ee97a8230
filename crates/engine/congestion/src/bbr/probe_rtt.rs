//! RTprop, the smallest RTT of the last 10 s, and PROBE_RTT. After 10 s without a smaller RTT the window
//! falls to four packets for 200 ms and a round trip. The queue then empties, and the RTT without a queue can
//! be measured. Flows that share a queue do so together, since all of them see the dip. After idle time the
//! RTT is measured without PROBE_RTT.
//!
//! Sources: BBR paper, "Characterizing the bottleneck"; Linux `tcp_bbr.c`.

use super::params::*;
use super::{Bbr, Mode};
use crate::jiffies::{self, micros};
use crate::{RateSample, Socket, Window};

impl Bbr {
    /// Updates RTprop, and enters, holds and leaves PROBE_RTT.
    pub(super) fn update_min_rtt(&mut self, s: &Socket, w: &mut Window, rs: &RateSample) {
        let now = jiffies::at(s.now);
        let expired = now > self.min_rtt_stamp + MIN_RTT_WINDOW;
        if let Some(rtt) = rs.rtt.map(micros)
            && (self.min_rtt_us.is_none_or(|min| rtt < min) || expired && !rs.is_ack_delayed)
        {
            self.min_rtt_us = Some(rtt);
            self.min_rtt_stamp = now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(w);
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.hold_probe_rtt(s, w);
        }
        if rs.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn hold_probe_rtt(&mut self, s: &Socket, w: &mut Window) {
        // Rates measured with four packets in flight do not characterise the path.
        w.app_limited = Some((s.delivered + s.inflight as u64).max(1));
        if self.probe_rtt_done.is_none() {
            if s.inflight <= CWND_MIN {
                self.probe_rtt_done = Some(jiffies::at(s.now) + PROBE_RTT_TIME);
                self.probe_rtt_round_done = false;
                self.next_rtt_delivered = s.delivered;
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(s, w);
        }
    }

    /// Back to cruising, or to STARTUP if the pipe was never full.
    pub(super) fn check_probe_rtt_done(&mut self, s: &Socket, w: &mut Window) {
        let now = jiffies::at(s.now);
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt_stamp = now;
        w.cwnd = w.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached {
            self.enter_probe_bw(s);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
