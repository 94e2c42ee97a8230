//! Event queues (epoll(7)), and counters that wake the loops that wait for them (eventfd(2)).

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Events that one call takes.
const MAX_EVENTS: usize = 256;

type EventBuffer = [MaybeUninit<Event>; MAX_EVENTS];

/// What an event queue reports of a descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Readiness {
    /// What it was registered with.
    pub token: u64,
    /// There is something to read, or an end or error to be found by reading.
    pub readable: bool,
    /// There is room to write, or an error to be found by writing.
    pub writable: bool,
    /// The peer has ended its stream, or something urgent came: a short read does not mean that all is read.
    pub ends: bool,
    /// The connection failed.
    pub failed: bool,
}

/// How a descriptor is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventWatch {
    /// For connections to accept, as long as there are any; only one of the loops that watch it is woken.
    Accept,
    /// For reading, as long as there is something.
    Read,
    /// A connection, in both directions: each change is reported once (EPOLLET).
    Stream,
    /// For reading, for writing, for both or for neither, as long as it can be done.
    Level {
        /// Whether reading is awaited.
        read: bool,
        /// Whether writing is awaited.
        write: bool,
    },
}

impl EventWatch {
    fn flags(self) -> EventFlags {
        match self {
            EventWatch::Accept => EventFlags::IN | EventFlags::EXCLUSIVE,
            EventWatch::Read => EventFlags::IN,
            EventWatch::Stream => {
                EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::PRI | EventFlags::ET
            }
            EventWatch::Level { read, write } => {
                let when = |wanted, flag| if wanted { flag } else { EventFlags::empty() };
                when(read, EventFlags::IN) | when(write, EventFlags::OUT)
            }
        }
    }
}

/// An epoll instance.
pub struct EventQueue(OwnedFd);

impl EventQueue {
    /// An empty one (epoll_create1(2)).
    pub fn new() -> io::Result<EventQueue> {
        Ok(EventQueue(epoll::create(CreateFlags::CLOEXEC)?))
    }

    /// Watches a descriptor until it is closed or [`EventQueue::forget`] is called (epoll_ctl(2)).
    pub fn watch(&self, fd: BorrowedFd<'_>, token: u64, how: EventWatch) -> io::Result<()> {
        Ok(epoll::add(&self.0, fd, EventData::new_u64(token), how.flags())?)
    }

    /// Changes how a descriptor is watched.
    pub fn change(&self, fd: BorrowedFd<'_>, token: u64, how: EventWatch) -> io::Result<()> {
        Ok(epoll::modify(&self.0, fd, EventData::new_u64(token), how.flags())?)
    }

    /// Stops watching a descriptor. One that is not watched is an error without effect.
    pub fn forget(&self, fd: BorrowedFd<'_>) {
        let _ = epoll::delete(&self.0, fd);
    }

    /// Waits for events, at most so many milliseconds; -1: for as long as it takes (epoll_wait(2)).
    pub fn wait(&self, out: &mut Vec<Readiness>, timeout_ms: i32) -> io::Result<()> {
        let mut events: EventBuffer = [MaybeUninit::uninit(); MAX_EVENTS];
        let timeout = u64::try_from(timeout_ms).ok().map(|ms| timespec(Duration::from_millis(ms)));
        report(epoll::wait(&self.0, &mut events, timeout.as_ref()).map(|(found, _)| &*found), out)
    }

    /// Waits for events with a timeout to the nanosecond, as a pacer needs it (epoll_pwait2(2), Linux 5.11).
    pub fn wait_exactly(&self, out: &mut Vec<Readiness>, timeout: Option<Duration>) -> io::Result<()> {
        let mut events: EventBuffer = [MaybeUninit::uninit(); MAX_EVENTS];
        let timeout = timeout.map(timespec);
        let timeout = timeout.as_ref().map_or(std::ptr::null(), |t| &raw const *t);
        // By number, as old C libraries lack a wrapper; a null signal mask changes none.
        // SAFETY: the kernel writes at most MAX_EVENTS events, which is the array's length, reads the timeout, and keeps neither
        // address. rustix' `Event` and `Timespec` have the layout of the kernel's `epoll_event` and `__kernel_timespec`, as
        // rustix passes them in the same places.
        let n = unsafe {
            let mask = std::ptr::null::<libc::sigset_t>();
            let (queue, limit) = (self.0.as_raw_fd(), MAX_EVENTS as libc::c_int);
            libc::syscall(libc::SYS_epoll_pwait2, queue, events.as_mut_ptr(), limit, timeout, mask, 0usize)
        };
        if n < 0 {
            let code = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
            return report(Err(rustix::io::Errno::from_raw_os_error(code)), out);
        }
        // SAFETY: the kernel has written the first `n` events.
        let found = unsafe { std::slice::from_raw_parts(events.as_ptr().cast::<Event>(), n as usize) };
        report(Ok(found), out)
    }
}

fn timespec(t: Duration) -> Timespec {
    Timespec { tv_sec: t.as_secs() as _, tv_nsec: t.subsec_nanos().into() }
}

/// What a call that waited has found, as readiness. A signal that came first is as good as no event.
fn report(found: rustix::io::Result<&[Event]>, out: &mut Vec<Readiness>) -> io::Result<()> {
    out.clear();
    let found = match found {
        Err(rustix::io::Errno::INTR) => &[],
        other => other?,
    };
    out.extend(found.iter().map(|event| {
        let (flags, data) = (event.flags, event.data);
        let has = |mask: EventFlags| flags.intersects(mask);
        Readiness {
            token: data.u64(),
            readable: has(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR),
            writable: has(EventFlags::OUT | EventFlags::HUP | EventFlags::ERR),
            ends: has(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR | EventFlags::PRI),
            failed: has(EventFlags::ERR),
        }
    }));
    Ok(())
}

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
