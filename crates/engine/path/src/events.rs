//! Schedules of events on a path (a list or a period), and rates that change over time.

use crate::problem::Problem;
use serde::{Deserialize, Serialize};
use units::{Rate, Span, Time};

/// Times of events that each last `lasts`: those of the list `at`, or `first`, `first + every`, …
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub at: Vec<Span>,
    pub first: Span,
    pub every: Option<Span>,
    pub lasts: Span,
}

impl Schedule {
    /// Checks the keys `at`, `every`, `first`. Each event must end before the next one's lead time `before`
    /// begins, and the first must not start earlier than `before`.
    pub fn check(&self, first_given: bool, before: Span) -> Result<(), Problem> {
        let needs = before + self.lasts;
        match self.every {
            Some(_) if !self.at.is_empty() => {
                Err(Problem::new("every", "cannot be combined with the list `at`"))
            }
            None if self.at.is_empty() => {
                Err(Problem::new("at", "missing: give a list of times, or a period in `every`"))
            }
            None if first_given => Err(Problem::new("first", "applies only to `every`")),
            Some(every) if every <= needs => {
                Err(Problem::new("every", format!("must be longer than one event ({needs})")))
            }
            Some(_) if self.first < before => {
                Err(Problem::new("first", format!("must not be before {before}")))
            }
            None if self.at.first().is_some_and(|&at| at < before) => {
                Err(Problem::new("at", format!("the first must not be before {before}")))
            }
            None if self.at.windows(2).any(|w| w[1].saturating_sub(w[0]) <= needs) => {
                Err(Problem::new("at", format!("times must increase, each by more than {needs}")))
            }
            _ => Ok(()),
        }
    }

    /// The start of event `k` (from 0), if there is one.
    pub fn begin(&self, k: u64) -> Option<Time> {
        match self.every {
            None => self.at.get(usize::try_from(k).ok()?).map(|&at| Time::ZERO + at),
            Some(every) => Some(Time::ZERO + self.first + every * k),
        }
    }

    /// The number of events that have started by `t`.
    pub fn begun(&self, t: Time) -> u64 {
        let first = Time::ZERO + self.first;
        match self.every {
            None => self.at.partition_point(|&at| Time::ZERO + at <= t) as u64,
            Some(_) if t < first => 0,
            Some(every) => t.since(first).as_nanos() / every.as_nanos().max(1) + 1,
        }
    }

    /// Start and end of the first event that ends after `t`.
    pub fn from(&self, t: Time) -> Option<(Time, Time)> {
        let begin = match self.every {
            None => {
                let i = self.at.partition_point(|&at| Time::ZERO + at + self.lasts <= t);
                Time::ZERO + *self.at.get(i)?
            }
            Some(every) => {
                let past = t.since(Time::ZERO + self.first + self.lasts).as_nanos();
                let over = t >= Time::ZERO + self.first + self.lasts;
                let k = if over { past / every.as_nanos().max(1) + 1 } else { 0 };
                Time::ZERO + self.first + every * k
            }
        };
        Some((begin, begin + self.lasts))
    }
}

/// A rate that applies from `at` on, relative to the start of the run or of the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    /// Time from which the rate applies.
    pub at: Span,
    /// Bits per second; 0 for an interruption.
    pub rate: Rate,
}

/// The rate of a step that is infinitely fast.
pub(crate) const INFINITE: Rate = Rate::from_bps(u64::MAX);

/// A rate that changes in steps, which repeat if there is a period. A transmission in progress continues at
/// the new rate.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    /// Time in ns from which the steps count, and the rate before it.
    start: (u64, Rate),
    steps: Vec<RateStep>,
    period: Option<u64>,
    /// Token units (bit * 10^-9) of one period.
    per_period: u128,
}

impl Steps {
    /// `steps` must begin at zero, increase, and end before the period.
    pub fn new(steps: Vec<RateStep>, period: Option<Span>) -> Steps {
        let period = period.map(Span::as_nanos);
        let mut made = Steps { start: (0, INFINITE), steps, period, per_period: 0 };
        made.per_period = (0..made.steps.len())
            .map(|i| {
                let (begin, end) = (made.steps[i].at.as_nanos(), made.end_of(i).unwrap_or(0));
                end.saturating_sub(begin) as u128 * made.steps[i].rate.as_bps() as u128
            })
            .fold(0, u128::saturating_add);
        made
    }

    /// Makes the steps count from `start`; the rate is `rate` before that.
    pub fn starting(mut self, start: Span, rate: Rate) -> Steps {
        self.start = (start.as_nanos(), rate);
        self
    }

    /// The end of step `i`, relative to the same origin as its start.
    fn end_of(&self, i: usize) -> Option<u64> {
        self.steps.get(i + 1).map(|s| s.at.as_nanos()).or(self.period)
    }

    /// The rate at `t`, and the time at which it ends.
    pub fn rate_at(&self, t: Time) -> (Rate, Option<Time>) {
        let (base, before) = self.start;
        if t.as_nanos() < base {
            return (before, Some(Time::from_nanos(base)));
        }
        let since = t.as_nanos() - base;
        let within = self.period.map_or(since, |period| since % period);
        let i = self.steps.partition_point(|s| s.at.as_nanos() <= within).saturating_sub(1);
        let end = self.end_of(i).map(|end| t + Span::from_nanos(end - within));
        (self.steps[i].rate, end)
    }

    /// When the transmission of `size` bytes that begins at `at` ends, rounded up to the nanosecond.
    pub fn through(&self, at: Time, size: u32) -> Time {
        let mut left = size as u128 * crate::bucket::BYTE;
        let (mut base, rate) = self.start;
        let mut t = at.as_nanos().saturating_sub(base);
        if at.as_nanos() < base {
            let room = (base - at.as_nanos()) as u128 * rate.as_bps() as u128;
            if left <= room {
                return at + duration(left, rate);
            }
            left -= room;
        }
        if let Some(period) = self.period {
            base += t - t % period;
            t %= period;
        }
        let mut i = self.steps.partition_point(|s| s.at.as_nanos() <= t).saturating_sub(1);
        let mut skipped = false;
        loop {
            let rate = self.steps[i].rate;
            let end = self.end_of(i);
            let room = end.map_or(u128::MAX, |end| (end - t) as u128 * rate.as_bps() as u128);
            if rate.as_bps() > 0 && left <= room {
                return Time::from_nanos(base) + Span::from_nanos(t) + duration(left, rate);
            }
            let Some(end) = end else { return Time::from_nanos(u64::MAX) };
            left -= room;
            (t, i) = (end, i + 1);
            if i < self.steps.len() {
                continue;
            }
            let Some(period) = self.period else { return Time::from_nanos(u64::MAX) };
            (t, i) = (0, 0);
            base = base.saturating_add(period);
            if !skipped && self.per_period > 0 {
                // Skips whole periods at once but leaves something for the last.
                let whole = left.saturating_sub(1) / self.per_period;
                left -= whole * self.per_period;
                let jump = u64::try_from(whole).unwrap_or(u64::MAX).saturating_mul(period);
                base = base.saturating_add(jump);
                skipped = true;
            }
        }
    }
}

/// The time that `units` (bit * 10^-9) take at a rate above zero, rounded up.
pub(crate) fn duration(units: u128, rate: Rate) -> Span {
    if rate == INFINITE {
        return Span::ZERO;
    }
    Span::from_nanos(u64::try_from(units.div_ceil(rate.as_bps() as u128)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Span::from_millis(n)
    }

    fn step(at: u64, mbps: u64) -> RateStep {
        RateStep { at: Span::from_millis(at), rate: Rate::from_bps(mbps * 1_000_000) }
    }

    #[test]
    fn a_transmission_continues_at_the_new_rate() {
        // 8 Mbit/s is 1 byte per µs: 1000 bytes by 1 ms, an outage of 9 ms, the rest at 16 Mbit/s.
        let s = Steps::new(vec![step(0, 8), step(1, 0), step(10, 16)], None);
        assert_eq!(s.through(ms(0), 1000), ms(1));
        assert_eq!(s.through(ms(0), 3000), ms(11));
        assert_eq!(s.through(ms(1), 2000), ms(11));
    }

    #[test]
    fn periods_repeat_and_whole_ones_are_skipped() {
        // Per 10 ms: 1000 bytes in the first, nothing in the other nine.
        let s = Steps::new(vec![step(0, 8), step(1, 0)], Some(Span::from_millis(10)));
        assert_eq!(s.through(ms(0), 1000), ms(1));
        assert_eq!(s.through(ms(0), 1500), Time::from_nanos(10_500_000));
        assert_eq!(s.through(ms(5), 4_000_000), ms(5 + 4000 * 10 - 5 - 10 + 1 + 10));
    }

    #[test]
    fn a_list_and_a_period_give_the_same_schedule() {
        let span = Span::from_millis;
        let list = Schedule { at: vec![span(10), span(30)], first: Span::ZERO, every: None, lasts: span(5) };
        let period = Schedule { at: vec![], first: span(10), every: Some(span(20)), lasts: span(5) };
        for s in [list, period] {
            assert_eq!(s.from(ms(0)), Some((ms(10), ms(15))));
            assert_eq!(s.from(ms(14)), Some((ms(10), ms(15))));
            assert_eq!(s.from(ms(15)), Some((ms(30), ms(35))));
            assert_eq!([9, 10, 29, 30].map(|t| s.begun(ms(t))), [0, 1, 1, 2]);
            assert_eq!((s.begin(0), s.begin(1)), (Some(ms(10)), Some(ms(30))));
        }
    }
}
