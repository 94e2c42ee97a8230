//! Pauses: times in which the sender sent nothing, and their reasons.

use super::Direction;
use super::state::{LastWrite, ShutWindow, UnexplainedPause};
use crate::rtt::{RTO_INITIAL, RTO_MIN};
use crate::{LongWait, MAX_WAITS, PauseKind, WaitReason};
use capture::{TcpFlags, TcpPacket};
use std::num::NonZeroU64;
use units::{Span, Time};

/// Maximum time that a sender takes to answer an ACK.
const MAX_ANSWER_TIME: Span = Span::from_millis(1);

/// Segments. A smaller flight consists of small writes rather than a full window.
const MIN_WINDOW_SEGMENTS: u32 = 4;

/// The network causes shorter pauses within a flight.
const MIN_WINDOW_WAIT: Span = Span::from_millis(2);

impl Direction {
    /// Returns whether the window has no room for another segment, as the sender sees it.
    #[inline]
    fn is_window_full(&mut self, now: Time) -> bool {
        self.window.is_known() && {
            let end = self.side.last_ack(now).window_end;
            self.has_no_room(end)
        }
    }

    /// Returns whether a window that ends at `end` has no room for another segment.
    #[inline]
    fn has_no_room(&self, end: Option<NonZeroU64>) -> bool {
        let next = self.stream.nxt + self.window.least_room(self.sizes.mss.unwrap_or(0));
        end.is_some_and(|end| next > end.get())
    }

    /// Returns whether data only probes a window of zero (RFC 9293 section 3.8.6.1): the first byte beyond
    /// the window, or data sent before a receiver shrank its window (`tcp_retransmit_timer`: "our retransmits
    /// become zero probes"). If SACK shows missing data, it is retransmitted for that reason.
    #[inline]
    pub(super) fn is_window_probe(&mut self, seq: u64, len: u32, now: Time) -> bool {
        self.window.field == Some(0) && self.probes_window(seq, len, now)
    }

    #[cold]
    fn probes_window(&mut self, seq: u64, len: u32, now: Time) -> bool {
        let ack = self.side.last_ack(now);
        let shut = ack.window_end.is_some_and(|end| end.get() == ack.una);
        shut && seq == ack.una && self.scoreboard.sacked == 0 && (len == 1 || seq < self.stream.nxt)
    }

    /// Notes a window probe; the byte that it sends ends at `end`.
    #[cold]
    pub(super) fn note_window_probe(&mut self, end: Option<u64>, now: Time) {
        self.counts.probes += 1;
        self.window.probe_end = end.and_then(NonZeroU64::new).or(self.window.probe_end);
        if let Some(idle) = self.pauses.idle_from.filter(|_| self.pauses.full_from.is_some()) {
            let full = self.pauses.full_from.map_or(idle, |full| full.max(idle));
            let from = self.pauses.shut.filter(|shut| shut.from >= idle).map_or(full, |shut| shut.from);
            self.pauses.shut = Some(ShutWindow { from, to: now, probed: true });
            self.times.last_window_probe = Some(now);
        }
    }

    /// Notes, after each packet, whether the window has filled or has room again.
    #[inline]
    pub fn watch_window(&mut self, now: Time) {
        self.check_lowest_window(now);
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

    /// Ends the time in which the window was full, if it was. It is not full while nothing is outstanding.
    pub(super) fn end_full_window(&mut self, now: Time) {
        let Some(from) = self.pauses.full_from.take() else { return };
        let to = self.pauses.idle_from.map_or(now, |idle| now.min(idle));
        if from < to {
            self.bins.spread(from, to, PauseKind::WindowFull);
            self.pauses.explain(to);
        }
        if let Some(idle) = self.pauses.idle_from.filter(|idle| now > *idle) {
            let from = from.max(idle);
            let probed = self.pauses.shut.is_some_and(|shut| shut.probed && shut.to >= from);
            // The sender learns later that the window opened; that may have been before everything was
            // acknowledged.
            let to = match self.window.opened.filter(|_| !self.has_no_room(self.window.end)) {
                Some(opened) => now.min(opened + self.side.rtt_or_zero()),
                None => now,
            };
            if to > from {
                self.pauses.shut = Some(ShutWindow { from, to, probed });
            }
        }
    }

    /// Ends, when data passes at `now`, the wait for a shut window. It was the reason for the pause if it
    /// lasted until just before, or if the sender had probed the window.
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
        if shut.probed || now - self.delay.or_zero() <= at_once {
            self.bins.spread(shut.from, shut.to, PauseKind::WindowShut);
            self.pauses.explain(shut.to);
            self.pauses.idle_from = self.pauses.idle_from.max(Some(shut.to));
        }
    }

    /// Ends a pause since `last`, the previous packet, when data up to `end` passes.
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
            // The sender's timer runs from its last data, or from the last ACK of new data (RFC 6298 section
            // 5); nothing else from the receiver restarts it. Time that a shut window already explains is not
            // counted again.
            let from = self.pauses.unexplained_from(since);
            self.bins.spread(from, now, PauseKind::Timeout);
            self.waited(since, now, why);
            self.pauses.explain(now);
        } else if matches!(&self.pauses.unexplained, Some(pause) if pause.alone)
            && self.explain_by_silence(now)
        {
            // It was a timeout and has been counted.
        } else if let Some(idle) = self.pauses.idle_from.filter(|idle| now > *idle) {
            self.end_full_window(now);
            let from = self.nothing_to_send_from(now, idle);
            if self.may_have_waited_for_acks(now, idle) {
                // Nothing shows whether the application was idle.
            } else if now.since(idle) >= self.rtt.estimate.timeout() / 2 {
                self.note_unexplained_pause(now, last, end, from);
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

    /// Returns whether a pause since `from` may be the time that ACKs took to the sender, while that time is
    /// unknown. Either the last data consisted of full segments without PSH, so the sender had more; or it
    /// consisted of full segments, and the pause is no longer than a round trip, judged by the shortest such
    /// pause.
    fn may_have_waited_for_acks(&mut self, now: Time, from: Time) -> bool {
        let wait = now.since(from);
        let before = self.app.before(now).filter(|before| before.full && self.pauses.rtt_unknown);
        let Some(before) = before.filter(|_| wait < RTO_INITIAL) else { return false };
        if before.more_follows() && wait >= MIN_WINDOW_WAIT {
            let least = self.pauses.window_wait.map_or(wait, |least| least.min(wait));
            self.pauses.window_wait = Some(least);
        }
        self.pauses.window_wait.map_or(before.more_follows(), |least| wait <= least * 2)
    }

    /// Notes that everything was acknowledged; the sender learns of it later.
    pub(super) fn begin_idle(&mut self, now: Time) {
        let up = self.side.rtt_or_zero();
        self.pauses.rtt_unknown = !self.side.rtt().is_known();
        self.pauses.idle_from = Some(now + up + up / 4);
    }

    /// Returns since when the sender had nothing to send, when new data passes at `now` and everything was
    /// acknowledged since `idle`. That is since its last data, if it sent later than the last ACK would have
    /// permitted and that data had PSH set.
    fn nothing_to_send_from(&self, now: Time, idle: Time) -> Time {
        let late = now - self.delay.or_zero() > idle + self.answer_time();
        let new = self.app.last_new.is_some_and(|new| new.time == now);
        match self.app.new_before {
            Some(before) if late && new && before.pushed => self.pauses.unexplained_from(before.time),
            _ => idle,
        }
    }

    /// Notes, when new data passes, whether the application had written nothing since the previous data. That
    /// is so if the previous data ended in a packet with PSH that was not full although the window had room,
    /// or if the sender sent nothing for a while although ACKs permitted it.
    #[inline]
    pub(super) fn watch_application(&mut self, p: &TcpPacket, now: Time) {
        let sent = now - self.delay.or_zero();
        if let Some(before) = self.app.last_write {
            let before = self.continued_at_once(before, p, sent);
            // A window of unknown scale may have had no room, but for no longer than ACKs or the sender's
            // timer take.
            let answers =
                if self.window.is_known() { self.answer_time() } else { self.rtt.estimate.timeout() };
            let late = before.low_from.is_some_and(|from| sent > from + answers);
            let new_before = self.app.new_before.map(|new| new.time);
            let free = self.pauses.full_from.is_none() && self.pauses.explained_until <= new_before;
            if self.waited_for_ack(p, now, sent) {
                self.bins.spread(before.sent, sent, PauseKind::Held);
                self.counts.held += sent.since(before.sent);
                self.held.add(p.number);
            } else if before.ended || late && free && !self.may_have_waited_for_acks(now, before.sent) {
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

    /// Corrects the last write, which `p` of the next one follows. A full segment that was `sent` immediately
    /// after a small one shows that the application had written more: the small segment is the boundary
    /// between two writes (a header and its body, a server's first buffer) and says nothing about what
    /// follows.
    fn continued_at_once(&mut self, before: LastWrite, p: &TcpPacket, sent: Time) -> LastWrite {
        let at_once = sent <= before.sent + MAX_ANSWER_TIME;
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

    /// Returns whether a small segment, `sent` at that time, was held back until everything before it was
    /// acknowledged (RFC 896, Nagle) while the receiver delayed that ACK.
    #[inline]
    fn waited_for_ack(&mut self, p: &TcpPacket, now: Time, sent: Time) -> bool {
        self.acks.delayed && !self.sizes.is_full(p.len) && self.follows_ack_at_once(p, now, sent)
    }

    #[cold]
    fn follows_ack_at_once(&mut self, p: &TcpPacket, now: Time, sent: Time) -> bool {
        let ack = *self.side.last_ack(now);
        let at_once = ack.time + self.side.rtt_or_zero() + self.answer_time();
        ack.pure && ack.una + u64::from(p.len) == self.stream.nxt && sent <= at_once
    }

    /// Returns whether the application had written no more than this: a packet with PSH that is not full. A
    /// sender that fills the window also ends in such a packet.
    #[inline]
    pub(super) fn is_last_piece(&mut self, p: &TcpPacket, now: Time) -> bool {
        p.flags.has(TcpFlags::PSH) && !self.sizes.is_full(p.len) && !self.may_window_be_full(now)
    }

    /// Returns whether the window may have had no room for another segment as the sender saw it, by the last
    /// ACK that it certainly had. A window of unknown scale may have had none if the flight was as large as
    /// ever and larger than a few small writes.
    #[cold]
    fn may_window_be_full(&mut self, now: Time) -> bool {
        if self.window.is_known() {
            let end = self.side.least_window_end(now);
            return self.has_no_room(end);
        }
        let (segment, most) = (self.sizes.bytes_or_one(), self.app.most);
        // Without ACKs in the capture nothing shows what is in flight.
        self.window.field.is_some()
            && most / segment >= MIN_WINDOW_SEGMENTS
            && self.inflight(now).saturating_add(segment) > most
    }

    /// Returns whether full segments, `sent` at that time, followed an ACK immediately, far sooner than that
    /// ACK followed the previous one. (What Nagle's algorithm holds back is less than a segment.)
    fn is_answer(&mut self, p: &TcpPacket, now: Time, sent: Time) -> bool {
        let ack = *self.side.last_ack(now);
        let waited = sent.since(ack.time + self.side.rtt_or_zero());
        ack.pure && waited * 4 < ack.gap() && self.sizes.is_full(p.len)
    }

    /// Notes the time from which less is in flight than any window of the sender permits.
    #[inline]
    fn check_lowest_window(&mut self, now: Time) {
        let Some(write) = self.app.last_write else { return };
        let watched = write.low_from.is_none() && write.low > self.sizes.bytes_or_one();
        if watched && self.inflight(now) < write.low {
            self.app.last_write = Some(LastWrite { low_from: Some(now), ..write });
        }
    }

    /// Maximum time that a sender takes to answer an ACK; with a long RTT it is measured less exactly.
    fn answer_time(&self) -> Span {
        (self.rtt.estimate.or_zero() / 8).max(MAX_ANSWER_TIME)
    }

    /// Notes that data ended a long pause. Only what follows can show whether it was idleness or a timeout.
    #[cold]
    fn note_unexplained_pause(&mut self, now: Time, last: Time, end: u64, idle_from: Time) {
        self.explain_as_idle();
        let bytes = self.scoreboard.list.back().map_or(0, |s| s.len);
        self.pauses.unexplained = Some(UnexplainedPause {
            last,
            silent_from: self.pauses.unexplained_from(last),
            idle_from,
            to: now,
            end,
            segments: self.sizes.segments(bytes) as u64,
            bytes: bytes as u64,
            alone: self.sizes.mss == Some(bytes) && self.side.rtt_or_zero() > MAX_ANSWER_TIME,
        });
    }

    /// Returns whether it is too late for anything to explain the pause.
    fn is_long_after(&self, pause: &UnexplainedPause, now: Time) -> bool {
        now.since(pause.to) > self.rtt.estimate.or_zero() * 4 + RTO_MIN
    }

    /// Decides that the pause was idleness and the data after it new.
    #[cold]
    pub(super) fn explain_as_idle(&mut self) {
        if let Some(pause) = self.pauses.unexplained.take() {
            self.bins.spread(pause.idle_from, pause.to, PauseKind::Idle);
        }
    }

    /// Processes the first data after one full segment that ended a pause. If it came only when that segment
    /// can have been acknowledged, the sender had a window of one segment: the pause was a timeout.
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

    /// Processes a jump of the sequence to `seq` at `now`. If it follows data that came after a long pause,
    /// the pause was a timeout, and the sender retransmits what lies between.
    pub(super) fn explain_by_jump(&mut self, seq: u64, now: Time) {
        let Some(pause) = self.pauses.unexplained else { return };
        if self.stream.nxt > pause.end || self.is_long_after(&pause, now) {
            return;
        }
        // Nothing of the timeout's single segment is acknowledged yet, so the loss belongs to a window of new
        // data.
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

    /// Notes that nothing passed in either direction from `last` to `now` (more than [`RTO_MIN`]) although
    /// data was outstanding. `timer`: a timer of the sender ended it. `shown`: what ended it shows by itself
    /// that packets were held or lost.
    pub fn watch_silence(&mut self, last: Time, now: Time, timer: bool, shown: bool) {
        let silent = now.since(last);
        if timer || self.window.zero_since.is_some() {
            return;
        }
        // Without a payload-less ACK in the capture nothing shows what had arrived.
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

    /// Returns whether an ACK after a silence should have come before it: a receiver acknowledges every
    /// second full segment immediately (RFC 5681 section 4.2). `were_out`: bytes outstanding before the ACK.
    pub fn is_overdue_ack(&self, p: &TcpPacket, were_out: u64) -> bool {
        p.len == 0 && were_out >= 2 * u64::from(self.sizes.bytes_or_one()) && self.bytes_out() < were_out
    }

    /// Decides, when data passes at `now`, about a silence; `again`: the data was sent before or should have
    /// been seen before. If data was outstanding and no timer of the sender expired (RFC 6298 section 5),
    /// there was no silence for the sender: it had the ACK, and only the capture lacked it.
    #[inline]
    pub(super) fn settle_silence(&mut self, again: bool, now: Time) {
        let Some((_, to)) = self.pauses.silence else { return };
        let late = now.since(to) > self.rtt.estimate.or_zero() * 4 + RTO_MIN;
        if again || late {
            self.end_silence(!late);
        }
    }

    /// Ends a silence: it was the path's, or the sender had nothing to send.
    #[cold]
    pub(super) fn end_silence(&mut self, by_path: bool) {
        let Some((from, to)) = self.pauses.silence.take() else { return };
        self.bins.spread(from, to, if by_path { PauseKind::Silence } else { PauseKind::Idle });
        if by_path {
            self.waited(from, to, WaitReason::Silence);
        }
    }

    pub(super) fn waited(&mut self, from: Time, to: Time, why: WaitReason) {
        if self.pauses.waits.len() < MAX_WAITS {
            self.pauses.waits.push(LongWait { from, to, why });
        }
    }
}
