//! Signals of this process (signal(7)).

use crate::check;
use std::io;
use std::mem::zeroed;
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::null_mut;

/// The signals' numbers.
pub use libc::{SIGCHLD, SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGQUIT, SIGTERM, SIGTSTP, SIGTTOU};

/// The action for a signal.
#[derive(Clone, Copy)]
struct Disposition(libc::sighandler_t);

impl Disposition {
    const DEFAULT: Disposition = Disposition(libc::SIG_DFL);
    const IGNORED: Disposition = Disposition(libc::SIG_IGN);

    /// Sets the action. Returns the previous one if the signal can be changed.
    fn set(self, signal: i32) -> Option<Disposition> {
        // SAFETY: the fields of `Disposition` are SIG_DFL, SIG_IGN or what this call has returned earlier: a
        // handler that was installed in this program, whose code stays where it is.
        let before = unsafe { libc::signal(signal, self.0) };
        (before != libc::SIG_ERR).then_some(Disposition(before))
    }
}

/// Restores a signal's default action. May be called between `clone` and `execve`.
pub fn default_action(signal: i32) {
    Disposition::DEFAULT.set(signal);
}

/// Signals that the process ignores while this value lives.
pub struct Ignored(Vec<(i32, Option<Disposition>)>);

impl Ignored {
    /// Ignores these signals.
    pub fn new(signals: &[i32]) -> Ignored {
        Ignored(signals.iter().map(|&signal| (signal, Disposition::IGNORED.set(signal))).collect())
    }

    /// Ignores the signals of the terminal's keys, which are for the foreground command.
    pub fn terminal_keys() -> Ignored {
        Ignored::new(&[SIGINT, SIGQUIT, SIGTSTP])
    }
}

impl Drop for Ignored {
    fn drop(&mut self) {
        for (signal, before) in &self.0 {
            before.map(|before| before.set(*signal));
        }
    }
}

/// Stops this process as the terminal's suspend key does, until it is continued. The kernel does not stop a
/// process of an orphaned process group, because no process could continue it (POSIX 2.4.3).
pub fn suspend() {
    let before = Disposition::DEFAULT.set(SIGTSTP);
    // SAFETY: the signal's action is the default one: no code of this program runs.
    unsafe { libc::raise(SIGTSTP) };
    before.map(|before| before.set(SIGTSTP));
}

/// Builds a set of signals.
fn set_of(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: all zeros is a value of `sigset_t`, an array of numbers; the calls write to the one they are
    // given.
    unsafe {
        let mut set: libc::sigset_t = zeroed();
        libc::sigemptyset(&mut set);
        for &signal in signals {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

fn set_mask(how: libc::c_int, set: &libc::sigset_t) {
    // SAFETY: reads the set; with a null pointer the old mask is not returned. Blocked signals only affect
    // when handlers run, and this program's handlers are safe at any moment.
    unsafe { libc::pthread_sigmask(how, set, null_mut()) };
}

/// Blocks every signal in the calling thread. May be called between `clone` and `execve`.
pub fn block_all() {
    // SAFETY: as in `set_of`.
    let all = unsafe {
        let mut all: libc::sigset_t = zeroed();
        libc::sigfillset(&mut all);
        all
    };
    set_mask(libc::SIG_SETMASK, &all);
}

/// Blocks no signal in the calling thread. May be called between `clone` and `execve`.
pub fn block_none() {
    set_mask(libc::SIG_SETMASK, &set_of(&[]));
}

/// Returns a descriptor that becomes readable when a child changes state (signalfd(2), SIGCHLD, which must be
/// blocked). Non-blocking, closed on exec. May be called between `clone` and `execve`.
pub fn child_descriptor() -> io::Result<OwnedFd> {
    let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
    // SAFETY: reads the set, which outlives the call.
    let fd = check(unsafe { libc::signalfd(-1, &set_of(&[SIGCHLD]), flags) }.into())?;
    // SAFETY: the descriptor was just made and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Size of a record read from [`child_descriptor`].
pub const CHILD_RECORD: usize = size_of::<libc::signalfd_siginfo>();

/// Signals that a service handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceSignal {
    /// SIGTERM or SIGINT.
    End,
    /// SIGHUP.
    Reload,
}

const SERVICE_SIGNALS: [i32; 3] = [SIGTERM, SIGINT, SIGHUP];

/// Blocks SIGTERM, SIGINT and SIGHUP for [`next_signal`], in this thread and the threads that it starts.
pub fn hold_signals() {
    set_mask(libc::SIG_BLOCK, &set_of(&SERVICE_SIGNALS));
}

/// Waits for one of the blocked signals (sigwait(3)).
pub fn next_signal() -> ServiceSignal {
    loop {
        let mut signal = 0;
        // SAFETY: reads the set and writes the signal's number; both outlive the call.
        let code = unsafe { libc::sigwait(&set_of(&SERVICE_SIGNALS), &mut signal) };
        match (code, signal) {
            (0, SIGHUP) => return ServiceSignal::Reload,
            (0, _) => return ServiceSignal::End,
            _ => {}
        }
    }
}
