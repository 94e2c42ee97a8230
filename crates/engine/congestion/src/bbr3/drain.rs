//! DRAIN: at half the bandwidth until no more than one BDP is in flight, for three rounds at most.
//!
//! Source: draft-ietf-ccwg-bbr-06, section "Drain".

use super::params::*;
use super::{Bbr3, Bbr3State};
use crate::{Socket, Window};

impl Bbr3 {
    /// EnterDrain.
    pub(super) fn enter_drain(&mut self) {
        self.state = Bbr3State::Drain;
        self.drain_start = self.rounds.count;
    }

    /// CheckDrainDone.
    pub(super) fn check_drain_done(&mut self, s: &Socket, w: &Window) {
        if self.state == Bbr3State::Drain
            && (s.inflight <= self.inflight(s, w, self.bw, UNIT)
                || self.rounds.count > self.drain_start + DRAIN_ROUNDS)
        {
            self.start_down(s);
        }
    }
}
