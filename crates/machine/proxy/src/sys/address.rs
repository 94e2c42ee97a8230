//! Calls with socket addresses.

use super::{check, set_option};
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// An address as the kernel has it.
pub(super) struct RawAddress {
    pub storage: libc::sockaddr_storage,
    pub length: libc::socklen_t,
}

impl RawAddress {
    pub fn empty() -> RawAddress {
        // SAFETY: `sockaddr_storage` is plain data.
        let storage = unsafe { zeroed() };
        RawAddress { storage, length: size_of::<libc::sockaddr_storage>() as libc::socklen_t }
    }

    fn of(address: SocketAddr) -> RawAddress {
        let mut raw = RawAddress::empty();
        let at = &raw mut raw.storage;
        match address {
            SocketAddr::V4(a) => {
                // SAFETY: the storage is large enough for either kind, and aligned for it; both are plain data.
                let to = unsafe { &mut *at.cast::<libc::sockaddr_in>() };
                to.sin_family = libc::AF_INET as libc::sa_family_t;
                to.sin_port = a.port().to_be();
                to.sin_addr.s_addr = u32::from_ne_bytes(a.ip().octets());
                raw.length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
            }
            SocketAddr::V6(a) => {
                // SAFETY: as above.
                let to = unsafe { &mut *at.cast::<libc::sockaddr_in6>() };
                to.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                to.sin6_port = a.port().to_be();
                to.sin6_addr.s6_addr = a.ip().octets();
                to.sin6_flowinfo = a.flowinfo();
                to.sin6_scope_id = a.scope_id();
                raw.length = size_of::<libc::sockaddr_in6>() as libc::socklen_t;
            }
        }
        raw
    }

    pub fn get(&self) -> io::Result<SocketAddr> {
        let at = &raw const self.storage;
        match self.storage.ss_family as i32 {
            libc::AF_INET => {
                // SAFETY: the family says that this is what the kernel wrote.
                let a = unsafe { &*at.cast::<libc::sockaddr_in>() };
                let ip = Ipv4Addr::from(a.sin_addr.s_addr.to_ne_bytes());
                Ok(SocketAddr::new(ip.into(), u16::from_be(a.sin_port)))
            }
            libc::AF_INET6 => {
                // SAFETY: as above.
                let a = unsafe { &*at.cast::<libc::sockaddr_in6>() };
                let ip = Ipv6Addr::from(a.sin6_addr.s6_addr);
                let port = u16::from_be(a.sin6_port);
                Ok(SocketAddrV6::new(ip, port, a.sin6_flowinfo, a.sin6_scope_id).into())
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// The next connection and whose it is.
pub fn accept(fd: BorrowedFd<'_>) -> io::Result<(OwnedFd, SocketAddr)> {
    let mut raw = RawAddress::empty();
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the kernel writes at most `length` bytes to the storage; the descriptor is new and ours.
    let socket = unsafe {
        let code = libc::accept4(fd.as_raw_fd(), (&raw mut raw.storage).cast(), &mut raw.length, flags);
        OwnedFd::from_raw_fd(check(code)?)
    };
    Ok((socket, raw.get()?))
}

/// Begins to connect; "in progress" is no error.
pub fn connect_to(fd: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()> {
    let raw = RawAddress::of(address);
    // SAFETY: reads `length` bytes of the storage.
    let code = unsafe { libc::connect(fd.as_raw_fd(), (&raw const raw.storage).cast(), raw.length) };
    match check(code) {
        Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => Err(e),
        _ => Ok(()),
    }
}

/// Binds to an address. `[::]` takes IPv4 too (RFC 3493 section 5.3), whatever the system's default.
pub fn bind_to(fd: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()> {
    if address.is_ipv6() {
        set_option(fd, libc::SOL_IPV6, libc::IPV6_V6ONLY, 0)?;
    }
    let raw = RawAddress::of(address);
    // SAFETY: reads `length` bytes of the storage.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const raw.storage).cast(), raw.length) }).map(drop)
}

/// The address of this end; of a connection that TPROXY handed over, the one the client connected to.
pub fn local_address(fd: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    let mut raw = RawAddress::empty();
    // SAFETY: the kernel writes at most `length` bytes to the storage.
    check(unsafe { libc::getsockname(fd.as_raw_fd(), (&raw mut raw.storage).cast(), &mut raw.length) })?;
    raw.get()
}
