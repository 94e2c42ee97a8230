//! Compound TCP: Reno's window plus a second one that depends on delay. While the queue is short the delay
//! window grows with the 3/4th power of the total window, once per round trip; when a queue builds up it
//! shrinks by the queued packets. The sum then stays about constant until Reno's part alone fills the path. A
//! small window belongs to Reno alone.
//!
//! ```text
//! window = cwnd + dwnd                    cwnd: one packet per round trip, half at a loss (Reno)
//! diff   = window (1 - base_rtt / srtt)   packets that wait in the queue
//! dwnd   + alpha window^k - 1             each round with diff < gamma
//! dwnd   - eta diff                       each round with diff >= gamma
//! dwnd   = window / 2 - cwnd / 2          at a loss (beta = 1/2)
//! gamma  follows 3/4 of what Reno's part alone would have queued before each loss, 5 to 30
//! ```
//!
//! Sources: Tan, Song, Zhang, Sridharan, "A Compound TCP Approach for High-speed and Long Distance
//! Networks", INFOCOM 2006 (the paper); draft-sridharan-tcpm-ctcp-02 (the draft), after Windows
//! Vista. Windows 10 before version 1709 used it as the default of its Internet template; its differences
//! from the draft were never published, so this implements the draft.
//!
//! | the source | here |
//! |---|---|
//! | alpha = 1/8, beta = 1/2, eta = 1, k = 3/4 (draft 3; the paper's ideal k is 0.8) | the same |
//! | the power is of dwnd (draft, equation 3), with which a dwnd of zero never grows | of the window, as in the paper's equation and the draft's response function |
//! | dwnd falls to dwnd (1 - beta) (draft, equation 5) | to half the window less the halved cwnd, as in the paper and the draft's text; with beta = 1/2 that is the same |
//! | Low_Window = 38 packets of cwnd (draft 2, 6) | of the total window: the value is HighSpeed TCP's, which has a single window. At or below it dwnd is zero and Reno has the whole window |
//! | lambda, gamma's weight for a new sample, has no value | 1/4, as in Andrew's Linux port of 2008 |
//! | wnd = min(cwnd + dwnd, awnd) | the transport applies awnd; a window that was not the limit is unchanged |
//! | up to M samples of the RTT per window | one per ACK; srtt is the transport's |
//! | a round is the time in which a window of data is acknowledged (draft 5) | as many packets as the window had at its start, counted while they could grow the window |
//! | base_rtt may be initialised with srtt | with the first sample outside of recovery |
//! | base_rtt is reset at a timeout, dwnd = 0 in slow start | the same |
//! | dwnd in packets | in 1/256 packet, so that growth below one packet a round adds up; whole packets count |
//! | unspecified: other reductions of the window (idle time) | dwnd is reduced first |
//! | unspecified: undoing a reduction | dwnd is restored with the window, gamma is not |

use crate::jiffies::micros;
use crate::reno::{Reno, cong_avoid_ai, slow_start};
use crate::{Algorithm, CaState, Controller, Plain, Probe, Socket, Window};
use units::{Label, Span, Stream};

/// Largest window that belongs to Reno alone, packets (draft section 2).
const LOW_WINDOW: u32 = 38;
/// dwnd, gamma and backlogs are counted in 1/256 packet.
const SHIFT: u32 = 8;
/// Bounds of gamma, which starts at the upper one (draft section 5).
const GAMMA_LOW: u32 = 5 << SHIFT;
const GAMMA_HIGH: u32 = 30 << SHIFT;
/// Upper bound of windows in products, packets (12 GB at 1460 B).
const WINDOW_MAX: u32 = 1 << 23;

/// Compound TCP.
#[derive(Clone, Debug)]
pub struct Compound {
    /// Reno's part of the window after the last call, packets.
    cwnd: u32,
    /// The delay window now and before the last reduction, 1/256 packet.
    dwnd: u32,
    prior_dwnd: u32,
    /// The backlog that counts as a queue, 1/256 packet.
    gamma: u32,
    /// Backlog of Reno's part at the end of the last round, 1/256 packet; `None` when stale.
    diff_reno: Option<u32>,
    /// Smallest RTT since the last timeout, microseconds.
    base_rtt: Option<u32>,
    /// Packets still to be acknowledged in this round, which is a window of packets long (draft 5).
    left: u32,
}

impl Default for Compound {
    fn default() -> Compound {
        Compound {
            cwnd: 0,
            dwnd: 0,
            prior_dwnd: 0,
            gamma: GAMMA_HIGH,
            diff_reno: None,
            base_rtt: None,
            left: 0,
        }
    }
}

impl Compound {
    /// A controller for a new connection.
    pub fn new() -> Compound {
        Compound::default()
    }

    /// The delay window in whole packets.
    fn delay_window(&self) -> u32 {
        self.dwnd >> SHIFT
    }

    /// Splits the window after a change from outside: a reduction reduces dwnd first.
    fn split_window(&mut self, window: u32) {
        let room = window - self.cwnd.min(window);
        if self.delay_window() > room {
            self.dwnd = room << SHIFT;
        }
        self.cwnd = window - self.delay_window();
    }

    /// Gives the whole window to Reno.
    fn give_all_to_reno(&mut self, window: u32) {
        self.cwnd = window;
        self.dwnd = 0;
    }

    /// The end of a round in congestion avoidance.
    fn end_round(&mut self, s: &Socket, w: &mut Window) {
        let srtt = s.srtt.map(micros).filter(|&us| us > 0);
        let (Some(base), Some(srtt)) = (self.base_rtt, srtt) else { return };
        self.diff_reno = Some(backlog(self.cwnd, base, srtt));
        if w.cwnd <= LOW_WINDOW {
            return self.give_all_to_reno(w.cwnd);
        }
        let diff = backlog(w.cwnd, base, srtt);
        self.dwnd = if diff < self.gamma {
            self.dwnd.saturating_add(growth(w.cwnd)).min(WINDOW_MAX << SHIFT) // equation 3
        } else {
            self.dwnd.saturating_sub(diff) // equation 4, eta = 1
        };
        w.cwnd = self.cwnd.saturating_add(self.delay_window()).min(w.cwnd_clamp);
        self.split_window(w.cwnd);
    }

    /// Draft section 5, "On-Packet-Loss": lambda = 1/4.
    fn tune_gamma(&mut self) {
        if let Some(diff_reno) = self.diff_reno.take() {
            let sample = 3 * (diff_reno as u64) / 4;
            let gamma = (3 * self.gamma as u64 + sample) / 4;
            self.gamma = gamma.clamp(GAMMA_LOW as u64, GAMMA_HIGH as u64) as u32;
        }
    }
}

/// Packets of `window` that wait in a queue, in 1/256: the excess of `window / base` packets per second
/// over `window / srtt`, during a time of `base` (draft section 3).
fn backlog(window: u32, base: u32, srtt: u32) -> u32 {
    let waiting = srtt.saturating_sub(base) as u64;
    let packets = (window.min(WINDOW_MAX) as u64) << SHIFT;
    (packets * waiting / srtt as u64) as u32
}

/// The growth of dwnd in a round without a queue, 1/256 packet: alpha window^k - 1, at least zero.
/// 256 / 8 * window^(3/4) is the root of 1024 * window * root(window).
fn growth(window: u32) -> u32 {
    let window = window.min(WINDOW_MAX) as u64;
    let root = (window << 16).isqrt(); // 256 root(window)
    ((4 * window * root).isqrt() as u32).saturating_sub(1 << SHIFT)
}

impl Algorithm for Compound {
    type Parameters = Plain;
    const LABEL: Label = Label::same("Compound");
    const ABOUT: &'static str =
        "Reno plus a window that depends on delay (draft-sridharan-tcpm-ctcp-02): Windows 10.";

    fn controller(_: &Plain, _: Stream) -> Box<dyn Controller> {
        Box::new(Compound::new())
    }

    /// The delay window may fall to zero, and grows by an eighth of the window's 3/4th power.
    fn reach(before: &Window, acked: u32) -> (u32, u32) {
        let reno = before.cwnd.saturating_add(acked).saturating_add(1);
        let power = (reno as u128).pow(3).isqrt().isqrt() as u32;
        (1, reno.saturating_add(power / 8))
    }
}

impl Controller for Compound {
    fn name(&self) -> &'static str {
        "compound"
    }

    fn init(&mut self, _: &Socket, w: &mut Window) {
        *self = Compound { cwnd: w.cwnd, left: w.cwnd, ..Compound::default() };
    }

    fn ssthresh(&mut self, s: &Socket, w: &mut Window) -> u32 {
        self.split_window(w.cwnd);
        self.tune_gamma();
        self.prior_dwnd = self.dwnd;
        let half = Reno.ssthresh(s, w);
        let dwnd = w.cwnd / 2 - self.cwnd / 2; // equation 5
        self.dwnd = dwnd << SHIFT;
        self.cwnd = half - dwnd;
        half
    }

    fn cong_avoid(&mut self, s: &Socket, w: &mut Window, acked: u32) {
        if !s.is_cwnd_limited {
            return;
        }
        let mut acked = acked;
        if w.in_slow_start() {
            acked = slow_start(w, acked);
            self.give_all_to_reno(w.cwnd); // draft section 2
            self.left = w.cwnd;
        } else {
            self.split_window(w.cwnd);
        }
        if acked == 0 {
            return;
        }
        cong_avoid_ai(w, w.cwnd, acked); // equation 2
        self.cwnd = w.cwnd - self.delay_window();
        if s.state >= CaState::Recovery {
            return;
        }
        self.left = self.left.saturating_sub(acked);
        if self.left == 0 {
            self.end_round(s, w);
            self.left = w.cwnd;
        }
    }

    /// Draft section 6: no samples during loss recovery.
    fn pkts_acked(&mut self, s: &Socket, _: &mut Window, rtt: Option<Span>, _: u32) {
        if let Some(us) = rtt.map(micros).filter(|&us| us > 0 && s.state < CaState::Recovery) {
            self.base_rtt = Some(self.base_rtt.map_or(us, |base| base.min(us)));
        }
    }

    fn set_state(&mut self, s: &Socket, w: &mut Window, new: CaState) {
        if new == CaState::Loss {
            self.give_all_to_reno(w.cwnd); // draft section 3
            self.base_rtt = None;
        } else if new < CaState::Cwr && s.state >= CaState::Cwr {
            self.left = w.cwnd;
        }
    }

    fn undo_cwnd(&mut self, s: &Socket, w: &mut Window) -> u32 {
        let window = Reno.undo_cwnd(s, w);
        self.dwnd = self.prior_dwnd;
        self.cwnd = window.saturating_sub(self.delay_window());
        self.split_window(window);
        window
    }

    fn probe(&self) -> Probe {
        Probe { rt_prop: self.base_rtt.map(|us| Span::from_micros(us as u64)), ..Probe::default() }
    }
}
