//! PROBE_BW, where a flow spends nearly all its time, in a cycle of four states. DOWN sends at 0.9 of the
//! bandwidth until at most one BDP is in flight, and 15 % less than what was last too much. CRUISE sends at
//! the bandwidth, lowers its bounds on loss, and lasts until it is time to probe: two to three seconds after
//! DOWN started, or earlier, after as many rounds as Reno would need to grow by a BDP (at most 63). A Reno
//! flow thus has no more losses than next to another Reno flow. REFILL fills the pipe for a round without the
//! short-term bounds, and UP sends a quarter more until bandwidth no longer grows or too much is lost.
//!
//! Source: draft-ietf-ccwg-bbr-06, section "ProbeBW".

use super::bandwidth::rate;
use super::params::*;
use super::shortterm::ShortTerm;
use super::{Bbr3, Bbr3State};
use crate::{RateSample, Socket, Window};
use units::{Span, Time};

/// Relation of the ACKs that arrive now to the last bandwidth probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum ProbeAcks {
    /// None: there is no probe that ACKs could report on.
    #[default]
    Init,
    /// The pipe is being filled.
    Refilling,
    /// The probe has started, its first packets are in flight.
    ProbeStarting,
    /// ACKs are for packets of the probe.
    ProbeFeedback,
    /// The probe has ended, its last packets are in flight.
    ProbeStopping,
}

/// State of the cycle.
#[derive(Clone, Debug, Default)]
pub(super) struct Cycle {
    pub acks: ProbeAcks,
    /// Whether ACKs are for packets sent in REFILL or UP, and inflight has not been found too high.
    pub is_probe_sample: bool,
    /// Whether the last probe lost too much (prev_probe_too_high).
    pub too_high: bool,
    /// Whether the last probe was ended early at the known bound (prev_probe_precautionary).
    pub precautionary: bool,
    /// When DOWN started, and the time from then to the next probe.
    start: Time,
    wait: Span,
    /// Rounds since DOWN started, counted from a random 0 or 1.
    pub rounds_since_up: u32,
    /// Rounds in which inflight_longterm has grown in this UP.
    pub up_rounds: u32,
    /// Packets acknowledged towards the next step of inflight_longterm, and packets needed for a step of one
    /// packet.
    pub up_acked: u32,
    pub acked_per_packet: u32,
}

impl Bbr3 {
    /// IsInAProbeBWState.
    pub(super) fn in_probe_bw(&self) -> bool {
        matches!(self.state, Bbr3State::Down | Bbr3State::Cruise | Bbr3State::Refill | Bbr3State::Up)
    }

    /// StartProbeBW_DOWN.
    pub(super) fn start_down(&mut self, s: &Socket) {
        // ResetCongestionSignals
        self.latest.loss_in_round = false;
        (self.latest.bw, self.latest.inflight) = (0, 0);
        // PickProbeWait
        self.cycle.rounds_since_up = self.random.below(2) as u32;
        let random = self.random.below(PROBE_WAIT_RANDOM.as_nanos());
        self.cycle.wait = PROBE_WAIT + Span::from_nanos(random);
        self.cycle.start = s.now;
        self.cycle.acks = ProbeAcks::ProbeStopping;
        self.start_round(s);
        self.state = Bbr3State::Down;
    }

    /// StartProbeBW_REFILL.
    pub(super) fn start_refill(&mut self, s: &Socket) {
        self.short = ShortTerm::default();
        (self.cycle.up_rounds, self.cycle.up_acked) = (0, 0);
        self.cycle.precautionary = false;
        self.cycle.acks = ProbeAcks::Refilling;
        self.start_round(s);
        self.state = Bbr3State::Refill;
    }

    /// StartProbeBW_UP.
    fn start_up(&mut self, s: &Socket, w: &Window, rs: &RateSample) {
        self.cycle.acks = ProbeAcks::ProbeStarting;
        self.start_round(s);
        self.reset_full_bw(rate(rs));
        self.state = Bbr3State::Up;
        self.raise_slope(w);
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_cycle(&mut self, s: &Socket, w: &Window, rs: &RateSample) {
        if !self.full_bw_reached || self.adapt_long_term(s, w, rs) {
            return;
        }
        match self.state {
            Bbr3State::Down | Bbr3State::Cruise if self.is_time_to_probe(s, w) => self.start_refill(s),
            Bbr3State::Down if self.is_time_to_cruise(s, w) => self.state = Bbr3State::Cruise,
            Bbr3State::Refill if self.rounds.start => {
                self.cycle.is_probe_sample = true;
                self.start_up(s, w, rs);
            }
            Bbr3State::Up => self.check_up_done(s, w, rs),
            _ => {}
        }
    }

    /// IsTimeToProbeBW: by the clock, or by rounds for coexistence with Reno.
    fn is_time_to_probe(&self, s: &Socket, w: &Window) -> bool {
        let rounds = self.target_inflight(w).min(RENO_ROUNDS);
        s.now > self.cycle.start + self.cycle.wait || self.cycle.rounds_since_up >= rounds
    }

    /// IsTimeToCruise.
    fn is_time_to_cruise(&self, s: &Socket, w: &Window) -> bool {
        self.with_headroom().is_none_or(|bound| s.inflight <= bound)
            && s.inflight <= self.inflight(s, w, self.max_bw.get(), UNIT)
    }

    /// Ends UP before the probe has lost too much.
    fn check_up_done(&mut self, s: &Socket, w: &Window, rs: &RateSample) {
        if self.is_time_to_go_down(s, w, rs) {
            self.cycle.too_high = false;
            self.start_down(s);
        }
    }

    /// IsTimeToGoDown.
    fn is_time_to_go_down(&mut self, s: &Socket, w: &Window, rs: &RateSample) -> bool {
        if let Some(bound) = self.longterm {
            if self.cycle.too_high && s.inflight >= bound {
                self.cycle.precautionary = true;
                return true;
            }
            if self.is_cwnd_limited && w.cwnd >= bound {
                self.reset_full_bw(rate(rs)); // the bound hides the available bandwidth
                return false;
            }
        }
        self.full.now
    }
}
