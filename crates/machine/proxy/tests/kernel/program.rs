//! A proxy program as users run it: its log, its signals. For the tests of `longfat` and of `longfat-pair`.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};

/// A running program and its log.
pub struct Running {
    pub child: Child,
    log: BufReader<ChildStderr>,
}

impl Running {
    pub fn new(program: &str, arguments: &[&str]) -> Running {
        let mut child = Command::new(program).args(arguments).stderr(Stdio::piped()).spawn().expect("starts");
        let log = BufReader::new(child.stderr.take().expect("a pipe"));
        Running { child, log }
    }

    /// Returns the next log entry of this event.
    pub fn entry(&mut self, event: &str) -> serde_json::Value {
        loop {
            let mut line = String::new();
            assert!(self.log.read_line(&mut line).expect("reads") > 0, "the log ends before {event}");
            let value: serde_json::Value =
                serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
            assert!(value["time"].as_str().is_some_and(|t| t.ends_with('Z')), "{line}");
            if value["event"] == event {
                return value;
            }
        }
    }

    pub fn signal(&self, signal: &str) {
        let done = Command::new("kill").args([signal, &self.child.id().to_string()]).status().expect("kill");
        assert!(done.success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
