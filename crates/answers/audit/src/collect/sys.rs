//! System calls: every `unsafe` of the crate stands here, each behind a safe function.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::mem::{size_of_val, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// `NSFS_MAGIC` (linux/magic.h): the file system of namespaces.
const NSFS_MAGIC: u64 = 0x6e73_6673;
/// `SIOCETHTOOL` (linux/sockios.h).
const SIOCETHTOOL: u64 = 0x8946;
/// How long netlink may be silent before it is given up, seconds.
const PATIENCE: i64 = 5;

fn check(code: libc::c_int) -> io::Result<libc::c_int> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(code) }
}

/// Runs `work` on a thread of its own in that network namespace; the caller's is not touched.
///
/// # Errors
/// It may not be entered (CAP_SYS_ADMIN), or `work` panicked.
pub fn in_network<T: Send>(namespace: &File, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let there = || {
        // SAFETY: takes no pointers; the descriptor is open.
        check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })?;
        Ok(work())
    };
    let done = std::thread::scope(|s| s.spawn(there).join());
    done.unwrap_or_else(|_| Err(io::Error::other("looking at it failed")))
}

/// Whether a file is a namespace. Of what kind is told when it is entered.
pub fn is_network(path: &Path) -> bool {
    let Ok(name) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: `statfs` is plain data; the call reads the name and writes to the structure it is given.
    unsafe {
        let mut s: libc::statfs = zeroed();
        libc::statfs(name.as_ptr(), &mut s) == 0 && s.f_type as u64 == NSFS_MAGIC
    }
}

/// Bytes of a page.
pub fn page_bytes() -> u64 {
    // SAFETY: takes no pointers.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// A netlink socket of the calling thread's namespace.
pub struct NetlinkSocket(OwnedFd);

impl NetlinkSocket {
    /// Of a protocol: `NETLINK_ROUTE`, `NETLINK_SOCK_DIAG`, `NETLINK_NETFILTER`.
    pub fn new(protocol: i32) -> io::Result<NetlinkSocket> {
        // SAFETY: takes no pointers; the descriptor is new and ours. `timeval` is plain data whose size is given.
        unsafe {
            let fd = check(libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol))?;
            let socket = NetlinkSocket(OwnedFd::from_raw_fd(fd));
            let t = libc::timeval { tv_sec: PATIENCE, tv_usec: 0 };
            let (at, size) = ((&raw const t).cast(), size_of_val(&t) as u32);
            check(libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, at, size))?;
            Ok(socket)
        }
    }

    /// Sends a message.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: reads at most `len` bytes of the slice.
        let n = unsafe { libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0) };
        if n < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Receives messages; how many bytes are in the buffer.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: writes at most `len` bytes to the buffer.
        let n = unsafe { libc::recv(self.0.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        if n < 0 { Err(io::Error::last_os_error()) } else { Ok(n as usize) }
    }
}

/// A number that a device tells of itself (ethtool's `ETHTOOL_G…` with `ethtool_value`); `None` where it cannot.
pub fn ethtool_value(device: &str, command: u32) -> Option<u32> {
    let name = device.as_bytes();
    // SAFETY: the structures are plain data; the name is shorter than its field and ends with 0, and the kernel reads and
    // writes the two numbers that `ifr_data` points to, which outlive the call.
    unsafe {
        let fd = check(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0)).ok()?;
        let fd = OwnedFd::from_raw_fd(fd);
        let mut request: libc::ifreq = zeroed();
        if name.len() >= request.ifr_name.len() {
            return None;
        }
        for (to, from) in request.ifr_name.iter_mut().zip(name) {
            *to = *from as libc::c_char;
        }
        let mut value: [u32; 2] = [command, 0];
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        check(libc::ioctl(fd.as_raw_fd(), SIOCETHTOOL as _, &raw mut request)).ok()?;
        Some(value[1])
    }
}
