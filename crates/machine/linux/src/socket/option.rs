//! Socket options (socket(7), tcp(7), ip(7), ipv6(7)) by number, for lists of settings and for options that
//! rustix lacks.

use crate::{check, check_size};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// An option whose value is a number or a text. Only the options listed here can be named: some others
/// contain memory addresses (SO_ATTACH_FILTER, TCP_ZEROCOPY_RECEIVE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketOption {
    level: i32,
    name: i32,
}

/// Defines the options: level and name in the kernel's headers.
macro_rules! options {
    ($($level:ident $($name:ident)+;)+) => {
        impl SocketOption {
            $($(
                #[doc = concat!("`", stringify!($name), "` of `", stringify!($level), "`.")]
                pub const $name: SocketOption = SocketOption { level: libc::$level, name: libc::$name };
            )+)+
        }
    };
}

options! {
    SOL_SOCKET SO_DOMAIN SO_ERROR SO_KEEPALIVE SO_MAX_PACING_RATE SO_RCVBUF SO_RCVBUFFORCE SO_REUSEADDR SO_REUSEPORT
        SO_RXQ_OVFL SO_SNDBUF SO_SNDBUFFORCE SO_TIMESTAMPNS;
    IPPROTO_TCP TCP_CONGESTION TCP_INFO TCP_KEEPCNT TCP_KEEPIDLE TCP_KEEPINTVL TCP_MAXSEG TCP_NODELAY TCP_NOTSENT_LOWAT
        TCP_WINDOW_CLAMP;
    SOL_IP IP_MTU_DISCOVER IP_RECVTOS IP_TOS IP_TRANSPARENT;
    SOL_IPV6 IPV6_MTU_DISCOVER IPV6_RECVTCLASS IPV6_TCLASS IPV6_TRANSPARENT IPV6_V6ONLY;
}

impl SocketOption {
    /// `TCP_CC_INFO` of `IPPROTO_TCP` (linux/tcp.h).
    pub const TCP_CC_INFO: SocketOption = SocketOption { level: libc::IPPROTO_TCP, name: 26 };
    /// `TCP_DELACK_MAX_US` of `IPPROTO_TCP` (linux/tcp.h, Linux 6.15).
    pub const TCP_DELACK_MAX_US: SocketOption = SocketOption { level: libc::IPPROTO_TCP, name: 46 };

    /// Returns the option's number at its level.
    pub fn number(self) -> i32 {
        self.name
    }
}

/// Sets an option to an integer (setsockopt(2)).
pub fn set_option(fd: BorrowedFd<'_>, option: SocketOption, value: i32) -> io::Result<()> {
    set_bytes(fd, option, &value.to_ne_bytes())
}

/// Sets an option to bytes (setsockopt(2)).
pub fn set_bytes(fd: BorrowedFd<'_>, option: SocketOption, value: &[u8]) -> io::Result<()> {
    let (at, len) = (value.as_ptr().cast(), value.len() as libc::socklen_t);
    // SAFETY: the kernel reads at most `len` bytes of the slice, and finds no address in them: no option of
    // `SocketOption` takes one.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), option.level, option.name, at, len) }.into()).map(drop)
}

/// Reads an option's bytes. Returns their number (getsockopt(2)).
pub fn get_bytes(fd: BorrowedFd<'_>, option: SocketOption, value: &mut [u8]) -> io::Result<usize> {
    let mut len = value.len() as libc::socklen_t;
    let at = value.as_mut_ptr().cast();
    // SAFETY: the kernel writes at most `len` bytes to the slice, and how many to `len`; both outlive the
    // call. It reads no address from the slice, as no option of `SocketOption` holds one.
    check_size(unsafe { libc::getsockopt(fd.as_raw_fd(), option.level, option.name, at, &mut len) } as isize)?;
    Ok((len as usize).min(value.len()))
}

/// Reads an integer option (getsockopt(2)).
pub fn get_option(fd: BorrowedFd<'_>, option: SocketOption) -> io::Result<i32> {
    let mut value = [0; 4];
    get_bytes(fd, option, &mut value)?;
    Ok(i32::from_ne_bytes(value))
}
