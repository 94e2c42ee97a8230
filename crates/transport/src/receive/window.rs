//! The receive window: how it opens with what arrives and with what is read (dynamic right-sizing),
//! and when a reader's progress must be told.

use super::{RATIO_INITIAL, RATIO_MEASURED, Receiver, timestamp};
use crate::segment::Segment;
use units::{Span, Time};

impl Receiver {
    /// Bytes the sender may still send beyond `rcv_nxt` by the last window told.
    pub(super) fn window_left(&self) -> u64 {
        (self.acked_to + self.window).saturating_sub(self.rcv_nxt)
    }

    /// The round trip from this end: how long until the peer echoed our timestamp.
    pub(super) fn measure_rtt(&mut self, now: Time, seg: &Segment) {
        if seg.ts_ecr == 0 {
            return self.measure_rtt_by_window(now);
        }
        if seg.ts_ecr != self.last_ecr && seg.len as u64 >= self.mss {
            self.last_ecr = seg.ts_ecr;
            let ms = timestamp(now).wrapping_sub(seg.ts_ecr).max(1) as u64;
            let sample = Span::from_millis(ms);
            self.rtt = Some(match self.rtt {
                Some(old) => Span::from_nanos(old.as_nanos() - old.as_nanos() / 8 + sample.as_nanos() / 8),
                None => sample,
            });
        }
    }

    /// The same without timestamps: the least time in which a whole window came, for each needs a
    /// round trip (`tcp_rcv_rtt_measure`).
    fn measure_rtt_by_window(&mut self, now: Time) {
        if self.rcv_nxt < self.rtt_seq {
            return;
        }
        if self.rtt_seq > 0 {
            let sample = now.since(self.rtt_from);
            self.rtt = Some(self.rtt.map_or(sample, |old| old.min(sample)));
        }
        (self.rtt_seq, self.rtt_from) = (self.rcv_nxt + self.window, now);
    }

    /// `tcp_grow_window`: the window may open by two segments for each one received.
    pub(super) fn grow(&mut self, len: u64) {
        if len < 128 || self.fixed.is_some() {
            return;
        }
        if self.ratio == RATIO_INITIAL {
            self.ratio = RATIO_MEASURED;
            self.clamp = self.buffer * self.ratio / 256;
        }
        let room = self.clamp.min(self.free()).saturating_sub(self.ssthresh);
        if room > 0 {
            self.ssthresh += room.min((2 * self.mss).max(2 * len));
            self.quick |= self.linux as u32;
        }
    }

    /// Window the buffer has room for.
    pub(super) fn free(&self) -> u64 {
        (self.buffer * self.ratio / 256).saturating_sub(self.readable() + self.held)
    }

    /// The application reads `n` bytes. True when the window opened enough to say so at once.
    pub fn read(&mut self, now: Time, n: u64) -> bool {
        self.copied += n.min(self.readable());
        self.right_size(now);
        // Silly window avoidance, receiver's side (RFC 1122 section 4.2.3.3).
        let opened = self.select_window().saturating_sub(self.window_left());
        self.window_left() < self.mss.min(self.window.max(1)) && opened >= self.mss
    }

    /// Dynamic right-sizing, once a round trip (`tcp_rcv_space_adjust`).
    pub(super) fn right_size(&mut self, now: Time) {
        let Some(rtt) = self.rtt else { return };
        if now.since(self.space_time) < rtt || self.fixed.is_some() {
            return;
        }
        let copied = (self.copied - self.space_seq).saturating_sub(self.readable());
        if copied > self.space {
            let mut win = 2 * copied;
            win += 2 * (win as u128 * (copied - self.space) as u128 / self.space.max(1) as u128) as u64;
            if let Some(&(_, e)) = self.gaps.last() {
                win += e - self.rcv_nxt;
            }
            self.space = copied;
            let buffer = (win * 256 / self.ratio).min(self.buffer_max);
            if buffer > self.buffer {
                self.buffer = buffer;
                self.clamp = buffer * self.ratio / 256;
            }
        }
        self.space_seq = self.copied;
        self.space_time = now;
    }

    /// The window an ACK would tell now (`__tcp_select_window`).
    pub(super) fn select_window(&self) -> u64 {
        self.select_window_with(0)
    }

    /// The same with `unread` bytes not yet read that otherwise count as read.
    pub(super) fn select_window_with(&self, unread: u64) -> u64 {
        match self.fixed {
            Some(w) => w.saturating_sub(self.readable()),
            None => {
                let free = self.free().saturating_sub(unread).min(self.ssthresh);
                if free < self.mss { 0 } else { free }
            }
        }
    }
}
