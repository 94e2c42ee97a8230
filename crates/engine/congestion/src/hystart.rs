//! HyStart: ends slow start before it overflows the bottleneck's queue. Two detectors evaluate each round if
//! the window is at least 16 packets. The *ACK train* detector triggers when consecutive ACKs, each within 2
//! ms of the previous one, span more than half of the path's round trip, so the pipe is full. The *delay
//! increase* detector triggers when the round's smallest RTT exceeds the path's by an eighth, at least 4 ms
//! and at most 16 ms. Either sets ssthresh to the current window.
//!
//! Sources: Ha and Rhee, "Taming the elephants: new TCP slow start" (2011); Linux `tcp_cubic.c`.
//!
//! | paper, RFC 9406 (HyStart++) | here, as in Linux |
//! |---|---|
//! | train compared with half the smallest RTT | the same plus an allowance for bursts, up to 1 ms; the whole RTT when packets are paced |
//! | the round is evaluated after eight samples | at the ninth and every later sample, with the round's minimum so far |
//! | HyStart++ drops the train and adds Conservative Slow Start, which may resume slow start | the train detector is used, and the exit is final until an RTO |

use crate::jiffies::micros;
use crate::{Socket, Window};
use units::Time;

const LOW_WINDOW: u32 = 16;
const ACK_DELTA_US: u64 = 2_000;
const MIN_SAMPLES: u8 = 8;
const DELAY_MIN_US: u32 = 4_000;
const DELAY_MAX_US: u32 = 16_000;

/// The two detectors' state for the current round.
#[derive(Clone, Debug, Default)]
pub(crate) struct HyStart {
    /// Whether the exit point has been found; it is final until an RTO.
    pub found: bool,
    round_start: Time,
    /// The round ends when this byte is acknowledged.
    end_seq: u64,
    /// Arrival of the train's last ACK.
    last_ack: Time,
    /// Smallest RTT of the round, microseconds.
    curr_rtt: u32,
    samples: u8,
}

impl HyStart {
    /// A new round begins.
    pub fn start_round(&mut self, s: &Socket) {
        self.round_start = s.now;
        self.last_ack = s.now;
        self.end_seq = s.snd_nxt;
        self.curr_rtt = u32::MAX;
        self.samples = 0;
    }

    /// Handles an ACK in slow start with an RTT of `delay` µs; `delay_min` is the smallest RTT so far.
    pub fn on_ack(&mut self, s: &Socket, w: &mut Window, delay: u32, delay_min: u32) {
        if s.snd_una > self.end_seq {
            self.start_round(s);
        }
        if w.cwnd < LOW_WINDOW {
            return;
        }
        if self.train_is_long(s, w, delay_min) || self.delay_rose(delay, delay_min) {
            self.found = true;
            w.ssthresh = w.cwnd;
        }
    }

    fn train_is_long(&mut self, s: &Socket, w: &Window, delay_min: u32) -> bool {
        if s.now.as_micros().saturating_sub(self.last_ack.as_micros()) > ACK_DELTA_US {
            return false;
        }
        self.last_ack = s.now;
        let mut threshold = delay_min.saturating_add(burst_allowance(s, w));
        // Pacing spreads slow start's packets over up to half an RTT by itself.
        if !w.pacing {
            threshold /= 2;
        }
        s.now.as_micros().saturating_sub(self.round_start.as_micros()) > threshold as u64
    }

    fn delay_rose(&mut self, delay: u32, delay_min: u32) -> bool {
        self.curr_rtt = self.curr_rtt.min(delay);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let rise = (delay_min >> 3).clamp(DELAY_MIN_US, DELAY_MAX_US);
        self.curr_rtt > delay_min.saturating_add(rise)
    }
}

/// Maximum delay of an ACK by segmentation offload alone, µs (`hystart_ack_delay`): four of the
/// largest bursts at the pacing rate (two in the hosts, doubled because slow start paces at
/// twice the rate), capped at 1 ms.
fn burst_allowance(s: &Socket, w: &Window) -> u32 {
    let bursts = s.gso_max_size as u64 * 4 * 1_000_000;
    bursts.checked_div(w.pacing_rate).map_or(0, |us| us.min(1_000) as u32)
}

/// An RTT sample for the detectors: whole microseconds, never zero.
pub(crate) fn delay_of(rtt: units::Span) -> u32 {
    micros(rtt).max(1)
}
