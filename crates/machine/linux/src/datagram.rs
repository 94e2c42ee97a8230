//! Receives and sends datagrams with their ECN field (RFC 3168 section 5: the lowest two bits of IPv4's TOS
//! and of IPv6's traffic class).

use crate::check_size;
use crate::socket::{SocketOption, set_option};
use std::io;
use std::mem::zeroed;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Bits of the ECN field.
const ECN: u8 = 0b11;
/// Space for one control message with an integer of each kind (`CMSG_SPACE`: header and value, aligned), in
/// 64-bit words.
const CONTROL: usize = 6;

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
    set_each(fd, is_v6, [SocketOption::IP_TOS, SocketOption::IPV6_TCLASS], i32::from(mark & ECN))
}

/// Receives a datagram: its length, its sender's address, and its ECN field; 0 if the kernel does not report
/// it (recvmsg(2)).
///
/// # Errors
/// Fails with the system's error; `WouldBlock` if there is no datagram.
pub fn receive_marked(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr, u8)> {
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
    let n = check_size(unsafe { libc::recvmsg(fd.as_raw_fd(), &mut head, 0) })?;
    Ok((n, address(&from)?, ecn_field(&head)))
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

/// Returns the ECN field from the control messages.
fn ecn_field(head: &libc::msghdr) -> u8 {
    // SAFETY: the kernel has written whole control messages, `msg_controllen` bytes of them.
    let mut at = unsafe { libc::CMSG_FIRSTHDR(head) };
    while !at.is_null() {
        // SAFETY: where it is not null, it points to a whole header within the control messages, aligned as
        // those are; the value that the kernel writes after it is one byte for IPv4 (`ip_cmsg_recv_tos`) and
        // an integer for IPv6 (`ip6_datagram_recv_specific_ctl`). The next step stays within
        // `msg_controllen`.
        unsafe {
            match ((*at).cmsg_level, (*at).cmsg_type) {
                (libc::SOL_IP, libc::IP_TOS) => return *libc::CMSG_DATA(at) & ECN,
                (libc::SOL_IPV6, libc::IPV6_TCLASS) => {
                    return libc::CMSG_DATA(at).cast::<libc::c_int>().read_unaligned() as u8 & ECN;
                }
                _ => at = libc::CMSG_NXTHDR(head, at),
            }
        }
    }
    0
}
