//! How far the work is: a bar on the terminal once it takes more than a second; and what the terminal is like.

use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::Style;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use units::{Span, Time};

const PATIENCE: Duration = Duration::from_secs(1);
/// A bar of bytes is told of every packet and looks at the clock instead.
const REDRAW: Duration = Duration::from_millis(100);

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

/// As wide as the terminal; colour there, unless `NO_COLOR` (no-color.org) or a dumb terminal says no.
pub fn terminal() -> Style {
    if !io::stdout().is_terminal() {
        return Style::default();
    }
    let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
    let width = console::Term::stdout().size_checked().map_or(80, |(_, columns)| columns as usize);
    Style { width, color: !set("NO_COLOR") && !dumb }
}

/// The bar that shows it.
pub struct Bar {
    wanted: bool,
    since: Instant,
    drawn: Instant,
    bar: Option<ProgressBar>,
}

impl Bar {
    /// A bar that appears on stderr after a second, when that is a terminal and it is `wanted`.
    pub fn new(wanted: bool) -> Bar {
        let now = Instant::now();
        Bar { wanted: wanted && io::stderr().is_terminal(), since: now, drawn: now, bar: None }
    }

    /// Shows `progress` as it is now.
    pub fn show(&mut self, progress: &Progress) {
        if !self.wanted || self.since.elapsed() < PATIENCE {
            return;
        }
        let (done, all) = progress.sums();
        let (finished, runs) = (progress.finished.load(Ordering::Relaxed), progress.runs.len());
        self.draw(format!("{finished} of {runs} runs"), done, Some(all));
    }

    /// Shows that `done` bytes of `all` are read; `None` where that is not known, as of a pipe.
    pub fn bytes(&mut self, done: u64, all: Option<u64>) {
        if self.wanted && self.since.elapsed() >= PATIENCE && self.drawn.elapsed() >= REDRAW {
            self.drawn = Instant::now();
            self.draw(format!("{} read", HumanBytes(done)), done, all.filter(|&all| all >= done));
        }
    }

    fn draw(&mut self, what: String, done: u64, all: Option<u64>) {
        let bar = self.bar.get_or_insert_with(|| {
            let template = if all.is_some() { "{bar:30} {percent:>3} %  {msg}" } else { "{spinner} {msg}" };
            let style =
                ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::with_draw_target(all, ProgressDrawTarget::stderr());
            bar.with_style(style.progress_chars("━╸ "))
        });
        let left = match (done, all) {
            (1.., Some(all)) => {
                let seconds = self.since.elapsed().as_secs_f64() * (all - done) as f64 / done as f64;
                format!(", {} to go", HumanDuration(Duration::from_secs(seconds.ceil() as u64)))
            }
            _ => String::new(),
        };
        bar.set_message(what + &left);
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
