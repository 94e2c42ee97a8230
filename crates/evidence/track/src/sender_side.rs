//! The part of the path between sender and capture: its RTT, and which ACKs the sender has.
//!
//! The RTT is taken from timestamps. An ACK with a new TSval passes; the first packet of data that echoes it shows
//! when the sender had it. A sender that had nothing to send, or was not allowed to, echoes late: by the pause before
//! that packet at most. So a sample bounds the RTT from both sides: it is not above the sample, and not below the
//! sample less the pause.

use crate::PackedSpan;
use crate::rtt::LONGEST_RTT;
use std::collections::VecDeque;
use std::iter;
use std::num::NonZeroU64;
use units::{Span, Time};

/// ACKs whose echo is waited for.
const MARKS: usize = 8;
/// Of so many samples a low one is in force: what a sender waits between ACK and packet is no path.
const RECENT: usize = 4;
/// What a sender may take to answer.
const BUSY: Span = Span::from_micros(300);
/// The ring of ACKs holds so many to an RTT.
const STEPS: u64 = 64;
/// Below this RTT the capture is at the sender.
const NEAR: Span = Span::from_micros(50);
/// When the sender had an ACK is known to a tick of its timestamps, mostly a millisecond ([`crate::timestamp_clock`]), and to a
/// step of the ring.
const TICK: Span = Span::from_millis(1);
/// So many ACKs are remembered that it had before the last: they are at least a step apart.
const HAD: usize = 8;
/// A timestamp is waited for at least this long.
const ECHO_WAIT: Span = Span::from_secs(1);

/// What an ACK lets the sender know.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckState {
    /// When it passed the capture.
    pub time: Time,
    /// Acknowledged cumulatively up to here.
    pub una: u64,
    /// Bytes sacked above it.
    pub sacked: u32,
    /// Where the receive window ends; `None` before any was announced.
    pub window_end: Option<NonZeroU64>,
    /// It came alone, without data of the receiver's.
    pub pure: bool,
    /// Since the ACK before, µs; [`SenderSide::acked`] fills it in.
    gap_us: u16,
}

impl AckState {
    /// An ACK that passes at `time`; the fields say what else.
    #[inline]
    pub fn new(time: Time, una: u64, sacked: u32, window_end: Option<NonZeroU64>, pure: bool) -> AckState {
        AckState { time, una, sacked, window_end, pure, gap_us: 0 }
    }

    /// Time since the ACK before, 65 ms at most.
    pub fn gap(&self) -> Span {
        Span::from_micros(self.gap_us.into())
    }
}

/// What is known of the sender's side of the path.
#[derive(Debug, Default)]
pub struct SenderSide {
    /// TSvals of ACKs and when they passed: a ring that begins at `first_mark`.
    marks: [(u32, Time); MARKS],
    first_mark: u8,
    marked: u8,
    last_tsval: Option<u32>,
    recent: [Span; RECENT],
    samples: u32,
    /// The RTT is at least this.
    least: Option<Span>,
    rtt: Option<Span>,
    /// The same, as segments keep it.
    packed: PackedSpan,
    /// ACKs that the sender does not have yet; the first is the last that it has.
    ring: VecDeque<AckState>,
    /// Those that it had before, the last at `last_had`: when they passed and where their windows ended.
    had: [(Time, Option<NonZeroU64>); HAD],
    last_had: u8,
}

impl SenderSide {
    /// The handshake gave an RTT.
    pub fn begin(&mut self, rtt: Span) {
        if self.samples == 0 {
            self.least = Some(rtt.min(LONGEST_RTT));
            self.set_rtt(self.least);
        }
    }

    /// Reads from each of its cache lines.
    #[inline]
    pub fn fetch(&self) -> u64 {
        let marks = self.marks[0].1.as_nanos() ^ self.marks[4].1.as_nanos() ^ self.marks[7].1.as_nanos();
        marks ^ self.recent[0].as_nanos() ^ self.ring.len() as u64
    }

    /// Reads where its list is read next.
    #[inline]
    pub fn fetch_list(&self) -> u64 {
        self.ring.front().map_or(0, |k| k.una)
    }

    /// Gives back what its list has in reserve.
    pub fn rest(&mut self) {
        self.ring.shrink_to_fit();
    }

    /// RTT between capture and sender in force.
    #[inline]
    pub fn rtt(&self) -> PackedSpan {
        self.packed
    }

    /// The same; zero where it is unknown, as if the capture were at the sender.
    #[inline]
    pub fn rtt_or_zero(&self) -> Span {
        self.rtt.unwrap_or(Span::ZERO)
    }

    /// An ACK with `tsval` passes.
    #[inline]
    pub fn mark(&mut self, now: Time, tsval: u32) {
        if self.last_tsval.is_some_and(|last| tsval.wrapping_sub(last) as i32 <= 0) {
            return;
        }
        self.last_tsval = Some(tsval);
        let full = self.marked as usize == MARKS;
        if full || self.marked > 0 {
            let last = self.marks[(self.first_mark as usize + self.marked as usize - 1) % MARKS].1;
            let rtt = self.rtt_or_zero();
            // Spread over the RTT, those noted stay until it is over.
            let old = full && now.since(self.marks[self.first_mark as usize].1) > (rtt * 4).max(ECHO_WAIT);
            if full && !old || now.since(last) < rtt / MARKS as u64 {
                return;
            }
            if old {
                self.drop_mark();
            }
        }
        let at = (self.first_mark as usize + self.marked as usize) % MARKS;
        self.marks[at] = (tsval, now);
        self.marked += 1;
    }

    /// No ACK seen so far is waited for any more.
    pub fn forget_marks(&mut self) {
        self.marked = 0;
    }

    #[inline]
    fn drop_mark(&mut self) {
        self.first_mark = (self.first_mark + 1) % MARKS as u8;
        self.marked -= 1;
    }

    /// Data that echoes `tsecr` passes, `gap` after the packet of data before it. `prompt`: no timer held it back.
    /// Returns an RTT between capture and sender.
    #[inline]
    pub fn echo(&mut self, now: Time, tsecr: u32, gap: Span, prompt: bool) -> Option<Span> {
        let mut sample = None;
        while self.marked > 0 {
            let (tsval, time) = self.marks[self.first_mark as usize];
            let ahead = tsecr.wrapping_sub(tsval) as i32;
            if ahead < 0 {
                break;
            }
            if ahead == 0 {
                sample = Some(now.since(time).min(LONGEST_RTT));
            }
            self.drop_mark();
        }
        let sample = sample.filter(|_| prompt)?;
        Some(self.sample(sample, gap))
    }

    /// Takes an RTT that is too long by `gap` at most; returns what it makes of it.
    #[inline]
    fn sample(&mut self, sample: Span, gap: Span) -> Span {
        // The sender may have had the ACK since its packet before.
        let sample = self.rtt.map_or(sample, |rtt| rtt.clamp(sample.saturating_sub(gap), sample));
        self.least = Some(self.least.map_or(sample, |least| least.min(sample)));
        self.recent[self.samples as usize % RECENT] = sample;
        self.samples = self.samples.wrapping_add(1).max(1);
        let [a, b, c, d] = self.recent;
        // The least; of four, the one above it.
        let low = match self.samples {
            1 => a,
            2 => a.min(b),
            3 => a.min(b).min(c),
            _ => a.min(b).max(c.min(d)).min(a.max(b)).min(c.max(d)),
        };
        // A sender takes its time to answer, and mostly the capture is taken at the sender.
        self.set_rtt(self.least.map(|least| if low <= least + BUSY { least } else { low }));
        sample
    }

    fn set_rtt(&mut self, rtt: Option<Span>) {
        (self.rtt, self.packed) = (rtt, rtt.into());
    }

    /// An ACK passes.
    #[inline]
    pub fn acked(&mut self, ack: AckState) {
        let up = self.rtt_or_zero();
        let near = up < NEAR;
        if near {
            self.ring.truncate(1);
        } else {
            self.trim(ack.time);
        }
        let since = ack.time.since(self.ring.back().map_or(ack.time, |last| last.time));
        let ack = AckState { gap_us: since.as_micros().min(u16::MAX as u64) as u16, ..ack };
        let several = self.ring.len() > 1;
        match self.ring.back_mut() {
            Some(only) if near => *only = ack,
            // The sender is thought to have it a little early, by a 64th of the RTT at most.
            Some(last) if several && since < up / STEPS => {
                *last = AckState { time: last.time, gap_us: last.gap_us, ..ack };
            }
            _ => self.ring.push_back(ack),
        }
    }

    #[inline]
    fn trim(&mut self, now: Time) {
        let had = now - self.rtt_or_zero();
        while self.ring.len() > 1 && (self.ring[1].time <= had || self.ring.len() > 4 * STEPS as usize) {
            let old = self.ring.pop_front();
            self.last_had = (self.last_had + 1) % HAD as u8;
            self.had[self.last_had as usize] =
                old.map_or_else(Default::default, |ack| (ack.time, ack.window_end));
        }
    }

    /// Where the window ended at least when the sender sent what passes now: by the ACK that it certainly had.
    #[cold]
    pub fn least_window_end(&mut self, now: Time) -> Option<NonZeroU64> {
        let last = self.last_ack(now)?;
        let up = self.rtt_or_zero();
        if up < NEAR {
            return last.window_end;
        }
        let had = now - up - TICK.max(up / STEPS);
        let before = (0..HAD).map(|back| self.had[(self.last_had as usize + HAD - back) % HAD]);
        let mut end = None;
        for (time, window_end) in iter::once((last.time, last.window_end)).chain(before) {
            if window_end.is_none() {
                break;
            }
            end = window_end;
            if time <= had {
                break;
            }
        }
        end
    }

    /// The last ACK that the sender had when it sent what passes now.
    #[inline]
    pub fn last_ack(&mut self, now: Time) -> Option<AckState> {
        if self.ring.len() > 1 {
            self.trim(now);
        }
        self.ring.front().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_millis(n)
    }

    /// The sender is 10 ms away, and answers each ACK, one of them 70 ms late.
    #[test]
    fn what_a_sender_waits_is_no_path() {
        let mut side = SenderSide::default();
        let mut last = Time::ZERO;
        for i in 0..20u64 {
            side.mark(ms(100 * i), i as u32);
            let echo = ms(100 * i + if i == 10 { 80 } else { 10 });
            let sample = side.echo(echo, i as u32, echo.since(last), true);
            assert!(sample.is_some(), "{i}");
            last = echo;
        }
        assert_eq!(side.rtt().get(), Some(Span::from_millis(10)));
    }

    #[test]
    fn of_acks_that_came_within_a_tick_the_sender_may_not_have_the_last() {
        let mut side = SenderSide::default();
        side.begin(Span::from_millis(10));
        let us = |n: u64| Time::ZERO + Span::from_micros(n);
        for i in 0..100u64 {
            side.acked(AckState::new(us(400 * i), i, 0, NonZeroU64::new(1000 + i), true));
        }
        let now = us(10_000 + 400 * 90);
        assert_eq!(side.last_ack(now).map(|a| a.una), Some(90));
        // The last that came a tick earlier, at 35 ms: after 87 × 0.4 ms.
        assert_eq!(side.least_window_end(now).map(NonZeroU64::get), Some(1087));
    }

    #[test]
    fn the_sender_has_an_ack_a_round_trip_after_it_was_seen() {
        let mut side = SenderSide::default();
        side.begin(Span::from_millis(10));
        for i in 0..5 {
            side.acked(AckState::new(ms(5 * i), i, 0, None, true));
        }
        assert_eq!(side.last_ack(ms(21)).map(|a| a.una), Some(2));
        assert_eq!(side.last_ack(ms(40)).map(|a| (a.una, a.gap())), Some((4, Span::from_millis(5))));
    }
}
