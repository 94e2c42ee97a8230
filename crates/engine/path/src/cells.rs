//! Handovers between radio cells, which may fail, and the gate of a link that has them.
//!
//! The outcome of handover k (from 0) is determined by the seed, a name and k, and not by the time of the
//! query, so that late wake-ups cannot change which handovers fail.

use crate::config::{misplaced, probability};
use crate::events::{Schedule, Steps, duration};
use crate::outage::Buffer;
use crate::problem::Problem;
use crate::radio;
use crate::server::Gate;
use units::{Span, Stream, Time, earliest};

/// Maximum size of a group of handovers of which some fail.
pub(crate) const MAX_AMONG: u64 = 10_000;

/// Which handovers fail.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Which {
    Never,
    /// These handovers, numbered from 1.
    Listed(Vec<u64>),
    /// `failures` of every `among` consecutive handovers.
    Some {
        failures: u64,
        among: u64,
    },
    /// Each handover with this probability.
    Chance(f64),
}

impl Which {
    /// Reads the keys `failed`, `failures` with `among`, or `failure_probability`; at most one of the three
    /// may be set.
    pub fn read(
        failed: &[u64],
        some: (Option<u64>, Option<u64>),
        chance: Option<f64>,
    ) -> Result<Which, Problem> {
        misplaced("among", some.1.is_some() && some.0.is_none(), "`failures`")?;
        match (failed, some, chance) {
            ([], (None, _), None) => Ok(Which::Never),
            ([], (None, _), Some(p)) => probability("failure_probability", p).map(|()| Which::Chance(p)),
            ([], (Some(failures), among), None) => {
                let Some(among) = among.filter(|n| (1..=MAX_AMONG).contains(n)) else {
                    let message = format!("required with `failures`: 1 to {MAX_AMONG} handovers");
                    return Err(Problem::new("among", message));
                };
                if failures > among {
                    return Err(Problem::new("failures", format!("must not exceed `among` ({among})")));
                }
                Ok(Which::Some { failures, among })
            }
            (list, (None, _), None) if list.contains(&0) => {
                Err(Problem::new("failed", "handovers are numbered from 1"))
            }
            (list, (None, _), None) => {
                let mut list = list.to_vec();
                list.sort_unstable();
                Ok(Which::Listed(list))
            }
            _ => {
                let message = "set only one of `failures` with `among`, `failed`, `failure_probability`";
                Err(Problem::new("failures", message))
            }
        }
    }
}

/// Length of the interruption by a handover, and what happens to packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gap {
    pub lasts: Span,
    pub buffer: Buffer,
}

/// A gap with its start and end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DatedGap {
    pub begin: Time,
    pub end: Time,
    pub buffer: Buffer,
}

/// A sequence of handovers.
#[derive(Clone, Debug)]
pub(crate) struct Handovers {
    /// Start times; `lasts` is the gap of a successful handover.
    pub schedule: Schedule,
    pub works: Buffer,
    /// Minimum and maximum gap of a failed handover, and its buffer.
    pub fails: ([Span; 2], Buffer),
    pub which: Which,
    /// Seed and name of the random draws.
    pub drawn: (u64, String),
}

impl Handovers {
    fn stream(&self, kind: &str, number: u64) -> Stream {
        Stream::new(self.drawn.0, &format!("{}/{kind}/{number}", self.drawn.1))
    }

    /// Whether handover `k` fails.
    fn failed(&self, k: u64) -> bool {
        match &self.which {
            Which::Never => false,
            Which::Listed(list) => list.binary_search(&(k + 1)).is_ok(),
            Which::Chance(p) => self.stream("fails", k).chance(*p),
            Which::Some { failures, among } => {
                // Selection sampling: each position of the group is chosen with (failures left) / (positions
                // left).
                let (mut stream, mut needed) = (self.stream("group", k / among), *failures);
                for place in 0..=k % among {
                    let taken = stream.below(among - place) < needed;
                    needed -= taken as u64;
                    if place == k % among {
                        return taken;
                    }
                }
                false
            }
        }
    }

    fn gap_of(&self, k: u64) -> Gap {
        if !self.failed(k) {
            return Gap { lasts: self.schedule.lasts, buffer: self.works };
        }
        let ([least, most], buffer) = self.fails;
        let width = most.saturating_sub(least).as_nanos().saturating_add(1);
        let lasts = least + Span::from_nanos(self.stream("lasts", k).below(width));
        Gap { lasts, buffer }
    }

    /// The maximum length of a gap.
    pub fn longest(&self) -> Span {
        let lasts = self.schedule.lasts;
        if self.which == Which::Never { lasts } else { lasts.max(self.fails.0[1]) }
    }

    fn dated_gap(&self, k: u64) -> Option<DatedGap> {
        let begin = self.schedule.begin(k)?;
        let gap = self.gap_of(k);
        Some(DatedGap { begin, end: begin + gap.lasts, buffer: gap.buffer })
    }

    /// The number of the first gap that ends after `t`, if there is one.
    fn number_from(&self, t: Time) -> Option<u64> {
        let next = self.schedule.begun(t);
        let Some(last) = next.checked_sub(1) else { return Some(0) };
        let begin = self.schedule.begin(last)?;
        let over = begin + self.longest() <= t || begin + self.gap_of(last).lasts <= t;
        Some(if over { next } else { last })
    }

    /// The first gap that ends after `t`.
    pub fn gap(&self, t: Time) -> Option<DatedGap> {
        self.dated_gap(self.number_from(t)?)
    }

    /// The time at which a packet is lost with all packets behind it, if it is. It arrived at `since`, has
    /// been at the head of the queue since `begun` and would leave at `leaves`.
    pub fn loss_time(&self, since: Time, begun: Time, leaves: Time) -> Option<Time> {
        let mut k = self.number_from(begun)?;
        while let Some(begin) = self.schedule.begin(k).filter(|&begin| begin < leaves) {
            let at = begin.max(begun);
            if at >= leaves {
                return None;
            }
            match self.gap_of(k).buffer {
                Buffer::Lost => return Some(at),
                Buffer::LeftBehind if since < begin && begun <= begin => return Some(at),
                _ => k += 1,
            }
        }
        None
    }

    /// Whether a packet that arrives at `at` is lost.
    pub fn is_down(&self, at: Time) -> bool {
        self.gap(at).is_some_and(|gap| gap.begin <= at && gap.buffer == Buffer::Lost)
    }

    /// The end of the last gap that ended by `t`.
    pub fn last_end(&self, t: Time) -> Option<Time> {
        let next = self.number_from(t)?;
        self.dated_gap(next.checked_sub(1)?).map(|gap| gap.end)
    }

    /// When the transmission of `size` bytes that begins at `at` ends, at the rates of `steps` and with
    /// interruptions in the gaps.
    fn through(&self, steps: &Steps, at: Time, size: u32) -> Time {
        let mut left = size as u128 * crate::bucket::BYTE;
        let mut t = at;
        while t < Time::from_nanos(u64::MAX) {
            let gap = self.gap(t);
            if let Some(gap) = gap.filter(|gap| gap.begin <= t) {
                t = gap.end;
                continue;
            }
            let (rate, end) = steps.rate_at(t);
            let stop = earliest(end, gap.map(|gap| gap.begin)).unwrap_or(Time::from_nanos(u64::MAX));
            let room = stop.since(t).as_nanos() as u128 * rate.as_bps() as u128;
            if rate.as_bps() > 0 && left <= room {
                return t + duration(left, rate);
            }
            left -= room;
            t = stop;
        }
        t
    }
}

/// Parameters of packet damage by bit errors.
pub(crate) struct Errors {
    /// Bit error rates of equal parts of a period.
    pub ber: Vec<f64>,
    pub period: Span,
    /// Maximum number of retransmissions of a damaged packet by the radio.
    pub repeats: u32,
    pub stream: Stream,
}

impl Errors {
    fn lose(&mut self, at: Time, size: u32) -> bool {
        let (n, period) = (self.ber.len() as u128, self.period.as_nanos().max(1));
        let part = (at.as_nanos() % period) as u128 * n / period as u128;
        let ber = self.ber.get(part as usize).copied().unwrap_or(0.0);
        self.stream.chance(radio::packet_loss(ber, size))
    }
}

/// The gate of a link with handovers.
pub(crate) struct CellGate {
    pub steps: Steps,
    /// Whether `steps` already contains the gaps, which then all have the same length.
    pub gaps_in_steps: bool,
    pub handovers: Handovers,
    /// Extra delay after each handover, and for how long it applies.
    pub extra: (Span, Span),
    pub errors: Option<Errors>,
}

impl Gate for CellGate {
    const HEAD_COUNTS: bool = false;

    fn ready(&mut self, at: Time, size: u32) -> Time {
        if self.gaps_in_steps {
            return self.steps.through(at, size);
        }
        self.handovers.through(&self.steps, at, size)
    }

    fn purge(&self, since: Time, begun: Time, leaves: Time) -> Option<Time> {
        self.handovers.loss_time(since, begun, leaves)
    }

    fn is_down(&self, at: Time) -> bool {
        self.handovers.is_down(at)
    }

    fn is_damaged(&mut self, at: Time, size: u32) -> bool {
        self.errors.as_mut().is_some_and(|errors| errors.lose(at, size))
    }

    fn repeats(&self) -> u32 {
        self.errors.as_ref().map_or(0, |errors| errors.repeats)
    }

    fn extra_delay(&self, at: Time) -> Span {
        if self.extra.0.is_zero() {
            return Span::ZERO;
        }
        match self.handovers.last_end(at) {
            Some(end) if at.since(end) < self.extra.1 => self.extra.0,
            _ => Span::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handovers(seed: u64, which: Which) -> Handovers {
        let span = Span::from_millis;
        Handovers {
            schedule: Schedule {
                at: vec![],
                first: span(10_000),
                every: Some(span(10_000)),
                lasts: span(100),
            },
            works: Buffer::Kept,
            fails: ([span(1000), span(2000)], Buffer::LeftBehind),
            which,
            drawn: (seed, "radio".into()),
        }
    }

    #[test]
    fn each_group_has_the_given_failures_at_uniformly_distributed_positions() {
        let mut at_place = [0; 5];
        for seed in 0..2000 {
            let h = handovers(seed, Which::Some { failures: 2, among: 5 });
            let failed: Vec<u64> = (0..15).filter(|&k| h.failed(k)).collect();
            for group in 0..3 {
                assert_eq!(failed.iter().filter(|&&k| k / 5 == group).count(), 2, "{failed:?}");
            }
            failed.iter().for_each(|k| at_place[(k % 5) as usize] += 1);
        }
        // 2000 seeds, 3 groups, 2 of 5: 2400 each, with a standard deviation below 40.
        assert!(at_place.iter().all(|&n: &i32| (n - 2400).abs() < 160), "{at_place:?}");
    }

    #[test]
    fn gaps_of_failures_are_uniformly_distributed() {
        let h = handovers(3, Which::Chance(1.0));
        let lasts: Vec<f64> = (0..4000).map(|k| h.gap_of(k).lasts.as_secs_f64()).collect();
        assert!(lasts.iter().all(|s| (1.0..=2.0).contains(s)));
        let mean = lasts.iter().sum::<f64>() / 4000.0;
        assert!((mean - 1.5).abs() < 0.02, "{mean}");
    }
}
