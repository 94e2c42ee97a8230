//! Pauses: times in which the sender sent nothing, and what for.

use crate::bins::PauseKind;
use crate::direction::{Direction, RTO_MIN};
use crate::{LongWait, WaitReason};
use capture::{TcpFlags, TcpPacket};
use units::Time;

/// What a sender takes to answer an ACK, at most, nanoseconds.
const LATE: u64 = 1_000_000;

/// Of what was in flight, what every sender's window has left after a loss.
const LOW: f32 = 0.4;

/// What the sender sent last of the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// When, as far as its clock tells.
    sent: u64,
    /// The application had written no more.
    ended: bool,
    /// So little of what was in flight then every sender's window has left after a loss, bytes.
    low: u32,
    /// Since when far less is; `u64::MAX`: it is not.
    low_from: u64,
}

impl Default for Written {
    fn default() -> Written {
        Written { sent: 0, ended: false, low: 0, low_from: u64::MAX }
    }
}

/// Data after a long pause: new, or, if a jump follows, sent again after a timeout and the first time lost before
/// the capture.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnexplainedPause {
    /// Last packet before the pause, beginnings of what of it is not told yet and of idleness, its end.
    last: u64,
    silent: u64,
    idle: u64,
    to: u64,
    /// End of the data.
    end: u64,
    segments: u64,
    bytes: u64,
    /// It is one full segment, seen at a distance from the sender.
    alone: bool,
}

impl Written {
    /// So many bytes are in flight with it.
    #[inline]
    pub fn with(&mut self, inflight: u32) {
        self.low = (inflight as f32 * LOW) as u32;
    }
}

impl Direction {
    /// Whether the window has no room for another segment, as the sender sees it.
    #[inline]
    fn is_full(&mut self, now: u64) -> bool {
        if self.scale.is_none() && self.window != 0 {
            return false;
        }
        let edge = self.up.known(now).map_or(u64::MAX, |k| k.edge);
        self.nxt.saturating_add(self.mss as u64) > edge
    }

    /// After each packet: notes when the window has filled, or has room again.
    #[inline]
    pub fn watch_window(&mut self, now: u64) {
        self.watch_low(now);
        let full = self.is_full(now);
        if full == (self.full_from != u64::MAX) {
            return;
        }
        if full {
            self.full_from = now;
        } else {
            self.end_full(now);
        }
    }

    pub(super) fn end_full(&mut self, now: u64) {
        let from = std::mem::replace(&mut self.full_from, u64::MAX);
        let to = now.min(self.quiet_from);
        if from < to {
            self.bins.spread(from, to, PauseKind::WindowFull);
            self.spoken_for = self.spoken_for.max(to);
        }
    }

    /// Data ends a pause.
    #[inline]
    pub(super) fn end_pause(&mut self, now: u64, last: u64, end: u64, timer: Option<WaitReason>) {
        if let Some(why) = timer {
            self.end_full(last);
            self.bins.spread(last.max(self.bins_from()), now, PauseKind::Timeout);
            self.wait(last, now, why);
            self.spoken_for = now;
        } else if self.doubt.is_some_and(|d| d.alone) && self.was_alone(now) {
            // A timeout, as is counted now.
        } else if now > self.quiet_from {
            self.end_full(now);
            let from = self.nothing_from(now);
            if now - self.quiet_from >= self.rtt.timeout() / 2 {
                self.doubt(now, last, end, from);
            } else {
                self.bins.spread(from, now, PauseKind::Idle);
            }
            self.spoken_for = now;
        } else if let Some(doubt) = self.doubt
            && now - doubt.to > 4 * self.rtt.rtt + RTO_MIN
        {
            self.end_doubt();
        }
        self.quiet_from = u64::MAX;
        if self.una >= self.nxt {
            self.begin_quiet(now);
        }
    }

    /// Whether what is in doubt had to be acknowledged before anything else was sent, as in the window of a sender that
    /// ran into a timeout; the first data behind it tells.
    #[cold]
    fn was_alone(&mut self, now: u64) -> bool {
        let Some(doubt) = &mut self.doubt else { return false };
        doubt.alone = false;
        let (doubt, after) = (*doubt, now.saturating_sub(doubt.to));
        let alone = after > self.rtt.rtt / 2 && after < self.rtt.timeout() / 2;
        if alone {
            self.timed_out(doubt);
        }
        alone
    }

    /// Since when the sender had nothing to send whose new data passes at `now`: since its last, where it sent later
    /// than the last ACK would have let it, and said that there was no more.
    fn nothing_from(&self, now: u64) -> u64 {
        let waited = if self.delay == u32::MAX { 0 } else { self.delay as u64 * 1000 };
        let late = now.saturating_sub(waited) > self.quiet_from + (self.rtt.rtt / 8).max(LATE);
        let early = late && self.last_new == now && self.had_pushed;
        if early { self.had_sent.max(self.spoken_for) } else { self.quiet_from }
    }

    /// New data passes: was it the application that had written nothing since the last? It was if that ended in a
    /// pushed packet that was not full although the window had room for more, or if the sender sent nothing although
    /// ACKs had let it for a while.
    #[inline]
    pub(super) fn watch_written(&mut self, p: &TcpPacket, now: u64) {
        let waited = if self.delay == u32::MAX { 0 } else { self.delay as u64 * 1000 };
        let sent = now.saturating_sub(waited);
        let before = self.written;
        let late = before.low_from != u64::MAX && sent > before.low_from.saturating_add(self.slack());
        let free = self.full_from == u64::MAX && self.spoken_for <= self.had_sent;
        if before.ended || late && free {
            self.bins.spread(before.sent, sent, PauseKind::Ended);
            let span = sent.saturating_sub(before.sent);
            self.counts.ended += span;
            // No more than half of what was in flight is left.
            let drained = self.inflight(now).saturating_sub(p.len) <= before.low + before.low / 4;
            if drained && self.is_answer(p, now, sent) {
                self.counts.ended_by_ack += span;
            }
        }
        let ended = self.is_piece(p, now);
        self.written = Written { sent, ended, low: 0, low_from: u64::MAX };
    }

    /// Whether the application had no more at hand than this. Who fills the window ends in a piece too.
    #[inline]
    pub(super) fn is_piece(&mut self, p: &TcpPacket, now: u64) -> bool {
        p.flags.has(TcpFlags::PSH) && p.len % self.mss.max(1) != 0 && !self.is_full(now)
    }

    /// A full segment `sent` followed an ACK at once, far sooner than that the one before. (What Nagle's algorithm
    /// keeps for an ACK is less.)
    fn is_answer(&mut self, p: &TcpPacket, now: u64, sent: u64) -> bool {
        let Some(k) = self.up.known(now) else { return false };
        let waited = sent.saturating_sub(k.time + self.up.rtt());
        k.pure && 4 * waited < k.gap as u64 * 1000 && p.len.is_multiple_of(self.mss.max(1))
    }

    /// Notes when so much was acknowledged that no window is that small.
    #[inline]
    fn watch_low(&mut self, now: u64) {
        let low = self.written.low;
        if low > self.mss && self.written.low_from == u64::MAX && self.inflight(now) < low {
            self.written.low_from = now;
        }
    }

    /// What a sender may take to answer, as the capture can tell.
    fn slack(&self) -> u64 {
        (self.rtt.rtt / 8).max(LATE)
    }

    #[cold]
    fn doubt(&mut self, now: u64, last: u64, end: u64, idle: u64) {
        self.end_doubt();
        let bytes = self.board.list.back().map_or(0, |s| s.len);
        let segments = self.segments(bytes) as u64;
        let alone = bytes == self.mss && self.up.rtt() > LATE;
        let silent = last.max(self.spoken_for);
        self.doubt =
            Some(UnexplainedPause { last, silent, idle, to: now, end, segments, bytes: bytes as u64, alone });
    }

    /// It was new data after idleness.
    #[cold]
    pub(super) fn end_doubt(&mut self) {
        if let Some(doubt) = self.doubt.take() {
            self.bins.spread(doubt.idle, doubt.to, PauseKind::Idle);
        }
    }

    /// A jump of the sequence to `seq` at `now`: if it follows data that came after a long pause, the sender had
    /// run into a timeout, and sends again what lies between.
    pub(super) fn resolve_doubt(&mut self, seq: u64, now: u64) {
        let Some(doubt) = self.doubt else { return };
        if self.nxt > doubt.end || now - doubt.to > 4 * self.rtt.rtt + RTO_MIN {
            return;
        }
        // Of a timeout's one segment nothing is acknowledged yet: what was lost belongs to a window of new data.
        if now - doubt.to < self.rtt.rtt / 4 {
            return self.end_doubt();
        }
        self.timed_out(doubt);
        self.loss = seq;
    }

    fn timed_out(&mut self, doubt: UnexplainedPause) {
        self.doubt = None;
        self.bins.spread(doubt.silent, doubt.to, PauseKind::Timeout);
        self.wait(doubt.last, doubt.to, WaitReason::Timeout);
        self.counts.timeouts += 1;
        self.counts.retransmitted_packets += doubt.segments;
        self.counts.retransmitted_bytes += doubt.bytes;
        self.counts.rto += doubt.segments;
    }

    fn bins_from(&self) -> u64 {
        self.first_data.unwrap_or(0)
    }

    /// All was acknowledged; the sender learns of it later.
    pub(super) fn begin_quiet(&mut self, now: u64) {
        let up = self.up.rtt();
        self.quiet_from = now + up + up / 4;
    }

    /// Nothing passed either way from `last` to `now` although data was outstanding.
    #[inline]
    pub fn watch_silence(&mut self, last: u64, now: u64, timer: bool) {
        let silent = now.saturating_sub(last);
        if silent <= RTO_MIN || timer || self.zero_since.is_some() {
            return;
        }
        if silent > 4 * self.rtt.rtt && self.first_data.is_some() {
            self.end_full(last);
            self.bins.spread(last, now, PauseKind::Silence);
            self.wait(last, now, WaitReason::Silence);
            self.spoken_for = now;
        }
    }

    pub(super) fn wait(&mut self, from: u64, to: u64, why: WaitReason) {
        if self.waits.len() < crate::MOST_WAITS {
            self.waits.push(LongWait { from: Time::from_nanos(from), to: Time::from_nanos(to), why });
        }
    }
}
