//! The system calls of a run: a network namespace of the calling thread's own, a TUN device, one socket.

#![allow(unsafe_code)]

use std::fs::OpenOptions;
use std::io;
use std::mem::zeroed;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

fn check(code: libc::c_int) -> io::Result<libc::c_int> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(code) }
}

fn check_size(n: libc::ssize_t) -> io::Result<usize> {
    if n < 0 { Err(io::Error::last_os_error()) } else { Ok(n as usize) }
}

/// Nanoseconds of `CLOCK_MONOTONIC`, the clock of the kernel's TCP.
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

/// The calling thread stays on the CPU it is on and, where permitted, comes before others.
pub fn be_punctual() {
    // SAFETY: the structures are plain data, read by the calls; 0 is the calling thread.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        libc::CPU_SET(libc::sched_getcpu().max(0) as usize, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set);
        let mut param: libc::sched_param = zeroed();
        param.sched_priority = 1;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &param);
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
    }
}

const TUNSETIFF: libc::c_ulong = 0x4004_54ca;
const TUNSETOFFLOAD: libc::c_ulong = 0x4004_54d0;
/// Checksums and TCPv4 super-packets are left to us.
const OFFLOADS: libc::c_ulong = 1 | 2 | 8;
const DEVICE: &[u8] = b"tun0";
/// Packets the device holds for us.
const QUEUE: i32 = 5000;

fn request() -> libc::ifreq {
    // SAFETY: `ifreq` is plain data; the name is shorter than the field, so it stays terminated.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(DEVICE) {
        *to = *from as libc::c_char;
    }
    request
}

/// A TUN device with this address, and a route to its neighbours; a virtio header before each packet.
pub fn open_tun(address: Ipv4Addr) -> io::Result<OwnedFd> {
    let file = OpenOptions::new().read(true).write(true).open("/dev/net/tun")?;
    let control = Socket::new(libc::SOCK_DGRAM)?;
    // SAFETY: each ioctl reads or writes the `ifreq` it is given, of which the field set is the one that it
    // reads (netdevice(7)); `sockaddr_in` is smaller than the field it is written to.
    unsafe {
        let mut r = request();
        r.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
        check(libc::ioctl(file.as_raw_fd(), TUNSETIFF as _, &mut r))?;
        check(libc::ioctl(file.as_raw_fd(), TUNSETOFFLOAD as _, OFFLOADS))?;
        let flags = check(libc::fcntl(file.as_raw_fd(), libc::F_GETFL))?;
        check(libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK))?;
        for (what, address) in
            [(libc::SIOCSIFADDR, address), (libc::SIOCSIFNETMASK, Ipv4Addr::new(255, 255, 255, 0))]
        {
            let mut r = request();
            let a = sockaddr(SocketAddrV4::new(address, 0));
            r.ifr_ifru.ifru_addr = std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(a);
            check(libc::ioctl(control.fd(), what as _, &mut r))?;
        }
        let mut r = request();
        r.ifr_ifru.ifru_metric = QUEUE;
        check(libc::ioctl(control.fd(), libc::SIOCSIFTXQLEN as _, &mut r))?;
        let mut r = request();
        r.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        check(libc::ioctl(control.fd(), libc::SIOCSIFFLAGS as _, &mut r))?;
    }
    Ok(file.into())
}

/// Reads once.
pub fn read(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: writes at most `len` bytes to the buffer.
    check_size(unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) })
}

/// Writes once.
pub fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: reads at most `len` bytes of the slice.
    check_size(unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) })
}

/// Waits until the descriptor can be read or the time is over.
pub fn wait_readable(fd: RawFd, most: Duration) -> io::Result<()> {
    let mut polled = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let t = libc::timespec { tv_sec: most.as_secs() as _, tv_nsec: most.subsec_nanos() as libc::c_long };
    // SAFETY: both structures outlive the call; no signal mask.
    match check(unsafe { libc::ppoll(&mut polled, 1, &t, std::ptr::null()) }) {
        Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(e),
        _ => Ok(()),
    }
}

fn sockaddr(address: SocketAddrV4) -> libc::sockaddr_in {
    // SAFETY: `sockaddr_in` is plain data.
    let mut a: libc::sockaddr_in = unsafe { zeroed() };
    a.sin_family = libc::AF_INET as libc::sa_family_t;
    a.sin_port = address.port().to_be();
    a.sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
    a
}

/// A socket. Non-blocking, closed on exec.
pub struct Socket(OwnedFd);

impl Socket {
    fn new(kind: i32) -> io::Result<Socket> {
        // SAFETY: takes no pointers; the descriptor is new and ours.
        unsafe {
            let fd = libc::socket(libc::AF_INET, kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0);
            Ok(Socket(OwnedFd::from_raw_fd(check(fd)?)))
        }
    }

    /// A TCP socket.
    pub fn tcp() -> io::Result<Socket> {
        Socket::new(libc::SOCK_STREAM)
    }

    fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Begins to connect.
    pub fn connect(&self, to: SocketAddrV4) -> io::Result<()> {
        let a = sockaddr(to);
        // SAFETY: reads the address, whose size is given.
        match check(unsafe { libc::connect(self.fd(), (&raw const a).cast(), size_of_val(&a) as u32) }) {
            Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => Err(e),
            _ => Ok(()),
        }
    }

    /// Sends what fits.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: reads at most `len` bytes of the slice.
        check_size(unsafe { libc::send(self.fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) })
    }

    /// Sets an option to these bytes.
    pub fn set(&self, level: i32, name: i32, value: &[u8]) -> io::Result<()> {
        // SAFETY: reads at most `len` bytes of the slice.
        check(unsafe {
            libc::setsockopt(self.fd(), level, name, value.as_ptr().cast(), value.len() as libc::socklen_t)
        })
        .map(drop)
    }

    /// `TCP_INFO`; how many bytes.
    pub fn info(&self, value: &mut [u8]) -> io::Result<usize> {
        let mut len = value.len() as libc::socklen_t;
        let (level, name) = (libc::IPPROTO_TCP, libc::TCP_INFO);
        // SAFETY: writes at most `len` bytes to the slice, and how many to `len`.
        check(unsafe { libc::getsockopt(self.fd(), level, name, value.as_mut_ptr().cast(), &mut len) })?;
        Ok(len as usize)
    }
}
