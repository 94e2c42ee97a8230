//! How far the runs are, as they tell it themselves.

use result::Clock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use units::{Span, Time};

/// How far the runs on one clock are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Which clock; the next begins when this one's runs are over.
    pub clock: Clock,
    /// Runs that are over.
    pub finished: usize,
    /// All runs on this clock.
    pub runs: usize,
    /// The time that the runs have played, virtual or real, summed up: milliseconds.
    pub played_ms: u64,
    /// The sum of their durations: milliseconds.
    pub duration_ms: u64,
}

/// What the runs on a clock have told of themselves.
pub(crate) struct RunGauge {
    clock: Clock,
    /// Each run's time so far and in all, nanoseconds.
    runs: Vec<(AtomicU64, u64)>,
    finished: AtomicUsize,
}

impl RunGauge {
    /// Of runs with these durations.
    pub fn new(clock: Clock, durations: impl Iterator<Item = Span>) -> RunGauge {
        let runs = durations.map(|s| (AtomicU64::new(0), s.as_nanos())).collect();
        RunGauge { clock, runs, finished: AtomicUsize::new(0) }
    }

    /// Run `i` is at `now`.
    pub fn at(&self, i: usize, now: Time) {
        let (played, duration) = &self.runs[i];
        played.store(now.as_nanos().min(*duration), Relaxed);
    }

    /// Run `i` is over.
    pub fn finish(&self, i: usize) {
        let (played, duration) = &self.runs[i];
        played.store(*duration, Relaxed);
        self.finished.fetch_add(1, Relaxed);
    }

    /// Where they are now.
    pub fn read(&self) -> Progress {
        // Milliseconds: the nanoseconds of many long runs do not fit.
        let ms = |ns: u64| ns / 1_000_000;
        let sums = self.runs.iter().fold((0, 0), |(p, d), run| (p + ms(run.0.load(Relaxed)), d + ms(run.1)));
        Progress {
            clock: self.clock,
            finished: self.finished.load(Relaxed),
            runs: self.runs.len(),
            played_ms: sums.0,
            duration_ms: sums.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up_and_never_overshoot() {
        let gauge = RunGauge::new(Clock::Sim, [Span::from_secs(1), Span::from_secs(3)].into_iter());
        let sums = || (gauge.read().played_ms, gauge.read().duration_ms);
        assert_eq!(sums(), (0, 4000));
        gauge.at(0, Time::ZERO + Span::from_millis(400));
        gauge.at(1, Time::ZERO + Span::from_secs(5));
        assert_eq!(sums(), (3400, 4000));
        gauge.finish(0);
        assert_eq!((sums(), gauge.read().finished), ((4000, 4000), 1));
    }
}
