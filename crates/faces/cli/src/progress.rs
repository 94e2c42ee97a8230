//! The progress bar, shown on a terminal after a second; and the terminal's width and colours.

#[cfg(not(target_os = "linux"))]
use crate::lab;
use experiment::Progress;
use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::Style;
use result::Clock;
use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Time before a bar appears.
const SHOW_AFTER: Duration = Duration::from_secs(1);
/// Shortest time between two drawings of a bar that is updated for every packet or cell.
const REDRAW: Duration = Duration::from_millis(100);

/// Returns the width and colour of standard output: colour on a terminal, except with `NO_COLOR`
/// (no-color.org), on a dumb terminal, or on a Windows console without ANSI sequences (before Windows 10
/// 1511).
pub fn terminal() -> Style {
    if !io::stdout().is_terminal() {
        return Style::default();
    }
    let term = console::Term::stdout();
    let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
    let width = term.size_checked().map_or(80, |(_, columns)| columns as usize);
    // `colors_supported` also switches the console to ANSI sequences.
    let color = !set("NO_COLOR") && !dumb && (cfg!(not(windows)) || term.features().colors_supported());
    Style { width, color, ..Style::default() }
}

pub struct Bar {
    enabled: bool,
    since: Instant,
    drawn: Instant,
    bar: Option<ProgressBar>,
}

impl Bar {
    /// Makes a bar that appears on stderr after a second if stderr is a terminal and the bar is `enabled`.
    pub fn new(enabled: bool) -> Bar {
        let now = Instant::now();
        Bar { enabled: enabled && io::stderr().is_terminal(), since: now, drawn: now, bar: None }
    }

    /// Shows the progress of runs.
    fn runs(&mut self, progress: &Progress) {
        if self.enabled && self.since.elapsed() >= SHOW_AFTER {
            let what = format!("{} of {} runs", progress.finished, progress.runs);
            self.draw(what, progress.played_ms, Some(progress.duration_ms));
        }
    }

    /// Shows the progress of a sweep. Cells kept from an earlier run are excluded from the estimate of the
    /// time left.
    pub fn cells(&mut self, progress: &app::sweep::SweepProgress) {
        if self.enabled && self.since.elapsed() >= SHOW_AFTER && self.drawn.elapsed() >= REDRAW {
            self.drawn = Instant::now();
            let failed = match progress.failed {
                0 => String::new(),
                n => format!(", {n} could not be run"),
            };
            let what = format!("{} of {} cells{failed}", progress.done, progress.cells);
            let (done, all) = (progress.done - progress.kept, progress.cells - progress.kept);
            self.draw(what, done as u64, Some(all as u64));
        }
    }

    /// Shows that `done` of `all` bytes are read; `all` is `None` if the size is unknown, as for a pipe.
    pub fn bytes(&mut self, done: u64, all: Option<u64>) {
        if self.enabled && self.since.elapsed() >= SHOW_AFTER && self.drawn.elapsed() >= REDRAW {
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

    /// Removes the bar.
    pub fn clear(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The bar of an experiment's runs: one bar per clock, one after the other.
pub struct RunsBar {
    enabled: bool,
    bar: Bar,
    clock: Option<Clock>,
}

impl RunsBar {
    /// Makes a bar with the conditions of [`Bar::new`].
    pub fn new(enabled: bool) -> RunsBar {
        RunsBar { enabled, bar: Bar::new(enabled), clock: None }
    }

    /// Shows `progress`.
    pub fn show(&mut self, progress: &Progress) {
        if self.clock.is_some_and(|clock| clock != progress.clock) {
            std::mem::replace(&mut self.bar, Bar::new(self.enabled)).clear();
        }
        self.clock = Some(progress.clock);
        self.bar.runs(progress);
    }

    /// Shows `progress` and returns whether to continue: Ctrl-C ends the runs.
    pub fn watch(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.show(progress);
        if lab::interrupted().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Removes the bar.
    pub fn clear(self) {
        self.bar.clear();
    }
}
