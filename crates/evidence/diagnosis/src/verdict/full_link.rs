//! When a flow has filled a link: its delivery rate no longer grows with its window.
//!
//! BBR leaves Startup by the same sign (draft-ietf-ccwg-bbr, BBRCheckFullBWReached): three round trips in
//! which the delivery rate does not grow by a quarter. If more is in flight by then, the rest waits in a
//! queue, because the bytes in flight are rate × RTT (Little's law). A window that grows slowly, with a
//! delivery rate that grows with it, has not filled a link.

use super::round_trips::RoundTripSpan;

/// Least ratio, between two round trips, that counts as growth of the delivery rate or of the bytes in
/// flight.
const MIN_GROWTH: f64 = 1.25;
/// Round trips without growth of the delivery rate after which the link is full.
const ROUNDS_WITHOUT_GROWTH: usize = 3;

/// Whether more is in flight than fills the link, from each time on (seconds since the connection's first
/// packet).
#[derive(Clone, Debug, Default)]
pub(super) struct LinkFills(Vec<(f64, bool)>);

impl LinkFills {
    /// Measures fills over round trips as short as RTprop; the round trips of a path with a queue are too
    /// long to show growth. After a pause of the sender, delivery may grow again.
    pub fn of(rounds: &[RoundTripSpan]) -> LinkFills {
        let mut fills: Vec<(f64, bool)> = rounds.iter().map(|r| (r.from, false)).collect();
        let (mut most, mut at_most, mut from, mut without) = (0.0f64, 0.0f64, 0, 0);
        for (i, r) in rounds.iter().enumerate() {
            if r.idle > 0.0 || r.ended > 0.0 || r.window_full > 0.0 {
                // Something else limits delivery.
                (most, at_most, without) = (0.0, 0.0, 0);
                continue;
            }
            let before = i > 0 && fills[i - 1].1;
            let rate = r.acked / r.width.max(1e-9);
            if rate <= 0.0 {
                fills[i].1 = before;
                continue;
            }
            let drains = r.packets == 0;
            if rate > MIN_GROWTH * most && !drains {
                (most, at_most, from, without) = (rate, r.inflight, i + 1, 0);
                continue;
            }
            without += 1;
            let exceeds = |r: &RoundTripSpan| r.inflight > MIN_GROWTH * at_most;
            if without == ROUNDS_WITHOUT_GROWTH {
                // The link was already full in the round trips before.
                (from..i).for_each(|j| fills[j].1 = exceeds(&rounds[j]));
            }
            fills[i].1 = without >= ROUNDS_WITHOUT_GROWTH && (exceeds(r) || drains && before);
        }
        LinkFills(fills)
    }

    /// Whether more is in flight at `time` than fills the link.
    pub fn is_overfilled(&self, time: f64) -> bool {
        let next = self.0.partition_point(|f| f.0 <= time);
        next.checked_sub(1).is_some_and(|i| self.0[i].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overfilled(flights: &[(f64, f64)]) -> Vec<bool> {
        let round = |(i, &(inflight, acked)): (usize, &(f64, f64))| RoundTripSpan {
            from: i as f64 * 0.1,
            width: 0.1,
            packets: 1,
            inflight,
            acked,
            ..RoundTripSpan::default()
        };
        let rounds: Vec<RoundTripSpan> = flights.iter().enumerate().map(round).collect();
        let fills = LinkFills::of(&rounds);
        rounds.iter().map(|r| fills.is_overfilled(r.from + 0.05)).collect()
    }

    #[test]
    fn the_link_is_full_when_the_window_grows_and_delivery_does_not() {
        let grows = [10.0f64, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0];
        let full = |delivered: fn(f64) -> f64, limit: f64| {
            let flights: Vec<(f64, f64)> =
                grows.iter().map(|w| (w.min(limit), delivered(w.min(limit)))).collect();
            overfilled(&flights)
        };
        assert_eq!(full(|w| w.min(80.0), f64::MAX), [false, false, false, false, true, true, true]);
        assert_eq!(full(|w| w, f64::MAX), [false; 7]);
        // Window and delivery stop growing together: something else limits them.
        assert_eq!(full(|w| w, 80.0), [false; 7]);
        // Window and delivery grow together by two packets a round trip.
        let slowly: Vec<(f64, f64)> =
            (0..20).map(|i| (40.0 + f64::from(i) * 2.0, 40.0 + f64::from(i) * 2.0)).collect();
        assert!(overfilled(&slowly).iter().all(|full| !full));
    }
}
