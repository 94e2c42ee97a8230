//! The UDP socket that carries QUIC.

use proxy::{bind_to, set_option, udp_socket};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// Room for what arrives while the loop does something else: half a second of 100 Mbit/s (the kernel takes at most
/// `net.core.rmem_max`).
const RECEIVE_BUFFER: i32 = 6_250_000;
/// SOL_SOCKET and SO_RCVBUF, SO_SNDBUF (asm-generic/socket.h).
const SOL_SOCKET: i32 = 1;
const SO_SNDBUF: i32 = 7;
const SO_RCVBUF: i32 = 8;
/// IPPROTO_IP, IP_MTU_DISCOVER and IPPROTO_IPV6, IPV6_MTU_DISCOVER (linux/in.h, linux/in6.h).
const MTU_DISCOVER: [(i32, i32); 2] = [(0, 10), (41, 23)];
/// Nothing is fragmented, and what the kernel believes of the path's MTU is not asked (IP_PMTUDISC_PROBE).
const PROBE: i32 = 3;

/// The UDP socket that carries QUIC.
pub struct QuicSocket {
    socket: UdpSocket,
    is_v6: bool,
}

impl QuicSocket {
    /// Bound to an address, or to a free port of every one.
    ///
    /// # Errors
    /// The system's.
    pub fn bind(at: Option<SocketAddr>) -> io::Result<QuicSocket> {
        let any4 = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        let any6 = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0);
        match at {
            Some(at) => QuicSocket::bound(at),
            None => QuicSocket::bound(any6).or_else(|_| QuicSocket::bound(any4)),
        }
    }

    fn bound(at: SocketAddr) -> io::Result<QuicSocket> {
        let socket = udp_socket(at.is_ipv6())?;
        bind_to(socket.as_fd(), at)?;
        for (level, name) in MTU_DISCOVER {
            let _ = set_option(socket.as_fd(), level, name, PROBE);
        }
        let _ = set_option(socket.as_fd(), SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER);
        let _ = set_option(socket.as_fd(), SOL_SOCKET, SO_SNDBUF, RECEIVE_BUFFER);
        Ok(QuicSocket { socket: socket.into(), is_v6: at.is_ipv6() })
    }

    /// Where it is bound.
    ///
    /// # Errors
    /// The system's.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The next datagram and whose it is; `None` when there is none.
    pub fn receive(&self, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
        loop {
            match self.socket.recv_from(buffer) {
                Ok((n, from)) => return Some((n, proxy::plain(from))),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return None,
                // An ICMP error of an earlier datagram: QUIC finds out by itself who does not answer.
                Err(_) => {}
            }
        }
    }

    /// Sends a datagram; what the kernel does not take is lost, as on the way.
    pub fn send(&self, to: SocketAddr, bytes: &[u8]) {
        let to = match to {
            SocketAddr::V4(a) if self.is_v6 => SocketAddr::new(a.ip().to_ipv6_mapped().into(), a.port()),
            other => other,
        };
        // An error that waited in the socket is told by the first call and is gone with it.
        if self.socket.send_to(bytes, to).is_err() {
            let _ = self.socket.send_to(bytes, to);
        }
    }
}

impl AsFd for QuicSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
