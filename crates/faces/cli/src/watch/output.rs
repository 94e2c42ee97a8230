//! Output of `longfat watch` each second. A thread of its own prints, so that a slow terminal or pipe never
//! delays the reading of packets: a report that it has no room for is skipped, and the next one covers its
//! time.

use super::recording::Recording;
use super::view;
use crate::args::{LiveArg, WatchArgs};
use crate::escape;
use crate::problem::CliProblem;
use app::watch::OnReport;
use report::Lang;
use result::watch::WatchReport;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

/// Reports that wait for the thread.
const MAX_WAITING: usize = 4;
/// A report of a shorter time is not printed as a line: the one at the end.
const MIN_LINE_S: f64 = 0.3;

/// Returns what to show.
///
/// # Errors
/// Fails if a view is wanted without a terminal.
pub fn live_mode(args: &WatchArgs) -> Result<LiveArg, CliProblem> {
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    match args.live {
        Some(LiveArg::View) if !is_terminal => Err(CliProblem::usage(
            "--live view: standard input and output are not a terminal; `--live lines` works anywhere".into(),
        )),
        Some(mode) => Ok(mode),
        None if !args.command.is_empty() => Ok(LiveArg::Off),
        None if is_terminal && !is_dumb && !args.json => Ok(LiveArg::View),
        None => Ok(LiveArg::Lines),
    }
}

/// State of the thread that shows reports.
struct Showing {
    mode: LiveArg,
    /// Name of what is watched.
    name: String,
    lang: Lang,
    reports: Receiver<WatchReport>,
    recording: Recording,
}

/// The live output: create, start, finish.
#[derive(Default)]
pub struct LiveOutput {
    /// Set when the output ends the watch: the user quits, or standard output is closed.
    stop: Arc<AtomicBool>,
    /// The capture that the view writes.
    recording: Recording,
    showing: Option<Showing>,
    thread: Option<JoinHandle<()>>,
}

impl LiveOutput {
    /// Creates the output and the function that takes its reports; nothing is shown before
    /// [`LiveOutput::start`].
    pub fn new(mode: LiveArg, name: &str, lang: Lang) -> (LiveOutput, Option<OnReport>) {
        if mode == LiveArg::Off {
            return (LiveOutput::default(), None);
        }
        let (sender, reports) = sync_channel(MAX_WAITING);
        let on_report: OnReport =
            Box::new(move |report| !matches!(sender.try_send(report), Err(TrySendError::Full(_))));
        let recording = Recording::new(lang);
        let showing = Some(Showing { mode, name: name.into(), lang, reports, recording: recording.clone() });
        (LiveOutput { showing, recording, ..LiveOutput::default() }, Some(on_report))
    }

    /// Returns the flag that ends the watch.
    pub fn stop(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    /// Returns what takes the packets that the view records.
    pub fn recording(&self) -> Recording {
        self.recording.clone()
    }

    /// Starts to show reports.
    pub fn start(&mut self) {
        let stop = self.stop.clone();
        self.thread = self.showing.take().map(|showing| thread::spawn(move || show(showing, &stop)));
    }

    /// Waits until all reports are shown and the terminal is as before. The function that takes reports must
    /// have been dropped.
    pub fn finish(self) {
        let recording = self.recording;
        if let Some(Err(panic)) = self.thread.map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
        recording.end();
        let message = recording.message();
        if !message.is_empty() {
            let _ = writeln!(io::stderr(), "{}", escape::value(&message));
        }
    }
}

/// Shows reports until there are no more.
fn show(Showing { mode, name, lang, reports, recording }: Showing, stop: &AtomicBool) {
    let done = match mode {
        LiveArg::Off => Ok(()),
        LiveArg::Lines => reports.iter().filter(|r| r.seconds >= MIN_LINE_S).try_for_each(|report| {
            let line = report::watch::line(&report, lang) + "\n";
            io::stderr().write_all(escape::lines(&line).as_bytes())
        }),
        LiveArg::Json => reports.iter().try_for_each(|report| {
            let line = serde_json::to_string(&report).map_err(io::Error::other)? + "\n";
            let mut out = io::stdout().lock();
            out.write_all(escape::json(&line).as_bytes()).and_then(|()| out.flush())
        }),
        LiveArg::View => view::show(&name, lang, &reports, &recording),
    };
    match done {
        Ok(()) if mode != LiveArg::View => return,
        Ok(()) => {}
        Err(e) if e.kind() == ErrorKind::BrokenPipe => {}
        Err(e) => {
            let _ = writeln!(io::stderr(), "error: live output: {}", escape::value(&e.to_string()));
        }
    }
    stop.store(true, Ordering::Relaxed);
}
