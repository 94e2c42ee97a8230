//! Datagrams with their ECN field (RFC 3168 section 5: the lowest two bits of IPv4's TOS and of IPv6's traffic class).

use super::address::RawAddress;
use super::{check_size, set_option};
use std::io;
use std::mem::{size_of, zeroed};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The two bits.
const ECN: u8 = 0b11;
/// Room for one control message of an integer each of both kinds (`CMSG_SPACE`: header and value, aligned), in 64-bit words.
const CONTROL: usize = 6;

/// The level and the option's name of a field, IPv4's first; each socket of IPv6 that takes IPv4 has both.
fn each(is_v6: bool, v4: i32, v6: i32) -> impl Iterator<Item = (i32, i32)> {
    let v6 = is_v6.then_some((libc::SOL_IPV6, v6));
    [(libc::SOL_IP, v4)].into_iter().chain(v6)
}

/// From now on [`receive_marked`] says what datagrams came with.
///
/// # Errors
/// The system's.
pub fn ask_marks(fd: BorrowedFd<'_>, is_v6: bool) -> io::Result<()> {
    each(is_v6, libc::IP_RECVTOS, libc::IPV6_RECVTCLASS).try_for_each(|(l, name)| set_option(fd, l, name, 1))
}

/// What datagrams leave with from now on: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE. The rest of the field is 0.
///
/// # Errors
/// The system's.
pub fn set_mark(fd: BorrowedFd<'_>, is_v6: bool, mark: u8) -> io::Result<()> {
    let value = i32::from(mark & ECN);
    each(is_v6, libc::IP_TOS, libc::IPV6_TCLASS).try_for_each(|(l, name)| set_option(fd, l, name, value))
}

/// The next datagram: its length, whose it is, and its ECN field; 0 where the kernel does not say.
///
/// # Errors
/// The system's; `WouldBlock` where there is none.
pub fn receive_marked(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr, u8)> {
    let mut raw = RawAddress::empty();
    let mut control = [0u64; CONTROL];
    let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: `msghdr` is plain data.
    let mut head: libc::msghdr = unsafe { zeroed() };
    (head.msg_name, head.msg_namelen) = ((&raw mut raw.storage).cast(), raw.length);
    (head.msg_iov, head.msg_iovlen) = (&raw mut piece, 1);
    head.msg_control = control.as_mut_ptr().cast();
    head.msg_controllen = size_of::<[u64; CONTROL]>() as _;
    // SAFETY: address, buffer and control outlive the call, each with its length.
    let n = check_size(unsafe { libc::recvmsg(fd.as_raw_fd(), &mut head, 0) })?;
    Ok((n, raw.get()?, mark_of(&head)))
}

fn mark_of(head: &libc::msghdr) -> u8 {
    // SAFETY: the kernel filled control messages in up to `msg_controllen`; the macros' steps stay within that.
    let mut at = unsafe { libc::CMSG_FIRSTHDR(head) };
    while !at.is_null() {
        // SAFETY: not null: a whole header, aligned as `control` is.
        let (level, kind) = unsafe { ((*at).cmsg_level, (*at).cmsg_type) };
        // IPv4's is one byte, IPv6's an integer.
        // SAFETY: the kernel writes a value of that size behind the header (ip_cmsg_recv_tos, ip6_datagram_recv_specific_ctl).
        match (level, kind) {
            (libc::SOL_IP, libc::IP_TOS) => return unsafe { *libc::CMSG_DATA(at) } & ECN,
            (libc::SOL_IPV6, libc::IPV6_TCLASS) => {
                let value = unsafe { libc::CMSG_DATA(at).cast::<libc::c_int>().read_unaligned() };
                return value as u8 & ECN;
            }
            _ => {}
        }
        // SAFETY: as above.
        at = unsafe { libc::CMSG_NXTHDR(head, at) };
    }
    0
}
