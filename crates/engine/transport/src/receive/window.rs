//! The receive window: how it opens with what arrives and with what is read (dynamic right-sizing),
//! and when a reader's progress must be told.

use super::{Receiver, timestamp};
use crate::config::{Limits, Profile};
use crate::segment::Segment;
use crate::windows;
use units::{Span, Time};

/// Window bytes per buffer byte, in 256ths (`scaling_ratio`), before and after data was measured.
const RATIO_INITIAL: u64 = 128;
const RATIO_MEASURED: u64 = 154;
/// `tcp_rmem[1]`.
const BUFFER_INITIAL: u64 = 131_072;

/// The windows of SYN and SYN-ACK are not scaled (RFC 7323 section 2.2).
const UNSCALED: u64 = 65_536;

/// Buffer and window.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// A window that stays as it is, bytes.
    pub(super) fixed: Option<u64>,
    /// Largest buffer, bytes.
    most: u64,
    /// The buffer now, bytes (`sk_rcvbuf`).
    buffer: u64,
    /// Window bytes per buffer byte, in 256ths.
    ratio: u64,
    /// How far the window may open now (`rcv_ssthresh`).
    pub(super) ssthresh: u64,
    /// How far with this buffer (`window_clamp`).
    clamp: u64,
    /// What a segment's field can say.
    field: u64,
}

impl Space {
    pub(super) fn new(limits: &Limits) -> Space {
        let (buffer, ratio) = match limits.profile {
            Profile::Windows => (windows::WINDOW, 256),
            _ => (BUFFER_INITIAL, RATIO_INITIAL),
        };
        let buffer = limits.initial_receive_buffer.unwrap_or(buffer).min(limits.receive_buffer);
        let clamp = buffer * ratio / 256;
        Space {
            fixed: limits.receive_window,
            most: limits.receive_buffer,
            buffer,
            ratio,
            ssthresh: limits.receive_window.unwrap_or(clamp.min(UNSCALED)),
            clamp,
            field: u64::MAX,
        }
    }
}

impl Space {
    /// No window may be larger than a segment's field without a scale.
    pub(super) fn unscale(&mut self) {
        self.fixed = self.fixed.map(|w| w.min(u16::MAX as u64));
        self.field = u16::MAX as u64;
        self.clamp = self.clamp.min(self.field);
        self.ssthresh = self.ssthresh.min(self.field);
    }
}

/// Dynamic right-sizing: what was read in the last round trip (`rcvq_space`).
#[derive(Clone, Debug, Default)]
pub(super) struct RightSizing {
    /// Bytes.
    space: u64,
    /// `copied` when this round trip began.
    seq: u64,
    pub(super) time: Time,
}

impl RightSizing {
    pub(super) fn new(space: u64) -> RightSizing {
        RightSizing { space, ..RightSizing::default() }
    }
}

/// The round trip as this end sees it (`rcv_rtt_est`).
#[derive(Clone, Debug, Default)]
pub(super) struct RoundTrip {
    pub(super) value: Option<Span>,
    last_ecr: u32,
    /// Without timestamps: a window's worth has come when this is received, since then.
    seq: u64,
    from: Time,
}

impl Receiver {
    /// Bytes the sender may still send beyond `rcv_nxt` by the last window told.
    pub fn window_left(&self) -> u64 {
        (self.acked_to + self.window).saturating_sub(self.rcv_nxt)
    }

    /// Whether `seq` lies in the window told last.
    pub(crate) fn is_in_window(&self, seq: u64) -> bool {
        (self.rcv_nxt..self.rcv_nxt + self.window_left().max(1)).contains(&seq)
    }

    /// The round trip from this end: how long until the peer echoed our timestamp, in whatever order its
    /// segments come (`tcp_rcv_rtt_measure_ts`).
    pub(super) fn measure_rtt(&mut self, now: Time, seg: &Segment) {
        if seg.ts_ecr == 0 {
            return;
        }
        if seg.ts_ecr != self.rtt.last_ecr && seg.len as u64 >= self.sizes.mss {
            self.rtt.last_ecr = seg.ts_ecr;
            // Of a time to come, which an ACK between paced bursts tells, nothing follows.
            let ms = (timestamp(now).wrapping_sub(seg.ts_ecr) as i32).max(1) as u64;
            let sample = Span::from_millis(ms);
            self.rtt.value = Some(match self.rtt.value {
                Some(old) => Span::from_nanos(old.as_nanos() - old.as_nanos() / 8 + sample.as_nanos() / 8),
                None => sample,
            });
        }
    }

    /// The same without timestamps: the least time in which a whole window came, for each needs a
    /// round trip (`tcp_rcv_rtt_measure`).
    pub(super) fn measure_rtt_by_window(&mut self, now: Time) {
        if self.rcv_nxt < self.rtt.seq {
            return;
        }
        if self.rtt.seq > 0 {
            let sample = now.since(self.rtt.from);
            self.rtt.value = Some(self.rtt.value.map_or(sample, |old| old.min(sample)));
        }
        (self.rtt.seq, self.rtt.from) = (self.rcv_nxt + self.window, now);
    }

    /// `tcp_grow_window`: the window may open by two segments for each one received.
    pub(super) fn grow(&mut self, len: u64) {
        if len < 128 || self.space.fixed.is_some() {
            return;
        }
        if self.space.ratio == RATIO_INITIAL {
            self.space.ratio = RATIO_MEASURED;
            self.space.clamp = (self.space.buffer * self.space.ratio / 256).min(self.space.field);
        }
        let room = self.space.clamp.min(self.free()).saturating_sub(self.space.ssthresh);
        if room > 0 {
            self.space.ssthresh += room.min((2 * self.sizes.mss).max(2 * len));
            self.acks.quick |= self.linux as u32;
        }
    }

    /// Window the buffer has room for.
    pub(super) fn free(&self) -> u64 {
        (self.space.buffer * self.space.ratio / 256).saturating_sub(self.readable() + self.held.bytes)
    }

    /// The application reads `n` bytes. True when the window opened enough to say so at once.
    pub fn read(&mut self, now: Time, n: u64) -> bool {
        self.copied += n.min(self.readable());
        self.right_size(now);
        // Silly window avoidance, receiver's side (RFC 1122 section 4.2.3.3).
        let opened = self.select_window().saturating_sub(self.window_left());
        self.window_left() < self.sizes.mss.min(self.window.max(1)) && opened >= self.sizes.mss
    }

    /// Dynamic right-sizing, once a round trip (`tcp_rcv_space_adjust`).
    pub(super) fn right_size(&mut self, now: Time) {
        let Some(rtt) = self.rtt.value else { return };
        if now.since(self.drs.time) < rtt || self.space.fixed.is_some() {
            return;
        }
        let copied = (self.copied - self.drs.seq).saturating_sub(self.readable());
        if copied > self.drs.space {
            let mut win = 2 * copied;
            win +=
                2 * (win as u128 * (copied - self.drs.space) as u128 / self.drs.space.max(1) as u128) as u64;
            if let Some(&(_, e)) = self.held.ranges.last() {
                win += e - self.rcv_nxt;
            }
            self.drs.space = copied;
            let buffer = (win * 256 / self.space.ratio).min(self.space.most);
            if buffer > self.space.buffer {
                self.space.buffer = buffer;
                self.space.clamp = (buffer * self.space.ratio / 256).min(self.space.field);
            }
        }
        self.drs.seq = self.copied;
        self.drs.time = now;
    }

    /// The window an ACK would tell now (`__tcp_select_window`).
    pub(super) fn select_window(&self) -> u64 {
        self.select_window_with(0)
    }

    /// The same with `unread` bytes not yet read that otherwise count as read.
    pub(super) fn select_window_with(&self, unread: u64) -> u64 {
        match self.space.fixed {
            Some(w) => w.saturating_sub(self.readable()),
            None => {
                let free = self.free().saturating_sub(unread).min(self.space.ssthresh);
                if free < self.sizes.mss { 0 } else { free }
            }
        }
    }
}
