//! The receiving half: reassembly, SACK generation, when to acknowledge, and the receive window.
//!
//! Linux acknowledges at once the first 16 segments, whatever fills or opens a gap, duplicates, and
//! every segment that lets the window grow; else every second full segment, or after 40 ms. Beyond
//! three duplicate ACKs for one gap it compresses SACKs: one per min(1 ms, RTT / 20).
//! The window follows the application (dynamic right-sizing, `tcp_rcv_space_adjust`): twice what was
//! read in the last round trip, more while that grows.
//!
//! | here | Linux |
//! |---|---|
//! | buffer space is window / 0.6 once data flows | ratio measured per connection from skb sizes |
//! | the application's reads count at once; an ACK that waits for them waits 30 µs | a process wakes up, some 10 to 50 µs later |
//! | the RFC profile delays ACKs by RFC 1122 4.2.3.2 and never compresses | – |

use crate::config::{Limits, Profile};
use crate::segment::{SackBlock, Segment};
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
    mss: u64,
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
    dup_acks: u32,
    dup_acks_for: u64,
    // Window growth.
    buffer: u64,
    ratio: u64,
    ssthresh: u64,
    clamp: u64,
    rtt: Option<Span>,
    last_ecr: u32,
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
        let clamp = BUFFER_INITIAL.min(limits.receive_buffer) * RATIO_INITIAL / 256;
        let window = limits.receive_window.unwrap_or(clamp);
        Receiver {
            linux: limits.profile == Profile::Linux,
            sack: limits.sack,
            mss,
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
            dup_acks: 0,
            dup_acks_for: 0,
            buffer: BUFFER_INITIAL.min(limits.receive_buffer),
            ratio: RATIO_INITIAL,
            ssthresh: window,
            clamp,
            rtt: None,
            last_ecr: 0,
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

    /// Any segment, with data or not, may bring the timestamp to echo (RFC 7323 section 4.3).
    #[inline]
    pub fn note_timestamp(&mut self, seg: &Segment) {
        if seg.seq <= self.acked_to && seg.ts_val != 0 {
            self.ts_recent = self.ts_recent.max(seg.ts_val);
        }
    }

    /// Takes a data segment. True when an ACK must leave at once.
    /// `srtt` is the connection's own smoothed RTT, if its sending half has one.
    pub fn handle_data(&mut self, now: Time, seg: &Segment, srtt: Option<Span>) -> bool {
        let end = seg.seq + seg.len as u64;
        self.dsack = None;
        self.pending = true;
        if end <= self.rcv_nxt {
            // Already had: D-SACK (RFC 2883 section 4.1), acknowledged at once.
            self.dsack = Some((seg.seq, end));
            self.be_quick();
            return self.decide(now, srtt);
        }
        if seg.seq >= self.rcv_nxt + self.window_left() || end > self.rcv_nxt + self.window_left() + self.mss
        {
            self.be_quick(); // outside the window, a probe of a closed one
            self.now = true;
            return self.decide(now, srtt);
        }
        if seg.seq <= self.rcv_nxt {
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
        self.grow(seg.len as u64);
        self.decide(now, srtt)
    }

    /// A segment without data where one was due (a window probe): answer at once.
    pub fn handle_probe(&mut self) {
        self.pending = true;
        self.now = true;
    }

    /// Bytes the sender may still send beyond `rcv_nxt` by the last window told.
    fn window_left(&self) -> u64 {
        (self.acked_to + self.window).saturating_sub(self.rcv_nxt)
    }

    fn be_quick(&mut self) {
        if self.linux {
            let n = (self.window / (2 * self.mss)).max(2) as u32;
            self.quick = self.quick.max(n.min(MAX_QUICK));
        } else {
            self.now = true;
        }
    }

    /// Moves what has become in order out of the gaps.
    fn fill(&mut self) {
        let mut eaten = 0;
        for &(s, e) in &self.gaps {
            if s > self.rcv_nxt {
                break;
            }
            self.rcv_nxt = self.rcv_nxt.max(e);
            self.held -= e - s;
            eaten += 1;
        }
        if eaten > 0 {
            self.gaps.drain(..eaten);
            let (nxt, n) = (self.rcv_nxt, self.recents);
            let mut kept = 0;
            for i in 0..n {
                if self.recent[i].0 >= nxt {
                    self.recent[kept] = self.recent[i];
                    kept += 1;
                }
            }
            self.recents = kept;
        }
    }

    /// Adds an out-of-order range and moves its block to the front (RFC 2018 section 4).
    fn insert(&mut self, seq: u64, end: u64) {
        let at = self.gaps.partition_point(|&(_, e)| e < seq);
        let (mut s, mut e) = (seq, end);
        let mut until = at;
        while until < self.gaps.len() && self.gaps[until].0 <= end {
            let (gs, ge) = self.gaps[until];
            if gs <= seq && end <= ge {
                self.dsack = Some((seq, end)); // had all of it (RFC 2883 section 4.2)
                self.be_quick();
            }
            (s, e) = (s.min(gs), e.max(ge));
            self.held -= ge - gs;
            until += 1;
        }
        self.gaps.splice(at..until, [(s, e)]);
        self.held += e - s;
        let n = self.recents;
        let mut kept = [(s, e); 4];
        let mut count = 1;
        for &(bs, be) in &self.recent[..n] {
            if (be < s || bs > e) && count < 4 {
                kept[count] = (bs, be);
                count += 1;
            }
        }
        (self.recent, self.recents) = (kept, count);
    }

    /// The round trip from this end: how long until the peer echoed our timestamp.
    fn measure_rtt(&mut self, now: Time, seg: &Segment) {
        if seg.ts_ecr != 0 && seg.ts_ecr != self.last_ecr && seg.len as u64 >= self.mss {
            self.last_ecr = seg.ts_ecr;
            let ms = timestamp(now).wrapping_sub(seg.ts_ecr).max(1) as u64;
            let sample = Span::from_millis(ms);
            self.rtt = Some(match self.rtt {
                Some(old) => Span::from_nanos(old.as_nanos() - old.as_nanos() / 8 + sample.as_nanos() / 8),
                None => sample,
            });
        }
    }

    /// Quick ACKs at the start and after a pause longer than an RTO could explain.
    fn measure_interval(&mut self, now: Time, srtt: Option<Span>) {
        let paused = match self.last_data {
            None => true,
            Some(t) => now.since(t) > srtt.unwrap_or(Span::ZERO) + Span::from_millis(200),
        };
        if paused && self.linux {
            self.be_quick();
        }
        self.last_data = Some(now);
    }

    /// `tcp_grow_window`: the window may open by two segments for each one received.
    fn grow(&mut self, len: u64) {
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
    fn free(&self) -> u64 {
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
    fn right_size(&mut self, now: Time) {
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
    fn select_window(&self) -> u64 {
        self.select_window_with(0)
    }

    /// The same with `unread` bytes not yet read that otherwise count as read.
    fn select_window_with(&self, unread: u64) -> u64 {
        match self.fixed {
            Some(w) => w.saturating_sub(self.readable()),
            None => {
                let free = self.free().saturating_sub(unread).min(self.ssthresh);
                if free < self.mss { 0 } else { free }
            }
        }
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
            self.delayed_at.get_or_insert(now + self.delayed_ack);
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
    #[inline]
    pub fn stamp(&mut self, seg: &mut Segment) {
        let window = self.select_window().max(self.window_left());
        self.window = window;
        self.acked_to = self.rcv_nxt;
        seg.ack = self.rcv_nxt;
        seg.window = window as u32;
        seg.ts_ecr = self.ts_recent;
        if self.pending {
            self.quick = self.quick.saturating_sub(1);
        }
        (self.pending, self.now) = (false, false);
        self.delayed_at = None;
        self.compressed_at = None;
        self.read_at = None;
        self.compressed = 0;
        self.unread = 0;
        if self.sack && (self.recents > 0 || self.dsack.is_some()) {
            self.stamp_sacks(seg);
        }
    }

    fn stamp_sacks(&mut self, seg: &mut Segment) {
        let ack = self.rcv_nxt;
        let block = |(s, e): (u64, u64)| -> SackBlock {
            ((s as i64 - ack as i64) as i32, (e as i64 - ack as i64) as i32)
        };
        let most = if seg.ts_val != 0 { 3 } else { 4 };
        let mut n = 0;
        if let Some(d) = self.dsack.take() {
            seg.sack[n] = block(d);
            n += 1;
        }
        for &r in &self.recent[..self.recents] {
            if n == most {
                break;
            }
            seg.sack[n] = block(r);
            n += 1;
        }
        seg.sacks = n as u8;
    }
}

/// The timestamp clock: milliseconds, never 0.
#[inline]
pub fn timestamp(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000) as u32 + 1
}
