//! CUBIC: after a loss at window W_max the window follows C (t - K)^3 + W_max (steep, flat around
//! W_max, steep again) in real time rather than in round trips; where Reno would be faster, it
//! follows Reno ("friendly" region). HyStart ends slow start early.
//!
//! Sources: RFC 9438; Ha, Rhee, Xu, "CUBIC" (2008); Linux 6.18 `tcp_cubic.c`, whose fixed point
//! is kept: time in 1/1024 s measured in jiffies, C = 410/1024, beta = 717/1024, windows in u32
//! that wrap where the kernel's do (more than 347 s from K the cube overflows, as there).
//!
//! | RFC 9438 | here, as in Linux |
//! |---|---|
//! | 4.1 C = 0.4, beta = 0.7 | 410/1024 = 0.4004, 717/1024 = 0.7002 |
//! | 4.2 K is the cube root of (W_max - cwnd) / C | the same, by a table and one Newton step, within 1 % |
//! | 4.2 target W(t + RTT) | t is in whole jiffies (4 ms) and RTT is the smallest seen, rounded up to one |
//! | 4.2 target between cwnd and 1.5 cwnd | no bound on the target; growth at most one packet per two acknowledged |
//! | 4.2 cwnd grows by (target - cwnd) / cwnd per ACK | by one packet per floor(cwnd / (target - cwnd)) acknowledged, the target kept for 7 jiffies while cwnd stands still |
//! | 4.3 alpha = 3 (1 - beta) / (1 + beta) = 0.529; 1 once W_est reaches the window before the loss | one packet per floor(15 cwnd / 8) acknowledged, 0.533, always |
//! | 4.6 ssthresh from FlightSize | from cwnd |
//! | 4.7 fast convergence: W_max = cwnd (1 + beta) / 2 if below the last W_max | the same (0.85) |
//! | 4.8 after a timeout K = 0 and W_max = cwnd of the new epoch | everything is reset; while W_max is unknown at least one packet per 20 acknowledged |
//! | 4.9 a spurious loss restores W_max, K, t_epoch, W_est | only cwnd and ssthresh are restored |
//! | 4.10 HyStart++ | HyStart (see `hystart.rs`) |
//! | 5.8 application-limited time does not count | idle time shifts the epoch at the next transmission |

use crate::cbrt::cbrt;
use crate::hystart::{HyStart, delay_of};
use crate::jiffies::{self, HZ, Jiffies};
use crate::reno::{cong_avoid_ai, slow_start};
use crate::{Algorithm, CaState, Controller, Event, Plain, Socket, Window};
use units::{Label, Span, Stream};

/// beta in 1/1024.
const BETA: u32 = 717;
const BETA_SCALE: u32 = 1024;
/// C in 1/1024, over a nominal RTT of 100 ms: 41 * 10.
const C: u64 = 410;
/// Time is counted in 2^-10 s.
const TIME_SHIFT: u32 = 10;
/// 1/C in the fixed point of a cube of time.
const CUBE_FACTOR: u64 = (1 << (10 + 3 * TIME_SHIFT)) / C;
/// Packets acknowledged per packet Reno's estimate grows, per window, in 1/8:
/// 8 (1 + beta) / (3 (1 - beta)), RFC 9438 section 4.3.
const FRIENDLY: u64 = (8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA)) as u64;

/// CUBIC with HyStart.
#[derive(Clone, Debug, Default)]
pub struct Cubic {
    curve: Curve,
    /// Smallest RTT seen, microseconds; 0 = none yet.
    delay_min: u32,
    hystart: HyStart,
}

/// The curve of the current epoch.
#[derive(Clone, Debug, Default)]
struct Curve {
    /// The window grows by one packet per this many acknowledged.
    cnt: u32,
    /// W_max, after fast convergence; 0 = unknown.
    last_max_cwnd: u32,
    /// cwnd and time of the last evaluation.
    last_cwnd: u32,
    last_time: Jiffies,
    /// The plateau of the curve: W_max, or the epoch's first window if that is larger.
    origin: u32,
    /// K in 1/1024 s.
    k: u32,
    /// Start of the epoch; `None` until the first ACK after a reduction.
    epoch: Option<Jiffies>,
    /// Packets acknowledged that Reno's estimate has not used yet.
    ack_cnt: u32,
    /// Reno's estimate, W_est.
    tcp_cwnd: u32,
}

impl Cubic {
    /// A controller for a new connection.
    pub fn new() -> Cubic {
        Cubic::default()
    }

    fn reset(&mut self, s: &Socket) {
        *self = Cubic::default();
        self.hystart.start_round(s);
    }
}

impl Curve {
    /// Sets `cnt` for a window of `cwnd`, of which `acked` packets were just delivered.
    fn update(&mut self, now: Jiffies, cwnd: u32, acked: u32, delay_min: u32) {
        self.ack_cnt = self.ack_cnt.wrapping_add(acked);
        if self.last_cwnd == cwnd && now.saturating_sub(self.last_time) <= HZ / 32 {
            return;
        }
        // The curve is evaluated at most once per jiffy; Reno's estimate with every ACK.
        if self.epoch.is_none() || now != self.last_time {
            self.last_cwnd = cwnd;
            self.last_time = now;
            let epoch = match self.epoch {
                Some(epoch) => epoch,
                None => self.begin_epoch(now, cwnd, acked),
            };
            let target = self.target(now.saturating_sub(epoch) + jiffies::from_micros(delay_min));
            self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.wrapping_mul(100) };
            if self.last_max_cwnd == 0 {
                self.cnt = self.cnt.min(20);
            }
        }
        self.follow_reno(cwnd);
        self.cnt = self.cnt.max(2);
    }

    /// RFC 9438 section 4.2: the epoch starts with the first ACK of congestion avoidance.
    fn begin_epoch(&mut self, now: Jiffies, cwnd: u32, acked: u32) -> Jiffies {
        self.epoch = Some(now);
        self.ack_cnt = acked;
        self.tcp_cwnd = cwnd;
        let gap = self.last_max_cwnd.saturating_sub(cwnd);
        self.k = if gap == 0 { 0 } else { cbrt(CUBE_FACTOR * gap as u64) };
        self.origin = self.last_max_cwnd.max(cwnd);
        now
    }

    /// W_cubic `elapsed` jiffies into the epoch (RFC 9438 equation 1).
    fn target(&self, elapsed: Jiffies) -> u32 {
        let t = (elapsed << TIME_SHIFT) / HZ;
        let k = self.k as u64;
        let off = t.abs_diff(k);
        let cube = C.wrapping_mul(off).wrapping_mul(off).wrapping_mul(off);
        let delta = (cube >> (10 + 3 * TIME_SHIFT)) as u32;
        if t < k { self.origin.wrapping_sub(delta) } else { self.origin.wrapping_add(delta) }
    }

    /// RFC 9438 section 4.3: never slower than Reno with the same beta would be.
    fn follow_reno(&mut self, cwnd: u32) {
        let per_packet = ((cwnd as u64 * FRIENDLY) >> 3).max(1);
        if self.ack_cnt as u64 > per_packet {
            let packets = (self.ack_cnt as u64 - 1) / per_packet;
            self.ack_cnt -= (packets * per_packet) as u32;
            self.tcp_cwnd = self.tcp_cwnd.wrapping_add(packets as u32);
        }
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
    }
}

impl Algorithm for Cubic {
    type Parameters = Plain;
    const LABEL: Label = Label::same("CUBIC");
    const ABOUT: &'static str =
        "A cubic curve in time around the window of the last loss, with HyStart (RFC 9438): Linux's default.";

    fn controller(_: &Plain, _: Stream) -> Box<dyn Controller> {
        Box::new(Cubic::new())
    }
}

impl Controller for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
    }

    fn init(&mut self, s: &Socket, _: &mut Window) {
        self.reset(s);
    }

    /// RFC 9438 sections 4.6 and 4.7.
    fn ssthresh(&mut self, _: &Socket, w: &mut Window) -> u32 {
        let curve = &mut self.curve;
        curve.epoch = None;
        curve.last_max_cwnd = if w.cwnd < curve.last_max_cwnd {
            w.cwnd.wrapping_mul(BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            w.cwnd
        };
        (w.cwnd.wrapping_mul(BETA) / BETA_SCALE).max(2)
    }

    fn cong_avoid(&mut self, s: &Socket, w: &mut Window, acked: u32) {
        if !s.is_cwnd_limited {
            return;
        }
        let acked = if w.in_slow_start() { slow_start(w, acked) } else { acked };
        if acked > 0 {
            self.curve.update(jiffies::at(s.now), w.cwnd, acked, self.delay_min);
            cong_avoid_ai(w, self.curve.cnt, acked);
        }
    }

    fn pkts_acked(&mut self, s: &Socket, w: &mut Window, rtt: Option<Span>, _: u32) {
        let Some(rtt) = rtt else { return };
        // Samples within a second after a reduction still see the queue it drains.
        if self.curve.epoch.is_some_and(|epoch| jiffies::at(s.now).saturating_sub(epoch) < HZ) {
            return;
        }
        let delay = delay_of(rtt);
        if self.delay_min == 0 || self.delay_min > delay {
            self.delay_min = delay;
        }
        if !self.hystart.found && w.in_slow_start() {
            self.hystart.on_ack(s, w, delay, self.delay_min);
        }
    }

    fn set_state(&mut self, s: &Socket, _: &mut Window, new: CaState) {
        if new == CaState::Loss {
            self.reset(s);
        }
    }

    fn cwnd_event(&mut self, s: &Socket, _: &mut Window, event: Event) {
        let (Event::TxStart, Some(epoch), Some(last)) = (event, self.curve.epoch, s.last_sent) else {
            return;
        };
        // Idle time does not move along the curve (RFC 9438 section 5.8).
        let now = jiffies::at(s.now);
        let idle = now.saturating_sub(jiffies::at(last));
        self.curve.epoch = Some((epoch + idle).min(now));
    }
}
