//! The window: a bound on the data in flight, gain times the BDP plus the packets that end hosts need to keep
//! their bursts going. Below the target it grows by the acknowledged packets; it is cut to the target
//! only after the pipe has been full. In recovery's first round it follows packet conservation, and
//! afterwards the previous window is restored.
//!
//! Sources: BBR paper; Linux `tcp_bbr.c` (`bbr_set_cwnd` and what it calls).

use super::params::*;
use super::{Bbr, Mode};
use crate::{CaState, RateSample, Socket, Window};

impl Bbr {
    /// The RTT for the size of the window, microseconds: RTprop, or BBR-HSR's estimate.
    fn window_rtt(&self) -> Option<u32> {
        let rt_prop = self.min_rtt_us?;
        Some(self.hsr.as_ref().map_or(rt_prop, |hsr| hsr.rtt_us(rt_prop)))
    }

    /// Bandwidth times RTT times `gain`, packets, rounded up.
    fn bdp(bw: u32, rtt_us: Option<u32>, gain: u32) -> u32 {
        let Some(rtt_us) = rtt_us else {
            return INIT_CWND; // only retransmissions have been acknowledged so far
        };
        let w = bw as u64 * rtt_us as u64;
        let w = w.wrapping_mul(gain as u64) >> GAIN_SCALE;
        (w.wrapping_add(BW_UNIT - 1) / BW_UNIT) as u32
    }

    /// Adds room for three bursts (queue discipline, offload engine, receiver), rounded up to
    /// even for delayed ACKs, and for the probing phase of small BDPs.
    fn with_bursts(&self, s: &Socket, w: &Window, cwnd: u32) -> u32 {
        let cwnd = cwnd.wrapping_add(3 * self.burst_segs(s, w)).wrapping_add(1) & !1;
        if self.mode == Mode::ProbeBw && self.cycle == 0 { cwnd.wrapping_add(2) } else { cwnd }
    }

    /// The target of packets in flight for `gain`.
    pub(super) fn inflight_target(&self, s: &Socket, w: &Window, bw: u32, gain: u32) -> u32 {
        self.with_bursts(s, w, Bbr::bdp(bw, self.min_rtt_us, gain))
    }

    /// Packets that will be in the network when the next one departs: those in flight, with the
    /// burst that departs if the gain is above 1, less what is delivered until then.
    pub(super) fn in_net_at_departure(&self, s: &Socket, w: &Window, inflight: u32) -> u32 {
        let wait_us = s.next_departure.since(s.now).as_micros();
        let delivered = ((self.bw() as u64).wrapping_mul(wait_us) >> BW_SCALE) as u32;
        let burst = if self.pacing_gain > UNIT { self.burst_segs(s, w) } else { 0 };
        inflight.wrapping_add(burst).saturating_sub(delivered)
    }

    /// Saves the window before recovery or PROBE_RTT reduces it.
    pub(super) fn save_cwnd(&mut self, w: &Window) {
        self.prior_cwnd = if self.prev_state < CaState::Recovery && self.mode != Mode::ProbeRtt {
            w.cwnd
        } else {
            self.prior_cwnd.max(w.cwnd)
        };
    }

    /// The window under loss recovery, and whether packet conservation alone determines it.
    fn recover_or_restore(&mut self, s: &Socket, w: &Window, rs: &RateSample) -> (u32, bool) {
        let mut cwnd = w.cwnd;
        if rs.losses > 0 {
            cwnd = cwnd.saturating_sub(rs.losses).max(1);
        }
        let conserved = s.inflight.saturating_add(rs.acked_sacked);
        if s.state == CaState::Recovery && self.prev_state != CaState::Recovery {
            self.packet_conservation = true;
            self.next_rtt_delivered = s.delivered; // conservation lasts for the round from here
            cwnd = conserved;
        } else if self.prev_state >= CaState::Recovery && s.state < CaState::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.prev_state = s.state;
        if self.packet_conservation { (cwnd.max(conserved), true) } else { (cwnd, false) }
    }

    /// Sets cwnd for this ACK.
    pub(super) fn set_cwnd(&mut self, s: &Socket, w: &mut Window, rs: &RateSample, bw: u32, gain: u32) {
        let mut cwnd = w.cwnd;
        let acked = rs.acked_sacked;
        if acked > 0 {
            let (recovered, conserving) = self.recover_or_restore(s, w, rs);
            cwnd = recovered;
            if !conserving {
                let bdp = Bbr::bdp(bw, self.window_rtt(), gain);
                let target = bdp.wrapping_add(self.aggregation_cwnd());
                let target = self.with_bursts(s, w, target);
                if self.full_bw_reached {
                    cwnd = cwnd.saturating_add(acked).min(target);
                } else if cwnd < target || s.delivered < INIT_CWND as u64 {
                    cwnd = cwnd.saturating_add(acked);
                }
                cwnd = cwnd.max(CWND_MIN);
            }
        }
        w.cwnd = cwnd.min(w.cwnd_clamp);
        if self.mode == Mode::ProbeRtt {
            w.cwnd = w.cwnd.min(CWND_MIN);
        }
    }
}
