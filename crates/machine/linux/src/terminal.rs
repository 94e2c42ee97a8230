//! Who is in the foreground of a terminal (tcgetpgrp(3), credentials(7)).

use crate::process::Pid;
use crate::signal::{Ignored, SIGTTOU};
use rustix::process::{getpgrp, getpid, setpgid, test_kill_process_group};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use std::os::fd::BorrowedFd;

/// A terminal whose foreground was ours.
pub struct Foreground<'a>(BorrowedFd<'a>, Pid);

impl<'a> Foreground<'a> {
    /// `None`: the descriptor is not a terminal, or others are in its foreground.
    pub fn of(terminal: BorrowedFd<'a>) -> Option<Foreground<'a>> {
        let own = getpgrp();
        (tcgetpgrp(terminal) == Ok(own)).then_some(Foreground(terminal, own))
    }
}

/// A command leaves the terminal to its process group, which is gone; no one could type.
impl Drop for Foreground<'_> {
    fn drop(&mut self) {
        let Ok(group) = tcgetpgrp(self.0) else { return };
        if test_kill_process_group(group) == Err(rustix::io::Errno::SRCH) {
            // Out of the background the call stops the caller unless SIGTTOU is ignored.
            let _ignored = Ignored::new(&[SIGTTOU]);
            let _ = tcsetpgrp(self.0, self.1);
        }
    }
}

/// Gives the foreground of the terminal on standard input to a process group. May be called between `clone` and `execve`.
pub fn give_foreground(group: Pid) {
    let _ = tcsetpgrp(rustix::stdio::stdin(), group);
}

/// The calling process gets a process group of its own, and that group the foreground of the terminal on standard input. May be
/// called between `clone` and `execve`.
pub fn take_foreground() {
    let _ = setpgid(None, None);
    give_foreground(getpid());
}
