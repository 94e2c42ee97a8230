//! Sockets of the lab's hosts.

use super::{SocketOption, connect_to, discard, get_bytes, send, set_bytes, take_error};
use rustix::net::{RecvFlags, SocketFlags};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Returns the unspecified address of the same IP version.
pub fn any(version_of: IpAddr) -> IpAddr {
    if version_of.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() }
}

/// A TCP or UDP socket. Non-blocking, closed on exec.
pub struct KernelSocket(OwnedFd);

impl KernelSocket {
    /// Opens a TCP socket of the IP version of `version_of`.
    pub fn tcp(version_of: IpAddr) -> io::Result<KernelSocket> {
        super::tcp_socket(version_of.is_ipv6()).map(KernelSocket)
    }

    /// Opens a UDP socket of the IP version of `version_of`.
    pub fn udp(version_of: IpAddr) -> io::Result<KernelSocket> {
        super::udp_socket(version_of.is_ipv6()).map(KernelSocket)
    }

    /// Binds to a port on all addresses of the IP version of `version_of`.
    pub fn bind(&self, version_of: IpAddr, port: u16) -> io::Result<()> {
        Ok(rustix::net::bind(&self.0, &SocketAddr::new(any(version_of), port))?)
    }

    /// Listens, with a short accept queue.
    pub fn listen(&self) -> io::Result<()> {
        Ok(rustix::net::listen(&self.0, 16)?)
    }

    /// Accepts a connection.
    pub fn accept(&self) -> io::Result<KernelSocket> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        Ok(KernelSocket(rustix::net::accept_with(&self.0, flags)?))
    }

    /// Starts connecting; "in progress" is not an error.
    pub fn connect(&self, to: SocketAddr) -> io::Result<()> {
        connect_to(self.as_fd(), to)
    }

    /// Sends as much as fits.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        send(self.as_fd(), bytes)
    }

    /// Receives data. Returns the full length of a datagram, even if the buffer is shorter.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::net::recv(&self.0, buffer, RecvFlags::TRUNC)?.1)
    }

    /// Discards up to `limit` bytes of a TCP stream.
    pub fn discard(&self, limit: usize) -> io::Result<usize> {
        discard(self.as_fd(), limit)
    }

    /// Sets an integer option.
    pub fn set(&self, option: SocketOption, value: u32) -> io::Result<()> {
        self.set_bytes(option, &value.to_ne_bytes())
    }

    /// Sets an option to bytes.
    pub fn set_bytes(&self, option: SocketOption, value: &[u8]) -> io::Result<()> {
        set_bytes(self.as_fd(), option, value)
    }

    /// Reads an option's bytes. Returns their number.
    pub fn get_bytes(&self, option: SocketOption, value: &mut [u8]) -> io::Result<usize> {
        get_bytes(self.as_fd(), option, value)
    }

    /// Returns the error of a failed non-blocking connect.
    pub fn error(&self) -> Option<io::Error> {
        take_error(self.as_fd())
    }

    /// Makes closing the socket reset the connection (SO_LINGER 0).
    pub fn reset_on_close(&self) -> io::Result<()> {
        Ok(rustix::net::sockopt::set_socket_linger(&self.0, Some(Duration::ZERO))?)
    }
}

impl AsFd for KernelSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
