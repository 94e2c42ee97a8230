//! A socket of a measured host, with the calls that it takes.

use super::{SocketOption, connect_to, discard, get_bytes, send, set_bytes, take_error};
use rustix::net::{RecvFlags, SocketFlags};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Any address of that version.
pub fn any(of: IpAddr) -> IpAddr {
    if of.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() }
}

/// A socket of TCP or UDP. Non-blocking, closed on exec.
pub struct KernelSocket(OwnedFd);

impl KernelSocket {
    /// A TCP socket of an address' version of IP.
    pub fn tcp(of: IpAddr) -> io::Result<KernelSocket> {
        super::tcp_socket(of.is_ipv6()).map(KernelSocket)
    }

    /// A UDP socket of an address' version of IP.
    pub fn udp(of: IpAddr) -> io::Result<KernelSocket> {
        super::udp_socket(of.is_ipv6()).map(KernelSocket)
    }

    /// Binds to a port of any address of the version that `of` is of, as the socket is.
    pub fn bind(&self, of: IpAddr, port: u16) -> io::Result<()> {
        Ok(rustix::net::bind(&self.0, &SocketAddr::new(any(of), port))?)
    }

    /// Listens for a few connections.
    pub fn listen(&self) -> io::Result<()> {
        Ok(rustix::net::listen(&self.0, 16)?)
    }

    /// Accepts a connection.
    pub fn accept(&self) -> io::Result<KernelSocket> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        Ok(KernelSocket(rustix::net::accept_with(&self.0, flags)?))
    }

    /// Begins to connect; "in progress" is no error.
    pub fn connect(&self, to: SocketAddr) -> io::Result<()> {
        connect_to(self.as_fd(), to)
    }

    /// Sends what fits.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        send(self.as_fd(), bytes)
    }

    /// Receives what is there; how long a datagram is, also where the buffer is shorter.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::net::recv(&self.0, buffer, RecvFlags::TRUNC)?.1)
    }

    /// Takes up to `limit` bytes of a TCP stream without looking at them.
    pub fn discard(&self, limit: usize) -> io::Result<usize> {
        discard(self.as_fd(), limit)
    }

    /// Sets an integer option.
    pub fn set(&self, option: SocketOption, value: u32) -> io::Result<()> {
        self.set_bytes(option, &value.to_ne_bytes())
    }

    /// Sets an option to these bytes.
    pub fn set_bytes(&self, option: SocketOption, value: &[u8]) -> io::Result<()> {
        set_bytes(self.as_fd(), option, value)
    }

    /// An option's bytes; how many there are.
    pub fn get_bytes(&self, option: SocketOption, value: &mut [u8]) -> io::Result<usize> {
        get_bytes(self.as_fd(), option, value)
    }

    /// Whether a non-blocking connect has failed, and why.
    pub fn error(&self) -> Option<io::Error> {
        take_error(self.as_fd())
    }

    /// Makes closing the socket reset the connection: nothing lingers.
    pub fn reset_on_close(&self) -> io::Result<()> {
        Ok(rustix::net::sockopt::set_socket_linger(&self.0, Some(Duration::ZERO))?)
    }
}

impl AsFd for KernelSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
