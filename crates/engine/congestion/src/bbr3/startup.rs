//! STARTUP and the estimator of a full pipe. STARTUP paces at 2.77 times the bandwidth, which doubles it each
//! round, until the pipe is full. That is so if bandwidth has grown by less than a quarter in three rounds
//! (PROBE_BW_UP ends by the same rule), or if recovery has lasted for a round in which more than 2 % were
//! lost, in at least six ranges.
//!
//! Source: draft-ietf-ccwg-bbr-06, section "Startup".

use super::bandwidth::rate;
use super::longterm::is_too_high;
use super::params::*;
use super::{Bbr3, Bbr3State};
use crate::{CaState, LostPacket, RateSample, Socket};

/// The full-pipe estimator.
#[derive(Clone, Debug, Default)]
pub(super) struct FullBw {
    /// The bandwidth that must be exceeded by a quarter.
    pub bw: u64,
    /// Consecutive rounds in which the bandwidth grew by less than a quarter.
    pub rounds: u8,
    /// Whether the pipe has become full since the estimator was last reset.
    pub now: bool,
}

/// Losses of the current loss round, for STARTUP.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    /// Number of disjoint ranges of lost bytes.
    ranges: u32,
    /// End of the last range.
    end: u64,
    /// `delivered` when fast recovery began.
    pub recovery_delivered: u64,
}

impl Losses {
    /// Records a lost packet. Packets are marked in the order in which they were sent.
    pub(super) fn take(&mut self, p: &LostPacket) {
        self.ranges += (p.seq != self.end || self.ranges == 0) as u32;
        self.end = p.end;
    }
}

impl Bbr3 {
    /// ResetFullBW, with a first baseline.
    pub(super) fn reset_full_bw(&mut self, bw: u64) {
        self.full = FullBw { bw, ..FullBw::default() };
    }

    /// CheckFullBWReached.
    pub(super) fn check_full_bw(&mut self, rs: &RateSample) {
        let rate = rate(rs);
        if self.full.now || !self.rounds.start || rs.is_app_limited || rate == 0 {
            return;
        }
        if rate as u128 * 4 >= self.full.bw as u128 * 5 {
            self.reset_full_bw(rate);
            return;
        }
        self.full.rounds += 1;
        self.full.now = self.full.rounds >= FULL_BW_ROUNDS;
        self.full_bw_reached |= self.full.now;
    }

    /// CheckStartupDone.
    pub(super) fn check_startup_done(&mut self, s: &Socket, rs: &RateSample) {
        if self.state == Bbr3State::Startup {
            self.check_startup_high_loss(s, rs);
            if self.full_bw_reached {
                self.enter_drain();
            }
        }
        if self.latest.round_start {
            self.losses.ranges = 0;
        }
    }

    /// "Exiting Startup Based on Packet Loss".
    fn check_startup_high_loss(&mut self, s: &Socket, rs: &RateSample) {
        if s.state != CaState::Recovery || self.full_bw_reached {
            return;
        }
        let high = if s.sack {
            let a_round_of_recovery = rs.prior_delivered >= self.losses.recovery_delivered;
            self.latest.round_start
                && a_round_of_recovery
                && self.losses.ranges >= STARTUP_LOSSES
                && is_too_high(s, rs.lost, rs.tx_in_flight)
        } else {
            self.losses.ranges > 0
        };
        if high {
            self.undo.state = Some(Bbr3State::Startup);
            self.full.now = true;
            self.full_bw_reached = true;
            self.longterm = Some(self.bdp(self.max_bw.get(), UNIT).max(self.latest.inflight));
        }
    }

    /// EnterStartup.
    pub(super) fn enter_startup(&mut self) {
        self.state = Bbr3State::Startup;
    }
}
