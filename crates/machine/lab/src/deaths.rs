//! Components of a run that end before their time: daemons, relays, programs of flows, servers of a shell, threads.
//!
//! | component | who looks, how often | its end is a death |
//! |---|---|---|
//! | a host's daemons and the process that started them | `Daemons::play`, 20 ms: their first process reports each end ([`crate::launch`]) | always, but for those that a fault of the scenario kills |
//! | nginx, HAProxy, the threads of a `longfat` relay | `Relays::run`, 10 ms | always |
//! | a program of a flow | `Tools::run`, 2 ms | when a signal ended it; of iperf3, and of a server that its client still needs, also with an exit code of its own that is not 0 |
//! | a server of a shell | the shell's loop, 50 ms | when a signal ended it |
//! | threads of this process | when they are joined ([`joined`]) | always: without them there is no measurement |
//!
//! A client that ends with an exit code of its own is a notice: `curl --max-time` and `timeout` do so when all is well.

use crate::LabError;
use crate::clock::WallClock;
use result::DeadComponent;
use std::sync::{Mutex, PoisonError};
use std::thread::ScopedJoinHandle;

/// What shells add to the number of the signal that ended a process.
const BY_SIGNAL: i32 = 128;

/// How the text of such an end begins.
const KILLED: &str = "killed by signal ";

/// Two deaths this close, ms, may have been noticed in the wrong order: the slowest observer looks every 20 ms, and a busy
/// machine delays it.
const NOTICED_WITHIN_MS: f64 = 100.0;

/// Whether a signal ended the process that left this exit code.
pub fn by_signal(code: i32) -> bool {
    code > BY_SIGNAL && code <= BY_SIGNAL + 64
}

/// How a process ended that left this exit code.
pub fn how(code: i32) -> String {
    if by_signal(code) { format!("{KILLED}{}", code - BY_SIGNAL) } else { format!("exit code {code}") }
}

/// The deaths of a run, from all threads.
pub struct Deaths {
    clock: WallClock,
    list: Mutex<Vec<DeadComponent>>,
}

impl Deaths {
    /// None yet.
    pub fn new(clock: WallClock) -> Deaths {
        Deaths { clock, list: Mutex::default() }
    }

    /// A component was found dead now.
    pub fn note(&self, component: impl Into<String>, how: impl Into<String>) {
        let at_ms = self.clock.now().as_secs_f64() * 1000.0;
        let dead = DeadComponent { component: component.into(), how: how.into(), at_ms };
        self.list.lock().unwrap_or_else(PoisonError::into_inner).push(dead);
    }

    /// All of them. A component that a signal killed stands before those that were found just before it and ended by
    /// themselves: they had lost their peer.
    pub fn first_cause_first(&self) -> Vec<DeadComponent> {
        let mut all = self.since(0);
        let latest = all.first().map_or(0.0, |first| first.at_ms + NOTICED_WITHIN_MS);
        let was_killed = |d: &DeadComponent| d.how.starts_with(KILLED);
        let killed = all.iter().position(|d| d.at_ms <= latest && was_killed(d));
        if let Some(i) = killed {
            all[..=i].rotate_right(1);
        }
        all
    }

    /// All but the first so many.
    pub fn since(&self, known: usize) -> Vec<DeadComponent> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).iter().skip(known).cloned().collect()
    }
}

/// What a thread of the run yields; one that panicked is an error that names it.
///
/// # Errors
/// The thread's own, and [`LabError::Died`].
pub fn joined<T>(thread: ScopedJoinHandle<'_, Result<T, LabError>>, component: &str) -> Result<T, LabError> {
    let died = |_| LabError::Died { component: component.into(), how: "it panicked".into() };
    thread.join().map_err(died)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_signal_is_told_from_an_exit_code() {
        assert_eq!([0, 1, 124, 128, 129, 137, 192, 193, 255].map(by_signal), {
            let (no, yes) = (false, true);
            [no, no, no, no, yes, yes, yes, no, no]
        });
        assert_eq!((how(137), how(1)), ("killed by signal 9".into(), "exit code 1".into()));
    }

    #[test]
    fn deaths_keep_their_order_and_time() {
        let deaths = Deaths::new(WallClock::start_in(Duration::ZERO));
        deaths.note("a", how(137));
        deaths.note("b", how(1));
        let names: Vec<String> = deaths.since(0).into_iter().map(|d| d.component).collect();
        assert_eq!(names, ["a", "b"]);
        let late = deaths.since(1);
        assert_eq!(late.len(), 1);
        assert!(late[0].at_ms >= deaths.since(0)[0].at_ms);
        assert!(deaths.since(2).is_empty());
    }

    #[test]
    fn what_a_signal_killed_stands_before_what_lost_its_peer() {
        let deaths = Deaths::new(WallClock::start_in(Duration::ZERO));
        deaths.note("client", how(1));
        deaths.note("server", how(137));
        let names = |all: Vec<DeadComponent>| all.into_iter().map(|d| d.component).collect::<Vec<_>>();
        assert_eq!(names(deaths.first_cause_first()), ["server", "client"]);
        assert_eq!(names(deaths.since(0)), ["client", "server"]);
    }

    #[test]
    fn a_thread_that_panics_is_named() {
        let done: Result<(), LabError> =
            std::thread::scope(|s| joined(s.spawn(|| panic!("in a test")), "the thread of host a"));
        assert_eq!(done.unwrap_err().to_string(), "the thread of host a died during the run: it panicked");
    }
}
