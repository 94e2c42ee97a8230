//! The foreground process group of a terminal (tcgetpgrp(3), credentials(7)), and restoring a terminal's
//! state when this process is killed.

use crate::process::{CloneInto, Forked, Pid, clone, close_all_but, exit_now, reap};
use crate::signal::{Ignored, SIGTTOU};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{getpgrp, getpid, setpgid, setsid, test_kill_process_group};
use rustix::termios::{OptionalActions, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

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

/// A process that restores a terminal if this one ends without dropping this value, even by SIGKILL.
pub struct Restorer {
    /// The other process reads its other end.
    pipe: OwnedFd,
    process: Pid,
}

impl Restorer {
    /// Starts the process. When it restores, it sets the terminal's current modes (termios(3)) and writes
    /// `text`.
    ///
    /// # Errors
    /// Fails if the descriptor is not a terminal, or no process can be created.
    pub fn new(terminal: BorrowedFd<'_>, text: &'static [u8]) -> io::Result<Restorer> {
        let modes = tcgetattr(terminal)?;
        // Descriptors above 2, as `close_all_but` expects.
        let copy = terminal.try_clone_to_owned()?;
        let terminal = copy.as_fd();
        let (read, pipe) = pipe_with(PipeFlags::CLOEXEC)?;
        // SAFETY: the child makes system calls only and ends with `exit_now`.
        match unsafe { clone(CloneInto::SameNamespaces) }? {
            Forked::Parent(process) => Ok(Restorer { pipe, process }),
            Forked::Child => {
                // In a session of its own, no key and no hang-up of the terminal ends it, and it may set the
                // modes from the background.
                let _ = setsid();
                // SAFETY: the descriptors are not used again, and nothing is dropped before the end. The end
                // of the pipe for writing must be closed here, otherwise its end would not be seen.
                let closed = unsafe { close_all_but([read.as_fd(), terminal]) };
                let mut byte = [0];
                let ended = closed.is_ok()
                    && loop {
                        match rustix::io::read(&read, &mut byte) {
                            Ok(n) => break n == 0,
                            Err(Errno::INTR) => {}
                            Err(_) => break false,
                        }
                    };
                if ended {
                    let _ = tcsetattr(terminal, OptionalActions::Now, &modes);
                    let _ = rustix::io::write(terminal, text);
                }
                exit_now(0)
            }
        }
    }
}

impl Drop for Restorer {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.pipe, b"x");
        reap(self.process);
    }
}
