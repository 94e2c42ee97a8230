//! Illinois: Reno with an increase and a decrease that depend on the queueing delay. Without congestion the
//! window grows by up to ten packets per round trip and a loss reduces it by an eighth; with a long queue it
//! grows by 0.3 and a loss halves it. Delay determines the amounts, but only losses reduce the window.
//!
//! ```text
//! da = average RTT of the last round - smallest RTT;  dm = largest RTT - smallest RTT;  d1, d2, d3 = 1, 10, 80 % of dm
//! alpha = 10                      da <= d1            beta = 1/8              da <= d2
//!         k1 / (k2 + da)          above                      k3 + k4 da       between
//!                                                            1/2              da >= d3
//! ```
//!
//! k1 to k4 make both curves continuous, from 10 at d1 to 0.3 at dm and from 1/8 at d2 to 1/2 at d3. After a
//! queue alpha returns to 10 only after five consecutive rounds without one. A window below 15 packets
//! behaves as Reno's.
//!
//! Sources: Liu, Basar, Srikant, "TCP-Illinois: A loss- and delay-based congestion control algorithm for
//! high-speed networks", Performance Evaluation 65(6-7), 2008 (first at VALUETOOLS 2006), section 3,
//! equations 1 to 4; Linux `tcp_illinois.c`, whose arithmetic is kept.
//!
//! | the paper | here, as in Linux |
//! |---|---|
//! | amin = 0.3, amax = 10, bmin = 1/8, bmax = 1/2, wthresh = 15, theta = 5 | the same; alpha in 1/128 (so 38/128 for 0.3), beta in 1/64, delays in whole microseconds |
//! | at each ACK w + alpha / w | alpha packets each time a window of packets is acknowledged; the remainder is discarded |
//! | unspecified: the initial alpha | 10 until the first round is evaluated, 1 after a timeout; beta 1/2 |
//! | – | RTTs above 3.3 s count as 3.3 s |
//!
//! Departures from Linux: more than 65,535 packets acknowledged at once count as that many (there modulo
//! 65,536); products have 64 bits.

use crate::jiffies::micros;
use crate::reno::slow_start;
use crate::{Algorithm, CaState, Controller, Plain, Probe, Socket, Window};
use units::{Label, Span, Stream};

/// alpha is in 1/128: 0.3, 1 and 10.
const ALPHA_SHIFT: u32 = 7;
const ALPHA_MIN: u64 = 3 * (1 << ALPHA_SHIFT) / 10;
const ALPHA_BASE: u64 = 1 << ALPHA_SHIFT;
const ALPHA_MAX: u64 = 10 << ALPHA_SHIFT;
/// beta is in 1/64: 1/8 and 1/2.
const BETA_SHIFT: u32 = 6;
const BETA_MIN: u64 = 1 << (BETA_SHIFT - 3);
const BETA_MAX: u64 = 1 << (BETA_SHIFT - 1);
/// Window below which Illinois behaves as Reno, packets.
const WIN_THRESH: u32 = 15;
/// Rounds without a queue before alpha is 10 again.
const THETA: u32 = 5;
/// Upper bound of RTT samples, microseconds.
const RTT_MAX: u32 = u32::MAX / ALPHA_MAX as u32;

/// TCP-Illinois.
#[derive(Clone, Debug)]
pub struct Illinois {
    alpha: u64,
    beta: u64,
    /// Smallest and largest RTT seen, microseconds.
    rtts: Option<(u32, u32)>,
    /// Sum and number of the RTTs of this round.
    sum: u64,
    count: u64,
    /// The round ends when more than this is acknowledged.
    end_seq: u64,
    /// Packets that the current ACK acknowledged.
    acked: u32,
    /// Whether there was a queue since alpha was 10, and the number of rounds without one since.
    above: bool,
    low: u32,
}

impl Default for Illinois {
    fn default() -> Illinois {
        Illinois {
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            rtts: None,
            sum: 0,
            count: 0,
            end_seq: 0,
            acked: 0,
            above: false,
            low: 0,
        }
    }
}

impl Illinois {
    /// A controller for a new connection.
    pub fn new() -> Illinois {
        Illinois::default()
    }

    fn begin_round(&mut self, s: &Socket) {
        self.end_seq = s.snd_nxt;
        (self.sum, self.count) = (0, 0);
    }

    fn end_round(&mut self, s: &Socket, w: &Window) {
        if w.cwnd < WIN_THRESH {
            (self.alpha, self.beta) = (ALPHA_BASE, BETA_MAX);
        } else if let (Some((least, most)), Some(mean)) = (self.rtts, self.sum.checked_div(self.count)) {
            let (da, dm) = (mean - least as u64, (most - least) as u64);
            self.alpha = self.increase(da, dm);
            self.beta = decrease(da, dm);
        }
        self.begin_round(s);
    }

    /// Equations 1 and 3 of the paper.
    fn increase(&mut self, da: u64, dm: u64) -> u64 {
        let d1 = dm / 100;
        if da <= d1 {
            if !self.above {
                return ALPHA_MAX;
            }
            self.low += 1;
            if self.low < THETA {
                return self.alpha;
            }
            (self.low, self.above) = (0, false);
            return ALPHA_MAX;
        }
        self.above = true;
        let (dm, da) = (dm - d1, da - d1);
        dm * ALPHA_MAX / (dm + da * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN)
    }
}

/// Equations 2 and 4 of the paper.
fn decrease(da: u64, dm: u64) -> u64 {
    let (d2, d3) = (dm / 10, 8 * dm / 10);
    if da <= d2 {
        return BETA_MIN;
    }
    if da >= d3 || d3 <= d2 {
        return BETA_MAX;
    }
    // The numerator is positive: since da is above d2, it is above BETA_MIN (d3 - d2).
    (BETA_MIN * d3 + (BETA_MAX - BETA_MIN) * da - BETA_MAX * d2) / (d3 - d2)
}

impl Algorithm for Illinois {
    type Parameters = Plain;
    const LABEL: Label = Label::same("Illinois");
    const ABOUT: &'static str = "Reno with an increase and a decrease that depend on the queueing delay (Liu, Basar and Srikant 2006).";

    fn controller(_: &Plain, _: Stream) -> Box<dyn Controller> {
        Box::new(Illinois::new())
    }

    /// Packets counted with a small alpha may cause a large increase when alpha rises to 10.
    fn reach(before: &Window, acked: u32) -> (u32, u32) {
        let counted = before.cwnd_cnt as u64 + acked as u64;
        let fast = (10 * counted / before.cwnd.max(1) as u64).max(acked as u64 + 1);
        (before.cwnd, before.cwnd.saturating_add(fast.min(u32::MAX as u64) as u32))
    }
}

impl Controller for Illinois {
    fn name(&self) -> &'static str {
        "illinois"
    }

    fn init(&mut self, s: &Socket, _: &mut Window) {
        *self = Illinois::new();
        self.begin_round(s);
    }

    fn ssthresh(&mut self, _: &Socket, w: &mut Window) -> u32 {
        let less = (w.cwnd as u64 * self.beta) >> BETA_SHIFT;
        (w.cwnd - less as u32).max(2)
    }

    fn pkts_acked(&mut self, _: &Socket, _: &mut Window, rtt: Option<Span>, pkts_acked: u32) {
        self.acked = pkts_acked.min(u16::MAX as u32);
        let Some(rtt) = rtt.map(|rtt| micros(rtt).min(RTT_MAX)) else { return };
        let (least, most) = self.rtts.unwrap_or((rtt, rtt));
        self.rtts = Some((least.min(rtt), most.max(rtt)));
        self.sum += rtt as u64;
        self.count += 1;
    }

    fn cong_avoid(&mut self, s: &Socket, w: &mut Window, acked: u32) {
        if s.snd_una > self.end_seq {
            self.end_round(s, w);
        }
        if !s.is_cwnd_limited {
            return; // RFC 7661: a window that is not fully used must not grow
        }
        if w.in_slow_start() {
            slow_start(w, acked);
            return;
        }
        w.cwnd_cnt = w.cwnd_cnt.saturating_add(self.acked);
        self.acked = 1;
        let packets = (w.cwnd_cnt as u64 * self.alpha) >> ALPHA_SHIFT;
        if packets >= w.cwnd as u64 {
            let more = (packets / w.cwnd as u64).min(u32::MAX as u64) as u32;
            w.cwnd = w.cwnd.saturating_add(more).min(w.cwnd_clamp);
            w.cwnd_cnt = 0;
        }
    }

    fn set_state(&mut self, s: &Socket, _: &mut Window, new: CaState) {
        if new == CaState::Loss {
            (self.alpha, self.beta) = (ALPHA_BASE, BETA_MAX);
            (self.low, self.above) = (0, false);
            self.begin_round(s);
        }
    }

    fn probe(&self) -> Probe {
        Probe { rt_prop: self.rtts.map(|(least, _)| Span::from_micros(least as u64)), ..Probe::default() }
    }
}
