//! The state of a path's congestion control, for display.

use super::Steering;
use crate::contract::Contract;
use congestion::RateSample;
use units::Span;

/// The state of a path's congestion control.
#[derive(Clone, Copy, Debug)]
pub struct SteeringView {
    /// The smoothed RTT and the smallest.
    pub rtt: (Option<Span>, Option<Span>),
    /// Bytes of UDP payload that may be outstanding, and that are.
    pub cwnd: (u64, u64),
    /// The pacing rate, bytes of UDP payload per second.
    pub pacing_rate: Option<u64>,
    /// The delivery rate of the newest sample, bytes of UDP payload per second.
    pub delivery_rate: Option<u64>,
    /// The share that the path is believed to lose at any speed.
    pub own_loss: Option<f64>,
}

impl Steering {
    /// Remembers the delivery rate of the newest sample.
    pub(super) fn note_delivery(&mut self, sample: &RateSample) {
        let time = sample.interval.as_secs_f64();
        let packets = sample.delivered.filter(|_| time > 0.0);
        let rate = packets.map(|n| (f64::from(n) * f64::from(self.socket.mss) / time) as u64);
        self.delivery_rate = rate.or(self.delivery_rate);
    }

    /// The current state.
    pub(super) fn view(&self) -> SteeringView {
        SteeringView {
            rtt: (self.socket.srtt, self.socket.min_rtt),
            cwnd: (self.bytes_allowed(), self.in_flight),
            pacing_rate: self.pacing_rate(),
            delivery_rate: self.delivery_rate,
            own_loss: self.contract.as_ref().and_then(Contract::lossy),
        }
    }
}
