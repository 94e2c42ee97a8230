//! The foreground process group of a terminal (tcgetpgrp(3), credentials(7)).

use crate::process::Pid;
use crate::signal::{Ignored, SIGTTOU};
use rustix::process::{getpgrp, getpid, setpgid, test_kill_process_group};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use std::os::fd::BorrowedFd;

/// A terminal whose foreground belonged to this process group; dropping this restores it.
pub struct Foreground<'a>(BorrowedFd<'a>, Pid);

impl<'a> Foreground<'a> {
    /// Returns `None` if the descriptor is not a terminal, or another process group is in its foreground.
    pub fn of(terminal: BorrowedFd<'a>) -> Option<Foreground<'a>> {
        let own = getpgrp();
        (tcgetpgrp(terminal) == Ok(own)).then_some(Foreground(terminal, own))
    }
}

/// A command may leave the terminal to its process group, which is gone; then no process could read input.
impl Drop for Foreground<'_> {
    fn drop(&mut self) {
        let Ok(group) = tcgetpgrp(self.0) else { return };
        if test_kill_process_group(group) == Err(rustix::io::Errno::SRCH) {
            // From the background, the call stops the caller unless SIGTTOU is ignored.
            let _ignored = Ignored::new(&[SIGTTOU]);
            let _ = tcsetpgrp(self.0, self.1);
        }
    }
}

/// Makes a process group the foreground of the terminal on standard input. May be called between `clone` and
/// `execve`.
pub fn give_foreground(group: Pid) {
    let _ = tcsetpgrp(rustix::stdio::stdin(), group);
}

/// Moves the calling process into its own process group and makes that the foreground of the terminal on
/// standard input. May be called between `clone` and `execve`.
pub fn take_foreground() {
    let _ = setpgid(None, None);
    give_foreground(getpid());
}
