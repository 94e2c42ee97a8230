//! TCP and UDP sockets (socket(7), tcp(7), udp(7)).

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

/// Opens a TCP socket. Non-blocking, closed on exec.
pub fn tcp_socket(is_v6: bool) -> io::Result<OwnedFd> {
    new(is_v6, SocketType::STREAM)
}

/// Opens a UDP socket. Non-blocking, closed on exec.
pub fn udp_socket(is_v6: bool) -> io::Result<OwnedFd> {
    new(is_v6, SocketType::DGRAM)
}

/// Accepts a connection. Returns it and its peer's address (accept4(2)). Non-blocking, closed on exec.
pub fn accept(fd: BorrowedFd<'_>) -> io::Result<(OwnedFd, SocketAddr)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (socket, address) = rustix::net::acceptfrom_with(fd, flags)?;
    let address = address.and_then(|a| SocketAddr::try_from(a).ok());
    Ok((socket, address.ok_or(io::ErrorKind::Unsupported)?))
}

/// Whether an error of [`accept`] concerns only one connection: it was reset in the queue, or its network has
/// failed, which Linux reports here (accept(2)).
pub fn is_connection_error(error: &io::Error) -> bool {
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

/// Starts connecting (connect(2)); "in progress" is not an error.
pub fn connect_to(fd: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()> {
    match rustix::net::connect(fd, &address) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// Binds to an address (bind(2)). `[::]` also accepts IPv4 (RFC 3493 section 5.3), whatever the system's
/// default.
pub fn bind_to(fd: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()> {
    if address.is_ipv6() {
        rustix::net::sockopt::set_ipv6_v6only(fd, false)?;
    }
    Ok(rustix::net::bind(fd, &address)?)
}

/// Returns the address of this end (getsockname(2)); for a TPROXY connection, the client's original
/// destination.
pub fn local_address(fd: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    let address = rustix::net::getsockname(fd)?;
    SocketAddr::try_from(address).map_err(|_| io::ErrorKind::Unsupported.into())
}

/// Listens (listen(2)), with the longest queue that the system permits (`net.core.somaxconn`).
pub fn listen(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::net::listen(fd, 65_535)?)
}

/// Returns the error of a failed connection attempt, and clears it (SO_ERROR).
pub fn take_error(fd: BorrowedFd<'_>) -> Option<io::Error> {
    match rustix::net::sockopt::socket_error(fd) {
        Ok(Ok(())) => None,
        Ok(Err(e)) | Err(e) => Some(e.into()),
    }
}

/// Makes closing the socket reset the connection (SO_LINGER 0).
pub fn reset_on_close(fd: BorrowedFd<'_>) {
    let _ = rustix::net::sockopt::set_socket_linger(fd, Some(Duration::ZERO));
}

/// Ends the sent stream (shutdown(2)).
pub fn end_stream(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::net::shutdown(fd, Shutdown::Write)?)
}

/// Receives available data; with `peek` the data stays in the socket (recv(2)).
pub fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8], peek: bool) -> io::Result<usize> {
    let flags = if peek { RecvFlags::PEEK } else { RecvFlags::empty() };
    Ok(rustix::net::recv(fd, buffer, flags)?.0)
}

/// Sends as much as fits, without SIGPIPE (send(2)).
pub fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(fd, bytes, SendFlags::NOSIGNAL)?)
}

/// Discards up to `limit` bytes of a TCP stream.
pub fn discard(fd: BorrowedFd<'_>, limit: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC the kernel drops TCP data and writes none (tcp(7)); of other sockets it would
    // write to the null pointer, which it refuses (EFAULT).
    check_size(unsafe { libc::recv(fd.as_raw_fd(), std::ptr::null_mut(), limit, libc::MSG_TRUNC) })
}

/// Permits binding to addresses that are not this host's (IP_TRANSPARENT); requires CAP_NET_ADMIN.
pub fn set_transparent(fd: BorrowedFd<'_>, address: &SocketAddr) -> io::Result<()> {
    match address {
        SocketAddr::V4(_) => set_option(fd, SocketOption::IP_TRANSPARENT, 1),
        SocketAddr::V6(_) => set_option(fd, SocketOption::IPV6_TRANSPARENT, 1),
    }
}
