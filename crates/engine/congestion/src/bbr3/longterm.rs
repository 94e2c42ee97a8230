//! The long-term bound inflight_longterm: how much may be in flight before the path loses more
//! than 2 %. It is found when a probe for bandwidth costs more than that, and raised again while
//! later probes do not: by 1, 2, 4, … packets a round.
//!
//! A loss is detected late, so the packets in flight are those recorded in the lost packet when
//! it was sent. For a burst tracked as one packet, the part that crossed the threshold is computed.
//!
//! Source: draft-ietf-ccwg-bbr-06, sections "Probing for Bandwidth In ProbeBW" and "ProbeBW
//! Algorithm Details".

use super::params::*;
use super::{Bbr3, Bbr3State, ProbeAcks};
use crate::{LostPacket, RateSample, Socket, Window};

/// IsInflightTooHigh: more than 2 % lost of what was in flight; without SACK only one loss a round
/// trip can be detected, so any loss counts.
pub(super) fn is_too_high(s: &Socket, lost: u32, in_flight: u32) -> bool {
    lost as u64 * LOSS_THRESH > in_flight as u64 || lost > 0 && !s.sack
}

/// InflightAtLoss: packets in flight at which losses crossed the threshold. With `prefix` packets
/// of the burst, (lost before + prefix) / (in flight before + prefix) = 1/50.
pub(super) fn inflight_at_loss(p: &LostPacket) -> u32 {
    let before = p.tx_in_flight.saturating_sub(p.packets);
    let lost = p.lost.saturating_sub(p.packets) as u64;
    let prefix = (before as u64).saturating_sub(LOSS_THRESH * lost) / (LOSS_THRESH - 1);
    before.saturating_add(prefix as u32)
}

impl Bbr3 {
    /// TargetInflight.
    pub(super) fn target_inflight(&self, w: &Window) -> u32 {
        self.bdp(self.bw, UNIT).min(w.cwnd)
    }

    /// HandleLostPacket, after NoteLoss.
    pub(super) fn handle_lost_packet(&mut self, s: &Socket, w: &Window, p: &LostPacket) {
        if self.cycle.is_probe_sample && is_too_high(s, p.lost, p.tx_in_flight) {
            self.handle_too_high(s, w, inflight_at_loss(p), p.is_app_limited);
        }
    }

    /// HandleInflightTooHigh: `in_flight` packets were too many; once per probe.
    pub(super) fn handle_too_high(&mut self, s: &Socket, w: &Window, in_flight: u32, app_limited: bool) {
        self.cycle.too_high = true;
        self.cycle.is_probe_sample = false;
        if !app_limited {
            let least = beta(self.target_inflight(w) as u64) as u32;
            self.longterm = Some(in_flight.max(least));
        }
        if self.state == Bbr3State::Up {
            self.undo.state = Some(Bbr3State::Up);
            self.start_down(s);
        }
    }

    /// AdaptLongTermModel. Returns whether it started a new state.
    pub(super) fn adapt_long_term(&mut self, s: &Socket, w: &Window, rs: &RateSample) -> bool {
        if self.rounds.start && self.cycle.acks == ProbeAcks::ProbeStarting {
            self.cycle.acks = ProbeAcks::ProbeFeedback;
        }
        if self.rounds.start && self.cycle.acks == ProbeAcks::ProbeStopping && self.end_probe(s, rs) {
            return true;
        }
        let Some(bound) = self.longterm else { return false };
        if !is_too_high(s, rs.lost, rs.tx_in_flight) {
            self.longterm = Some(bound.max(rs.tx_in_flight));
            if self.state == Bbr3State::Up {
                self.probe_upward(w, rs);
            }
        }
        false
    }

    /// Handles the last ACK of a probe's packets. If the probe was ended early as a precaution and
    /// lost few packets, the real probe follows at once; returns true then.
    fn end_probe(&mut self, s: &Socket, rs: &RateSample) -> bool {
        self.cycle.is_probe_sample = false;
        self.cycle.acks = ProbeAcks::Init;
        if !self.in_probe_bw() {
            return false;
        }
        if !rs.is_app_limited {
            self.max_bw.advance();
        }
        let again = self.cycle.precautionary && !self.cycle.too_high;
        if again {
            self.start_refill(s);
        }
        again
    }

    /// RaiseInflightLongtermSlope: doubles the slope each round.
    pub(super) fn raise_slope(&mut self, w: &Window) {
        let c = &mut self.cycle;
        c.acked_per_packet = (w.cwnd >> c.up_rounds).max(1);
        c.up_rounds = (c.up_rounds + 1).min(30);
    }

    /// ProbeInflightLongtermUpward, only while the bound limits the flow.
    fn probe_upward(&mut self, w: &Window, rs: &RateSample) {
        let Some(bound) = self.longterm.filter(|&bound| self.is_cwnd_limited && w.cwnd >= bound) else {
            return;
        };
        let c = &mut self.cycle;
        c.up_acked = c.up_acked.saturating_add(rs.acked_sacked);
        let packets = c.up_acked / c.acked_per_packet;
        c.up_acked %= c.acked_per_packet;
        self.longterm = Some(bound.saturating_add(packets));
        if self.rounds.start {
            self.raise_slope(w);
        }
    }

    /// InflightWithHeadroom: the bound less 15 % for other flows; `None` without a bound.
    pub(super) fn with_headroom(&self) -> Option<u32> {
        let bound = self.longterm?;
        Some(bound.saturating_sub(headroom(bound).max(1)).max(MIN_PIPE_CWND))
    }
}
