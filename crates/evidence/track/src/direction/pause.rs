//! Pauses: times in which the sender sent nothing, and what for.

use super::Direction;
use super::state::{LastWrite, ShutWindow, UnexplainedPause};
use crate::rtt::{RTO_INITIAL, RTO_MIN};
use crate::{LongWait, MOST_WAITS, PauseKind, WaitReason};
use capture::{TcpFlags, TcpPacket};
use std::num::NonZeroU64;
use units::{Span, Time};

/// What a sender takes to answer an ACK, at most.
const ANSWERS_WITHIN: Span = Span::from_millis(1);

/// Segments: a flight of fewer is small writes rather than a window that is full.
const LEAST_WINDOW: u32 = 4;

/// Shorter pauses a network makes within a flight.
const LEAST_WINDOW_WAIT: Span = Span::from_millis(2);

impl Direction {
    /// Whether the window has no room for another segment, as the sender sees it.
    #[inline]
    fn is_window_full(&mut self, now: Time) -> bool {
        self.window.is_known() && {
            let end = self.side.last_ack(now).and_then(|ack| ack.window_end);
            self.has_no_room(end)
        }
    }

    /// Whether a window that ends there has no room for another segment.
    #[inline]
    fn has_no_room(&self, end: Option<NonZeroU64>) -> bool {
        let next = self.stream.nxt + self.window.least_room(self.sizes.mss.unwrap_or(0));
        end.is_some_and(|end| next > end.get())
    }

    /// Whether data asks only if a window of zero has opened (RFC 9293 section 3.8.6.1): the first byte that it does not let
    /// out, or something that was sent before a receiver took its window back (`tcp_retransmit_timer`: "our retransmits
    /// become zero probes"). What SACK says is missing is sent again because of that.
    #[inline]
    pub(super) fn is_window_probe(&mut self, seq: u64, len: u32, now: Time) -> bool {
        self.window.field == Some(0) && self.probes_window(seq, len, now)
    }

    #[cold]
    fn probes_window(&mut self, seq: u64, len: u32, now: Time) -> bool {
        let Some(ack) = self.side.last_ack(now) else { return false };
        let shut = ack.window_end.is_some_and(|end| end.get() == ack.una);
        shut && seq == ack.una && self.board.sacked == 0 && (len == 1 || seq < self.stream.nxt)
    }

    /// The sender asks whether the window has opened; the byte that it sends for that ends at `end`.
    #[cold]
    pub(super) fn ask_for_window(&mut self, end: Option<u64>, now: Time) {
        self.counts.probes += 1;
        self.window.probe_end = end.and_then(NonZeroU64::new).or(self.window.probe_end);
        if let Some(idle) = self.pauses.idle_from.filter(|_| self.pauses.full_from.is_some()) {
            let full = self.pauses.full_from.map_or(idle, |full| full.max(idle));
            let from = self.pauses.shut.filter(|shut| shut.from >= idle).map_or(full, |shut| shut.from);
            self.pauses.shut = Some(ShutWindow { from, to: now, asked: true });
            self.times.asked = Some(now);
        }
    }

    /// After each packet: notes when the window has filled, or has room again.
    #[inline]
    pub fn watch_window(&mut self, now: Time) {
        self.watch_low(now);
        let full = self.is_window_full(now);
        if full == self.pauses.full_from.is_some() {
            return;
        }
        if full {
            self.pauses.full_from = Some(now);
        } else {
            self.end_full_window(now);
        }
    }

    /// The window was full until `now`, if it was full; it is not while nothing is outstanding.
    pub(super) fn end_full_window(&mut self, now: Time) {
        let Some(from) = self.pauses.full_from.take() else { return };
        let to = self.pauses.idle_from.map_or(now, |idle| now.min(idle));
        if from < to {
            self.bins.spread(from, to, PauseKind::WindowFull);
            self.pauses.explain(to);
        }
        if let Some(idle) = self.pauses.idle_from.filter(|idle| now > *idle) {
            let from = from.max(idle);
            let asked = self.pauses.shut.is_some_and(|shut| shut.asked && shut.to >= from);
            // The sender learns later that it opened; that may have been before all was acknowledged.
            let to = match self.window.opened.filter(|_| !self.has_no_room(self.window.end)) {
                Some(opened) => now.min(opened + self.side.rtt_or_zero()),
                None => now,
            };
            if to > from {
                self.pauses.shut = Some(ShutWindow { from, to, asked });
            }
        }
    }

    /// Data passes at `now`. If the window had been shut until just before, or the sender had asked for it, that was what it
    /// waited for.
    #[inline]
    pub(super) fn end_shut_window(&mut self, now: Time) {
        if self.pauses.full_from.is_some() || self.pauses.shut.is_some() {
            self.end_any_shut_window(now);
        }
    }

    #[inline(never)]
    fn end_any_shut_window(&mut self, now: Time) {
        if self.pauses.full_from.is_some() && self.pauses.idle_from.is_some_and(|idle| now > idle) {
            self.end_full_window(now);
        }
        let Some(shut) = self.pauses.shut.take() else { return };
        let at_once = shut.to + self.side.rtt_or_zero() + self.answer_time();
        if shut.asked || now - self.delay.or_zero() <= at_once {
            self.bins.spread(shut.from, shut.to, PauseKind::WindowShut);
            self.pauses.explain(shut.to);
            self.pauses.idle_from = self.pauses.idle_from.max(Some(shut.to));
        }
    }

    /// Data that reaches to `end` ends a pause, if there was one since `last`, the packet before.
    #[inline]
    pub(super) fn end_pause(
        &mut self,
        now: Time,
        (last, gap): (Time, Span),
        end: u64,
        timer: Option<WaitReason>,
    ) {
        if let Some(why) = timer {
            let sent = if gap == Span::MAX { last } else { now - gap };
            let since = sent.max(self.recovery.progress.unwrap_or(sent)).min(last);
            self.end_full_window(last);
            // The sender's timer runs from its last data, or from the last ACK of new data (RFC 6298 section 5); what else the
            // receiver sends meanwhile does not restart it. What a shut window explains already is not counted again.
            let from = self.pauses.unexplained_from(since);
            self.bins.spread(from, now, PauseKind::Timeout);
            self.waited(since, now, why);
            self.pauses.explain(now);
        } else if matches!(&self.pauses.unexplained, Some(pause) if pause.alone)
            && self.explain_by_silence(now)
        {
            // It was a timeout, and has been counted.
        } else if let Some(idle) = self.pauses.idle_from.filter(|idle| now > *idle) {
            self.end_full_window(now);
            let from = self.nothing_to_send_from(now, idle);
            if self.may_wait_for_acks(now, idle) {
                // Whether it did, nothing shows.
            } else if now.since(idle) >= self.rtt.estimate.timeout() / 2 {
                self.leave_unexplained(now, last, end, from);
            } else {
                self.bins.spread(from, now, PauseKind::Idle);
            }
            self.pauses.explain(now);
        } else if let Some(pause) = self.pauses.unexplained
            && self.is_long_after(&pause, now)
        {
            self.explain_as_idle();
        }
        self.pauses.idle_from = None;
        if !self.outstanding() {
            self.begin_idle(now);
        }
    }

    /// Whether a pause since `from` may be the time that ACKs took to the sender, where nothing had shown then how long that is: the
    /// last data was full segments that were not pushed, so more was at hand; or full ones, and the pause is no longer than a
    /// round trip, as the shortest of such pauses shows it.
    fn may_wait_for_acks(&mut self, now: Time, from: Time) -> bool {
        let wait = now.since(from);
        let before = self.app.before(now).filter(|before| before.full && self.pauses.rtt_unknown);
        let Some(before) = before.filter(|_| wait < RTO_INITIAL) else { return false };
        if before.more_follows() && wait >= LEAST_WINDOW_WAIT {
            let least = self.pauses.window_wait.map_or(wait, |least| least.min(wait));
            self.pauses.window_wait = Some(least);
        }
        self.pauses.window_wait.map_or(before.more_follows(), |least| wait <= least * 2)
    }

    /// All was acknowledged; the sender learns of it later.
    pub(super) fn begin_idle(&mut self, now: Time) {
        let up = self.side.rtt_or_zero();
        self.pauses.rtt_unknown = !self.side.rtt().is_known();
        self.pauses.idle_from = Some(now + up + up / 4);
    }

    /// Since when the sender had nothing to send whose new data passes at `now`, all being acknowledged since `idle`.
    /// That is since its last data, if it sent later than the last ACK would have let it, and pushed that data.
    fn nothing_to_send_from(&self, now: Time, idle: Time) -> Time {
        let late = now - self.delay.or_zero() > idle + self.answer_time();
        let new = self.app.last_new.is_some_and(|new| new.time == now);
        match self.app.new_before {
            Some(before) if late && new && before.pushed => self.pauses.unexplained_from(before.time),
            _ => idle,
        }
    }

    /// New data passes. Had the application written nothing since the last? It had not if that ended in a pushed packet
    /// that was not full although the window had room for more, or if the sender sent nothing although ACKs had let it
    /// for a while.
    #[inline]
    pub(super) fn watch_application(&mut self, p: &TcpPacket, now: Time) {
        let sent = now - self.delay.or_zero();
        if let Some(before) = self.app.last_write {
            let before = self.continued_at_once(before, p, sent);
            // A window of unknown scale may have had no room: for no longer than ACKs take, or the sender's timer.
            let answers =
                if self.window.is_known() { self.answer_time() } else { self.rtt.estimate.timeout() };
            let late = before.low_from.is_some_and(|from| sent > from + answers);
            let new_before = self.app.new_before.map(|new| new.time);
            let free = self.pauses.full_from.is_none() && self.pauses.explained_until <= new_before;
            if self.waited_for_ack(p, now, sent) {
                self.bins.spread(before.sent, sent, PauseKind::Held);
                self.counts.held += sent.since(before.sent);
                self.held.add(p.number);
            } else if before.ended || late && free && !self.may_wait_for_acks(now, before.sent) {
                self.bins.spread(before.sent, sent, PauseKind::AppLimited);
                let span = sent.since(before.sent);
                self.counts.app_limited += span;
                // No more than half of what was in flight is left.
                let drained = self.inflight(now).saturating_sub(p.len) <= before.low + before.low / 4;
                if drained && self.is_answer(p, now, sent) {
                    self.counts.app_limited_until_ack += span;
                }
            }
        }
        let ended = self.is_last_piece(p, now);
        self.app.last_write = Some(LastWrite { sent, ended, low: 0, low_from: None });
    }

    /// The last write, which `p` of the next one follows. A full segment that was `sent` at once behind a small one shows that
    /// the application had more at hand: the small segment is where two writes meet (a header and its body, a
    /// server's first buffer) and says nothing of what comes next.
    fn continued_at_once(&mut self, before: LastWrite, p: &TcpPacket, sent: Time) -> LastWrite {
        let at_once = sent <= before.sent + ANSWERS_WITHIN;
        if !before.ended || !at_once || !self.sizes.is_full(p.len) {
            return before;
        }
        self.counts.short = self.counts.short.saturating_sub(1);
        if let Some(new) = self.app.new_before {
            let bin = self.bins.at(new.time);
            bin.short = bin.short.saturating_sub(1);
        }
        LastWrite { ended: false, ..before }
    }

    /// Whether a small segment, `sent` then, was held back until all before it was acknowledged, and left as soon as that was
    /// (RFC 896, Nagle), which the receiver put off.
    #[inline]
    fn waited_for_ack(&mut self, p: &TcpPacket, now: Time, sent: Time) -> bool {
        self.acks.delayed && !self.sizes.is_full(p.len) && self.follows_ack_at_once(p, now, sent)
    }

    #[cold]
    fn follows_ack_at_once(&mut self, p: &TcpPacket, now: Time, sent: Time) -> bool {
        let Some(ack) = self.side.last_ack(now) else { return false };
        let at_once = ack.time + self.side.rtt_or_zero() + self.answer_time();
        ack.pure && ack.una + u64::from(p.len) == self.stream.nxt && sent <= at_once
    }

    /// Whether the application had no more at hand than this: a pushed packet that is not full. A sender that fills
    /// the window ends in such a packet too.
    #[inline]
    pub(super) fn is_last_piece(&mut self, p: &TcpPacket, now: Time) -> bool {
        p.flags.has(TcpFlags::PSH) && !self.sizes.is_full(p.len) && !self.may_window_be_full(now)
    }

    /// Whether the window may have had no room for another segment, as the sender saw it: by the last ACK that it certainly had. One with
    /// an unknown scale may have had none when as much was in flight as ever, and more than a few small writes make.
    #[cold]
    fn may_window_be_full(&mut self, now: Time) -> bool {
        if self.window.is_known() {
            let end = self.side.least_window_end(now);
            return self.has_no_room(end);
        }
        let (segment, most) = (self.sizes.or_one(), self.app.most);
        // Where no ACK is in the capture, nothing shows what is in flight.
        self.window.field.is_some()
            && most / segment >= LEAST_WINDOW
            && self.inflight(now).saturating_add(segment) > most
    }

    /// Whether full segments, `sent` then, followed an ACK at once, far sooner than that ACK the one before. (What
    /// Nagle's algorithm keeps for an ACK is less than a segment.)
    fn is_answer(&mut self, p: &TcpPacket, now: Time, sent: Time) -> bool {
        let Some(ack) = self.side.last_ack(now) else { return false };
        let waited = sent.since(ack.time + self.side.rtt_or_zero());
        ack.pure && waited * 4 < ack.gap() && self.sizes.is_full(p.len)
    }

    /// Notes when so much was acknowledged that no window is that small.
    #[inline]
    fn watch_low(&mut self, now: Time) {
        let Some(write) = self.app.last_write else { return };
        let watched = write.low_from.is_none() && write.low > self.sizes.or_one();
        if watched && self.inflight(now) < write.low {
            self.app.last_write = Some(LastWrite { low_from: Some(now), ..write });
        }
    }

    /// What a sender may take to answer an ACK, at most; a longer RTT is measured less exactly.
    fn answer_time(&self) -> Span {
        (self.rtt.estimate.or_zero() / 8).max(ANSWERS_WITHIN)
    }

    /// The data that passes ended a long pause. Whether that was idleness or a timeout, only what follows can show.
    #[cold]
    fn leave_unexplained(&mut self, now: Time, last: Time, end: u64, idle_from: Time) {
        self.explain_as_idle();
        let bytes = self.board.list.back().map_or(0, |s| s.len);
        self.pauses.unexplained = Some(UnexplainedPause {
            last,
            silent_from: self.pauses.unexplained_from(last),
            idle_from,
            to: now,
            end,
            segments: self.sizes.segments(bytes) as u64,
            bytes: bytes as u64,
            alone: self.sizes.mss == Some(bytes) && self.side.rtt_or_zero() > ANSWERS_WITHIN,
        });
    }

    /// Whether what follows a pause can no longer explain it.
    fn is_long_after(&self, pause: &UnexplainedPause, now: Time) -> bool {
        now.since(pause.to) > self.rtt.estimate.or_zero() * 4 + RTO_MIN
    }

    /// The pause was idleness, and the data after it new.
    #[cold]
    pub(super) fn explain_as_idle(&mut self) {
        if let Some(pause) = self.pauses.unexplained.take() {
            self.bins.spread(pause.idle_from, pause.to, PauseKind::Idle);
        }
    }

    /// The first data behind one full segment that ended a pause. If it came only once that segment can have been
    /// acknowledged, the sender had a window of one segment: it had run into a timeout.
    #[cold]
    fn explain_by_silence(&mut self, now: Time) -> bool {
        let Some(pause) = &mut self.pauses.unexplained else { return false };
        pause.alone = false;
        let pause = *pause;
        let (after, rtt) = (now.since(pause.to), &self.rtt.estimate);
        let waited = after > rtt.or_zero() / 2 && after < rtt.timeout() / 2;
        if waited {
            self.explain_as_timeout(pause);
        }
        waited
    }

    /// The sequence jumps to `seq` at `now`. If that follows data that came after a long pause, the sender had run into
    /// a timeout, and sends again what lies between.
    pub(super) fn explain_by_jump(&mut self, seq: u64, now: Time) {
        let Some(pause) = self.pauses.unexplained else { return };
        if self.stream.nxt > pause.end || self.is_long_after(&pause, now) {
            return;
        }
        // Of a timeout's one segment nothing is acknowledged yet: what was lost belongs to a window of new data.
        if now.since(pause.to) < self.rtt.estimate.or_zero() / 4 {
            return self.explain_as_idle();
        }
        self.explain_as_timeout(pause);
        self.recovery.timeout_until = Some(seq);
    }

    fn explain_as_timeout(&mut self, pause: UnexplainedPause) {
        self.pauses.unexplained = None;
        self.bins.spread(pause.silent_from, pause.to, PauseKind::Timeout);
        self.waited(pause.last, pause.to, WaitReason::Timeout);
        self.counts.timeouts += 1;
        self.counts.retransmitted_packets += pause.segments;
        self.counts.retransmitted_bytes += pause.bytes;
        self.counts.rto += pause.segments;
    }

    /// Nothing passed either way from `last` to `now` although data was outstanding; `timer`: a timer of the sender
    /// ended it; `shown`: what ended it shows by itself that packets were held or lost.
    #[inline]
    pub fn watch_silence(&mut self, last: Time, now: Time, timer: bool, shown: bool) {
        let silent = now.since(last);
        if silent <= RTO_MIN || timer || self.window.zero_since.is_some() {
            return;
        }
        // Without a bare ACK in the capture, nothing tells what had arrived.
        let long = silent > self.rtt.estimate.or_zero() * 4;
        if long && self.acks.bare {
            self.end_silence(false);
            self.end_full_window(last);
            self.pauses.silence = Some((last, now));
            self.pauses.explain(now);
            if shown {
                self.end_silence(true);
            }
        }
    }

    /// Whether an ACK that comes after a silence should have come before it: a receiver acknowledges every second full segment
    /// at once (RFC 5681 section 4.2). `were_out`: bytes outstanding before it.
    #[inline]
    pub fn was_held(&self, p: &TcpPacket, were_out: u64) -> bool {
        p.len == 0 && were_out >= 2 * u64::from(self.sizes.or_one()) && self.bytes_out() < were_out
    }

    /// Data passes at `now`, `again` what was sent before or should have been seen before. A silence with data outstanding
    /// in which a sender's timer does not expire (RFC 6298 section 5) was none to the sender, who had the ACK: it is the
    /// capture that did not.
    #[inline]
    pub(super) fn settle_silence(&mut self, again: bool, now: Time) {
        let Some((_, to)) = self.pauses.silence else { return };
        let late = now.since(to) > self.rtt.estimate.or_zero() * 4 + RTO_MIN;
        if again || late {
            self.end_silence(!late);
        }
    }

    /// The silence was the path's; or the sender had nothing to send.
    #[cold]
    pub(super) fn end_silence(&mut self, paths: bool) {
        let Some((from, to)) = self.pauses.silence.take() else { return };
        self.bins.spread(from, to, if paths { PauseKind::Silence } else { PauseKind::Idle });
        if paths {
            self.waited(from, to, WaitReason::Silence);
        }
    }

    pub(super) fn waited(&mut self, from: Time, to: Time, why: WaitReason) {
        if self.pauses.waits.len() < MOST_WAITS {
            self.pauses.waits.push(LongWait { from, to, why });
        }
    }
}
