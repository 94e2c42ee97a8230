//! Event queues (epoll(7)), and eventfds that wake the loops that wait for them (eventfd(2)).

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Maximum number of events that one call returns.
const MAX_EVENTS: usize = 256;

type EventBuffer = [MaybeUninit<Event>; MAX_EVENTS];

/// Readiness of a descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Readiness {
    /// The token with which the descriptor was registered.
    pub token: u64,
    /// Whether a read returns data, the end of the stream, or an error.
    pub readable: bool,
    /// Whether a write has room, or returns an error.
    pub writable: bool,
    /// Whether the peer has ended its stream, or urgent data arrived: a short read does not mean that all is
    /// read.
    pub ends: bool,
    /// Whether the connection failed.
    pub failed: bool,
}

/// The events that a descriptor is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventWatch {
    /// Connections to accept, level-triggered; only one of the loops that watch the socket is woken.
    Accept,
    /// Readability, level-triggered.
    Read,
    /// Both directions of a connection, edge-triggered (EPOLLET).
    Stream,
    /// Readability, writability, both or neither, level-triggered.
    Level { read: bool, write: bool },
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
    /// Creates an empty queue (epoll_create1(2)).
    pub fn new() -> io::Result<EventQueue> {
        Ok(EventQueue(epoll::create(CreateFlags::CLOEXEC)?))
    }

    /// Watches a descriptor until it is closed or [`EventQueue::forget`] is called (epoll_ctl(2)).
    pub fn watch(&self, fd: BorrowedFd<'_>, token: u64, how: EventWatch) -> io::Result<()> {
        Ok(epoll::add(&self.0, fd, EventData::new_u64(token), how.flags())?)
    }

    /// Changes the events that a descriptor is watched for.
    pub fn change(&self, fd: BorrowedFd<'_>, token: u64, how: EventWatch) -> io::Result<()> {
        Ok(epoll::modify(&self.0, fd, EventData::new_u64(token), how.flags())?)
    }

    /// Stops watching a descriptor; no effect if it is not watched.
    pub fn forget(&self, fd: BorrowedFd<'_>) {
        let _ = epoll::delete(&self.0, fd);
    }

    /// Waits for events, at most `timeout_ms`; -1: without a limit (epoll_wait(2)).
    pub fn wait(&self, out: &mut Vec<Readiness>, timeout_ms: i32) -> io::Result<()> {
        let mut events: EventBuffer = [MaybeUninit::uninit(); MAX_EVENTS];
        let timeout = u64::try_from(timeout_ms).ok().map(|ms| timespec(Duration::from_millis(ms)));
        report(epoll::wait(&self.0, &mut events, timeout.as_ref()).map(|(found, _)| &*found), out)
    }

    /// Waits for events with a timeout in nanoseconds, as pacing needs it (epoll_pwait2(2), Linux 5.11).
    pub fn wait_exactly(&self, out: &mut Vec<Readiness>, timeout: Option<Duration>) -> io::Result<()> {
        let mut events: EventBuffer = [MaybeUninit::uninit(); MAX_EVENTS];
        let timeout = timeout.map(timespec);
        let timeout = timeout.as_ref().map_or(std::ptr::null(), |t| &raw const *t);
        // Called by number, because old C libraries lack a wrapper; a null signal mask changes nothing.
        // SAFETY: `events` has room for MAX_EVENTS, and `timeout` is null or points to a value that outlives
        // the call.
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

/// Converts the events of a wait to readiness. A signal counts as no event.
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

/// Creates a counter at zero; it becomes readable when [`wake`] is called. Non-blocking, closed on exec.
pub fn wake_counter() -> io::Result<OwnedFd> {
    Ok(rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// Wakes the loops that watch the counter. A full counter rejects the write, but then the loops are awake
/// anyway.
pub fn wake(counter: BorrowedFd<'_>) {
    let _ = rustix::io::write(counter, &1u64.to_ne_bytes());
}

/// Resets the counter to zero.
pub fn take_wakes(counter: BorrowedFd<'_>) {
    let _ = rustix::io::read(counter, &mut [0; 8]);
}
