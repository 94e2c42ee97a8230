//! When to acknowledge: at once, delayed, compressed, or once the reader has run.

use super::Receiver;
use crate::wheel::expiry;
use units::{Span, Time, earliest};

/// `TCP_MAX_QUICKACKS`.
pub(super) const MAX_QUICK: u32 = 16;
/// `sysctl_tcp_comp_sack_nr`.
const MAX_COMPRESSED: u32 = 44;
/// `sysctl_tcp_comp_sack_delay_ns`.
const COMPRESS_DELAY: Span = Span::from_millis(1);
/// How late the compression timer may fire (`sysctl_tcp_comp_sack_slack_ns`); it does.
const COMPRESS_SLACK: Span = Span::from_micros(100);
/// From a segment's arrival to the moment the reading process has taken it.
pub(super) const READER_WAKES: Span = Span::from_micros(30);
/// Duplicate ACKs sent one by one before compression starts.
const DUP_THRESHOLD: u32 = 3;

/// ACKs owed and how they go.
#[derive(Clone, Debug, Default)]
pub(super) struct Acks {
    /// Longest delay.
    pub(super) delay: Span,
    /// ACKs to send at once.
    pub(super) quick: u32,
    /// An ACK is owed.
    pub(super) pending: bool,
    /// It must go at once.
    pub(super) now: bool,
    pub(super) last_data: Option<Time>,
    pub(super) delayed_at: Option<Time>,
    /// ACKs that compression saved since the last one left.
    pub(super) compressed: u32,
    pub(super) compressed_at: Option<Time>,
    /// Bytes that came since the reader last ran, and when the first of them did.
    pub(super) unread: u64,
    pub(super) unread_since: Time,
    /// The reader will run then and acknowledge.
    pub(super) read_at: Option<Time>,
    /// What came says PSH, or was small: the reader acknowledges.
    pub(super) pushed: bool,
    /// This end answers what it gets with data.
    pub(super) pingpong: bool,
    /// This end has closed.
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
    /// When the receiver must act: a delayed or a compressed ACK.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        earliest(self.acks.read_at, earliest(self.acks.delayed_at, self.acks.compressed_at))
    }

    /// Whether a delayed or compressed ACK is due.
    pub fn is_due(&self, now: Time) -> bool {
        self.next_wake().is_some_and(|t| t <= now)
    }

    /// This end sends data: soon after it got some, it answers (`tcp_event_data_sent`).
    pub fn note_sent(&mut self, now: Time) {
        self.acks.pingpong |= self.acks.last_data.is_some_and(|t| now.since(t) < self.acks.delay);
    }

    /// A segment without data where one was due (a window probe): answer at once.
    pub fn handle_probe(&mut self) {
        self.acks.pending = true;
        self.acks.now = true;
    }

    /// Acknowledges at once `most` times, or fewer if the window is small.
    pub(super) fn be_quick(&mut self, most: u32) {
        if self.linux {
            let n = (self.window / (2 * self.sizes.mss)).max(2) as u32;
            self.acks.quick = self.acks.quick.max(n.min(most));
            self.acks.pingpong = false;
        } else {
            self.acks.now = true;
        }
    }

    /// Quick ACKs at the start and after a pause longer than an RTO could explain.
    pub(super) fn measure_interval(&mut self, now: Time, srtt: Option<Span>) {
        let paused = match self.acks.last_data {
            None => true,
            Some(t) => now.since(t) > srtt.unwrap_or(Span::ZERO) + Span::from_millis(200),
        };
        if paused && self.linux {
            self.be_quick(MAX_QUICK);
        }
        self.acks.last_data = Some(now);
    }

    /// `__tcp_ack_snd_check`: at once, compressed, or delayed.
    pub(super) fn decide(&mut self, now: Time, srtt: Option<Span>) -> bool {
        if self.acks.now || self.acks.quick > 0 {
            return true;
        }
        if self.rcv_nxt - self.acked_to > self.sizes.mss {
            // The window must not shrink by what is still unread: else the reader acknowledges,
            // once it has run, and everything that came meanwhile.
            let unread = if self.linux && self.auto_read { self.acks.unread } else { 0 };
            if self.select_window_with(unread) >= self.window {
                return true;
            }
            if self.auto_read {
                self.acks.read_at.get_or_insert(now + READER_WAKES);
                return false;
            }
        }
        if self.held.ranges.is_empty() {
            if self.acks.pushed && self.linux && self.auto_read && !self.acks.pingpong {
                self.acks.read_at.get_or_insert(now.max(self.acks.unread_since + READER_WAKES));
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
            // Before this end knows a round trip the timer only has its slack to wait.
            let rtt = self.rtt.value.map_or(Span::ZERO, |own| srtt.map_or(own, |srtt| own.min(srtt)));
            self.acks.compressed_at = Some(now + (rtt / 20).min(COMPRESS_DELAY) + COMPRESS_SLACK);
        }
        false
    }
}
