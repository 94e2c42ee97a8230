//! Vegas: keeps a few packets of its own in the bottleneck's queue. Once a round trip it compares
//! the rate the window would give on an empty path, cwnd / BaseRTT, with the one it gives, cwnd /
//! RTT; the difference times BaseRTT is the number of queued packets. Below alpha packets the window
//! grows by one, above beta it shrinks by one. Slow start grows in every other round trip only, so
//! that the rounds in between can be measured, and ends at more than gamma packets in the queue.
//!
//! Sources: Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet"
//! (IEEE JSAC 13(8), 1995), sections III-B and III-C; Linux 6.18 `tcp_vegas.c` for alpha = 2, beta = 4,
//! gamma = 1 and for what happens with few samples.
//!
//! | paper | here |
//! |---|---|
//! | Actual is the data sent while one packet was in flight, over its RTT | cwnd over the smallest RTT of the round, as in Linux: delayed ACKs do not look like a queue |
//! | alpha, beta = 1, 3 or 2, 4; gamma = 1 | 2, 4; 1 |
//! | slow start grows every other round, for a fixed window to compare with | the same (Linux grows in each) |
//! | at its end the window falls by an eighth | to the window that leaves the queue empty plus one packet, as in Linux |
//! | a duplicate ACK before the third may cause a retransmission, and a loss reduces the window by a quarter | the transport detects losses, and a loss halves the window as in Reno |
//! | – | a round with at most two RTT samples behaves as Reno; so does loss recovery until it ends (Linux) |
//! | – | BaseRTT is reset when the window is restarted after idle time (Linux: whenever nothing was in flight) |
//! | – | a window that is not fully used does not grow (RFC 7661; Linux's Vegas does not check) |
//! | Diff times BaseRTT = cwnd (RTT - BaseRTT) / RTT | the same (Linux divides by BaseRTT, which overestimates the queue by RTT / BaseRTT) |

use crate::jiffies::micros;
use crate::reno::{cong_avoid_ai, slow_start};
use crate::{Algorithm, CaState, Controller, Event, Plain, Socket, Window};
use units::{Label, Span, Stream};

/// Packets in the queue below which the window grows.
const ALPHA: u64 = 2;
/// Packets in the queue above which the window shrinks.
const BETA: u64 = 4;
/// Packets in the queue above which slow start ends.
const GAMMA: u64 = 1;
/// The minimum of fewer RTT samples may be that of a delayed ACK.
const MIN_SAMPLES: u32 = 3;

/// Vegas.
#[derive(Clone, Debug, Default)]
pub struct Vegas {
    /// Smallest RTT seen, microseconds.
    base_rtt: Option<u32>,
    /// Smallest RTT of this round, and the number of samples.
    min_rtt: Option<u32>,
    samples: u32,
    /// The round ends when more than this is acknowledged.
    end_seq: u64,
    /// Whether delay is evaluated (loss recovery is not active).
    enabled: bool,
    /// Whether this round of slow start keeps the window.
    hold: bool,
}

impl Vegas {
    /// A controller for a new connection.
    pub fn new() -> Vegas {
        Vegas::default()
    }

    fn begin_round(&mut self, s: &Socket) {
        self.end_seq = s.snd_nxt;
        self.min_rtt = None;
        self.samples = 0;
    }

    /// Packets of this flow in the queue, rounded down, and the window that would leave it empty.
    fn measure_queue(&self, cwnd: u32) -> Option<(u64, u32)> {
        let (base, rtt) = (self.base_rtt? as u64, self.min_rtt? as u64);
        let fits = (cwnd as u64 * base / rtt) as u32;
        Some((cwnd as u64 * (rtt - base) / rtt, fits))
    }

    /// The end of a round with enough samples.
    fn adjust(&mut self, s: &Socket, w: &mut Window) {
        let Some((queued, fits)) = self.measure_queue(w.cwnd) else { return };
        if w.in_slow_start() {
            if self.hold && queued > GAMMA {
                w.cwnd = w.cwnd.min(fits.saturating_add(1)).max(2);
                leave_slow_start(w);
            }
            self.hold = !self.hold;
        } else if queued > BETA {
            w.cwnd = (w.cwnd - 1).max(2);
            leave_slow_start(w);
        } else if queued < ALPHA && s.is_cwnd_limited {
            w.cwnd = w.cwnd.saturating_add(1);
        }
        w.cwnd = w.cwnd.min(w.cwnd_clamp);
        // As `tcp_current_ssthresh`: a later slow start may grow the window this far again.
        w.ssthresh = w.ssthresh.max((w.cwnd >> 1) + (w.cwnd >> 2));
    }
}

/// Sets ssthresh below the window, so that slow start ends.
fn leave_slow_start(w: &mut Window) {
    w.ssthresh = w.ssthresh.min(w.cwnd.saturating_sub(1)).max(2);
}

fn reno(s: &Socket, w: &mut Window, acked: u32) {
    if s.is_cwnd_limited {
        let acked = if w.in_slow_start() { slow_start(w, acked) } else { acked };
        if acked > 0 {
            cong_avoid_ai(w, w.cwnd, acked);
        }
    }
}

impl Algorithm for Vegas {
    type Parameters = Plain;
    const LABEL: Label = Label::same("Vegas");
    const ABOUT: &'static str =
        "Keeps two to four packets of its own in the queue (Brakmo and Peterson 1995).";

    fn controller(_: &Plain, _: Stream) -> Box<dyn Controller> {
        Box::new(Vegas::new())
    }

    /// The window shrinks when too many packets are queued.
    fn reach(before: &Window, acked: u32) -> (u32, u32) {
        (1, before.cwnd.saturating_add(acked).saturating_add(1))
    }
}

impl Controller for Vegas {
    fn name(&self) -> &'static str {
        "vegas"
    }

    fn init(&mut self, s: &Socket, _: &mut Window) {
        *self = Vegas { base_rtt: s.min_rtt.map(|rtt| micros(rtt).max(1)), enabled: true, ..Vegas::new() };
        self.begin_round(s);
    }

    fn ssthresh(&mut self, _: &Socket, w: &mut Window) -> u32 {
        (w.cwnd / 2).max(2)
    }

    fn pkts_acked(&mut self, _: &Socket, _: &mut Window, rtt: Option<Span>, _: u32) {
        let Some(rtt) = rtt.map(|rtt| micros(rtt).max(1)) else { return };
        self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        self.samples = self.samples.saturating_add(1);
    }

    fn cong_avoid(&mut self, s: &Socket, w: &mut Window, acked: u32) {
        if !self.enabled {
            return reno(s, w, acked);
        }
        if s.snd_una > self.end_seq {
            if self.samples < MIN_SAMPLES {
                reno(s, w, acked);
            } else {
                self.adjust(s, w);
            }
            self.begin_round(s);
        } else if w.in_slow_start() && !self.hold && s.is_cwnd_limited {
            slow_start(w, acked);
        }
    }

    fn set_state(&mut self, s: &Socket, _: &mut Window, new: CaState) {
        let was = std::mem::replace(&mut self.enabled, new == CaState::Open);
        if self.enabled && !was {
            self.begin_round(s);
        }
    }

    fn cwnd_event(&mut self, s: &Socket, _: &mut Window, event: Event) {
        if event == Event::CwndRestart {
            (self.base_rtt, self.hold) = (None, false);
            self.begin_round(s);
        }
    }
}
