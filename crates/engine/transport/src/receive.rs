//! The receiving half: reassembly, SACK generation, when to acknowledge, and the receive window.
//!
//! Linux acknowledges at once the first 16 segments, whatever fills or opens a gap, duplicates, and
//! every segment that lets the window grow; else every second full segment, or after 40 ms. Beyond
//! three duplicate ACKs for one gap it compresses SACKs: one per min(1 ms, RTT / 20). A segment that
//! says PSH, as the last of each burst does, or that is not full, has the reader acknowledge once it
//! has taken everything, unless the connection goes back and forth (`tcp_measure_rcv_mss` since Linux
//! 6.7, `__tcp_cleanup_rbuf`): an odd segment at a burst's end does not wait 40 ms.
//! The window follows the application (dynamic right-sizing, `tcp_rcv_space_adjust`): twice what was
//! read in the last round trip, more while that grows.
//!
//! | here | Linux |
//! |---|---|
//! | buffer space is window / 0.6 once data flows | ratio measured per connection from skb sizes |
//! | the application's reads count at once; an ACK that waits for them waits 30 µs | a process wakes up, some 10 to 50 µs later |
//! | the RFC profile delays ACKs by RFC 1122 4.2.3.2 and never compresses | – |

mod acks;
mod gaps;
mod window;

use crate::config::{Limits, Profile};
use crate::segment::{Flags, Segment};
use acks::{Acks, MAX_QUICK, READER_WAKES};
use gaps::Held;
use units::{Span, Time};
use window::{RightSizing, RoundTrip, Space};

/// `TCP_PAWS_WINDOW`: a timestamp may be so many ticks of 1 ms behind.
const PAWS_SLACK: i32 = 1;

/// What segments hold.
#[derive(Clone, Debug)]
struct Sizes {
    /// Payload bytes that full ones seem to have (`rcv_mss`).
    mss: u64,
    /// What was agreed.
    full: u64,
    /// The last one's.
    last: u32,
}

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    linux: bool,
    sack: bool,
    /// Next byte expected.
    pub rcv_nxt: u64,
    /// `rcv_nxt` when the last ACK left (`rcv_wup`).
    acked_to: u64,
    /// Window the last ACK told.
    window: u64,
    /// Bytes the application has read.
    pub copied: u64,
    /// The application reads at once what is in order.
    pub auto_read: bool,
    /// Where the peer's FIN stands in the stream, once it came.
    fin_at: Option<u64>,
    /// It came, and everything before it.
    finished: bool,
    /// Timestamp to echo.
    ts_recent: u32,
    /// Echo "congestion experienced" until the sender says CWR (RFC 3168 section 6.1.3).
    pub echo: bool,
    sizes: Sizes,
    acks: Acks,
    held: Held,
    space: Space,
    drs: RightSizing,
    rtt: RoundTrip,
}

impl Receiver {
    /// Nothing received; the peer's first byte is 0.
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
            held: Held::default(),
            space,
            drs: RightSizing::new(window.min(10 * mss)),
            rtt: RoundTrip::default(),
        }
    }

    /// What the handshake agreed on. Windows that are not scaled are below 64 KiB.
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

    /// Bytes in order that the application has not read.
    pub fn readable(&self) -> u64 {
        self.data_end() - self.copied
    }

    /// One past the last byte in order that is data.
    #[inline]
    fn data_end(&self) -> u64 {
        self.rcv_nxt - self.finished as u64
    }

    /// Whether the peer's FIN came, and everything before it.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// This end has closed: the peer's FIN, being the last thing, will be acknowledged at once (`tcp_fin`).
    pub(crate) fn note_closed(&mut self) {
        self.acks.closed = true;
    }

    /// The connection was reset: nothing will be acknowledged.
    pub(crate) fn stop(&mut self) {
        (self.acks.delayed_at, self.acks.compressed_at, self.acks.read_at) = (None, None, None);
    }

    /// Any segment, with data or not, may bring the timestamp to echo (RFC 7323 section 4.3), but not
    /// one that was acknowledged before (`tcp_sequence`).
    #[inline]
    pub fn note_timestamp(&mut self, seg: &Segment) {
        let old = seg.seq + seg.room() < self.acked_to;
        if seg.seq <= self.acked_to && seg.ts_val != 0 && !old {
            self.ts_recent = self.ts_recent.max(seg.ts_val);
        }
    }

    /// By how many ms a segment's timestamp is behind the one to echo, where that is beyond Linux's slack.
    #[inline]
    pub(crate) fn behind(&self, seg: &Segment) -> Option<u32> {
        let behind = self.ts_recent.wrapping_sub(seg.ts_val) as i32;
        (seg.ts_val != 0 && behind > PAWS_SLACK).then_some(behind as u32)
    }

    /// Data whose timestamp is older than the one to echo is not taken, new or not, and neither is its ACK; a duplicate ACK
    /// must leave at once. Where packets overtake each other a retransmission that fills a hole brings a newer
    /// timestamp, and the originals sent before it that are still under way all come too late.
    pub fn reject_old(&mut self, seg: &Segment) {
        self.held.dsack = None;
        self.acks.pending = true;
        if seg.seq < self.rcv_nxt {
            self.held.dsack = Some((seg.seq, (seg.seq + seg.room()).min(self.rcv_nxt)));
            self.be_quick(MAX_QUICK);
        }
    }

    /// Takes a segment with data or a FIN. True when an ACK must leave at once.
    /// `srtt` is the connection's own smoothed RTT, if its sending half has one.
    pub fn handle_data(&mut self, now: Time, seg: &Segment, srtt: Option<Span>) -> bool {
        let end = seg.seq + seg.room();
        self.held.dsack = None;
        self.acks.pending = true;
        self.measure_rtt(now, seg);
        if seg.len as u64 != self.sizes.mss {
            self.measure_mss(seg.len);
        }
        self.sizes.last = seg.len;
        self.acks.pushed |= seg.len > 0 && (seg.flags.has(Flags::PSH) || (seg.len as u64) < self.sizes.mss);
        if end <= self.rcv_nxt {
            // Already had: D-SACK (RFC 2883 section 4.1), acknowledged at once.
            self.held.dsack = Some((seg.seq, end));
            self.be_quick(MAX_QUICK);
            return self.decide(now, srtt);
        }
        // A FIN alone takes no room.
        let fits = seg.len == 0 && seg.seq == self.rcv_nxt;
        if seg.seq >= self.rcv_nxt + self.window_left() && !fits
            || end > self.rcv_nxt + self.window_left() + self.sizes.mss
        {
            self.be_quick(MAX_QUICK); // outside the window, a probe of a closed one
            self.acks.now = true;
            return self.decide(now, srtt);
        }
        if seg.flags.has(Flags::FIN) {
            self.fin_at = Some(end - 1);
        }
        let in_order = seg.seq <= self.rcv_nxt;
        if in_order {
            if seg.seq < self.rcv_nxt {
                self.held.dsack = Some((seg.seq, self.rcv_nxt));
            }
            let was_open = !self.held.ranges.is_empty();
            self.rcv_nxt = end;
            if seg.ts_ecr == 0 {
                self.measure_rtt_by_window(now);
            }
            self.fill();
            if was_open && self.held.ranges.is_empty() {
                self.acks.now = true;
            }
            if self.fin_at.is_some() {
                self.finish();
            }
            if self.auto_read {
                if now >= self.acks.unread_since + READER_WAKES {
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
            // Without SACK only an ACK whose window stays the same is a duplicate.
            self.grow(seg.len as u64);
        }
        self.decide(now, srtt)
    }

    /// The FIN is known: is it next? It is not acknowledged at once: this end may close, too, and its FIN carry
    /// the ACK (`tcp_fin`).
    #[cold]
    fn finish(&mut self) {
        if !self.finished && self.fin_at.is_some_and(|at| self.rcv_nxt > at) {
            self.finished = true;
            (self.acks.pingpong, self.acks.quick) = (true, 0);
            self.acks.now |= self.acks.closed;
        }
    }

    /// Whether a segment without data is from before the last ACK: a window probe.
    pub fn is_old(&self, seg: &Segment) -> bool {
        seg.seq < self.acked_to
    }

    /// RFC 3168 section 6.1.3: echoes a mark until the sender says CWR. Both may find it with a
    /// window of one packet, so that ACKs must not wait (`tcp_ecn_check_ce`, `tcp_ecn_accept_cwr`).
    pub fn handle_marks(&mut self, seg: &Segment) {
        if seg.flags.has(Flags::CWR) {
            self.echo = false;
            self.acks.now |= seg.len > 0;
        }
        if seg.ce && !self.echo {
            self.echo = true;
            self.be_quick(2);
        }
    }

    /// Panics unless the ranges out of order are disjoint, in order and beyond what is in order.
    pub fn check(&self) {
        assert!(self.copied <= self.rcv_nxt && self.acked_to <= self.rcv_nxt, "sequence");
        let mut last = self.rcv_nxt;
        for &(s, e) in &self.held.ranges {
            assert!(s > last && s < e, "gaps {:?} after {}", self.held.ranges, self.rcv_nxt);
            last = e;
        }
        assert_eq!(self.held.bytes, self.held.ranges.iter().map(|g| g.1 - g.0).sum::<u64>(), "held");
    }

    /// Full segments may hold less than was agreed: a smaller path MTU, half a small window. Two
    /// alike in a row are believed, one larger at once (`tcp_measure_rcv_mss`).
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

    /// Writes what an ACK (or any outgoing segment) tells of this half. The debt is paid.
    /// `room` is what SACK blocks may take without the packet growing beyond a full one (Linux
    /// makes the payload smaller instead).
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
        if self.sack && (self.held.recents > 0 || self.held.dsack.is_some()) {
            self.stamp_sacks(seg, room);
        }
    }
}

/// The timestamp clock: milliseconds, never 0.
#[inline]
pub fn timestamp(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000) as u32 + 1
}
