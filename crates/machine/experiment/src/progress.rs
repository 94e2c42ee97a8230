//! The progress of runs, as reported by the runs themselves.

use result::Clock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use units::{Span, Time};

/// The progress of the runs on one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The clock. The next clock starts when these runs are over.
    pub clock: Clock,
    /// Finished runs.
    pub finished: usize,
    /// All runs on this clock.
    pub runs: usize,
    /// The simulated or real time that the runs have covered so far, in total: milliseconds.
    pub played_ms: u64,
    /// The sum of the runs' durations: milliseconds.
    pub duration_ms: u64,
}

/// Collects the progress of the runs on one clock.
pub(crate) struct RunGauge {
    clock: Clock,
    /// Each run's time so far and its duration, nanoseconds.
    runs: Vec<(AtomicU64, u64)>,
    finished: AtomicUsize,
}

impl RunGauge {
    /// A gauge for runs with these durations.
    pub fn new(clock: Clock, durations: impl Iterator<Item = Span>) -> RunGauge {
        let runs = durations.map(|s| (AtomicU64::new(0), s.as_nanos())).collect();
        RunGauge { clock, runs, finished: AtomicUsize::new(0) }
    }

    /// Records that run `i` has reached `now`.
    pub fn at(&self, i: usize, now: Time) {
        let (played, duration) = &self.runs[i];
        played.store(now.as_nanos().min(*duration), Relaxed);
    }

    /// Records that run `i` is over.
    pub fn finish(&self, i: usize) {
        let (played, duration) = &self.runs[i];
        played.store(*duration, Relaxed);
        self.finished.fetch_add(1, Relaxed);
    }

    /// The current progress.
    pub fn read(&self) -> Progress {
        // Milliseconds, since the sum of nanoseconds over many long runs would overflow.
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
