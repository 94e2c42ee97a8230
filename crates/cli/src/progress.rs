//! How far the runs are: a bar on the terminal once it takes more than a second.

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use units::{Span, Time};

const PATIENCE: Duration = Duration::from_secs(1);

/// What the runs have told of themselves.
pub struct Progress {
    /// Each run's simulated time so far and in all, nanoseconds.
    runs: Vec<(AtomicU64, u64)>,
    finished: AtomicUsize,
}

impl Progress {
    /// Of runs with these lengths.
    pub fn new(lengths: impl Iterator<Item = Span>) -> Progress {
        let runs = lengths.map(|s| (AtomicU64::new(0), s.as_nanos())).collect();
        Progress { runs, finished: AtomicUsize::new(0) }
    }

    /// Run `i` is at `now`.
    pub fn at(&self, i: usize, now: Time) {
        let (done, length) = &self.runs[i];
        done.store(now.as_nanos().min(*length), Ordering::Relaxed);
    }

    /// Run `i` is over.
    pub fn finish(&self, i: usize) {
        let (done, length) = &self.runs[i];
        done.store(*length, Ordering::Relaxed);
        self.finished.fetch_add(1, Ordering::Relaxed);
    }

    /// Simulated so far and in all, milliseconds.
    fn sums(&self) -> (u64, u64) {
        let ms = |ns: u64| ns / 1_000_000;
        self.runs
            .iter()
            .fold((0, 0), |(done, all), (d, a)| (done + ms(d.load(Ordering::Relaxed)), all + ms(*a)))
    }
}

/// The bar that shows it.
pub struct Bar {
    wanted: bool,
    since: Instant,
    bar: Option<ProgressBar>,
}

impl Bar {
    /// A bar that appears on stderr after a second, when that is a terminal and it is `wanted`.
    pub fn new(wanted: bool) -> Bar {
        Bar { wanted: wanted && io::stderr().is_terminal(), since: Instant::now(), bar: None }
    }

    /// Shows `progress` as it is now.
    pub fn show(&mut self, progress: &Progress) {
        if !self.wanted || self.since.elapsed() < PATIENCE {
            return;
        }
        let (done, all) = progress.sums();
        let bar = self.bar.get_or_insert_with(|| {
            let template = "{bar:30} {percent:>3} %  {msg}";
            let style =
                ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
            bar.with_style(style.progress_chars("━╸ "))
        });
        let (finished, runs) = (progress.finished.load(Ordering::Relaxed), progress.runs.len());
        let left = match done {
            0 => String::new(),
            _ => {
                let seconds = self.since.elapsed().as_secs_f64() * (all - done) as f64 / done as f64;
                format!(", {} to go", HumanDuration(Duration::from_secs(seconds.ceil() as u64)))
            }
        };
        bar.set_message(format!("{finished} of {runs} runs{left}"));
        bar.set_position(done);
    }

    /// Takes the bar away.
    pub fn clear(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up_and_never_overshoot() {
        let progress = Progress::new([Span::from_secs(1), Span::from_secs(3)].into_iter());
        assert_eq!(progress.sums(), (0, 4000));
        progress.at(0, Time::ZERO + Span::from_millis(400));
        progress.at(1, Time::ZERO + Span::from_secs(5));
        assert_eq!(progress.sums(), (3400, 4000));
        progress.finish(0);
        assert_eq!((progress.sums(), progress.finished.load(Ordering::Relaxed)), ((4000, 4000), 1));
    }
}
