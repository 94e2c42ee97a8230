//! The window: gain times the BDP plus the degree of aggregation, at least room for three bursts.
//! It grows by the acknowledged packets and is cut at once, within the bounds learned from loss.
//! Recovery itself does not reduce it; the window before a timeout or PROBE_RTT is restored afterwards.
//!
//! Source: draft-ietf-ccwg-bbr-06, section "Congestion Window".

use super::params::*;
use super::{Bbr3, Bbr3State};
use crate::{CaState, RateSample, Socket, Window};

impl Bbr3 {
    /// BDPMultiple: `bw` times min_rtt times `gain`, packets, rounded up.
    pub(super) fn bdp(&self, bw: u64, gain: u64) -> u32 {
        let Some(rtt) = self.min_rtt.rtt else { return self.initial_cwnd };
        // 10 of the 24 fraction bits leave room for the gain.
        let bdp = (bw.saturating_mul(rtt.as_micros()) >> 10).saturating_mul(gain) / UNIT;
        bdp.div_ceil(1 << (BW_SCALE - 10)).min(u32::MAX as u64) as u32
    }

    /// QuantizationBudget: three bursts (one queued, one being cut to packets, one being
    /// reassembled), four packets; two more while probing.
    fn quantized(&self, s: &Socket, w: &Window, inflight: u32) -> u32 {
        let inflight = inflight.max(3 * self.quantum(s, w)).max(MIN_PIPE_CWND);
        if self.state == Bbr3State::Up { inflight.saturating_add(2) } else { inflight }
    }

    /// Inflight: the target of packets in flight for `gain`.
    pub(super) fn inflight(&self, s: &Socket, w: &Window, bw: u64, gain: u64) -> u32 {
        self.quantized(s, w, self.bdp(bw, gain))
    }

    /// ProbeRTTCwnd.
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp(self.bw, PROBE_RTT_CWND_GAIN).max(MIN_PIPE_CWND)
    }

    /// SaveCwnd. The first loss of a recovery may lower a bound and cut the window before
    /// `s.state` changes.
    pub(super) fn save_cwnd(&mut self, s: &Socket, w: &Window) {
        let recovers = s.state >= CaState::Recovery || self.undo.saved;
        let untouched = !recovers && self.state != Bbr3State::ProbeRtt;
        self.prior_cwnd = if untouched { w.cwnd } else { self.prior_cwnd.max(w.cwnd) };
    }

    /// RestoreCwnd.
    pub(super) fn restore_cwnd(&self, w: &mut Window) {
        w.cwnd = w.cwnd.max(self.prior_cwnd).min(w.cwnd_clamp);
    }

    /// SetCwnd.
    pub(super) fn set_cwnd(&self, s: &Socket, w: &mut Window, rs: &RateSample) {
        let acked = rs.acked_sacked;
        let most = self.bdp(self.bw, self.cwnd_gain()).saturating_add(self.aggregation.get());
        let most = self.quantized(s, w, most);
        let mut cwnd = w.cwnd;
        if self.full_bw_reached {
            cwnd = cwnd.saturating_add(acked).min(most);
        } else if cwnd < most || s.delivered < self.initial_cwnd as u64 {
            cwnd = cwnd.saturating_add(acked);
        }
        cwnd = cwnd.max(MIN_PIPE_CWND);
        if self.state == Bbr3State::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd()); // BoundCwndForProbeRTT
        }
        w.cwnd = cwnd.min(self.model_bound()).min(w.cwnd_clamp);
    }

    /// BoundCwndForModel.
    fn model_bound(&self) -> u32 {
        let long = match self.state {
            Bbr3State::Down | Bbr3State::Refill | Bbr3State::Up => self.longterm,
            Bbr3State::Cruise | Bbr3State::ProbeRtt => self.with_headroom(),
            Bbr3State::Startup | Bbr3State::Drain => None,
        };
        let unbounded = u32::MAX;
        long.unwrap_or(unbounded).min(self.short.inflight.unwrap_or(unbounded)).max(MIN_PIPE_CWND)
    }
}
