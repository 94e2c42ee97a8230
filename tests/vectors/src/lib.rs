//! Shared vectors: the events that a congestion control receives, step by step, and the decisions that it
//! must make.
//!
//! The files are in `vectors/` at the root of the repository (see its `README.md`), one per algorithm and
//! topic. Each vector has a derivation that computes its numbers by hand from the formula that it cites.
//! Every implementation of an algorithm plays the same files, as a [`Subject`]:
//!
//! * a [`congestion::Controller`], inside a [`Flow`], which plays the transport around it;
//! * another kind of program (eBPF compiled natively), either as a `Controller` that forwards the calls, also
//!   inside a `Flow`, or as a `Subject` of its own.
//!
//! ```
//! let file = vectors::File::parse("x.toml", r#"
//! algorithm = "reno"
//! topic = "slow start"
//! source = "RFC 5681 section 3.1"
//! [[vector]]
//! name = "one packet more for each acknowledged"
//! cc = "reno"
//! derivation = "10 + 4 = 14"
//! steps = [ { send = 10 }, { wait = "50ms" }, { ack = 4, rtt = "50ms" }, { expect = { cwnd = 14 } } ]
//! "#).unwrap();
//! let reno = || congestion::make("reno", 1, "flow").unwrap();
//! assert!(file.failures(&mut |_| Ok(vectors::Flow::with(reno()))).is_empty());
//! ```

mod flow;
mod format;
mod observe;
mod read;

pub use flow::Flow;
pub use format::{Ack, Action, Change, File, Start, Step, Vector};
pub use observe::{KEYS, Kind, Observed, Seen, Want};
pub use read::Error;

use congestion::CaState;
use std::path::{Path, PathBuf};
use units::Span;

/// One connection with the algorithm under test, driven through the events listed at
/// [`congestion::Controller`]. Time only advances in [`Subject::wait`].
pub trait Subject {
    /// Establishes the connection (called once, first).
    fn start(&mut self, start: &Start);
    /// Advances the time.
    fn wait(&mut self, span: Span);
    /// Time since the start.
    fn elapsed(&self) -> Span;
    /// Sets values given by the script.
    fn set(&mut self, change: &Change);
    /// Sends `packets` new packets.
    fn send(&mut self, packets: u32);
    /// Delivers an ACK.
    fn ack(&mut self, ack: &Ack);
    /// Begins Disorder, the reduction after an ECN echo (`Cwr`), or loss recovery (`Recovery`).
    fn enter(&mut self, state: CaState);
    /// Ends that state.
    fn leave(&mut self);
    /// A retransmission timeout.
    fn time_out(&mut self);
    /// The last reduction was spurious.
    fn undo(&mut self);
    /// Delivers everything in flight without ACK events, pauses the application for `span`, then sends one
    /// packet.
    fn idle(&mut self, span: Span);
    /// The transport restarts the window at `cwnd` packets after idle time.
    fn restart(&mut self, cwnd: u32);
    /// The values that can be observed now.
    fn observe(&self) -> Observed;
    /// Keys of `expect` that this subject cannot show; they are skipped.
    fn unobservable(&self) -> &'static [&'static str] {
        &[]
    }
}

/// Folder of the shared vectors.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors")
}

/// Loads every vector file, by name.
///
/// # Errors
/// Fails for the first file that cannot be read or violates the format, with its line.
pub fn load() -> Result<Vec<File>, Error> {
    let dir = folder();
    let unreadable = |path: &Path, e: std::io::Error| Error::new(&path.to_string_lossy(), 0, e.to_string());
    let entries = std::fs::read_dir(&dir).map_err(|e| unreadable(&dir, e))?;
    let mut paths = entries
        .map(|entry| entry.map(|e| e.path()).map_err(|e| unreadable(&dir, e)))
        .collect::<Result<Vec<_>, _>>()?;
    paths.retain(|p| p.extension().is_some_and(|e| e == "toml"));
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let text = std::fs::read_to_string(path).map_err(|e| unreadable(path, e))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            File::parse(&format!("vectors/{name}"), &text)
        })
        .collect()
}

impl File {
    /// Plays every vector on a subject created by `make`. Returns one line for each difference, with file,
    /// line and vector.
    pub fn failures<S: Subject>(&self, make: &mut dyn FnMut(&Vector) -> Result<S, String>) -> Vec<String> {
        let mut failures = Vec::new();
        for vector in &self.vectors {
            let mut fail = |line: usize, text: String| {
                failures.push(format!("{}:{line}: {}: {text}", self.name, vector.name));
            };
            match make(vector) {
                Ok(mut subject) => vector.play(&mut subject, &mut fail),
                Err(reason) => fail(vector.line, reason),
            }
        }
        failures
    }
}

impl Vector {
    /// Plays the vector; `fail` receives the line and the difference.
    pub fn play(&self, subject: &mut dyn Subject, fail: &mut dyn FnMut(usize, String)) {
        subject.start(&self.start);
        for step in &self.steps {
            match &step.action {
                Action::At(at) => match at.saturating_sub(subject.elapsed()) {
                    Span::ZERO if *at < subject.elapsed() => {
                        fail(step.line, format!("at {at} is past, it is {}", subject.elapsed()));
                    }
                    span => subject.wait(span),
                },
                Action::Wait(span) => subject.wait(*span),
                Action::Set(change) => subject.set(change),
                Action::Send(packets) => subject.send(*packets),
                Action::Ack(ack) => {
                    for _ in 0..ack.times {
                        subject.wait(ack.every);
                        subject.ack(ack);
                    }
                }
                Action::Enter(state) => subject.enter(*state),
                Action::Leave => subject.leave(),
                Action::TimeOut => subject.time_out(),
                Action::Undo => subject.undo(),
                Action::Idle(span) => subject.idle(*span),
                Action::Restart(cwnd) => subject.restart(*cwnd),
                Action::Expect(wants) => {
                    let (seen, hidden) = (subject.observe(), subject.unobservable());
                    for (key, want) in wants.iter().filter(|(key, _)| !hidden.contains(key)) {
                        let found = seen.get(key);
                        if !want.is_met(found.as_ref()) {
                            let found = found.map_or("none".into(), |f| f.to_string());
                            fail(step.line, format!("{key} is {found}, expected {want}"));
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_expectation_is_reported_with_its_line() {
        let text = "algorithm = \"reno\"
topic = \"t\"
source = \"s\"
[[vector]]
name = \"n\"
cc = \"reno\"
derivation = \"d\"
steps = [
  { ack = 2, every = \"5ms\", rtt = \"5ms\" },
  { expect = { cwnd = 12, ssthresh = 5 } },
  { at = \"1ms\" },
  { expect = { cwnd = [1, 2], pacing_rate = 7 } },
]
";
        let file = File::parse("f", text).unwrap();
        let reno = || congestion::make("reno", 1, "flow").unwrap();
        assert_eq!(
            file.failures(&mut |_| Ok(Flow::with(reno()))),
            [
                "f:10: n: ssthresh is infinite, expected 5",
                "f:11: n: at 1ms is past, it is 5ms",
                "f:12: n: cwnd is 12, expected 1 or 2",
                "f:12: n: pacing_rate is none, expected 7",
            ]
        );
    }
}
