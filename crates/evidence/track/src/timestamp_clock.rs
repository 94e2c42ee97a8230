//! One-way delay from TCP timestamps: how much later than the earliest a packet arrived, by its sender's own
//! clock.
//!
//! RFC 7323 section 5.4: a sender's timestamp clock ticks evenly, once every 1 ms to 1 s. Arrival time minus
//! TSval is the one-way delay plus a constant, the offset between the two clocks. The minimum seen is taken
//! for the empty path's delay. Anything above it is queueing on this part of the path alone, which a
//! round-trip time cannot show.

use crate::PackedSpan;
use units::{Span, Time};

/// Ticks per second that stacks use: Linux 1000 (older ones 250 and 100), Windows and BSD 1000, a few 10 or
/// 2. Linux may also tick in microseconds.
const TICKS_PER_SECOND: [f64; 6] = [1e6, 1000.0, 250.0, 100.0, 10.0, 2.0];
/// How long the clock is observed before its tick counts as known, seconds.
const MIN_OBSERVED_S: f64 = 0.3;
/// Relative tolerance between the observed tick and one of [`TICKS_PER_SECOND`].
const TICK_TOLERANCE: f64 = 0.15;
/// A queue that grows during the whole observation makes the clock seem slower by at most this factor.
const MAX_SLOWDOWN: f64 = 20.0;
/// A delay above this factor times the growth of the round trip, plus this many ns, shows that the clock is
/// slower than assumed.
const MAX_UNEXPLAINED_DELAY: (u64, u64) = (2, 300_000_000);
/// A clock that is ahead of the elapsed time by this many ns (and an eighth) ticks faster than assumed.
const MAX_AHEAD_NS: i64 = 50_000_000;
/// The minimum offset is forgotten after two of these horizons: two clocks drift apart by up to 0.1 ms a
/// second.
const HORIZON_NS: i64 = 60_000_000_000;
/// An offset that changes by more than this belongs to another host's clock.
const MAX_OFFSET_CHANGE_NS: i64 = 30_000_000_000;

/// Maximum relative drift between two clocks.
const MAX_DRIFT: f64 = 1e-4;
/// Maximum number of steps of the minimum that are kept, and the time within which steps are merged, ns.
const MAX_STEPS: usize = 32;
const MERGE_WITHIN_NS: i64 = 10_000_000;

/// The evidence of a sender's clock about a time without packets in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SilenceJudgement {
    /// The time passed.
    Passed,
    /// Less time passed, or the packet had been sent before the silence and waited.
    Less,
    /// The clock does not show which.
    Unknown,
}

/// The timestamp clock of one end, as seen at the capture. Offsets are signed, so they are plain nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimestampClock {
    first: Option<(Time, u32)>,
    /// Queueing delay of the round trip at the first packet.
    over_first: Span,
    last: Option<(Time, u32)>,
    /// Nanoseconds per tick, once known.
    tick_ns: Option<f64>,
    /// The clock seemed slower than this tick, because a queue grew meanwhile.
    slowed: bool,
    /// Minimum offset in this horizon and in the one before, ns.
    least: [i64; 2],
    /// When this horizon ends, ns since the first packet.
    until: i64,
    /// When smaller offsets were found in the first horizon, ns since the first packet, and by how much
    /// smaller.
    steps: Vec<(i64, i64)>,
}

impl TimestampClock {
    /// Prefetches the clock; returns a value that depends on it.
    #[inline]
    pub fn fetch(&self) -> u64 {
        self.until as u64
    }

    /// Judges, by the clock of the packet's sender, a silence of the capture that ended with this packet at
    /// `at`.
    pub fn judge_silence(&self, at: Time, value: u32, silence: Span) -> SilenceJudgement {
        let Some((time, last)) = self.last else { return SilenceJudgement::Unknown };
        let ticks = value.wrapping_sub(last) as i32;
        if ticks < 0 {
            return SilenceJudgement::Unknown;
        }
        let (ticks, elapsed) = (f64::from(ticks), at.since(time).as_secs_f64());
        let by_tick = self.tick_ns.map(|tick| ticks * tick * 1e-9 + 0.5 * silence.as_secs_f64() < elapsed);
        // No tick is longer than a second (RFC 7323 section 5.4).
        let less = by_tick.unwrap_or(elapsed > 1.0 + ticks);
        let near = || TICKS_PER_SECOND.iter().any(|t| (ticks / elapsed / t - 1.0).abs() < 0.15);
        match less {
            true => SilenceJudgement::Less,
            false if by_tick.is_some() || near() => SilenceJudgement::Passed,
            false => SilenceJudgement::Unknown,
        }
    }

    /// Returns when a packet with this TSval was sent, extrapolated from the last packet of the same sender,
    /// to a tick and assuming equal delays. `None` while the tick is unknown.
    pub fn time_of(&self, value: u32) -> Option<Time> {
        let ((time, last), tick) = self.last.zip(self.tick_ns)?;
        let ticks = u32::try_from(value.wrapping_sub(last) as i32).ok()?;
        Some(time + Span::from_nanos((f64::from(ticks) * tick) as u64))
    }

    /// Restarts after a step of the capture's clock: earlier offsets no longer apply. The tick stays known.
    pub fn restart(&mut self) {
        *self = TimestampClock { tick_ns: self.tick_ns, ..TimestampClock::default() };
    }

    /// Returns whether round trips can still refine the tick.
    #[inline]
    pub fn needs_round_trips(&self) -> bool {
        self.tick_ns.is_none() || self.slowed
    }

    /// Adds a packet's TSval and returns its queueing delay once the tick is known. `over` is the queueing
    /// delay of the last round trip that includes this packet; it bounds the packet's own.
    pub fn delay(&mut self, at: Time, value: u32, over: Option<Span>) -> PackedSpan {
        self.last = Some((at, value));
        let delay = self.above_least(at, value, over.unwrap_or_default());
        let refuted = |d: &Span| {
            over.is_some_and(|over| {
                *d > over * MAX_UNEXPLAINED_DELAY.0 + Span::from_nanos(MAX_UNEXPLAINED_DELAY.1)
            })
        };
        if self.slowed && delay.as_ref().is_some_and(refuted) {
            *self = TimestampClock::default();
            return PackedSpan::UNKNOWN;
        }
        delay.into()
    }

    #[inline(always)]
    fn above_least(&mut self, at: Time, value: u32, over: Span) -> Option<Span> {
        if self.first.is_none() {
            self.over_first = over;
        }
        let over = over.saturating_sub(self.over_first);
        let (time, origin) = *self.first.get_or_insert((at, value));
        let ticks = value.wrapping_sub(origin) as i32 as f64;
        let elapsed = at.as_nanos() as i64 - time.as_nanos() as i64;
        let tick = match self.tick_ns {
            Some(tick) => tick,
            None => self.learn(ticks, elapsed, over)?,
        };
        let mut offset = elapsed - (ticks * tick) as i64;
        // A queue that grew during the observation made the clock look slow.
        if offset < -(MAX_AHEAD_NS + elapsed / 8) {
            (self.tick_ns, self.least) = (None, [0, 0]);
            self.steps.clear();
            offset = elapsed - (ticks * self.learn(ticks, elapsed, over)?) as i64;
        }
        // A clock that jumps belongs to another host behind the same address: start again.
        if (offset - self.least[0]).abs() > MAX_OFFSET_CHANGE_NS {
            *self = TimestampClock::default();
            return None;
        }
        if elapsed >= self.until {
            self.least = [offset.min(self.least[0]), self.least[0]];
            if self.until > 0 {
                self.least[0] = offset;
            }
            self.until = elapsed + HORIZON_NS;
        }
        if offset < self.least[0] {
            self.step(elapsed, self.least[0] - offset);
            self.least[0] = offset;
        }
        let least = self.least[0].min(self.least[1]);
        Some(Span::from_nanos((offset - least) as u64))
    }

    /// Notes that packets before `at` were delayed by `more` than was known then.
    fn step(&mut self, at: i64, more: i64) {
        if at > HORIZON_NS {
            return;
        }
        if self.steps.len() == MAX_STEPS {
            for i in 0..MAX_STEPS / 2 {
                self.steps[i] = (self.steps[2 * i].0, self.steps[2 * i].1 + self.steps[2 * i + 1].1);
            }
            self.steps.truncate(MAX_STEPS / 2);
        }
        match self.steps.last_mut() {
            Some(last) if at - last.0 < MERGE_WITHIN_NS => last.1 += more,
            _ => self.steps.push((at, more)),
        }
    }

    /// Returns by how much the delay reported for a packet at `at` was too small, as later packets showed, in
    /// whole microseconds. A possible drift of the clocks since then is subtracted.
    pub fn correction(&self, at: Time) -> Span {
        let Some((first, _)) = self.first else { return Span::ZERO };
        if at < first {
            return Span::ZERO; // Before the clock was set.
        }
        let at = at.as_nanos() as i64 - first.as_nanos() as i64;
        let after = &self.steps[self.steps.partition_point(|s| s.0 <= at)..];
        let more: i64 = after.iter().map(|s| s.1).sum();
        let drift = after.last().map_or(0, |s| ((s.0 - at) as f64 * MAX_DRIFT) as i64);
        Span::from_micros((more - drift).max(0) as u64 / 1000)
    }

    /// Learns the nanoseconds per tick from `ticks` in `elapsed` nanoseconds; `None` while it is too early. A
    /// queue that grows meanwhile makes the clock look slow by at most the growth of the round trip, `over`.
    fn learn(&mut self, ticks: f64, elapsed: i64, over: Span) -> Option<f64> {
        let seconds = elapsed as f64 * 1e-9;
        if seconds < MIN_OBSERVED_S || ticks < 3.0 {
            return None;
        }
        let at_least = (seconds - over.as_secs_f64()).max(seconds / MAX_SLOWDOWN);
        let near = |t: &f64| {
            ticks / t < seconds * (1.0 + TICK_TOLERANCE) && ticks / t > at_least * (1.0 - TICK_TOLERANCE)
        };
        let near = TICKS_PER_SECOND.iter().copied().find(near)?;
        self.until = 0;
        self.slowed = ticks / near < seconds * (1.0 - TICK_TOLERANCE);
        self.tick_ns = Some(1e9 / near);
        self.tick_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_present_from_the_start_is_corrected_once_it_drains() {
        let mut s = TimestampClock::default();
        let time = |ms: u64| Time::from_nanos(1_700_000_000_000_000_000 + ms * 1_000_000);
        // 80 ms of queue for 5 s, then none.
        let queued = |ms: u64| if ms < 5000 { 80 } else { 0 };
        let delays: Vec<Option<Span>> =
            (0..8000).map(|ms| s.delay(time(ms + queued(ms)), 5 + ms as u32, None).get()).collect();
        let early = delays[3000].unwrap() + s.correction(time(3080));
        assert!((Span::from_millis(79)..=Span::from_millis(80)).contains(&early), "{early}");
        assert_eq!(s.correction(time(7000)), Span::ZERO);
    }

    #[test]
    fn a_queue_is_measured_against_the_senders_clock() {
        let mut s = TimestampClock::default();
        let mut worst: u64 = 0;
        for i in 0..3000u64 {
            let sent = i * 1_000_000;
            let queued = if i > 2000 { 40_000_000 } else { 0 };
            let seen = s.delay(
                Time::from_nanos(1_700_000_000_000_000_000 + sent + queued),
                77 + (sent / 4_000_000) as u32,
                None,
            );
            if let Some(d) = seen.get() {
                let wrong = (d.as_nanos() as i64 - queued as i64).unsigned_abs();
                worst = worst.max(wrong);
            }
        }
        assert!(s.tick_ns == Some(4e6) && worst <= 4_000_000, "{:?} {worst}", s.tick_ns);
    }

    /// ACKs with a 1 kHz clock wait at a link that carries a tenth of them: they seem to come from a 100 Hz
    /// clock.
    #[test]
    fn a_queue_of_acks_that_grows_from_the_start_does_not_slow_the_clock() {
        let start = 1_700_000_000_000_000_000;
        let run = |round_trip_known: bool| {
            let (mut s, mut delay) = (TimestampClock::default(), PackedSpan::UNKNOWN);
            for ms in 0..200u64 {
                // One is sent each millisecond, one arrives every ten.
                let queued = 9 * ms;
                let over = round_trip_known.then(|| Span::from_millis(queued));
                delay = s.delay(Time::from_nanos(start + (ms + queued) * 1_000_000), 7 + ms as u32, over);
            }
            (s.tick_ns, delay.get())
        };
        let (tick, delay) = run(true);
        assert_eq!(tick, Some(1e6));
        assert!(delay.is_some_and(|d| d.as_millis_f64() > 1700.0), "{delay:?}");
        // Without round trips the two cases cannot be distinguished.
        assert_eq!(run(false).0, Some(1e7));
    }

    /// At first, a 250 Hz clock whose data waits in a growing queue looks like a 1 kHz clock whose ACKs do.
    #[test]
    fn a_tick_assumed_too_fast_is_refuted() {
        let mut s = TimestampClock::default();
        let mut last = PackedSpan::UNKNOWN;
        for ms in 0..4000u64 {
            let over = Span::from_millis((ms * 3 / 4).min(600));
            last = s.delay(
                Time::from_nanos(1_700_000_000_000_000_000 + ms * 1_000_000),
                (ms / 4) as u32,
                Some(over),
            );
        }
        assert_eq!(s.tick_ns, Some(4e6));
        assert!(last.get().is_some_and(|d| d < Span::from_millis(5)), "{last:?}");
    }
}
