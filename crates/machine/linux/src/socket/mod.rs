//! Sockets of TCP and UDP (socket(7), tcp(7), udp(7)).

mod option;
mod owned;

pub use option::{SocketOption, get_bytes, get_option, set_bytes, set_option};
pub use owned::{KernelSocket, any};

use crate::check_size;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

fn new(is_v6: bool, kind: SocketType) -> io::Result<OwnedFd> {
    let family = if is_v6 { AddressFamily::INET6 } else { AddressFamily::INET };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(rustix::net::socket_with(family, kind, flags, None)?)
}

/// A TCP socket. Non-blocking, closed on exec.
pub fn tcp_socket(is_v6: bool) -> io::Result<OwnedFd> {
    new(is_v6, SocketType::STREAM)
}

/// A UDP socket. Non-blocking, closed on exec.
pub fn udp_socket(is_v6: bool) -> io::Result<OwnedFd> {
    new(is_v6, SocketType::DGRAM)
}

/// The next connection and its peer's address (accept4(2)). Non-blocking, closed on exec.
pub fn accept(fd: BorrowedFd<'_>) -> io::Result<(OwnedFd, SocketAddr)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (socket, address) = rustix::net::acceptfrom_with(fd, flags)?;
    let address = address.and_then(|a| SocketAddr::try_from(a).ok());
    Ok((socket, address.ok_or(io::ErrorKind::Unsupported)?))
}

/// Whether an error of [`accept`] concerns one connection only: it was reset in the queue, or its network has failed, which
/// Linux reports here (accept(2)).
pub fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::EINTR
                | libc::ECONNABORTED
                | libc::EPROTO
                | libc::ENETDOWN
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
                | libc::EHOSTDOWN
                | libc::EPERM
        )
    )
}

/// Begins to connect (connect(2)); "in progress" is no error.
pub fn connect_to(fd: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()> {
    match rustix::net::connect(fd, &address) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// Binds to an address (bind(2)). `[::]` takes IPv4 too (RFC 3493 section 5.3), whatever the system's default.
pub fn bind_to(fd: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()> {
    if address.is_ipv6() {
        rustix::net::sockopt::set_ipv6_v6only(fd, false)?;
    }
    Ok(rustix::net::bind(fd, &address)?)
}

/// The address of this end (getsockname(2)); of a connection that TPROXY handed over, the one the client connected to.
pub fn local_address(fd: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    let address = rustix::net::getsockname(fd)?;
    SocketAddr::try_from(address).map_err(|_| io::ErrorKind::Unsupported.into())
}

/// Listens (listen(2)); the queue is as long as the system permits (`net.core.somaxconn`).
pub fn listen(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::net::listen(fd, 65_535)?)
}

/// Whether a connection that was begun has failed, and why; takes the error from the socket (SO_ERROR).
pub fn take_error(fd: BorrowedFd<'_>) -> Option<io::Error> {
    match rustix::net::sockopt::socket_error(fd) {
        Ok(Ok(())) => None,
        Ok(Err(e)) | Err(e) => Some(e.into()),
    }
}

/// Makes closing the socket reset the connection: nothing lingers (SO_LINGER).
pub fn reset_on_close(fd: BorrowedFd<'_>) {
    let _ = rustix::net::sockopt::set_socket_linger(fd, Some(Duration::ZERO));
}

/// Ends the stream that is sent (shutdown(2)).
pub fn end_stream(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::net::shutdown(fd, Shutdown::Write)?)
}

/// Takes what is there; with `peek` it stays there (recv(2)).
pub fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8], peek: bool) -> io::Result<usize> {
    let flags = if peek { RecvFlags::PEEK } else { RecvFlags::empty() };
    Ok(rustix::net::recv(fd, buffer, flags)?.0)
}

/// Sends what there is room for, without SIGPIPE (send(2)).
pub fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(fd, bytes, SendFlags::NOSIGNAL)?)
}

/// Takes up to `limit` bytes of a TCP stream without looking at them.
pub fn discard(fd: BorrowedFd<'_>, limit: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC the kernel drops TCP data and writes none (tcp(7)); of other sockets it would write to the null
    // pointer, which it refuses (EFAULT).
    check_size(unsafe { libc::recv(fd.as_raw_fd(), std::ptr::null_mut(), limit, libc::MSG_TRUNC) })
}

/// Permits addresses that are not this host's (IP_TRANSPARENT); that takes CAP_NET_ADMIN.
pub fn be_transparent(fd: BorrowedFd<'_>, address: &SocketAddr) -> io::Result<()> {
    match address {
        SocketAddr::V4(_) => set_option(fd, SocketOption::IP_TRANSPARENT, 1),
        SocketAddr::V6(_) => set_option(fd, SocketOption::IPV6_TRANSPARENT, 1),
    }
}
