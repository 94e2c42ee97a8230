//! The UDP socket of QUIC.
//!
//! Datagrams are sent with the ECN field that the library requests, and it gets the field of received ones
//! (RFC 9000 section 13.4). The ECN field is an option of the socket. If peers whose path supports ECN share
//! the socket with others, each switch costs a system call.

use linux::datagram::{receive_marked, report_marks, set_mark};
use linux::socket::{SocketOption, bind_to, set_option, udp_socket};
use noq_proto::EcnCodepoint;
use std::cell::Cell;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// Holds what arrives while the loop is busy: 0.5 s at 100 Mbit/s (the kernel allows at most
/// `net.core.rmem_max`).
const RECEIVE_BUFFER: i32 = 6_250_000;
/// Datagrams are never fragmented, and the path MTU known to the kernel is ignored (IP_PMTUDISC_PROBE).
const PMTUDISC_PROBE: i32 = 3;

/// The UDP socket of QUIC.
pub struct QuicSocket {
    socket: UdpSocket,
    is_v6: bool,
    /// The ECN field for datagrams to send.
    mark: Cell<u8>,
}

impl QuicSocket {
    /// Binds to an address, or to a free port on all addresses.
    ///
    /// # Errors
    /// Fails with the error of the system.
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
        for (option, value) in [
            (SocketOption::IP_MTU_DISCOVER, PMTUDISC_PROBE),
            (SocketOption::IPV6_MTU_DISCOVER, PMTUDISC_PROBE),
            (SocketOption::SO_RCVBUF, RECEIVE_BUFFER),
            (SocketOption::SO_SNDBUF, RECEIVE_BUFFER),
        ] {
            let _ = set_option(socket.as_fd(), option, value);
        }
        // If the kernel refuses, marks are not reported, and the library stops using ECN.
        let _ = report_marks(socket.as_fd(), at.is_ipv6());
        Ok(QuicSocket { socket: socket.into(), is_v6: at.is_ipv6(), mark: Cell::new(0) })
    }

    /// The bound address.
    ///
    /// # Errors
    /// Fails with the error of the system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The next datagram's length, sender and ECN field; `None` if there is none.
    pub fn receive(&self, buffer: &mut [u8]) -> Option<(usize, SocketAddr, Option<EcnCodepoint>)> {
        loop {
            match receive_marked(self.socket.as_fd(), buffer) {
                Ok((n, from, mark)) => return Some((n, proxy::plain(from), EcnCodepoint::from_bits(mark))),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return None,
                // An ICMP error for an earlier datagram: QUIC notices by itself that a peer does not answer.
                Err(_) => {}
            }
        }
    }

    /// Sends a datagram. If the kernel does not take it, it is lost, as on the path.
    pub fn send(&self, to: SocketAddr, ecn: Option<EcnCodepoint>, bytes: &[u8]) {
        let mark = ecn.map_or(0, |ecn| ecn as u8);
        if self.mark.get() != mark && set_mark(self.socket.as_fd(), self.is_v6, mark).is_ok() {
            self.mark.set(mark);
        }
        let to = match to {
            SocketAddr::V4(a) if self.is_v6 => SocketAddr::new(a.ip().to_ipv6_mapped().into(), a.port()),
            other => other,
        };
        // The first call may return a pending error of the socket, which is then cleared.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn the_ecn_field_arrives_over_ipv4_and_ipv6() {
        for (near, far) in [("127.0.0.1:0", "127.0.0.1:0"), ("[::1]:0", "[::1]:0"), ("[::]:0", "127.0.0.1:0")]
        {
            let bound = |at: &str| QuicSocket::bind(Some(at.parse().expect("an address")));
            let (Ok(near), Ok(far)) = (bound(near), bound(far)) else {
                eprintln!("SKIPPED, this machine lacks {near} or {far}");
                continue;
            };
            let port = near.address().expect("bound").port();
            let both = [(&near, far.address().expect("bound")), (&far, near.address().expect("bound"))];
            for (from, mut to) in both {
                if to.ip().is_unspecified() {
                    to = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
                }
                let other = if std::ptr::eq(from, &near) { &far } else { &near };
                for ecn in
                    [None, Some(EcnCodepoint::Ect0), Some(EcnCodepoint::Ce), Some(EcnCodepoint::Ect1), None]
                {
                    from.send(to, ecn, b"marked");
                    let (mut buffer, until) = ([0; 64], Instant::now() + Duration::from_secs(5));
                    let came = loop {
                        if let Some(came) = other.receive(&mut buffer) {
                            break came;
                        }
                        assert!(Instant::now() < until, "nothing came to {to}");
                    };
                    assert_eq!((came.0, came.2), (6, ecn), "{to}");
                }
            }
        }
    }
}
