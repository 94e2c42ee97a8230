//! The system calls: every `unsafe` of the crate stands here, each behind a safe function.
//!
//! Nothing here touches the caller's namespaces: [`enter_new_network`] and [`enter_network`] change
//! those of the calling *thread* only.

#![allow(unsafe_code)]

mod confine;
mod guard;
mod init;
mod interrupt;
mod mapped;
mod process;

pub use confine::{Confinement, MountStep};
pub use guard::{filter, filters_calls, landlock_version};
pub use init::{CONTINUE, LaunchStep, Orders, STOPPED};
pub use interrupt::{catch_interrupts, interrupted};
pub use mapped::{folder_for, is_read_only};
pub use process::*;

use std::fs::File;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// The result of a call that returns -1 on failure.
fn check(code: libc::c_int) -> io::Result<libc::c_int> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(code) }
}

fn check_size(n: libc::ssize_t) -> io::Result<usize> {
    if n < 0 { Err(io::Error::last_os_error()) } else { Ok(n as usize) }
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
#[inline]
pub fn monotonic() -> u64 {
    // SAFETY: `timespec` is plain data, and the call writes to the one it is given.
    let t = unsafe {
        let mut t: libc::timespec = zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t);
        t
    };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// The calling thread gets a network namespace of its own.
pub fn enter_new_network() -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// The calling thread enters a network namespace.
pub fn enter_network(namespace: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes no pointers; the descriptor is open.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// Does something in a network namespace, in a thread that ends with it.
pub fn within<T: Send>(namespace: BorrowedFd<'_>, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let there = || enter_network(namespace).map(|()| work());
    let done = std::thread::scope(|s| s.spawn(there).join());
    done.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

/// The calling thread's network namespace, kept for as long as the file is open.
pub fn own_network() -> io::Result<OwnedFd> {
    File::open("/proc/thread-self/ns/net").map(OwnedFd::from)
}

/// The calling process (single-threaded) enters a user namespace of its own, in which nobody has a name yet.
pub fn enter_new_user_unmapped() -> io::Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER) }).map(drop)
}

/// The calling process (single-threaded) becomes root of a user namespace of its own.
pub fn enter_new_user() -> io::Result<()> {
    // SAFETY: these take no pointers and cannot fail.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    enter_new_user_unmapped()?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
}

/// Why a new namespace of this kind (`user`, `net`) was refused: the kernel says "no space left on device" where it means
/// that a user may have no more (user_namespaces(7), `/proc/sys/user/max_KIND_namespaces`).
pub fn namespace_refusal(e: &io::Error, kind: &str) -> String {
    match e.raw_os_error() {
        Some(libc::ENOSPC | libc::EUSERS) => {
            format!(
                "this user has as many {kind} namespaces as the kernel gives it (user.max_{kind}_namespaces)"
            )
        }
        _ => e.to_string(),
    }
}

/// Which process [`fork`] returned in.
pub enum Forked {
    /// The new one.
    Child,
    /// The old one, with the new one's id.
    Parent(libc::pid_t),
}

/// Forks. The child has only the calling thread; it must not return to its caller's caller.
pub fn fork() -> io::Result<Forked> {
    // SAFETY: glibc makes its allocator fit for use in the child; the child of this crate takes no
    // lock that another thread of the parent could have held (it prints nothing) and leaves by `exit_now`.
    match check(unsafe { libc::fork() })? {
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(pid)),
    }
}

/// Ends the process without running its exit handlers.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: takes no pointers, never returns.
    unsafe { libc::_exit(code) }
}

/// This process is killed when the thread that forked it dies.
pub fn die_with_parent() {
    // SAFETY: takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
}

/// The parent's process id.
pub fn parent() -> libc::pid_t {
    // SAFETY: takes no pointers, cannot fail.
    unsafe { libc::getppid() }
}

/// Kills a child, if it still runs, and takes its exit status.
pub fn reap(pid: libc::pid_t, kill: bool) {
    // SAFETY: takes no pointers but a null one for "no status wanted". The child is ours and not
    // yet waited for, so its id is not someone else's.
    unsafe {
        if kill {
            libc::kill(pid, libc::SIGKILL);
        }
        libc::waitpid(pid, std::ptr::null_mut(), 0);
    }
}

/// A pipe: its reading and its writing end.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the call writes two descriptors to the array.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: both were just made and have no other owner.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// A file in memory with these bytes, at its begin; gone with its last descriptor (memfd_create(2)).
pub fn nameless_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    // SAFETY: the name is a text that ends with 0; a descriptor that was just made has no other owner.
    let fd =
        unsafe { OwnedFd::from_raw_fd(check(libc::memfd_create(c"longfat".as_ptr(), libc::MFD_CLOEXEC))?) };
    let mut file = File::from(fd);
    io::Write::write_all(&mut file, bytes)?;
    io::Seek::rewind(&mut file)?;
    Ok(file.into())
}

/// Asks for real-time scheduling of the calling thread and the finest timers; false if refused.
pub fn be_punctual(priority: Option<i32>) -> bool {
    // SAFETY: `sched_param` is plain data, read by the call; prctl takes no pointers.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
        let Some(priority) = priority else { return true };
        let mut param: libc::sched_param = zeroed();
        param.sched_priority = priority;
        // By number, since musl's own function refuses always; 0 is the calling thread.
        let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
        libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const param) == 0
    }
}

/// Lets others of the same priority run.
pub fn give_way() {
    // SAFETY: takes no pointers.
    unsafe { libc::sched_yield() };
}

/// CPU nanoseconds the calling thread has used.
pub fn thread_cpu() -> u64 {
    // SAFETY: `timespec` is plain data, and the call writes to the one it is given.
    let t = unsafe {
        let mut t: libc::timespec = zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t);
        t
    };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// One bit of the effective capability set of this thread.
pub fn has_capability(bit: u32) -> bool {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let set = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    set.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).is_some_and(|caps| caps >> bit & 1 == 1)
}

/// Whether this thread may make namespaces and devices (capabilities(7)).
pub fn may_build() -> bool {
    const CAP_NET_ADMIN: u32 = 12;
    const CAP_SYS_ADMIN: u32 = 21;
    has_capability(CAP_SYS_ADMIN) && has_capability(CAP_NET_ADMIN)
}

const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
const TUNSETOFFLOAD: libc::c_ulong = 0x4004_54d0;
/// Checksums and super-packets of TCP over IPv4 and IPv6 are left to us (`TUN_F_CSUM`, `TUN_F_TSO4`, `TUN_F_TSO6`, `TUN_F_TSO_ECN`).
const TUN_OFFLOADS: libc::c_ulong = 1 | 2 | 4 | 8;

/// Creates a TUN device in the calling thread's network namespace, with a virtio header before
/// each packet. It vanishes with the descriptor.
pub fn open_tun(name: &str) -> io::Result<OwnedFd> {
    let file = std::fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun")?;
    // SAFETY: `ifreq` is plain data. The name is shorter than the field, so it stays terminated.
    // The ioctl reads and writes the ifreq it is given.
    unsafe {
        let mut request: libc::ifreq = zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
        check(libc::ioctl(file.as_raw_fd(), TUNSETIFF as _, &mut request))?;
        check(libc::ioctl(file.as_raw_fd(), TUNSETOFFLOAD as _, TUN_OFFLOADS))?;
    }
    set_nonblocking(file.as_fd())?;
    Ok(file.into())
}

/// Reads and writes return at once.
pub fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes no pointers; the descriptor is open.
    unsafe {
        let flags = check(libc::fcntl(fd.as_raw_fd(), libc::F_GETFL))?;
        check(libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK)).map(drop)
    }
}

/// Reads once.
#[inline]
pub fn read(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: writes at most `len` bytes to the buffer.
    check_size(unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) })
}

/// Writes once.
#[inline]
pub fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: reads at most `len` bytes of the slice.
    check_size(unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) })
}

/// Waits until one of the descriptors can be read or the time is over; sets `ready` for each.
pub fn poll_readable(fds: &[RawFd], ready: &mut Vec<bool>, timeout: Duration) -> io::Result<()> {
    let mut polled = [libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 }; MOST_POLLED];
    let polled = &mut polled[..fds.len()];
    for (p, &fd) in polled.iter_mut().zip(fds) {
        p.fd = fd;
    }
    let t =
        libc::timespec { tv_sec: timeout.as_secs() as _, tv_nsec: timeout.subsec_nanos() as libc::c_long };
    // SAFETY: the array and the timespec outlive the call; no signal mask.
    let code =
        unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, &t, std::ptr::null()) };
    ready.clear();
    ready.extend(polled.iter().map(|p| p.revents != 0));
    match check(code) {
        Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(e),
        _ => Ok(()),
    }
}

/// The most descriptors [`poll_readable`] takes.
pub const MOST_POLLED: usize = 512;

/// An event queue.
pub struct Epoll(OwnedFd);

/// What an [`Epoll`] reported: the token, readable (or failed), writable.
pub type Event = (u64, bool, bool);

impl Epoll {
    /// An empty one.
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: takes no pointers; the descriptor is new and ours.
        unsafe { Ok(Epoll(OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?))) }
    }

    /// Sets what is awaited of a descriptor; `new` the first time.
    pub fn set(&self, fd: RawFd, token: u64, read: bool, write: bool, new: bool) -> io::Result<()> {
        let mut events = 0;
        if read {
            events |= libc::EPOLLIN as u32;
        }
        if write {
            events |= libc::EPOLLOUT as u32;
        }
        let mut event = libc::epoll_event { events, u64: token };
        let op = if new { libc::EPOLL_CTL_ADD } else { libc::EPOLL_CTL_MOD };
        // SAFETY: the event outlives the call.
        check(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), op, fd, &mut event) }).map(drop)
    }

    /// Waits for events, at most as long as told.
    pub fn wait(&self, timeout: Duration, out: &mut Vec<Event>) -> io::Result<()> {
        out.clear();
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
        let t = libc::timespec {
            tv_sec: timeout.as_secs() as _,
            tv_nsec: timeout.subsec_nanos() as libc::c_long,
        };
        // SAFETY: the array and the timespec outlive the call, 64 is the array's length; no signal
        // mask. Called by number, as old C libraries lack a wrapper.
        let n = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.0.as_raw_fd(),
                events.as_mut_ptr(),
                64 as libc::c_int,
                &t as *const libc::timespec,
                std::ptr::null::<libc::sigset_t>(),
                size_of::<libc::c_ulong>(),
            )
        };
        let n = match check_size(n as libc::ssize_t) {
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => 0,
            Err(e) => return Err(e),
        };
        for event in &events[..n] {
            let (bits, token) = (event.events, event.u64);
            let failed = bits & (libc::EPOLLERR | libc::EPOLLHUP) as u32 != 0;
            out.push((
                token,
                failed || bits & libc::EPOLLIN as u32 != 0,
                failed || bits & libc::EPOLLOUT as u32 != 0,
            ));
        }
        Ok(())
    }
}

fn sockaddr(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all three are plain data; the storage has room for either of the others and is aligned for them.
    unsafe {
        let mut all: libc::sockaddr_storage = zeroed();
        let size = match address {
            SocketAddr::V4(address) => {
                let a = &mut *(&raw mut all).cast::<libc::sockaddr_in>();
                a.sin_family = libc::AF_INET as libc::sa_family_t;
                a.sin_port = address.port().to_be();
                a.sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(address) => {
                let a = &mut *(&raw mut all).cast::<libc::sockaddr_in6>();
                a.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                a.sin6_port = address.port().to_be();
                a.sin6_addr.s6_addr = address.ip().octets();
                size_of::<libc::sockaddr_in6>()
            }
        };
        (all, size as libc::socklen_t)
    }
}

/// Any address of that version.
pub fn any(of: IpAddr) -> IpAddr {
    if of.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() }
}

/// The protocol family of an address.
fn family(of: IpAddr) -> libc::c_int {
    if of.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }
}

/// Which way a packet went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received {
    /// To this host.
    Here,
    /// Out of it.
    Outgoing,
    /// To others.
    Other,
}

/// A socket. Non-blocking, closed on exec.
pub struct KernelSocket(OwnedFd);

impl KernelSocket {
    fn new(domain: i32, kind: i32, protocol: i32) -> io::Result<KernelSocket> {
        // SAFETY: takes no pointers; the descriptor is new and ours.
        unsafe {
            let fd = check(libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol))?;
            Ok(KernelSocket(OwnedFd::from_raw_fd(fd)))
        }
    }
    /// A TCP socket of an address' version of IP.
    pub fn tcp(of: IpAddr) -> io::Result<KernelSocket> {
        KernelSocket::new(family(of), libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0)
    }
    /// A UDP socket of an address' version of IP.
    pub fn udp(of: IpAddr) -> io::Result<KernelSocket> {
        KernelSocket::new(family(of), libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, 0)
    }
    /// A blocking rtnetlink socket.
    pub fn netlink() -> io::Result<KernelSocket> {
        KernelSocket::netlink_of(libc::NETLINK_ROUTE)
    }
    /// A blocking netlink socket of another protocol.
    pub fn netlink_of(protocol: i32) -> io::Result<KernelSocket> {
        KernelSocket::new(libc::AF_NETLINK, libc::SOCK_RAW, protocol)
    }
    /// A netlink socket that hears what is told to these groups (a bit each, the first is 1).
    pub fn netlink_groups(protocol: i32, groups: u32) -> io::Result<KernelSocket> {
        let socket = KernelSocket::new(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_NONBLOCK, protocol)?;
        // SAFETY: `sockaddr_nl` is plain data; the call reads it, its size is given.
        unsafe {
            let mut a: libc::sockaddr_nl = zeroed();
            a.nl_family = libc::AF_NETLINK as libc::sa_family_t;
            a.nl_groups = groups;
            check(libc::bind(socket.fd(), (&raw const a).cast(), size_of_val(&a) as u32))?;
        }
        Ok(socket)
    }

    /// Copies of the packets that a classic BPF program lets by, from and to a device of the calling thread's namespace, or
    /// any of them for device 0, without their link header.
    pub fn packets(filter: &[libc::sock_filter], device: u32) -> io::Result<KernelSocket> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK;
        // Protocol 0 receives nothing yet: the filter comes first.
        let socket = KernelSocket::new(libc::AF_PACKET, kind, 0)?;
        let program =
            libc::sock_fprog { len: filter.len() as libc::c_ushort, filter: filter.as_ptr().cast_mut() };
        // SAFETY: both calls read the structure whose size is given; the kernel copies the filter, which
        // it does not write to. `sockaddr_ll` is plain data.
        unsafe {
            let (at, size) = ((&raw const program).cast(), size_of::<libc::sock_fprog>() as u32);
            check(libc::setsockopt(socket.fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, at, size))?;
            let mut a: libc::sockaddr_ll = zeroed();
            a.sll_family = libc::AF_PACKET as libc::c_ushort;
            // What leaves is shown only to those that take every protocol.
            a.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
            a.sll_ifindex = device as libc::c_int;
            check(libc::bind(socket.fd(), (&raw const a).cast(), size_of_val(&a) as u32))?;
        }
        Ok(socket)
    }

    /// The beginning of the next packet of [`Socket::packets`], and which way it went.
    pub fn recv_packet(&self, buffer: &mut [u8]) -> io::Result<Received> {
        let (at, len) = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: writes at most `len` bytes to the buffer and an address of the given size.
        let kind = unsafe {
            let mut a: libc::sockaddr_ll = zeroed();
            let mut size = size_of_val(&a) as libc::socklen_t;
            let from = (&raw mut a).cast();
            check_size(libc::recvfrom(self.fd(), at.cast(), len, 0, from, &mut size))?;
            a.sll_pkttype
        };
        Ok(match kind {
            libc::PACKET_HOST => Received::Here,
            libc::PACKET_OUTGOING => Received::Outgoing,
            _ => Received::Other,
        })
    }

    /// The descriptor, for as long as the socket is open.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// The descriptor.
    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Binds to a port of any address of the version that `of` is of, as the socket is.
    pub fn bind(&self, of: IpAddr, port: u16) -> io::Result<()> {
        let (a, size) = sockaddr(SocketAddr::new(any(of), port));
        // SAFETY: reads the address, whose size is given.
        check(unsafe { libc::bind(self.fd(), (&raw const a).cast(), size) }).map(drop)
    }

    /// Listens.
    pub fn listen(&self) -> io::Result<()> {
        // SAFETY: takes no pointers.
        check(unsafe { libc::listen(self.fd(), 16) }).map(drop)
    }

    /// Accepts a connection.
    pub fn accept(&self) -> io::Result<KernelSocket> {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: null pointers say that the peer's address is not wanted; the descriptor is ours.
        unsafe {
            let fd = libc::accept4(self.fd(), std::ptr::null_mut(), std::ptr::null_mut(), flags);
            Ok(KernelSocket(OwnedFd::from_raw_fd(check(fd)?)))
        }
    }

    /// Begins to connect; "in progress" is no error.
    pub fn connect(&self, to: SocketAddr) -> io::Result<()> {
        let (a, size) = sockaddr(to);
        // SAFETY: reads the address, whose size is given.
        match check(unsafe { libc::connect(self.fd(), (&raw const a).cast(), size) }) {
            Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => Err(e),
            _ => Ok(()),
        }
    }

    /// Sends what fits.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: reads at most `len` bytes of the slice.
        check_size(unsafe { libc::send(self.fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) })
    }

    /// Receives what is there; how long a datagram is, also where the buffer is shorter.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (at, len) = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: writes at most `len` bytes to the buffer.
        check_size(unsafe { libc::recv(self.fd(), at.cast(), len, libc::MSG_TRUNC) })
    }

    /// Takes up to `most` bytes of a TCP stream without looking at them.
    pub fn discard(&self, most: usize) -> io::Result<usize> {
        // SAFETY: with MSG_TRUNC the kernel drops TCP data and writes none (tcp(7)).
        check_size(unsafe { libc::recv(self.fd(), std::ptr::null_mut(), most, libc::MSG_TRUNC) })
    }

    /// Sets an integer option.
    pub fn set(&self, level: i32, name: i32, value: u32) -> io::Result<()> {
        self.set_bytes(level, name, &value.to_ne_bytes())
    }

    /// Sets an option to these bytes.
    pub fn set_bytes(&self, level: i32, name: i32, value: &[u8]) -> io::Result<()> {
        // SAFETY: reads at most `len` bytes of the slice.
        check(unsafe {
            libc::setsockopt(self.fd(), level, name, value.as_ptr().cast(), value.len() as libc::socklen_t)
        })
        .map(drop)
    }

    /// An option's bytes; how many there are.
    pub fn get_bytes(&self, level: i32, name: i32, value: &mut [u8]) -> io::Result<usize> {
        let mut len = value.len() as libc::socklen_t;
        // SAFETY: writes at most `len` bytes to the slice, and how many to `len`.
        check(unsafe { libc::getsockopt(self.fd(), level, name, value.as_mut_ptr().cast(), &mut len) })?;
        Ok(len as usize)
    }

    /// Whether a non-blocking connect has failed, and why.
    pub fn error(&self) -> Option<io::Error> {
        let mut code = [0u8; 4];
        self.get_bytes(libc::SOL_SOCKET, libc::SO_ERROR, &mut code).ok()?;
        match i32::from_ne_bytes(code) {
            0 => None,
            code => Some(io::Error::from_raw_os_error(code)),
        }
    }

    /// Closing resets the connection: nothing lingers.
    pub fn reset_on_close(&self) -> io::Result<()> {
        let value = [1i32.to_ne_bytes(), 0i32.to_ne_bytes()].concat();
        self.set_bytes(libc::SOL_SOCKET, libc::SO_LINGER, &value)
    }
}

/// A set of CPUs.
pub struct Cpus(libc::cpu_set_t);

/// The CPUs a thread (0: the calling one) may use.
pub fn cpus_of(thread: i32) -> Option<Cpus> {
    // SAFETY: `cpu_set_t` is plain data, and the call writes to the one it is given.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        (libc::sched_getaffinity(thread, size_of_val(&set), &mut set) == 0).then_some(Cpus(set))
    }
}

/// The CPU the calling thread is on.
pub fn own_cpu() -> Cpus {
    // SAFETY: `cpu_set_t` is plain data; the number is within the set.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        match usize::try_from(libc::sched_getcpu()) {
            Ok(cpu) if cpu < libc::CPU_SETSIZE as usize => libc::CPU_SET(cpu, &mut set),
            // Not known, or beyond what the set can name: all that the thread may use.
            _ => drop(libc::sched_getaffinity(0, size_of_val(&set), &mut set)),
        }
        Cpus(set)
    }
}

/// Lets a thread (0: the calling one) run only there, where that is permitted.
pub fn assign(thread: i32, cpus: &Cpus) {
    // SAFETY: reads the set, whose size is given.
    unsafe { libc::sched_setaffinity(thread, size_of_val(&cpus.0), &cpus.0) };
}

/// The calling thread's number.
pub fn thread_id() -> i32 {
    // SAFETY: takes no pointers, cannot fail.
    unsafe { libc::gettid() }
}
