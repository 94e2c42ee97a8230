//! Tahoe: Reno's growth without fast recovery. Three duplicate ACKs bring the lost packet again at
//! once, as in Reno, but then the window starts over from one packet: slow start up to half of
//! what was in flight, congestion avoidance from there. A timeout is answered alike.
//!
//! Sources: Jacobson, "Congestion avoidance and control" (SIGCOMM 1988), section 3 and appendix D;
//! Fall and Floyd, "Simulation-based comparisons of Tahoe, Reno, and SACK TCP" (CCR 26(3), 1996),
//! section 2, for what it sends after the fast retransmission.
//!
//! | Jacobson 1988, 4.3BSD Tahoe | here |
//! |---|---|
//! | cwnd grows per ACK: 1 packet in slow start, 1/cwnd above | per packet acknowledged, as Reno here; but per ACK until all that was out at the loss is acknowledged, because the ACK of a retransmission may cover a whole window (RFC 3465 section 2.3 for slow start after a timeout) |
//! | ssthresh = half the window in use, at least 2 packets | max(min(FlightSize, cwnd) / 2, 2) |
//! | after the fast retransmission everything beyond it counts as unsent | as lost, except what the receiver has SACKed |
//! | no SACK, no timestamps, no undo | the transport's: a host that should have none says so |
//! | no ECN; a loss that a tail loss probe repaired | the transport's reduction: cwnd = ssthresh |

use crate::reno::{cong_avoid_ai, slow_start};
use crate::{CaState, Controller, Socket, Window};

/// Tahoe (Jacobson 1988).
#[derive(Clone, Debug, Default)]
pub struct Tahoe {
    /// End of what was out at the last loss.
    recover: Option<u64>,
}

impl Tahoe {
    /// A new one.
    pub fn new() -> Tahoe {
        Tahoe::default()
    }
}

impl Controller for Tahoe {
    fn name(&self) -> &'static str {
        "tahoe"
    }

    fn fast_recovery(&self) -> bool {
        false
    }

    fn ssthresh(&mut self, s: &Socket, w: &mut Window) -> u32 {
        let flight = s.snd_nxt.saturating_sub(s.snd_una).div_ceil(s.mss.max(1) as u64);
        (flight.min(w.cwnd as u64) as u32 / 2).max(2)
    }

    fn cong_avoid(&mut self, s: &Socket, w: &mut Window, acked: u32) {
        if !s.is_cwnd_limited {
            return; // RFC 7661: an unused window proves nothing
        }
        let repairing = self.recover.is_some_and(|end| s.snd_una <= end);
        let acked = if repairing { acked.min(1) } else { acked };
        let acked = if w.in_slow_start() { slow_start(w, acked) } else { acked };
        if acked > 0 {
            cong_avoid_ai(w, w.cwnd, acked);
        }
    }

    fn set_state(&mut self, s: &Socket, _: &mut Window, new: CaState) {
        if new == CaState::Loss {
            self.recover = Some(s.snd_nxt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_flight_but_two() {
        for (flight, cwnd, half) in [(100, 100, 50), (31, 100, 15), (103, 100, 50), (3, 3, 2)] {
            let s = Socket { snd_nxt: flight * 1460, ..Socket::default() };
            assert_eq!(Tahoe::new().ssthresh(&s, &mut Window::new(cwnd)), half);
        }
    }

    #[test]
    fn the_ack_that_ends_the_repair_still_opens_the_window_by_one() {
        let mut c = Tahoe::new();
        let mut w = Window { ssthresh: 10, ..Window::new(1) };
        let mut s = Socket { is_cwnd_limited: true, snd_nxt: 30 * 1460, ..Socket::default() };
        c.set_state(&s, &mut w, CaState::Loss);
        s.snd_una = 30 * 1460;
        c.cong_avoid(&s, &mut w, 30);
        assert_eq!(w.cwnd, 2);
        s.snd_una += 3 * 1460;
        c.cong_avoid(&s, &mut w, 3);
        assert_eq!(w.cwnd, 5);
    }
}
