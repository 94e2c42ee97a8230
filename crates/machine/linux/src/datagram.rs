//! Receives and sends datagrams with IPv4's TOS or IPv6's traffic class: the DSCP (RFC 2474) and, in the
//! lowest two bits, the ECN field (RFC 3168 section 5).

use crate::check_size;
use crate::socket::{SocketOption, set_option};
use std::io;
use std::mem::zeroed;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Bits of the ECN field.
const ECN: u8 = 0b11;
/// Space for the control messages of a datagram (`CMSG_SPACE`: header and value, aligned): TOS, traffic
/// class, time and dropped datagrams, in 64-bit words.
const CONTROL: usize = 3 + 3 + 4 + 3;

/// Fragmentation that a datagram socket permits (IP_MTU_DISCOVER, IPV6_MTU_DISCOVER).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragmentation {
    /// Datagrams may be fragmented (IP_PMTUDISC_DONT).
    Allowed,
    /// "Don't fragment" is set, whatever path MTU the kernel knows (IP_PMTUDISC_PROBE, RFC 4821 and 8899).
    Forbidden,
}

/// What the kernel reports of a received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampedDatagram {
    /// Length, bytes.
    pub len: usize,
    pub from: SocketAddr,
    /// TOS or traffic class; 0 if the kernel does not report it.
    pub tos: u8,
    /// Time of arrival by CLOCK_REALTIME, ns; `None` if the kernel does not report it.
    pub at: Option<u64>,
    /// Datagrams that this socket has dropped so far because its buffer was full; 0 if none were.
    pub dropped: u32,
}

/// Sets an option of IPv4 and, for IPv6 sockets, also of IPv6: IPv6 sockets that accept IPv4 use both.
fn set_each(fd: BorrowedFd<'_>, is_v6: bool, [v4, v6]: [SocketOption; 2], value: i32) -> io::Result<()> {
    set_option(fd, v4, value)?;
    if is_v6 { set_option(fd, v6, value) } else { Ok(()) }
}

/// Enables the report of ECN fields by [`receive_marked`] (IP_RECVTOS, IPV6_RECVTCLASS).
///
/// # Errors
/// Fails with the system's error.
pub fn report_marks(fd: BorrowedFd<'_>, is_v6: bool) -> io::Result<()> {
    set_each(fd, is_v6, [SocketOption::IP_RECVTOS, SocketOption::IPV6_RECVTCLASS], 1)
}

/// Sets the ECN field of sent datagrams: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE. The rest of the byte is
/// 0.
///
/// # Errors
/// Fails with the system's error.
pub fn set_mark(fd: BorrowedFd<'_>, is_v6: bool, mark: u8) -> io::Result<()> {
    set_tos(fd, is_v6, mark & ECN)
}

/// Sets TOS and traffic class of sent datagrams: DSCP and ECN field.
///
/// # Errors
/// Fails with the system's error.
pub fn set_tos(fd: BorrowedFd<'_>, is_v6: bool, tos: u8) -> io::Result<()> {
    set_each(fd, is_v6, [SocketOption::IP_TOS, SocketOption::IPV6_TCLASS], i32::from(tos))
}

/// Permits or forbids fragments of sent datagrams.
///
/// # Errors
/// Fails with the system's error.
pub fn set_fragmentation(fd: BorrowedFd<'_>, is_v6: bool, how: Fragmentation) -> io::Result<()> {
    let value = match how {
        Fragmentation::Allowed => libc::IP_PMTUDISC_DONT,
        Fragmentation::Forbidden => libc::IP_PMTUDISC_PROBE,
    };
    set_each(fd, is_v6, [SocketOption::IP_MTU_DISCOVER, SocketOption::IPV6_MTU_DISCOVER], value)
}

/// Makes [`receive_stamped`] report everything: TOS, arrival times (SO_TIMESTAMPNS) and dropped datagrams
/// (SO_RXQ_OVFL).
///
/// # Errors
/// Fails with the system's error.
pub fn report_stamps(fd: BorrowedFd<'_>, is_v6: bool) -> io::Result<()> {
    report_marks(fd, is_v6)?;
    set_option(fd, SocketOption::SO_TIMESTAMPNS, 1)?;
    set_option(fd, SocketOption::SO_RXQ_OVFL, 1)
}

/// Receives a datagram: its length, its sender's address, and its ECN field; 0 if the kernel does not report
/// it (recvmsg(2)).
///
/// # Errors
/// Fails with the system's error; `WouldBlock` if there is no datagram.
pub fn receive_marked(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr, u8)> {
    receive_stamped(fd, buffer).map(|d| (d.len, d.from, d.tos & ECN))
}

/// Receives a datagram with what the kernel reports of it (recvmsg(2)).
///
/// # Errors
/// Fails with the system's error; `WouldBlock` if there is no datagram.
pub fn receive_stamped(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<StampedDatagram> {
    // SAFETY: all zeros is a value of both: numbers, and pointers that are null.
    let (mut from, mut head): (libc::sockaddr_storage, libc::msghdr) = unsafe { (zeroed(), zeroed()) };
    let mut control = [0u64; CONTROL];
    let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    head.msg_name = (&raw mut from).cast();
    head.msg_namelen = size_of_val(&from) as libc::socklen_t;
    (head.msg_iov, head.msg_iovlen) = (&raw mut piece, 1);
    head.msg_control = control.as_mut_ptr().cast();
    head.msg_controllen = size_of_val(&control) as _;
    // SAFETY: address, buffer and control messages outlive the call, each with its length.
    let len = check_size(unsafe { libc::recvmsg(fd.as_raw_fd(), &mut head, 0) })?;
    let mut datagram = StampedDatagram { len, from: address(&from)?, tos: 0, at: None, dropped: 0 };
    read_control(&head, &mut datagram);
    Ok(datagram)
}

fn address(from: &libc::sockaddr_storage) -> io::Result<SocketAddr> {
    match from.ss_family as i32 {
        libc::AF_INET => {
            // SAFETY: the storage is as large as either kind of address and aligned for both; the family says
            // that the kernel wrote this one, which holds numbers only.
            let a = unsafe { &*(&raw const *from).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(a.sin_addr.s_addr.to_ne_bytes());
            Ok(SocketAddr::new(ip.into(), u16::from_be(a.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: as for IPv4.
            let a = unsafe { &*(&raw const *from).cast::<libc::sockaddr_in6>() };
            let (ip, port) = (Ipv6Addr::from(a.sin6_addr.s6_addr), u16::from_be(a.sin6_port));
            Ok(SocketAddrV6::new(ip, port, a.sin6_flowinfo, a.sin6_scope_id).into())
        }
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Reads the control messages of a datagram.
fn read_control(head: &libc::msghdr, datagram: &mut StampedDatagram) {
    // SAFETY: the kernel has written whole control messages, `msg_controllen` bytes of them.
    let mut at = unsafe { libc::CMSG_FIRSTHDR(head) };
    while !at.is_null() {
        // SAFETY: where it is not null, it points to a whole header within the control messages, aligned as
        // those are; the value that the kernel writes after it is one byte for IPv4 (`ip_cmsg_recv_tos`), an
        // integer for IPv6 (`ip6_datagram_recv_specific_ctl`), a `timespec` of 64-bit numbers on machines
        // with 64 bits (`__sock_recv_timestamp`) or an integer for drops (`sock_recv_drops`). The
        // next step stays within `msg_controllen`.
        unsafe {
            let value = libc::CMSG_DATA(at);
            match ((*at).cmsg_level, (*at).cmsg_type) {
                (libc::SOL_IP, libc::IP_TOS) => datagram.tos = *value,
                (libc::SOL_IPV6, libc::IPV6_TCLASS) => {
                    datagram.tos = value.cast::<libc::c_int>().read_unaligned() as u8;
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let time = value.cast::<libc::timespec>().read_unaligned();
                    datagram.at = Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
                }
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                    datagram.dropped = value.cast::<u32>().read_unaligned();
                }
                _ => {}
            }
            at = libc::CMSG_NXTHDR(head, at);
        }
    }
}
