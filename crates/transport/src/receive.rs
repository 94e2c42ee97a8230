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

mod gaps;
mod window;

use crate::config::{Limits, Profile};
use crate::segment::{Flags, Segment};
use crate::wheel::expiry;
use crate::windows;
use units::{Span, Time, earliest};

/// `TCP_MAX_QUICKACKS`.
const MAX_QUICK: u32 = 16;
/// `sysctl_tcp_comp_sack_nr`.
const MAX_COMPRESSED: u32 = 44;
/// `sysctl_tcp_comp_sack_delay_ns`.
const COMPRESS_DELAY: Span = Span::from_millis(1);
/// How late the compression timer may fire (`sysctl_tcp_comp_sack_slack_ns`); it does.
const COMPRESS_SLACK: Span = Span::from_micros(100);
/// From a segment's arrival to the moment the reading process has taken it.
const READER_WAKES: Span = Span::from_micros(30);
/// `TCP_PAWS_WINDOW`: a timestamp may be so many ticks of 1 ms behind.
const PAWS_SLACK: i32 = 1;
/// Duplicate ACKs sent one by one before compression starts.
const DUP_THRESHOLD: u32 = 3;
/// Window bytes per buffer byte, in 256ths (`scaling_ratio`), before and after data was measured.
const RATIO_INITIAL: u64 = 128;
const RATIO_MEASURED: u64 = 154;
/// `tcp_rmem[1]`.
const BUFFER_INITIAL: u64 = 131_072;

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    linux: bool,
    sack: bool,
    /// What full segments seem to hold (`rcv_mss`).
    mss: u64,
    full_mss: u64,
    last_len: u32,
    delayed_ack: Span,
    fixed: Option<u64>,
    buffer_max: u64,
    /// Next byte expected.
    pub rcv_nxt: u64,
    /// `rcv_nxt` when the last ACK left.
    acked_to: u64,
    /// Window the last ACK told.
    window: u64,
    /// Bytes the application has read.
    pub copied: u64,
    /// The application reads at once what is in order.
    pub auto_read: bool,
    /// Received out of order: disjoint ranges in order of sequence.
    gaps: Vec<(u64, u64)>,
    /// Bytes in them.
    held: u64,
    /// Ranges to report, most recently changed first.
    recent: [(u64, u64); 4],
    recents: usize,
    dsack: Option<(u64, u64)>,
    /// Timestamp to echo.
    ts_recent: u32,
    /// ACKs to send at once.
    quick: u32,
    /// An ACK is owed.
    pending: bool,
    /// It must go at once.
    now: bool,
    last_data: Option<Time>,
    delayed_at: Option<Time>,
    compressed: u32,
    compressed_at: Option<Time>,
    /// Bytes that came since the reader last ran, and when the first of them did.
    unread: u64,
    unread_since: Time,
    /// The reader will run then and acknowledge.
    read_at: Option<Time>,
    /// What came says PSH, or was small: the reader acknowledges.
    pushed: bool,
    /// This end answers what it gets with data.
    pingpong: bool,
    dup_acks: u32,
    dup_acks_for: u64,
    // Window growth.
    buffer: u64,
    ratio: u64,
    ssthresh: u64,
    clamp: u64,
    rtt: Option<Span>,
    last_ecr: u32,
    /// Without timestamps: a window's worth has come when this is received, since then.
    rtt_seq: u64,
    rtt_from: Time,
    space: u64,
    space_seq: u64,
    space_time: Time,
    /// Echo "congestion experienced" until the sender says CWR (RFC 3168 section 6.1.3).
    pub echo: bool,
}

impl Receiver {
    /// Nothing received; the peer's first byte is 0.
    pub fn new(limits: &Limits) -> Receiver {
        let mss = limits.mss as u64;
        let (buffer, ratio) = match limits.profile {
            Profile::Windows => (windows::WINDOW, 256),
            _ => (BUFFER_INITIAL, RATIO_INITIAL),
        };
        let buffer = buffer.min(limits.receive_buffer);
        let clamp = buffer * ratio / 256;
        let window = limits.receive_window.unwrap_or(clamp);
        Receiver {
            linux: limits.profile == Profile::Linux,
            sack: limits.sack,
            mss,
            full_mss: mss,
            last_len: 0,
            delayed_ack: limits.delayed_ack,
            fixed: limits.receive_window,
            buffer_max: limits.receive_buffer,
            rcv_nxt: 0,
            acked_to: 0,
            window,
            copied: 0,
            auto_read: true,
            gaps: Vec::new(),
            held: 0,
            recent: [(0, 0); 4],
            recents: 0,
            dsack: None,
            ts_recent: 0,
            quick: 0,
            pending: false,
            now: false,
            last_data: None,
            delayed_at: None,
            compressed: 0,
            compressed_at: None,
            unread: 0,
            unread_since: Time::ZERO,
            read_at: None,
            pushed: false,
            pingpong: false,
            dup_acks: 0,
            dup_acks_for: 0,
            buffer,
            ratio,
            ssthresh: window,
            clamp,
            rtt: None,
            last_ecr: 0,
            rtt_seq: 0,
            rtt_from: Time::ZERO,
            space: window.min(10 * mss),
            space_seq: 0,
            space_time: Time::ZERO,
            echo: false,
        }
    }

    /// The connection is established at `now`.
    pub fn establish(&mut self, now: Time, ts: u32) {
        self.space_time = now;
        self.ts_recent = ts;
    }

    /// When the receiver must act: a delayed or a compressed ACK.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        earliest(self.read_at, earliest(self.delayed_at, self.compressed_at))
    }

    /// Whether a delayed or compressed ACK is due.
    pub fn is_due(&self, now: Time) -> bool {
        self.next_wake().is_some_and(|t| t <= now)
    }

    /// Bytes in order that the application has not read.
    pub fn readable(&self) -> u64 {
        self.rcv_nxt - self.copied
    }

    /// Any segment, with data or not, may bring the timestamp to echo (RFC 7323 section 4.3), but not
    /// one that was acknowledged before (`tcp_sequence`).
    #[inline]
    pub fn note_timestamp(&mut self, seg: &Segment) {
        let old = seg.seq + (seg.len as u64) < self.acked_to;
        if seg.seq <= self.acked_to && seg.ts_val != 0 && !old {
            self.ts_recent = self.ts_recent.max(seg.ts_val);
        }
    }

    /// PAWS (RFC 7323 section 5.3): data whose timestamp is older than the one to echo, by more than Linux's
    /// slack of 1 ms, is not taken, new or not, and neither is its ACK; a duplicate ACK must leave at once.
    /// Where packets overtake each other a retransmission that fills a hole brings a newer timestamp, and the
    /// originals sent before it that are still under way all come too late.
    pub fn reject_old(&mut self, seg: &Segment) -> bool {
        let behind = self.ts_recent.wrapping_sub(seg.ts_val) as i32;
        if seg.len == 0 || seg.ts_val == 0 || behind <= PAWS_SLACK {
            return false;
        }
        self.dsack = None;
        self.pending = true;
        if seg.seq < self.rcv_nxt {
            self.dsack = Some((seg.seq, (seg.seq + seg.len as u64).min(self.rcv_nxt)));
            self.be_quick(MAX_QUICK);
        }
        true
    }

    /// Takes a data segment. True when an ACK must leave at once.
    /// `srtt` is the connection's own smoothed RTT, if its sending half has one.
    pub fn handle_data(&mut self, now: Time, seg: &Segment, srtt: Option<Span>) -> bool {
        let end = seg.seq + seg.len as u64;
        self.dsack = None;
        self.pending = true;
        if seg.len as u64 != self.mss {
            self.measure_mss(seg.len);
        }
        self.last_len = seg.len;
        self.pushed |= seg.flags.has(Flags::PSH) || (seg.len as u64) < self.mss;
        if end <= self.rcv_nxt {
            // Already had: D-SACK (RFC 2883 section 4.1), acknowledged at once.
            self.dsack = Some((seg.seq, end));
            self.be_quick(MAX_QUICK);
            return self.decide(now, srtt);
        }
        if seg.seq >= self.rcv_nxt + self.window_left() || end > self.rcv_nxt + self.window_left() + self.mss
        {
            self.be_quick(MAX_QUICK); // outside the window, a probe of a closed one
            self.now = true;
            return self.decide(now, srtt);
        }
        let in_order = seg.seq <= self.rcv_nxt;
        if in_order {
            if seg.seq < self.rcv_nxt {
                self.dsack = Some((seg.seq, self.rcv_nxt));
            }
            let was_open = !self.gaps.is_empty();
            self.rcv_nxt = end;
            self.fill();
            if was_open && self.gaps.is_empty() {
                self.now = true;
            }
            self.measure_rtt(now, seg);
            if self.auto_read {
                if now >= self.unread_since + READER_WAKES {
                    (self.unread, self.unread_since) = (0, now);
                }
                self.unread += seg.len as u64;
                self.copied = self.rcv_nxt;
                self.right_size(now);
            }
        } else {
            self.insert(seg.seq, end);
        }
        self.measure_interval(now, srtt);
        if self.sack || in_order {
            // Without SACK only an ACK whose window stays the same is a duplicate.
            self.grow(seg.len as u64);
        }
        self.decide(now, srtt)
    }

    /// This end sends data: soon after it got some, it answers (`tcp_event_data_sent`).
    pub fn note_sent(&mut self, now: Time) {
        self.pingpong |= self.last_data.is_some_and(|t| now.since(t) < self.delayed_ack);
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
            self.now |= seg.len > 0;
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
        for &(s, e) in &self.gaps {
            assert!(s > last && s < e, "gaps {:?} after {}", self.gaps, self.rcv_nxt);
            last = e;
        }
        assert_eq!(self.held, self.gaps.iter().map(|g| g.1 - g.0).sum::<u64>(), "held");
    }

    /// A segment without data where one was due (a window probe): answer at once.
    pub fn handle_probe(&mut self) {
        self.pending = true;
        self.now = true;
    }

    /// Full segments may hold less than was agreed: a smaller path MTU, half a small window. Two
    /// alike in a row are believed, one larger at once (`tcp_measure_rcv_mss`).
    #[cold]
    fn measure_mss(&mut self, len: u32) {
        let n = (len as u64).min(self.full_mss);
        if n > self.mss || (len == self.last_len && len >= 536) {
            self.mss = n;
        }
    }

    /// Acknowledges at once `most` times, or fewer if the window is small.
    fn be_quick(&mut self, most: u32) {
        if self.linux {
            let n = (self.window / (2 * self.mss)).max(2) as u32;
            self.quick = self.quick.max(n.min(most));
            self.pingpong = false;
        } else {
            self.now = true;
        }
    }

    /// Quick ACKs at the start and after a pause longer than an RTO could explain.
    fn measure_interval(&mut self, now: Time, srtt: Option<Span>) {
        let paused = match self.last_data {
            None => true,
            Some(t) => now.since(t) > srtt.unwrap_or(Span::ZERO) + Span::from_millis(200),
        };
        if paused && self.linux {
            self.be_quick(MAX_QUICK);
        }
        self.last_data = Some(now);
    }

    /// `__tcp_ack_snd_check`: at once, compressed, or delayed.
    fn decide(&mut self, now: Time, srtt: Option<Span>) -> bool {
        if self.now || self.quick > 0 {
            return true;
        }
        if self.rcv_nxt - self.acked_to > self.mss {
            // The window must not shrink by what is still unread: else the reader acknowledges,
            // once it has run, and everything that came meanwhile.
            let unread = if self.linux && self.auto_read { self.unread } else { 0 };
            if self.select_window_with(unread) >= self.window {
                return true;
            }
            if self.auto_read {
                self.read_at.get_or_insert(now + READER_WAKES);
                return false;
            }
        }
        if self.gaps.is_empty() {
            if self.pushed && self.linux && self.auto_read && !self.pingpong {
                self.read_at.get_or_insert(now.max(self.unread_since + READER_WAKES));
                return false;
            }
            let due = if self.linux { expiry(now, self.delayed_ack) } else { now + self.delayed_ack };
            self.delayed_at.get_or_insert(due);
            return false;
        }
        if !self.linux || !self.sack || self.compressed >= MAX_COMPRESSED {
            return true;
        }
        if self.dup_acks_for != self.rcv_nxt {
            (self.dup_acks_for, self.dup_acks) = (self.rcv_nxt, 0);
        }
        if self.dup_acks < DUP_THRESHOLD {
            self.dup_acks += 1;
            return true;
        }
        self.compressed += 1;
        if self.compressed_at.is_none() {
            let rtt = match (self.rtt, srtt) {
                (Some(a), Some(b)) => a.min(b),
                (a, b) => a.or(b).unwrap_or(Span::ZERO),
            };
            self.compressed_at = Some(now + (rtt / 20).min(COMPRESS_DELAY) + COMPRESS_SLACK);
        }
        false
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
        if self.pending {
            self.quick = self.quick.saturating_sub(1);
        }
        (self.pending, self.now, self.pushed) = (false, false, false);
        self.delayed_at = None;
        self.compressed_at = None;
        self.read_at = None;
        self.compressed = 0;
        self.unread = 0;
        if self.sack && (self.recents > 0 || self.dsack.is_some()) {
            self.stamp_sacks(seg, room);
        }
    }
}

/// The timestamp clock: milliseconds, never 0.
#[inline]
pub fn timestamp(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000) as u32 + 1
}
