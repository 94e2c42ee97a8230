//! min_rtt, the smallest RTT of the last 10 s, and PROBE_RTT. After 5 s without a smaller RTT, no more than
//! half a BDP is kept in flight for 200 ms and a round trip. The queue then empties, and the RTT without a
//! queue can be measured. Two of these intervals fit into the 10 s, so that half a BDP is computed from a
//! valid min_rtt. After idle time the RTT is measured without PROBE_RTT.
//!
//! Source: draft-ietf-ccwg-bbr-06, section "ProbeRTT".

use super::params::*;
use super::shortterm::ShortTerm;
use super::{Bbr3, Bbr3State, ProbeAcks};
use crate::{RateSample, Socket, Window};
use units::{Span, Time};

/// The two minima and the state of PROBE_RTT.
#[derive(Clone, Debug, Default)]
pub(super) struct MinRtt {
    /// min_rtt; `None` before the first sample.
    pub rtt: Option<Span>,
    pub stamp: Time,
    /// The minimum of the last 5 s, which determines the start of PROBE_RTT.
    pub probe_rtt: Option<Span>,
    pub probe_stamp: Time,
    probe_expired: bool,
    /// When PROBE_RTT may end; `None` until inflight is small enough.
    done: Option<Time>,
    round_done: bool,
}

impl Bbr3 {
    /// UpdateMinRTT.
    pub(super) fn update_min_rtt(&mut self, s: &Socket, rs: &RateSample) {
        let m = &mut self.min_rtt;
        m.probe_expired = s.now > m.probe_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = rs.rtt
            && (m.probe_rtt.is_none_or(|min| rtt < min) || m.probe_expired && !rs.is_ack_delayed)
        {
            (m.probe_rtt, m.probe_stamp) = (Some(rtt), s.now);
        }
        let Some(recent) = m.probe_rtt else { return };
        let expired = s.now > m.stamp + MIN_RTT_WINDOW;
        if expired || m.rtt.is_none_or(|min| recent < min) {
            (m.rtt, m.stamp) = (Some(recent), m.probe_stamp);
        }
    }

    /// CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, s: &Socket, w: &mut Window, rs: &RateSample) {
        if self.state != Bbr3State::ProbeRtt && self.min_rtt.probe_expired && !self.idle_restart {
            self.state = Bbr3State::ProbeRtt;
            self.save_cwnd(s, w);
            self.min_rtt.done = None;
            self.cycle.acks = ProbeAcks::ProbeStopping;
            self.start_round(s);
        }
        if self.state == Bbr3State::ProbeRtt {
            self.handle_probe_rtt(s, w);
        }
        if rs.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    /// HandleProbeRTT.
    fn handle_probe_rtt(&mut self, s: &Socket, w: &mut Window) {
        // Rates measured with half a BDP in flight do not characterise the path.
        w.app_limited = Some((s.delivered + s.inflight as u64).max(1));
        if self.min_rtt.done.is_none() {
            if s.inflight <= self.probe_rtt_cwnd() {
                self.min_rtt.done = Some(s.now + PROBE_RTT_TIME);
                self.min_rtt.round_done = false;
                self.start_round(s);
            }
            return;
        }
        self.min_rtt.round_done |= self.rounds.start;
        if self.min_rtt.round_done {
            self.check_probe_rtt_done(s, w);
        }
    }

    /// CheckProbeRTTDone, ExitProbeRTT.
    pub(super) fn check_probe_rtt_done(&mut self, s: &Socket, w: &mut Window) {
        if self.min_rtt.done.is_none_or(|done| s.now <= done) {
            return;
        }
        self.min_rtt.probe_stamp = s.now;
        self.restore_cwnd(w);
        self.short = ShortTerm::default();
        if self.full_bw_reached {
            // The cycle restarts after DOWN, because the queue is already empty.
            self.start_down(s);
            self.state = Bbr3State::Cruise;
        } else {
            self.enter_startup();
        }
    }
}
