//! Tahoe: Reno's growth without fast recovery. Three duplicate ACKs cause a fast retransmission,
//! as in Reno, but then the window restarts from one packet: slow start up to half of the previous
//! window, then congestion avoidance. A timeout has the same effect.
//!
//! Sources: Jacobson, "Congestion avoidance and control" (SIGCOMM 1988), section 3 and appendix D;
//! Fall and Floyd, "Simulation-based comparisons of Tahoe, Reno, and SACK TCP" (CCR 26(3), 1996),
//! section 2, for the packets sent after the fast retransmission.
//!
//! | Jacobson 1988, 4.3BSD Tahoe | here |
//! |---|---|
//! | cwnd grows per ACK: 1 packet in slow start, 1/cwnd above | per packet acknowledged, as Reno here; but per ACK until all that was out at the loss is acknowledged, because the ACK of a retransmission may cover a whole window (RFC 3465 section 2.3 for slow start after a timeout) |
//! | ssthresh = half of the smaller of cwnd and the receive window, at least 2 packets | half of cwnd, at least 2: a window that is not used does not grow. Not half of FlightSize (RFC 5681), which is much smaller just after an ACK of many packets |
//! | after the fast retransmission everything beyond it counts as unsent | as lost, except what the receiver has SACKed |
//! | no SACK, no timestamps, no undo | as configured for the host |
//! | no ECN; a loss that a tail loss probe repaired | the transport's reduction: cwnd = ssthresh |

use crate::reno::{cong_avoid_ai, slow_start};
use crate::{Algorithm, CaState, Controller, Plain, Socket, Window};
use units::{Label, Stream};

/// Tahoe (Jacobson 1988).
#[derive(Clone, Debug, Default)]
pub struct Tahoe {
    /// The highest sequence number sent at the last loss.
    recover: Option<u64>,
}

impl Tahoe {
    /// A controller for a new connection.
    pub fn new() -> Tahoe {
        Tahoe::default()
    }
}

impl Algorithm for Tahoe {
    type Parameters = Plain;
    const LABEL: Label = Label::same("Tahoe");
    const ABOUT: &'static str =
        "Reno without fast recovery: after a loss slow start from one packet (Jacobson 1988).";

    fn controller(_: &Plain, _: Stream) -> Box<dyn Controller> {
        Box::new(Tahoe::new())
    }
}

impl Controller for Tahoe {
    fn name(&self) -> &'static str {
        "tahoe"
    }

    fn fast_recovery(&self) -> bool {
        false
    }

    fn ssthresh(&mut self, _: &Socket, w: &mut Window) -> u32 {
        (w.cwnd / 2).max(2)
    }

    fn cong_avoid(&mut self, s: &Socket, w: &mut Window, acked: u32) {
        if !s.is_cwnd_limited {
            return; // RFC 7661: a window that is not fully used must not grow
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
    fn the_ack_that_ends_the_repair_grows_the_window_by_one_packet() {
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
