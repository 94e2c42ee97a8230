//! Reno: slow start doubles the window each round trip, congestion avoidance adds one packet per
//! round trip, a loss halves it. Other controllers use its two growth functions
//! ([`slow_start`], [`cong_avoid_ai`]).
//!
//! Sources: RFC 5681; RFC 3465 (byte counting); Linux `tcp_cong.c` (`tcp_reno_cong_avoid`).
//!
//! | RFC 5681 | here, as in Linux |
//! |---|---|
//! | windows in bytes | in packets |
//! | slow start adds at most L = 1 or 2 packets per ACK (RFC 3465) | as many as the ACK delivered: counting whole packets already resists split ACKs |
//! | slow start while cwnd < or = ssthresh, at the sender's choice | while cwnd < ssthresh; the part of an ACK beyond ssthresh grows the window linearly |
//! | ssthresh = max(FlightSize / 2, 2) | max(cwnd / 2, 2) |
//! | a full window of ACKs adds one packet | the same, counted in `cwnd_cnt` |

use crate::{Algorithm, Controller, Plain, Socket, Window};
use units::{Label, Stream};

/// Reno (RFC 5681), which has no state of its own.
#[derive(Clone, Debug, Default)]
pub struct Reno;

impl Reno {
    /// A controller for a new connection.
    pub fn new() -> Reno {
        Reno
    }
}

impl Algorithm for Reno {
    type Parameters = Plain;
    const LABEL: Label = Label::same("Reno");
    const ABOUT: &'static str = "Slow start, then one packet more per round trip; half at a loss (RFC 5681).";

    fn controller(_: &Plain, _: Stream) -> Box<dyn Controller> {
        Box::new(Reno::new())
    }
}

impl Controller for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn ssthresh(&mut self, _: &Socket, w: &mut Window) -> u32 {
        (w.cwnd / 2).max(2) // RFC 5681 section 3.1, equation 4
    }

    fn cong_avoid(&mut self, s: &Socket, w: &mut Window, acked: u32) {
        if !s.is_cwnd_limited {
            return; // RFC 7661: a window that is not fully used must not grow
        }
        let acked = if w.in_slow_start() { slow_start(w, acked) } else { acked };
        if acked > 0 {
            cong_avoid_ai(w, w.cwnd, acked);
        }
    }
}

/// Slow start: adds one packet per packet acknowledged, up to ssthresh (RFC 5681 section 3.1, equation 2).
/// Returns how many of `acked` are left for congestion avoidance.
pub fn slow_start(w: &mut Window, acked: u32) -> u32 {
    let cwnd = w.cwnd.saturating_add(acked).min(w.ssthresh);
    let used = cwnd.saturating_sub(w.cwnd);
    w.cwnd = cwnd.min(w.cwnd_clamp);
    acked - used
}

/// Additive increase: adds one packet per `every` packets acknowledged (RFC 5681 section 3.1, equation 3, for
/// `every` = cwnd).
pub fn cong_avoid_ai(w: &mut Window, every: u32, acked: u32) {
    let every = every.max(1);
    let mut cwnd = w.cwnd;
    // Credit accumulated under a larger `every` allows one more packet, not a burst.
    if w.cwnd_cnt >= every {
        w.cwnd_cnt = 0;
        cwnd = cwnd.saturating_add(1);
    }
    w.cwnd_cnt = w.cwnd_cnt.saturating_add(acked);
    if w.cwnd_cnt >= every {
        cwnd = cwnd.saturating_add(w.cwnd_cnt / every);
        w.cwnd_cnt %= every;
    }
    w.cwnd = cwnd.min(w.cwnd_clamp);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited() -> Socket {
        Socket { is_cwnd_limited: true, ..Socket::default() }
    }

    #[test]
    fn slow_start_doubles_per_round_and_returns_the_rest() {
        let (mut c, s) = (Reno::new(), limited());
        let mut w = Window::new(10);
        for _ in 0..10 {
            c.cong_avoid(&s, &mut w, 1);
        }
        assert_eq!((w.cwnd, w.cwnd_cnt), (20, 0));
        // ssthresh 22, an ACK of 8 packets: 2 open the window to 22, 6 count towards the 23rd.
        w.ssthresh = 22;
        c.cong_avoid(&s, &mut w, 8);
        assert_eq!((w.cwnd, w.cwnd_cnt), (22, 6));
    }

    #[test]
    fn congestion_avoidance_adds_one_per_window() {
        let (mut c, s) = (Reno::new(), limited());
        let mut w = Window { ssthresh: 20, ..Window::new(20) };
        for _ in 0..20 {
            assert_eq!(w.cwnd, 20);
            c.cong_avoid(&s, &mut w, 1);
        }
        assert_eq!((w.cwnd, w.cwnd_cnt), (21, 0));
    }

    #[test]
    fn accumulated_credit_adds_a_single_packet() {
        // Credit of 30 packets from a window of 40; the window is 10 now: one packet for
        // the credit, then 10 new ACKs make another.
        let mut w = Window { cwnd_cnt: 30, ..Window::new(10) };
        cong_avoid_ai(&mut w, 10, 10);
        assert_eq!((w.cwnd, w.cwnd_cnt), (12, 0));
    }

    #[test]
    fn a_loss_halves_the_window_but_keeps_two_packets() {
        let mut c = Reno::new();
        for (cwnd, half) in [(1, 2), (3, 2), (5, 2), (9, 4), (100, 50)] {
            assert_eq!(c.ssthresh(&Socket::default(), &mut Window::new(cwnd)), half);
        }
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let mut w = Window::new(10);
        Reno::new().cong_avoid(&Socket::default(), &mut w, 5);
        assert_eq!(w, Window::new(10));
    }

    #[test]
    fn undo_returns_to_the_window_before_the_loss() {
        let mut w = Window { prior_cwnd: 80, ..Window::new(40) };
        assert_eq!(Reno::new().undo_cwnd(&Socket::default(), &mut w), 80);
        w.cwnd = 90;
        assert_eq!(Reno::new().undo_cwnd(&Socket::default(), &mut w), 90);
    }
}
