//! A socket to the kernel's own services (netlink(7)).

use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The kernel service that a socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Devices, addresses, routes, queueing disciplines (rtnetlink(7)).
    Route,
    /// Sockets (sock_diag(7)).
    SocketDiagnosis,
    /// nftables rules.
    Netfilter,
}

impl Service {
    fn protocol(self) -> Option<Protocol> {
        match self {
            // Protocol 0.
            Service::Route => None,
            Service::SocketDiagnosis => Some(netlink::SOCK_DIAG),
            Service::Netfilter => Some(netlink::NETFILTER),
        }
    }
}

/// A netlink socket of the calling thread's network namespace. Closed on exec.
pub struct NetlinkSocket(OwnedFd);

impl NetlinkSocket {
    fn open(service: Service, flags: SocketFlags) -> io::Result<NetlinkSocket> {
        let flags = SocketFlags::CLOEXEC | flags;
        let fd =
            rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, service.protocol())?;
        Ok(NetlinkSocket(fd))
    }

    /// Opens a socket that waits for answers.
    pub fn new(service: Service) -> io::Result<NetlinkSocket> {
        NetlinkSocket::open(service, SocketFlags::empty())
    }

    /// Opens a socket that waits for answers for at most `timeout`.
    pub fn with_patience(service: Service, timeout: Duration) -> io::Result<NetlinkSocket> {
        let socket = NetlinkSocket::new(service)?;
        sockopt::set_socket_timeout(&socket.0, sockopt::Timeout::Recv, Some(timeout))?;
        Ok(socket)
    }

    /// Opens a non-blocking socket that receives messages of these multicast groups (one bit each, the first
    /// is 1).
    pub fn listening(service: Service, groups: u32) -> io::Result<NetlinkSocket> {
        let socket = NetlinkSocket::open(service, SocketFlags::NONBLOCK)?;
        rustix::net::bind(&socket.0, &SocketAddrNetlink::new(0, groups))?;
        Ok(socket)
    }

    /// Sends messages.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        rustix::net::send(&self.0, bytes, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Receives one datagram of messages, truncated to the buffer. Returns its length in the buffer.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::net::recv(&self.0, buffer, RecvFlags::empty())?.0)
    }
}

impl AsFd for NetlinkSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
