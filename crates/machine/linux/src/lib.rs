//! All system calls of longfat, behind safe functions. Empty on systems other than Linux.
//!
//! Each module covers one subject; each function cites the man page or the kernel function that it relies on.
//! Functions that the proxy calls per packet ([`epoll`], [`pipe`], [`socket`], [`file`]) do not allocate, nor
//! do functions documented as callable between `clone` and `execve`.
//!
//! `rustix` makes the calls that it supports; on Linux it enters the kernel directly, without the C library.
//! It lacks the following, which go through `libc`:
//!
//! | call | module |
//! |---|---|
//! | `bpf` | [`bpf`] |
//! | `clone3`, `fork`, `execve`, `_exit`, `close_range` | [`process`] |
//! | signal dispositions, masks, `signalfd`, `sigwait` | [`signal`], [`interrupt`] |
//! | `mount_setattr` | [`mount`] |
//! | `seccomp`, Landlock | [`sandbox`] |
//! | `sched_setscheduler` | [`schedule`] |
//! | `epoll_pwait2`, which rustix only supports when built for recent kernels | [`epoll`] |
//! | socket options by number (`SO_MAX_PACING_RATE`, `TCP_INFO`, `IP_TRANSPARENT`, ...) | [`socket`] |
//! | `recvmsg` with its control messages, packet sockets and their rings, `recv` of a stream without a buffer | [`datagram`], [`packet`], [`packet_ring`], [`socket`] |
//! | requests about network devices (`ioctl`) | [`device`] |
//! | users by name and number, `setresuid` of all threads | [`user`] |

#![cfg(target_os = "linux")]
// The only crate of the workspace with system calls: each unsafe block states why it is sound.
#![allow(unsafe_code)]
#![deny(clippy::undocumented_unsafe_blocks, clippy::missing_safety_doc)]

#[cfg(target_endian = "little")]
pub mod bpf;
pub mod clock;
pub mod datagram;
pub mod device;
pub mod epoll;
pub mod file;
pub mod idmap;
pub mod interrupt;
pub mod mount;
pub mod namespace;
pub mod netlink;
pub mod packet;
pub mod packet_ring;
pub mod pipe;
pub mod poll;
pub mod privilege;
pub mod process;
pub mod random;
pub mod sandbox;
pub mod schedule;
pub mod service;
pub mod signal;
pub mod sock_diag;
pub mod socket;
pub mod tcp_info;
pub mod terminal;
#[cfg(target_endian = "little")]
pub mod traffic_control;
pub mod user;

use std::io;

/// Converts the result of a C function or system call that returns -1 and sets `errno` on failure.
fn check(code: libc::c_long) -> io::Result<libc::c_int> {
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(code as libc::c_int) }
}

/// Converts the result of a C function that returns a number of bytes, or -1 and sets `errno` on failure.
fn check_size(n: libc::ssize_t) -> io::Result<usize> {
    if n < 0 { Err(io::Error::last_os_error()) } else { Ok(n as usize) }
}
