//! The system calls: every `unsafe` of the crate stands here, each behind a safe function. What std has (shutdown,
//! peer addresses, non-blocking reads) is std's.

#![allow(unsafe_code)]

mod address;
mod datagram;
mod process;

pub use address::{accept, bind_to, connect_to, local_address};
pub use datagram::{ask_marks, receive_marked, set_mark};
pub use process::*;

use std::io;
use std::mem::size_of;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// The result of a call that returns -1 on failure.
fn check(code: libc::c_int) -> io::Result<libc::c_int> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(code) }
}

fn check_size(n: libc::ssize_t) -> io::Result<usize> {
    if n < 0 { Err(io::Error::last_os_error()) } else { Ok(n as usize) }
}

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
    /// A connection, both ways: each change is told once (EPOLLET).
    Stream,
}

/// An epoll instance.
pub struct EventQueue(OwnedFd);

impl EventQueue {
    /// An empty one.
    pub fn new() -> io::Result<EventQueue> {
        // SAFETY: takes no pointers; the descriptor is new and ours.
        unsafe { Ok(EventQueue(OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?))) }
    }

    /// Watches a descriptor until it is closed or [`EventQueue::forget`] is called.
    pub fn watch(&self, fd: BorrowedFd<'_>, token: u64, how: EventWatch) -> io::Result<()> {
        let events = match how {
            EventWatch::Accept => libc::EPOLLIN | libc::EPOLLEXCLUSIVE,
            EventWatch::Read => libc::EPOLLIN,
            EventWatch::Stream => {
                libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLPRI | libc::EPOLLET
            }
        };
        let mut event = libc::epoll_event { events: events as u32, u64: token };
        // SAFETY: the event outlives the call; both descriptors are open.
        let code =
            unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, fd.as_raw_fd(), &mut event) };
        check(code).map(drop)
    }

    /// Watches it no more.
    pub fn forget(&self, fd: BorrowedFd<'_>) {
        // SAFETY: no event is read or written (since Linux 2.6.9 the pointer may be null); a descriptor that is not
        // watched is an error without effect.
        unsafe {
            libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_DEL, fd.as_raw_fd(), std::ptr::null_mut());
        }
    }

    /// Waits for events, at most so many milliseconds; -1: for as long as it takes.
    pub fn wait(&self, out: &mut Vec<Readiness>, timeout_ms: i32) -> io::Result<()> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; MOST];
        // SAFETY: the array outlives the call, MOST is its length.
        let n = unsafe {
            libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), MOST as libc::c_int, timeout_ms)
        };
        tell(&events, check(n), out)
    }

    /// The same with a timeout to the nanosecond (epoll_pwait2(2), Linux 5.11): what a pacer needs.
    pub fn wait_exactly(&self, out: &mut Vec<Readiness>, timeout: Option<Duration>) -> io::Result<()> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; MOST];
        let at_most = timeout
            .map(|t| libc::timespec { tv_sec: t.as_secs() as _, tv_nsec: t.subsec_nanos() as libc::c_long });
        let time = at_most.as_ref().map_or(std::ptr::null(), |t| &raw const *t);
        // SAFETY: array and time outlive the call, MOST is the array's length; a null mask changes no signals.
        let n = unsafe {
            let (none, size) = (std::ptr::null::<libc::sigset_t>(), 0usize);
            let events = events.as_mut_ptr();
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.0.as_raw_fd(),
                events,
                MOST as libc::c_int,
                time,
                none,
                size,
            )
        };
        tell(&events, check(n as libc::c_int), out)
    }
}

/// Events that one call takes.
const MOST: usize = 256;

/// What a call that waited has found, as readiness.
fn tell(
    events: &[libc::epoll_event],
    n: io::Result<libc::c_int>,
    out: &mut Vec<Readiness>,
) -> io::Result<()> {
    out.clear();
    let n = match n {
        Err(e) if e.kind() == io::ErrorKind::Interrupted => 0,
        other => other? as usize,
    };
    out.extend(events[..n].iter().map(|event| {
        let (bits, token) = (event.events as i32, event.u64);
        let has = |mask| bits & mask != 0;
        Readiness {
            token,
            readable: has(libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR),
            writable: has(libc::EPOLLOUT | libc::EPOLLHUP | libc::EPOLLERR),
            ends: has(libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR | libc::EPOLLPRI),
            failed: has(libc::EPOLLERR),
        }
    }));
    Ok(())
}

/// Non-blocking, closed on exec.
pub fn tcp_socket(is_v6: bool) -> io::Result<OwnedFd> {
    let domain = if is_v6 { libc::AF_INET6 } else { libc::AF_INET };
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes no pointers; the descriptor is new and ours.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::socket(domain, kind, 0))?)) }
}

/// Non-blocking, closed on exec.
pub fn udp_socket(is_v6: bool) -> io::Result<OwnedFd> {
    let domain = if is_v6 { libc::AF_INET6 } else { libc::AF_INET };
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes no pointers; the descriptor is new and ours.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::socket(domain, kind, 0))?)) }
}

/// Sets an option to an integer.
pub fn set_option(fd: BorrowedFd<'_>, level: i32, name: i32, value: i32) -> io::Result<()> {
    set_bytes(fd, level, name, &value.to_ne_bytes())
}

/// Sets an option to bytes.
pub fn set_bytes(fd: BorrowedFd<'_>, level: i32, name: i32, value: &[u8]) -> io::Result<()> {
    let (at, len) = (value.as_ptr().cast(), value.len() as libc::socklen_t);
    // SAFETY: reads at most `len` bytes of the slice.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, at, len) }).map(drop)
}

/// An option's integer.
pub fn get_option(fd: BorrowedFd<'_>, level: i32, name: i32) -> io::Result<i32> {
    let mut value: libc::c_int = 0;
    let mut len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: writes at most `len` bytes to the integer, and how many to `len`.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, (&raw mut value).cast(), &mut len) })?;
    Ok(value)
}

/// Whether a connection that was begun has failed, and why; takes the error from the socket.
pub fn take_error(fd: BorrowedFd<'_>) -> Option<io::Error> {
    match get_option(fd, libc::SOL_SOCKET, libc::SO_ERROR) {
        Ok(0) => None,
        Ok(code) => Some(io::Error::from_raw_os_error(code)),
        Err(e) => Some(e),
    }
}

/// Closing it resets the connection: nothing lingers.
pub fn reset_on_close(fd: BorrowedFd<'_>) {
    let value = [1i32.to_ne_bytes(), 0i32.to_ne_bytes()].concat();
    let _ = set_bytes(fd, libc::SOL_SOCKET, libc::SO_LINGER, &value);
}

/// Ends the stream that is sent.
pub fn end_stream(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_WR) }).map(drop)
}

/// Takes what is there; with `peek` it stays there.
pub fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8], peek: bool) -> io::Result<usize> {
    let flags = if peek { libc::MSG_PEEK } else { 0 };
    // SAFETY: writes at most `len` bytes to the buffer.
    check_size(unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), flags) })
}

/// Sends what there is room for.
pub fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: reads at most `len` bytes of the slice.
    check_size(unsafe { libc::send(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) })
}

/// Moves bytes from a socket to a pipe or from a pipe to a socket, at most `most`. Never with SPLICE_F_MORE: the kernel would
/// keep the last piece back for 200 ms when nothing follows (`tcp_cork` without an end).
pub fn splice(from: RawFd, to: RawFd, most: usize) -> io::Result<usize> {
    let flags = libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK;
    // SAFETY: null offsets say that neither is a file; no memory of ours is read or written.
    check_size(unsafe { libc::splice(from, std::ptr::null_mut(), to, std::ptr::null_mut(), most, flags) })
}

/// A pipe with its reading and writing end, and how many bytes it holds: as many as asked for, where this user may have
/// that (pipe(7), `pipe-user-pages-soft`).
pub fn pipe(size: usize) -> io::Result<(OwnedFd, OwnedFd, usize)> {
    let mut ends = [0; 2];
    // SAFETY: the call writes two descriptors to the array, both new and ours.
    let (read, write) = unsafe {
        check(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK))?;
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    };
    // SAFETY: takes no pointers.
    let got = unsafe {
        match libc::fcntl(write.as_raw_fd(), libc::F_SETPIPE_SZ, size as libc::c_int) {
            n if n > 0 => n,
            _ => check(libc::fcntl(write.as_raw_fd(), libc::F_GETPIPE_SZ))?,
        }
    };
    Ok((read, write, got as usize))
}

/// A counter that wakes whoever watches it.
pub fn wake_counter() -> io::Result<OwnedFd> {
    // SAFETY: takes no pointers; the descriptor is new and ours.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?)) }
}

/// Wakes whoever watches the counter.
pub fn wake(fd: BorrowedFd<'_>) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: reads eight bytes. Full is as good as counted.
    unsafe { libc::write(fd.as_raw_fd(), one.as_ptr().cast(), one.len()) };
}

/// Takes the counter's wakes.
pub fn take_wakes(fd: BorrowedFd<'_>) {
    let mut count = [0u8; 8];
    // SAFETY: writes at most eight bytes.
    unsafe { libc::read(fd.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
}

/// Listens; the queue is as long as the system permits (`net.core.somaxconn`).
pub fn listen(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { libc::listen(fd.as_raw_fd(), 65_535) }).map(drop)
}

/// Whether IP_TRANSPARENT can be had, set on the socket.
pub fn be_transparent(fd: BorrowedFd<'_>, address: &SocketAddr) -> io::Result<()> {
    match address {
        SocketAddr::V4(_) => set_option(fd, libc::SOL_IP, libc::IP_TRANSPARENT, 1),
        SocketAddr::V6(_) => set_option(fd, libc::SOL_IPV6, libc::IPV6_TRANSPARENT, 1),
    }
}
