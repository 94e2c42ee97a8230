//! Components of a run that end prematurely: daemons, relays, programs of flows, servers of a shell, threads.
//!
//! | component | checked by, interval | when its end is a failure |
//! |---|---|---|
//! | a host's daemons and the process that started them | `Daemons::apply_faults`, 20 ms: their first process reports each exit ([`crate::launch`]) | always, except for daemons that a fault of the scenario kills |
//! | nginx, HAProxy, the threads of a `longfat` relay | `Relays::run`, 10 ms | always |
//! | a program of a flow | `Tools::run`, 2 ms | when a signal ended it; for iperf3, and for a server that its client still needs, also when its exit code is not 0 |
//! | a server of a shell | the shell's loop, 50 ms | when a signal ended it |
//! | threads of this process | when they are joined ([`join_thread`]) | always: without them there is no measurement |
//!
//! A client that ends with a nonzero exit code is only a notice: `curl --max-time` and `timeout` do so in
//! normal use.

use crate::LabError;
use crate::clock::WallClock;
use result::DeadComponent;
use std::sync::{Mutex, PoisonError};
use std::thread::ScopedJoinHandle;

/// Exit code of a process that a signal ended, without the signal's number.
const SIGNAL_EXIT_BASE: i32 = 128;

/// Start of the text that describes an exit by a signal.
const SIGNAL_PREFIX: &str = "killed by signal ";

/// Two failures within this time, ms, may have been recorded in the wrong order: the slowest observer checks
/// every 20 ms, and a busy machine delays it.
const REORDER_WINDOW_MS: f64 = 100.0;

/// Whether an exit code means that a signal ended the process.
pub fn is_signal_exit(code: i32) -> bool {
    code > SIGNAL_EXIT_BASE && code <= SIGNAL_EXIT_BASE + 64
}

/// Describes how a process ended, from its exit code.
pub fn describe_exit(code: i32) -> String {
    if is_signal_exit(code) {
        format!("{SIGNAL_PREFIX}{}", code - SIGNAL_EXIT_BASE)
    } else {
        format!("exit code {code}")
    }
}

/// The failed components of a run, recorded by all threads.
pub struct FailedComponents {
    clock: WallClock,
    list: Mutex<Vec<DeadComponent>>,
}

impl FailedComponents {
    pub fn new(clock: WallClock) -> FailedComponents {
        FailedComponents { clock, list: Mutex::default() }
    }

    /// Records that a component has ended, at the current time.
    pub fn record(&self, component: impl Into<String>, how: impl Into<String>) {
        let at_ms = self.clock.now().as_secs_f64() * 1000.0;
        let dead = DeadComponent { component: component.into(), how: how.into(), at_ms };
        self.list.lock().unwrap_or_else(PoisonError::into_inner).push(dead);
    }

    /// Returns all failures. A component that a signal killed is listed before components that were found
    /// earlier within [`REORDER_WINDOW_MS`] and ended by themselves: those had lost their peer.
    pub fn root_cause_first(&self) -> Vec<DeadComponent> {
        let mut all = self.since(0);
        let latest = all.first().map_or(0.0, |first| first.at_ms + REORDER_WINDOW_MS);
        let was_killed = |d: &DeadComponent| d.how.starts_with(SIGNAL_PREFIX);
        let killed = all.iter().position(|d| d.at_ms <= latest && was_killed(d));
        if let Some(i) = killed {
            all[..=i].rotate_right(1);
        }
        all
    }

    /// Returns all failures but the first `known`.
    pub fn since(&self, known: usize) -> Vec<DeadComponent> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).iter().skip(known).cloned().collect()
    }
}

/// Joins a thread of the run. A panic becomes an error that names the thread.
///
/// # Errors
/// Fails with the thread's own error, or [`LabError::Died`] if it panicked.
pub fn join_thread<T>(
    thread: ScopedJoinHandle<'_, Result<T, LabError>>,
    component: &str,
) -> Result<T, LabError> {
    let died = |_| LabError::Died { component: component.into(), how: "it panicked".into() };
    thread.join().map_err(died)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn exit_codes_of_signals_are_recognised() {
        assert_eq!([0, 1, 124, 128, 129, 137, 192, 193, 255].map(is_signal_exit), {
            let (no, yes) = (false, true);
            [no, no, no, no, yes, yes, yes, no, no]
        });
        assert_eq!(
            (describe_exit(137), describe_exit(1)),
            ("killed by signal 9".into(), "exit code 1".into())
        );
    }

    #[test]
    fn failures_keep_their_order_and_time() {
        let failures = FailedComponents::new(WallClock::start_in(Duration::ZERO));
        failures.record("a", describe_exit(137));
        failures.record("b", describe_exit(1));
        let names: Vec<String> = failures.since(0).into_iter().map(|d| d.component).collect();
        assert_eq!(names, ["a", "b"]);
        let late = failures.since(1);
        assert_eq!(late.len(), 1);
        assert!(late[0].at_ms >= failures.since(0)[0].at_ms);
        assert!(failures.since(2).is_empty());
    }

    #[test]
    fn a_killed_component_is_listed_before_its_peer() {
        let failures = FailedComponents::new(WallClock::start_in(Duration::ZERO));
        failures.record("client", describe_exit(1));
        failures.record("server", describe_exit(137));
        let names = |all: Vec<DeadComponent>| all.into_iter().map(|d| d.component).collect::<Vec<_>>();
        assert_eq!(names(failures.root_cause_first()), ["server", "client"]);
        assert_eq!(names(failures.since(0)), ["client", "server"]);
    }

    #[test]
    fn a_thread_that_panics_is_named() {
        let done: Result<(), LabError> =
            std::thread::scope(|s| join_thread(s.spawn(|| panic!("in a test")), "the thread of host a"));
        assert_eq!(done.unwrap_err().to_string(), "the thread of host a died during the run: it panicked");
    }
}
