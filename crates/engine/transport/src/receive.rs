//! The receiving half: reassembly, SACK generation, timing of ACKs, and the receive window.
//!
//! Linux acknowledges at once the first 16 segments, segments that fill or open a gap, duplicates, and
//! segments that let the window grow. Other segments are acknowledged in pairs of full size, or after 40 ms.
//! Beyond three duplicate ACKs for one gap Linux compresses SACKs: one per min(1 ms, RTT / 20). A segment
//! with PSH, such as the last of each burst, or one that is not full-sized is acknowledged once the reader
//! has read everything, unless the connection is interactive (`tcp_measure_rcv_mss` since Linux 6.7,
//! `__tcp_cleanup_rbuf`). An odd segment at the end of a burst therefore does not wait 40 ms. The window
//! follows the application (dynamic right-sizing, `tcp_rcv_space_adjust`): twice what was read in the last
//! round trip, more while that grows.
//!
//! | here | Linux |
//! |---|---|
//! | the buffer is window / 0.6 once data flows | the ratio is measured per connection from skb sizes |
//! | the application's reads take effect at once; an ACK that waits for them waits 30 µs | a process wakes up some 10 to 50 µs later |
//! | the RFC profile delays ACKs by RFC 1122 4.2.3.2 and never compresses | – |

mod acks;
mod gaps;
mod window;

use crate::config::{Limits, Profile};
use crate::segment::{Flags, Segment};
use acks::{Acks, MAX_QUICK, READER_DELAY};
use gaps::OutOfOrder;
use units::{Span, Time};
use window::{RightSizing, RoundTrip, Space};

/// Tolerated age of a timestamp, in ticks of 1 ms (`TCP_PAWS_WINDOW`).
const PAWS_SLACK: i32 = 1;

/// Payload sizes of segments.
#[derive(Clone, Debug)]
struct Sizes {
    /// Estimated payload of the peer's full-sized segments (`rcv_mss`).
    mss: u64,
    /// Negotiated payload of a full-sized segment.
    full: u64,
    /// Payload of the last segment.
    last: u32,
}

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    linux: bool,
    sack: bool,
    /// Next byte expected.
    pub rcv_nxt: u64,
    /// Value of `rcv_nxt` when the last ACK was sent (`rcv_wup`).
    acked_to: u64,
    /// Window in the last ACK.
    window: u64,
    /// Bytes that the application has read.
    pub copied: u64,
    /// Whether the application reads in-order data at once.
    pub auto_read: bool,
    /// Stream offset of the peer's FIN, once it has arrived.
    fin_at: Option<u64>,
    /// Whether the FIN and everything before it have arrived.
    finished: bool,
    /// Timestamp to echo.
    ts_recent: u32,
    /// Whether to echo "congestion experienced", until the sender sets CWR (RFC 3168 section 6.1.3).
    pub echo: bool,
    sizes: Sizes,
    acks: Acks,
    out_of_order: OutOfOrder,
    space: Space,
    drs: RightSizing,
    rtt: RoundTrip,
}

impl Receiver {
    /// A receiver that has received nothing; the peer's first byte has offset 0.
    pub fn new(limits: &Limits) -> Receiver {
        let mss = limits.mss as u64;
        let space = Space::new(limits);
        let window = space.ssthresh;
        Receiver {
            linux: limits.profile == Profile::Linux,
            sack: limits.sack,
            rcv_nxt: 0,
            acked_to: 0,
            window,
            copied: 0,
            auto_read: true,
            fin_at: None,
            finished: false,
            ts_recent: 0,
            echo: false,
            sizes: Sizes { mss, full: mss, last: 0 },
            acks: Acks::new(limits.delayed_ack),
            out_of_order: OutOfOrder::default(),
            space,
            drs: RightSizing::new(window.min(10 * mss)),
            rtt: RoundTrip::default(),
        }
    }

    /// Applies the options that the handshake negotiated. Unscaled windows are below 64 KiB.
    pub(crate) fn agree(&mut self, limits: &Limits) {
        let mss = limits.mss as u64;
        self.sack = limits.sack;
        self.sizes = Sizes { mss, full: mss, last: 0 };
        if !limits.scaled {
            self.space.unscale();
            self.window = self.window.min(self.space.ssthresh);
        }
        self.drs = RightSizing::new(self.window.min(10 * mss));
    }

    /// The connection is established at `now`.
    pub fn establish(&mut self, now: Time, ts: u32) {
        self.drs.time = now;
        self.ts_recent = ts;
    }

    /// In-order bytes that the application has not read.
    pub fn readable(&self) -> u64 {
        self.data_end() - self.copied
    }

    /// Offset after the last in-order byte of data.
    #[inline]
    fn data_end(&self) -> u64 {
        self.rcv_nxt - self.finished as u64
    }

    /// Whether the peer's FIN and everything before it have arrived.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Notes that this end has closed, so that the peer's FIN, being the last segment, is acknowledged at
    /// once (`tcp_fin`).
    pub(crate) fn note_closed(&mut self) {
        self.acks.closed = true;
    }

    /// Cancels all pending ACKs, because the connection was reset.
    pub(crate) fn stop(&mut self) {
        (self.acks.delayed_at, self.acks.compressed_at, self.acks.read_at) = (None, None, None);
    }

    /// Updates the timestamp to echo, which any segment may carry (RFC 7323 section 4.3) except one that was
    /// acknowledged before (`tcp_sequence`).
    #[inline]
    pub fn note_timestamp(&mut self, seg: &Segment) {
        let old = seg.seq + seg.room() < self.acked_to;
        if seg.seq <= self.acked_to && seg.ts_val != 0 && !old {
            self.ts_recent = self.ts_recent.max(seg.ts_val);
        }
    }

    /// By how many ms a segment's timestamp is older than the one to echo; `None` within Linux's tolerance.
    #[inline]
    pub(crate) fn behind(&self, seg: &Segment) -> Option<u32> {
        let behind = self.ts_recent.wrapping_sub(seg.ts_val) as i32;
        (seg.ts_val != 0 && behind > PAWS_SLACK).then_some(behind as u32)
    }

    /// Rejects data with a timestamp older than the one to echo, together with its ACK; a duplicate ACK must
    /// leave at once. On a reordering path, a retransmission that fills a hole carries a newer timestamp, so
    /// that the originals sent before it and still in flight are all rejected.
    pub fn reject_old(&mut self, seg: &Segment) {
        self.out_of_order.dsack = None;
        self.acks.pending = true;
        if seg.seq < self.rcv_nxt {
            self.out_of_order.dsack = Some((seg.seq, (seg.seq + seg.room()).min(self.rcv_nxt)));
            self.enter_quick_ack(MAX_QUICK);
        }
    }

    /// Handles a segment with data or a FIN; returns whether an ACK must leave at once. `srtt` is the
    /// smoothed RTT of the connection's sending half, if it has one.
    #[inline]
    pub fn handle_data(&mut self, now: Time, seg: &Segment, srtt: Option<Span>) -> bool {
        self.take_data(now, seg, srtt);
        self.decide(now, srtt)
    }

    /// Adds the data of a segment, and notes what decides on its acknowledgement.
    #[inline(always)]
    fn take_data(&mut self, now: Time, seg: &Segment, srtt: Option<Span>) {
        let end = seg.seq + seg.room();
        self.out_of_order.dsack = None;
        self.acks.pending = true;
        self.measure_rtt(now, seg);
        if seg.len as u64 != self.sizes.mss {
            self.measure_mss(seg.len);
        }
        self.sizes.last = seg.len;
        self.acks.pushed |= seg.len > 0 && (seg.flags.has(Flags::PSH) || (seg.len as u64) < self.sizes.mss);
        if end <= self.rcv_nxt {
            // Duplicate: reported by D-SACK (RFC 2883 section 4.1), and acknowledged at once.
            self.out_of_order.dsack = Some((seg.seq, end));
            self.enter_quick_ack(MAX_QUICK);
            return;
        }
        // A FIN without data takes no space.
        let fits = seg.len == 0 && seg.seq == self.rcv_nxt;
        if seg.seq >= self.rcv_nxt + self.window_left() && !fits
            || end > self.rcv_nxt + self.window_left() + self.sizes.mss
        {
            self.enter_quick_ack(MAX_QUICK); // outside of the window: a probe of a closed window
            self.acks.now = true;
            return;
        }
        if seg.flags.has(Flags::FIN) {
            self.fin_at = Some(end - 1);
        }
        let in_order = seg.seq <= self.rcv_nxt;
        if in_order {
            if seg.seq < self.rcv_nxt {
                self.out_of_order.dsack = Some((seg.seq, self.rcv_nxt));
            }
            let was_open = !self.out_of_order.ranges.is_empty();
            self.rcv_nxt = end;
            if seg.ts_ecr == 0 {
                self.measure_rtt_by_window(now);
            }
            if was_open {
                self.fill();
                self.acks.now |= self.out_of_order.ranges.is_empty();
            }
            if self.fin_at.is_some() {
                self.finish();
            }
            if self.auto_read {
                if now >= self.acks.unread_since + READER_DELAY {
                    (self.acks.unread, self.acks.unread_since) = (0, now);
                }
                self.acks.unread += seg.len as u64;
                self.copied = self.data_end();
                self.right_size(now);
            }
        } else {
            self.insert(seg.seq, end);
        }
        if seg.len > 0 {
            self.measure_interval(now, srtt);
        }
        if self.sack || in_order {
            // Without SACK, only an ACK with an unchanged window counts as a duplicate.
            self.grow(seg.len as u64);
        }
    }

    /// Handles a known FIN if it is next. It is not acknowledged at once, because this end may close, too,
    /// and its FIN carry the ACK (`tcp_fin`).
    #[cold]
    fn finish(&mut self) {
        if !self.finished && self.fin_at.is_some_and(|at| self.rcv_nxt > at) {
            self.finished = true;
            (self.acks.pingpong, self.acks.quick) = (true, 0);
            self.acks.now |= self.acks.closed;
        }
    }

    /// Whether a segment without data is older than the last ACK: a window probe.
    pub fn is_old(&self, seg: &Segment) -> bool {
        seg.seq < self.acked_to
    }

    /// Echoes a CE mark until the sender sets CWR (RFC 3168 section 6.1.3). ACKs must not be delayed, as
    /// either end may have a window of one packet (`tcp_ecn_check_ce`, `tcp_ecn_accept_cwr`).
    pub fn handle_marks(&mut self, seg: &Segment) {
        if seg.flags.has(Flags::CWR) {
            self.echo = false;
            self.acks.now |= seg.len > 0;
        }
        if seg.ce && !self.echo {
            self.echo = true;
            self.enter_quick_ack(2);
        }
    }

    /// Panics unless the out-of-order ranges are disjoint, sorted, and above the in-order data.
    pub fn check(&self) {
        assert!(self.copied <= self.rcv_nxt && self.acked_to <= self.rcv_nxt, "sequence");
        let mut last = self.rcv_nxt;
        for &(s, e) in &self.out_of_order.ranges {
            assert!(s > last && s < e, "gaps {:?} after {}", self.out_of_order.ranges, self.rcv_nxt);
            last = e;
        }
        assert_eq!(
            self.out_of_order.bytes,
            self.out_of_order.ranges.iter().map(|g| g.1 - g.0).sum::<u64>(),
            "out-of-order bytes"
        );
    }

    /// Estimates the peer's full segment size, which may be below the negotiated one because of a smaller
    /// path MTU or half a small window. Two segments of equal size in a row set the estimate, a larger one
    /// sets it at once (`tcp_measure_rcv_mss`).
    #[cold]
    fn measure_mss(&mut self, len: u32) {
        if len == 0 {
            return;
        }
        let n = (len as u64).min(self.sizes.full);
        if n > self.sizes.mss || (len == self.sizes.last && len >= 536) {
            self.sizes.mss = n;
        }
    }

    /// Writes ACK, window, timestamp echo and SACK blocks to an outgoing segment, and cancels the pending
    /// ACK. `room` is the space for SACK blocks, bytes, within the size of a full packet (Linux reduces the
    /// payload instead).
    #[inline]
    pub fn stamp(&mut self, seg: &mut Segment, room: u32) {
        let window = self.select_window().max(self.window_left());
        self.window = window;
        self.acked_to = self.rcv_nxt;
        seg.ack = self.rcv_nxt;
        seg.window = window as u32;
        seg.ts_ecr = self.ts_recent;
        if self.acks.pending {
            self.acks.quick = self.acks.quick.saturating_sub(1);
        }
        (self.acks.pending, self.acks.now, self.acks.pushed) = (false, false, false);
        self.acks.delayed_at = None;
        self.acks.compressed_at = None;
        self.acks.read_at = None;
        self.acks.compressed = 0;
        self.acks.unread = 0;
        if self.has_blocks() {
            self.stamp_sacks(seg, room);
        }
    }

    /// Whether there are SACK blocks to report.
    #[inline]
    pub(crate) fn has_blocks(&self) -> bool {
        self.sack && (self.out_of_order.recents > 0 || self.out_of_order.dsack.is_some())
    }
}

/// The timestamp clock: ms, never 0.
#[inline]
pub fn timestamp(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000) as u32 + 1
}
