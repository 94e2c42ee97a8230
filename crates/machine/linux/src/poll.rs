//! Waits for a few descriptors (poll(2)).

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Descriptors that are polled repeatedly.
pub struct PollSet<'fd>(Vec<PollFd<'fd>>);

impl<'fd> PollSet<'fd> {
    /// Creates a set of descriptors, numbered in this order.
    pub fn new(fds: impl IntoIterator<Item = BorrowedFd<'fd>>) -> PollSet<'fd> {
        PollSet(fds.into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect())
    }

    /// Waits until a descriptor is readable or has failed, or until the timeout. A signal ends the wait
    /// early.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        wait(&mut self.0, timeout)
    }

    /// Whether the last wait found a descriptor readable or failed.
    pub fn is_ready(&self, number: usize) -> bool {
        self.0.get(number).is_some_and(|fd| !fd.revents().is_empty())
    }
}

/// Waits until a descriptor is readable or has failed. Returns `false` after the timeout or a signal.
pub fn wait_readable(fd: BorrowedFd<'_>, timeout: Duration) -> io::Result<bool> {
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    wait(&mut polled, timeout)?;
    Ok(!polled[0].revents().is_empty())
}

/// Waits until one of two descriptors is readable or has failed, without a limit or at most `timeout`.
/// Returns whether each is. May be called between `clone` and `execve`.
pub fn wait_either(fds: [BorrowedFd<'_>; 2], timeout: Option<Duration>) -> io::Result<[bool; 2]> {
    let mut polled = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    match timeout {
        Some(timeout) => wait(&mut polled, timeout)?,
        None => interruptible(poll(&mut polled, None))?,
    }
    Ok(polled.map(|fd| !fd.revents().is_empty()))
}

fn wait(polled: &mut [PollFd<'_>], timeout: Duration) -> io::Result<()> {
    // The kernel reports nothing for an interrupted wait.
    polled.iter_mut().for_each(PollFd::clear_revents);
    let timeout = Timespec { tv_sec: timeout.as_secs() as _, tv_nsec: timeout.subsec_nanos().into() };
    interruptible(poll(polled, Some(&timeout)))
}

fn interruptible(done: rustix::io::Result<usize>) -> io::Result<()> {
    match done {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}
