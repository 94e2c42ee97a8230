//! extra_acked: how many packets are acknowledged at once beyond what the bandwidth explains
//! (Wi-Fi, cable and radio links bundle ACKs). The maximum over ten rounds, one in STARTUP, is
//! added to the window, so that the sender can continue while no ACKs arrive.
//!
//! Source: draft-ietf-ccwg-bbr-06, section "BBR.extra_acked".

use super::Bbr3;
use super::params::*;
use crate::windowed_max::WindowedMax;
use crate::{RateSample, Socket, Window};
use units::Time;

/// The estimate and its current interval.
#[derive(Clone, Debug, Default)]
pub(super) struct Bbr3Aggregation {
    start: Time,
    /// Packets delivered since `start`.
    delivered: u64,
    max: WindowedMax,
}

impl Bbr3Aggregation {
    /// Starts a new interval. `delivered` is kept for the next ACK, which evaluates it.
    pub(super) fn restart(&mut self, now: Time) {
        self.start = now;
    }

    /// Packets to add to the window.
    pub(super) fn get(&self) -> u32 {
        self.max.get()
    }
}

impl Bbr3 {
    /// UpdateACKAggregation.
    pub(super) fn update_aggregation(&mut self, s: &Socket, w: &Window, rs: &RateSample) {
        if rs.acked_sacked == 0 {
            return;
        }
        let a = &mut self.aggregation;
        let expected = self.bw.saturating_mul(s.now.since(a.start).as_micros()) >> BW_SCALE;
        let (mut delivered, mut expected) = (a.delivered, expected);
        // ACKs arrive no faster than expected: there is no aggregate, so a new interval starts.
        if delivered <= expected {
            (delivered, expected) = (0, 0);
            a.start = s.now;
        }
        a.delivered = delivered + rs.acked_sacked as u64;
        let extra = (a.delivered - expected).min(w.cwnd as u64) as u32;
        let window = if self.full_bw_reached { EXTRA_ACKED_ROUNDS } else { 1 };
        a.max.update(window, self.rounds.count as u32, extra);
    }
}
