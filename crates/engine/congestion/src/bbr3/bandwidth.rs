//! Rounds and bandwidths. max_bw is the largest delivery rate of this PROBE_BW cycle and the one
//! before; bw, the smaller of it and the short-term bound, is what everything else is scaled by.
//! Two kinds of round trips are counted, both packet-timed: plain ones, and "loss rounds", which
//! are restarted by the first loss so that its effect is measured over a whole round trip.
//!
//! Source: draft-ietf-ccwg-bbr-06, sections "BBR.round_count", "BBR.max_bw Max Filter" and
//! "When not Probing for Bandwidth".

use super::params::*;
use super::{Bbr3, Bbr3State};
use crate::{RateSample, Socket, Window};

/// Packet-timed round trips.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    /// Number of round trips.
    pub count: u64,
    /// Whether this ACK ends a round trip.
    pub start: bool,
    /// A packet sent at or after this `delivered` mark ends the round when delivered.
    pub next_delivered: u64,
}

/// The largest delivery rates of the last cycle and of this one.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxBw {
    cycles: [u64; 2],
}

impl MaxBw {
    pub(super) fn get(&self) -> u64 {
        self.cycles[0].max(self.cycles[1])
    }

    fn take(&mut self, rate: u64) {
        self.cycles[1] = self.cycles[1].max(rate);
    }

    /// Starts the next cycle. A cycle without samples is not counted, because idle time would erase
    /// the maximum.
    pub(super) fn advance(&mut self) {
        if self.cycles[1] > 0 {
            self.cycles = [self.cycles[1], 0];
        }
    }
}

/// Delivery and loss in the last loss round.
#[derive(Clone, Debug, Default)]
pub(super) struct Latest {
    pub bw: u64,
    /// Packets.
    pub inflight: u32,
    /// Whether this ACK ends a loss round.
    pub round_start: bool,
    pub round_delivered: u64,
    pub loss_in_round: bool,
}

/// Delivery rate of an ACK, packets/µs << 24; 0 when it has none.
pub(super) fn rate(rs: &RateSample) -> u64 {
    let delivered = rs.delivered.unwrap_or(0) as u64;
    (delivered << BW_SCALE).checked_div(rs.interval.as_micros()).unwrap_or(0)
}

impl Bbr3 {
    /// StartRound.
    pub(super) fn start_round(&mut self, s: &Socket) {
        self.rounds.next_delivered = s.delivered;
    }

    /// UpdateLatestDeliverySignals.
    pub(super) fn update_latest(&mut self, s: &Socket, rs: &RateSample) {
        let l = &mut self.latest;
        l.round_start = false;
        let Some(delivered) = rs.delivered else { return };
        l.bw = l.bw.max(rate(rs));
        l.inflight = l.inflight.max(delivered);
        if rs.prior_delivered >= l.round_delivered {
            l.round_delivered = s.delivered;
            l.round_start = true;
        }
    }

    /// AdvanceLatestDeliverySignals.
    pub(super) fn advance_latest(&mut self, rs: &RateSample) {
        if self.latest.round_start {
            self.latest.bw = rate(rs);
            self.latest.inflight = rs.delivered.unwrap_or(0);
        }
    }

    /// UpdateCongestionSignals: once per loss round the short-term bounds are lowered if packets were lost.
    pub(super) fn update_congestion_signals(&mut self, s: &Socket, w: &Window, rs: &RateSample) {
        self.update_max_bw(s, rs);
        if !self.latest.round_start {
            return;
        }
        let probing = matches!(self.state, Bbr3State::Startup | Bbr3State::Refill | Bbr3State::Up);
        if self.latest.loss_in_round && !probing {
            self.lower_bounds(w);
        }
        self.latest.loss_in_round = false;
    }

    /// UpdateMaxBw, UpdateRound.
    fn update_max_bw(&mut self, s: &Socket, rs: &RateSample) {
        self.rounds.start = rs.delivered.is_some() && rs.prior_delivered >= self.rounds.next_delivered;
        if self.rounds.start {
            self.start_round(s);
            self.rounds.count += 1;
            self.cycle.rounds_since_up = self.cycle.rounds_since_up.saturating_add(1);
        }
        let rate = rate(rs);
        if !rs.is_app_limited || rate >= self.max_bw.get() {
            self.max_bw.take(rate);
        }
    }

    /// BoundBWForModel.
    pub(super) fn bound_bw(&mut self) {
        self.bw = self.max_bw.get().min(self.short.bw.unwrap_or(u64::MAX));
    }
}
