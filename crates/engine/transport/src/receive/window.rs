//! The receive window: how it opens with received and read data (dynamic right-sizing), and when the reader's
//! progress must be announced.

use super::{Receiver, timestamp};
use crate::config::{Limits, Profile};
use crate::segment::Segment;
use crate::windows;
use units::{Span, Time};

/// Window bytes per buffer byte, in 256ths (`scaling_ratio`), before and after data was received.
const RATIO_INITIAL: u64 = 128;
const RATIO_MEASURED: u64 = 154;
/// Initial receive buffer, bytes (`tcp_rmem[1]`).
const BUFFER_INITIAL: u64 = 131_072;

/// Upper bound of the window in SYN and SYN/ACK, which are not scaled (RFC 7323 section 2.2).
const MAX_UNSCALED: u64 = 65_536;

/// The receive buffer, and the window that it allows.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// Fixed window, bytes.
    pub(super) fixed: Option<u64>,
    /// Maximum buffer, bytes.
    most: u64,
    /// Present buffer, bytes (`sk_rcvbuf`).
    buffer: u64,
    /// Window bytes per buffer byte, in 256ths.
    ratio: u64,
    /// Present limit of the window (`rcv_ssthresh`).
    pub(super) ssthresh: u64,
    /// Limit of the window with this buffer (`window_clamp`).
    clamp: u64,
    /// Maximum value of the window field.
    field: u64,
}

impl Space {
    pub(super) fn new(limits: &Limits) -> Space {
        let (buffer, ratio) = match limits.profile {
            Profile::Windows => (windows::INITIAL_WINDOW, 256),
            _ => (BUFFER_INITIAL, RATIO_INITIAL),
        };
        let buffer = limits.initial_receive_buffer.unwrap_or(buffer).min(limits.receive_buffer);
        let clamp = buffer * ratio / 256;
        Space {
            fixed: limits.receive_window,
            most: limits.receive_buffer,
            buffer,
            ratio,
            ssthresh: limits.receive_window.unwrap_or(clamp.min(MAX_UNSCALED)),
            clamp,
            field: u64::MAX,
        }
    }
}

impl Space {
    /// Limits the window to the range of the field without scaling.
    pub(super) fn unscale(&mut self) {
        self.fixed = self.fixed.map(|w| w.min(u16::MAX as u64));
        self.field = u16::MAX as u64;
        self.clamp = self.clamp.min(self.field);
        self.ssthresh = self.ssthresh.min(self.field);
    }
}

/// State of dynamic right-sizing: the data read in the last round trip (`rcvq_space`).
#[derive(Clone, Debug, Default)]
pub(super) struct RightSizing {
    /// Bytes read in the last measured round trip.
    space: u64,
    /// Value of `copied` when this round trip began.
    seq: u64,
    pub(super) time: Time,
}

impl RightSizing {
    pub(super) fn new(space: u64) -> RightSizing {
        RightSizing { space, ..RightSizing::default() }
    }
}

/// RTT as measured by the receiver (`rcv_rtt_est`).
#[derive(Clone, Debug, Default)]
pub(super) struct RoundTrip {
    pub(super) value: Option<Span>,
    last_ecr: u32,
    /// Without timestamps: a window's worth of data has arrived when this byte is received, measured since
    /// `from`.
    seq: u64,
    from: Time,
}

impl Receiver {
    /// Bytes beyond `rcv_nxt` that the last announced window allows.
    pub fn window_left(&self) -> u64 {
        (self.acked_to + self.window).saturating_sub(self.rcv_nxt)
    }

    /// Whether `seq` is within the last announced window.
    pub(crate) fn is_in_window(&self, seq: u64) -> bool {
        (self.rcv_nxt..self.rcv_nxt + self.window_left().max(1)).contains(&seq)
    }

    /// Measures the RTT by the peer's echo of this end's timestamp, regardless of reordering
    /// (`tcp_rcv_rtt_measure_ts`).
    pub(super) fn measure_rtt(&mut self, now: Time, seg: &Segment) {
        if seg.ts_ecr == 0 {
            return;
        }
        if seg.ts_ecr != self.rtt.last_ecr && seg.len as u64 >= self.sizes.mss {
            self.rtt.last_ecr = seg.ts_ecr;
            // A timestamp in the future, as carried by an ACK between paced bursts, gives no sample.
            let ms = (timestamp(now).wrapping_sub(seg.ts_ecr) as i32).max(1) as u64;
            let sample = Span::from_millis(ms);
            self.rtt.value = Some(match self.rtt.value {
                Some(old) => Span::from_nanos(old.as_nanos() - old.as_nanos() / 8 + sample.as_nanos() / 8),
                None => sample,
            });
        }
    }

    /// Measures the RTT without timestamps: the minimum time in which a whole window arrived, as each window
    /// takes a round trip (`tcp_rcv_rtt_measure`).
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

    /// Opens the window by up to two segments for each segment received (`tcp_grow_window`).
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

    /// Window that the free buffer space allows.
    pub(super) fn free(&self) -> u64 {
        (self.space.buffer * self.space.ratio / 256).saturating_sub(self.readable() + self.out_of_order.bytes)
    }

    /// The application reads `n` bytes; returns whether the window opened enough to be announced at once.
    pub fn read(&mut self, now: Time, n: u64) -> bool {
        self.copied += n.min(self.readable());
        self.right_size(now);
        // Receiver's silly window avoidance (RFC 1122 section 4.2.3.3).
        let opened = self.select_window().saturating_sub(self.window_left());
        self.window_left() < self.sizes.mss.min(self.window.max(1)) && opened >= self.sizes.mss
    }

    /// Dynamic right-sizing, once per round trip (`tcp_rcv_space_adjust`).
    #[inline(always)]
    pub(super) fn right_size(&mut self, now: Time) {
        if self.space.fixed.is_none() && self.rtt.value.is_some_and(|rtt| now.since(self.drs.time) >= rtt) {
            self.measure_space(now);
        }
    }

    #[inline(never)]
    fn measure_space(&mut self, now: Time) {
        let copied = (self.copied - self.drs.seq).saturating_sub(self.readable());
        if copied > self.drs.space {
            let mut win = 2 * copied;
            win +=
                2 * (win as u128 * (copied - self.drs.space) as u128 / self.drs.space.max(1) as u128) as u64;
            if let Some(&(_, e)) = self.out_of_order.ranges.last() {
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

    /// The window that an ACK would announce now (`__tcp_select_window`).
    pub(super) fn select_window(&self) -> u64 {
        self.select_window_with(0)
    }

    /// The window that an ACK would announce if `unread` bytes that count as read were unread.
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
