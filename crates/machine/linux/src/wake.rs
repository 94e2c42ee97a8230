//! Counters that wake an event loop (eventfd(2)).

use rustix::event::EventfdFlags;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// A counter at zero: it can be read once [`wake`] was called. Non-blocking, closed on exec.
pub fn wake_counter() -> io::Result<OwnedFd> {
    Ok(rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// Wakes the loops that watch the counter. A full counter refuses, and they are awake anyway.
pub fn wake(counter: BorrowedFd<'_>) {
    let _ = rustix::io::write(counter, &1u64.to_ne_bytes());
}

/// Sets the counter back to zero.
pub fn take_wakes(counter: BorrowedFd<'_>) {
    let _ = rustix::io::read(counter, &mut [0; 8]);
}
