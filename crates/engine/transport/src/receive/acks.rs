//! Timing of ACKs: at once, delayed, compressed, or after the reader has run.

use super::Receiver;
use crate::wheel::expiry;
use units::{Span, Time, earliest};

/// Maximum number of quick ACKs (`TCP_MAX_QUICKACKS`).
pub(super) const MAX_QUICK: u32 = 16;
/// Maximum number of compressed ACKs (`sysctl_tcp_comp_sack_nr`).
const MAX_COMPRESSED: u32 = 44;
/// Maximum delay by compression (`sysctl_tcp_comp_sack_delay_ns`).
const COMPRESS_DELAY: Span = Span::from_millis(1);
/// Tolerated lateness of the compression timer (`sysctl_tcp_comp_sack_slack_ns`); the model always uses it in
/// full.
const COMPRESS_SLACK: Span = Span::from_micros(100);
/// Time from a segment's arrival until the reading process has read it.
pub(super) const READER_DELAY: Span = Span::from_micros(30);
/// Number of duplicate ACKs sent before compression starts.
const DUP_THRESHOLD: u32 = 3;

/// State of pending ACKs.
#[derive(Clone, Debug, Default)]
pub(super) struct Acks {
    /// Maximum delay.
    pub(super) delay: Span,
    /// Number of ACKs to send at once.
    pub(super) quick: u32,
    /// Whether an ACK is pending.
    pub(super) pending: bool,
    /// Whether the pending ACK must be sent at once.
    pub(super) now: bool,
    pub(super) last_data: Option<Time>,
    pub(super) delayed_at: Option<Time>,
    /// Number of ACKs saved by compression since the last ACK.
    pub(super) compressed: u32,
    pub(super) compressed_at: Option<Time>,
    /// Bytes received since the reader last ran, and the arrival time of the first byte.
    pub(super) unread: u64,
    pub(super) unread_since: Time,
    /// Time at which the reader runs and acknowledges.
    pub(super) read_at: Option<Time>,
    /// Whether a segment with PSH or a small one was received: the reader then acknowledges.
    pub(super) pushed: bool,
    /// Whether the connection is interactive: this end answers data with data.
    pub(super) pingpong: bool,
    /// Whether this end has closed.
    pub(super) closed: bool,
    dup_acks: u32,
    dup_acks_for: u64,
}

impl Acks {
    pub(super) fn new(delay: Span) -> Acks {
        Acks { delay, ..Acks::default() }
    }
}

impl Receiver {
    /// Time at which the receiver must act next: send a delayed or compressed ACK.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        earliest(self.acks.read_at, earliest(self.acks.delayed_at, self.acks.compressed_at))
    }

    /// Whether a delayed or compressed ACK is due.
    pub fn is_due(&self, now: Time) -> bool {
        self.next_wake().is_some_and(|t| t <= now)
    }

    /// Notes that this end sends data; soon after receiving data, this is an answer (`tcp_event_data_sent`).
    pub fn note_sent(&mut self, now: Time) {
        self.acks.pingpong |= self.acks.last_data.is_some_and(|t| now.since(t) < self.acks.delay);
    }

    /// Handles a window probe, which must be answered at once.
    pub fn handle_probe(&mut self) {
        self.acks.pending = true;
        self.acks.now = true;
    }

    /// Acknowledges at once up to `most` times, less often if the window is small.
    pub(super) fn enter_quick_ack(&mut self, most: u32) {
        if self.linux {
            let n = (self.window / (2 * self.sizes.mss)).max(2) as u32;
            self.acks.quick = self.acks.quick.max(n.min(most));
            self.acks.pingpong = false;
        } else {
            self.acks.now = true;
        }
    }

    /// Starts quick ACKs for the first data, and after a pause longer than an RTO would explain.
    #[inline]
    pub(super) fn measure_interval(&mut self, now: Time, srtt: Option<Span>) {
        let paused = match self.acks.last_data {
            None => true,
            Some(t) => now.since(t) > srtt.unwrap_or(Span::ZERO) + Span::from_millis(200),
        };
        if paused && self.linux {
            self.enter_quick_ack(MAX_QUICK);
        }
        self.acks.last_data = Some(now);
    }

    /// Decides between an immediate, a compressed and a delayed ACK (`__tcp_ack_snd_check`); returns whether
    /// to send one now.
    #[inline(always)]
    pub(super) fn decide(&mut self, now: Time, srtt: Option<Span>) -> bool {
        if self.acks.now || self.acks.quick > 0 {
            return true;
        }
        if self.rcv_nxt - self.acked_to > self.sizes.mss {
            // The window must not shrink because of unread data: then the ACK waits until the reader has read
            // everything received by then.
            let unread = if self.linux && self.auto_read { self.acks.unread } else { 0 };
            if self.select_window_with(unread) >= self.window {
                return true;
            }
            if self.auto_read {
                self.acks.read_at.get_or_insert(now + READER_DELAY);
                return false;
            }
        }
        if self.out_of_order.ranges.is_empty() {
            if self.acks.pushed && self.linux && self.auto_read && !self.acks.pingpong {
                self.acks.read_at.get_or_insert(now.max(self.acks.unread_since + READER_DELAY));
                return false;
            }
            let due = if self.linux { expiry(now, self.acks.delay) } else { now + self.acks.delay };
            self.acks.delayed_at.get_or_insert(due);
            return false;
        }
        if !self.linux || !self.sack || self.acks.compressed >= MAX_COMPRESSED {
            return true;
        }
        if self.acks.dup_acks_for != self.rcv_nxt {
            (self.acks.dup_acks_for, self.acks.dup_acks) = (self.rcv_nxt, 0);
        }
        if self.acks.dup_acks < DUP_THRESHOLD {
            self.acks.dup_acks += 1;
            return true;
        }
        self.acks.compressed += 1;
        if self.acks.compressed_at.is_none() {
            // Until this end has an RTT sample, the timer consists of its slack only.
            let rtt = self.rtt.value.map_or(Span::ZERO, |own| srtt.map_or(own, |srtt| own.min(srtt)));
            self.acks.compressed_at = Some(now + (rtt / 20).min(COMPRESS_DELAY) + COMPRESS_SLACK);
        }
        false
    }
}
