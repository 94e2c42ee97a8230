//! The part of the path between sender and capture: its RTT, and which ACKs the sender has received.
//!
//! The RTT is measured by timestamps. An ACK with a new TSval passes; the first data packet that echoes it
//! shows when the sender had it. A sender that had nothing to send, or was not permitted to send, echoes
//! late, by at most the pause before that packet. So the RTT lies between the sample minus the pause and the
//! sample.

use crate::PackedSpan;
use crate::rtt::MAX_RTT;
use std::collections::VecDeque;
use std::iter;
use std::num::NonZeroU64;
use units::{Span, Time};

/// Number of ACKs whose echo is awaited.
const MAX_AWAITED_ECHOES: usize = 8;
/// A low one of this many samples is used: the time that a sender waits between ACK and packet is not path
/// delay.
const RECENT_SAMPLES: usize = 4;
/// The time that a sender may take to answer.
const HOST_DELAY: Span = Span::from_micros(300);
/// Number of ACKs per RTT that the ring keeps.
const STEPS_PER_RTT: u64 = 64;
/// Below this RTT the capture counts as taken at the sender.
const AT_SENDER: Span = Span::from_micros(50);
/// When the sender received an ACK is known to within a tick of its timestamps, mostly a millisecond
/// ([`crate::timestamp_clock`]), and a step of the ring.
const TICK: Span = Span::from_millis(1);
/// Number of earlier ACKs remembered that the sender had before the last one; they are at least a step apart.
const MAX_EARLIER_ACKS: usize = 8;
/// An echo is awaited for at least this long.
const ECHO_WAIT: Span = Span::from_secs(1);

/// The sender's state after an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckState {
    /// When the ACK passed the capture.
    pub time: Time,
    /// Cumulatively acknowledged up to here.
    pub una: u64,
    /// SACKed bytes above it.
    pub sacked: u32,
    /// End of the receive window; `None` before any was announced.
    pub window_end: Option<NonZeroU64>,
    /// The ACK carries no data of the receiver.
    pub pure: bool,
    /// Time since the previous ACK, µs; set by [`SenderSide::acked`].
    gap_us: u16,
}

impl AckState {
    /// An ACK that passes the capture at `time`.
    #[inline]
    pub fn new(time: Time, una: u64, sacked: u32, window_end: Option<NonZeroU64>, pure: bool) -> AckState {
        AckState { time, una, sacked, window_end, pure, gap_us: 0 }
    }

    /// Time since the previous ACK, at most 65 ms.
    pub fn gap(&self) -> Span {
        Span::from_micros(self.gap_us.into())
    }
}

/// State of the path between sender and capture.
#[derive(Debug)]
pub struct SenderSide {
    /// TSvals of ACKs and when they passed: a ring that begins at `first_mark`.
    marks: [(u32, Time); MAX_AWAITED_ECHOES],
    first_mark: u8,
    marked: u8,
    last_tsval: Option<u32>,
    recent: [Span; RECENT_SAMPLES],
    samples: u32,
    /// The minimum RTT sample.
    least: Option<Span>,
    rtt: Option<Span>,
    /// `rtt` in the form that segments keep.
    packed: PackedSpan,
    /// The last ACK that the sender has.
    last: AckState,
    /// ACKs that the sender does not have yet. Empty where the capture was taken at the sender.
    coming: VecDeque<AckState>,
    /// Earlier ACKs that the sender had, ending at `last_had`: when they passed, and where their windows
    /// ended.
    had: [(Time, Option<NonZeroU64>); MAX_EARLIER_ACKS],
    last_had: u8,
}

impl SenderSide {
    /// Starts with an ACK that the sender has, and with the RTT of the handshake, if known.
    pub fn new(first: AckState, rtt: Option<Span>) -> SenderSide {
        let rtt = rtt.map(|rtt| rtt.min(MAX_RTT));
        SenderSide {
            marks: Default::default(),
            first_mark: 0,
            marked: 0,
            last_tsval: None,
            recent: Default::default(),
            samples: 0,
            least: rtt,
            rtt,
            packed: rtt.into(),
            last: first,
            coming: VecDeque::new(),
            had: Default::default(),
            last_had: 0,
        }
    }

    /// Prefetches the state; returns a value that depends on it.
    #[inline]
    pub fn fetch(&self) -> u64 {
        let marks = self.marks[0].1.as_nanos() ^ self.marks[4].1.as_nanos() ^ self.marks[7].1.as_nanos();
        marks ^ self.recent[0].as_nanos() ^ self.last.una ^ self.coming.len() as u64
    }

    /// Prefetches the first ACK that the sender does not have yet; returns a value that depends on it.
    #[inline]
    pub fn fetch_list(&self) -> u64 {
        self.coming.front().map_or(0, |ack| ack.una)
    }

    /// Frees unused capacity.
    pub fn shrink(&mut self) {
        self.coming.shrink_to_fit();
    }

    /// RTT between capture and sender in force.
    #[inline]
    pub fn rtt(&self) -> PackedSpan {
        self.packed
    }

    /// RTT between capture and sender in force; zero if unknown, as if the capture were at the sender.
    #[inline]
    pub fn rtt_or_zero(&self) -> Span {
        self.rtt.unwrap_or(Span::ZERO)
    }

    /// Notes an ACK with `tsval`.
    #[inline]
    pub fn note_ack(&mut self, now: Time, tsval: u32) {
        if self.last_tsval.is_some_and(|last| tsval.wrapping_sub(last) as i32 <= 0) {
            return;
        }
        self.last_tsval = Some(tsval);
        let full = self.marked as usize == MAX_AWAITED_ECHOES;
        if full || self.marked > 0 {
            let last =
                self.marks[(self.first_mark as usize + self.marked as usize - 1) % MAX_AWAITED_ECHOES].1;
            let rtt = self.rtt_or_zero();
            // Marks are spread over the RTT and stay until it is over.
            let old = full && now.since(self.marks[self.first_mark as usize].1) > (rtt * 4).max(ECHO_WAIT);
            if full && !old || now.since(last) < rtt / MAX_AWAITED_ECHOES as u64 {
                return;
            }
            if old {
                self.drop_oldest_ack();
            }
        }
        let at = (self.first_mark as usize + self.marked as usize) % MAX_AWAITED_ECHOES;
        self.marks[at] = (tsval, now);
        self.marked += 1;
    }

    /// Stops waiting for echoes of the ACKs seen so far.
    pub fn forget_marks(&mut self) {
        self.marked = 0;
    }

    #[inline]
    fn drop_oldest_ack(&mut self) {
        self.first_mark = (self.first_mark + 1) % MAX_AWAITED_ECHOES as u8;
        self.marked -= 1;
    }

    /// Notes data that echoes `tsecr`, `gap` after the previous data. `prompt`: no timer held it back.
    /// Returns an RTT between capture and sender if this gives one.
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
                sample = Some(now.since(time).min(MAX_RTT));
            }
            self.drop_oldest_ack();
        }
        let sample = sample.filter(|_| prompt)?;
        Some(self.sample(sample, gap))
    }

    /// Adds an RTT sample that is too long by at most `gap`; returns the corrected sample.
    #[inline]
    fn sample(&mut self, sample: Span, gap: Span) -> Span {
        // The sender may have had the ACK since its previous packet.
        let sample = self.rtt.map_or(sample, |rtt| rtt.clamp(sample.saturating_sub(gap), sample));
        self.least = Some(self.least.map_or(sample, |least| least.min(sample)));
        self.recent[self.samples as usize % RECENT_SAMPLES] = sample;
        self.samples = self.samples.wrapping_add(1).max(1);
        let [a, b, c, d] = self.recent;
        // The minimum; of four, the second smallest.
        let low = match self.samples {
            1 => a,
            2 => a.min(b),
            3 => a.min(b).min(c),
            _ => a.min(b).max(c.min(d)).min(a.max(b)).min(c.max(d)),
        };
        // A sender takes some time to answer, and most captures are taken at the sender.
        self.set_rtt(self.least.map(|least| if low <= least + HOST_DELAY { least } else { low }));
        sample
    }

    fn set_rtt(&mut self, rtt: Option<Span>) {
        (self.rtt, self.packed) = (rtt, rtt.into());
    }

    /// Notes an ACK.
    #[inline]
    pub fn acked(&mut self, ack: AckState) {
        let up = self.rtt_or_zero();
        let with_gap = |last: Time| {
            let gap = ack.time.since(last);
            (AckState { gap_us: gap.as_micros().min(u16::MAX as u64) as u16, ..ack }, gap)
        };
        if up < AT_SENDER {
            self.coming.clear();
            self.last = with_gap(self.last.time).0;
            return;
        }
        self.take_arrived(ack.time);
        let (ack, gap) = with_gap(self.coming.back().map_or(self.last.time, |last| last.time));
        match self.coming.back_mut() {
            // The sender is assumed to have it slightly early, by at most a 64th of the RTT.
            Some(last) if gap < up / STEPS_PER_RTT => {
                *last = AckState { time: last.time, gap_us: last.gap_us, ..ack };
            }
            _ => self.coming.push_back(ack),
        }
    }

    /// Takes note of the ACKs that have reached the sender by `now`.
    #[inline]
    fn take_arrived(&mut self, now: Time) {
        if !self.coming.is_empty() {
            self.take_all_arrived(now);
        }
    }

    fn take_all_arrived(&mut self, now: Time) {
        let sent = now - self.rtt_or_zero();
        while let Some(next) = self.coming.front().copied() {
            if next.time > sent && self.coming.len() < 4 * STEPS_PER_RTT as usize {
                return;
            }
            self.coming.pop_front();
            self.last_had = (self.last_had + 1) % MAX_EARLIER_ACKS as u8;
            self.had[self.last_had as usize] = (self.last.time, self.last.window_end);
            self.last = next;
        }
    }

    /// End of the window in the last ACK that the sender certainly had when it sent the packet that passes
    /// now.
    #[cold]
    pub fn least_window_end(&mut self, now: Time) -> Option<NonZeroU64> {
        let last = *self.last_ack(now);
        let up = self.rtt_or_zero();
        if up < AT_SENDER {
            return last.window_end;
        }
        let had = now - up - TICK.max(up / STEPS_PER_RTT);
        let before = (0..MAX_EARLIER_ACKS)
            .map(|back| self.had[(self.last_had as usize + MAX_EARLIER_ACKS - back) % MAX_EARLIER_ACKS]);
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

    /// The last ACK that the sender had when it sent the packet that passes now.
    #[inline]
    pub fn last_ack(&mut self, now: Time) -> &AckState {
        self.take_arrived(now);
        &self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_millis(n)
    }

    /// The sender is 10 ms away and answers each ACK, one of them 70 ms late.
    #[test]
    fn a_late_answer_of_the_sender_does_not_raise_the_rtt() {
        let mut side = SenderSide::new(AckState::default(), None);
        let mut last = Time::ZERO;
        for i in 0..20u64 {
            side.note_ack(ms(100 * i), i as u32);
            let echo = ms(100 * i + if i == 10 { 80 } else { 10 });
            let sample = side.echo(echo, i as u32, echo.since(last), true);
            assert!(sample.is_some(), "{i}");
            last = echo;
        }
        assert_eq!(side.rtt().get(), Some(Span::from_millis(10)));
    }

    #[test]
    fn the_sender_may_lack_acks_that_passed_within_the_last_tick() {
        let us = |n: u64| Time::ZERO + Span::from_micros(n);
        let ack = |i: u64| AckState::new(us(400 * i), i, 0, NonZeroU64::new(1000 + i), true);
        let mut side = SenderSide::new(ack(0), Some(Span::from_millis(10)));
        (1..100).for_each(|i| side.acked(ack(i)));
        let now = us(10_000 + 400 * 90);
        assert_eq!(side.last_ack(now).una, 90);
        // The last one that passed a tick earlier, at 35 ms: after 87 × 0.4 ms.
        assert_eq!(side.least_window_end(now).map(NonZeroU64::get), Some(1087));
    }

    #[test]
    fn the_sender_has_an_ack_one_sender_side_rtt_after_it_passed() {
        let ack = |i: u64| AckState::new(ms(5 * i), i, 0, None, true);
        let mut side = SenderSide::new(ack(0), Some(Span::from_millis(10)));
        (1..5).for_each(|i| side.acked(ack(i)));
        assert_eq!(side.last_ack(ms(21)).una, 2);
        let last = side.last_ack(ms(40));
        assert_eq!((last.una, last.gap()), (4, Span::from_millis(5)));
    }
}
