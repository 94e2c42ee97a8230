//! Packet sockets: copies of a namespace's packets (packet(7)).

use crate::{check, check_size};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Classic BPF: an instruction, and the opcodes for filters.
pub use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_IND, BPF_JA, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD,
    BPF_LDX, BPF_MSH, BPF_RET, BPF_RSH, BPF_W, sock_filter as FilterStep,
};

/// Direction of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received {
    Here,
    /// Sent by this host.
    Outgoing,
    /// To other hosts.
    Other,
}

/// A packet socket with a filter. Non-blocking, closed on exec.
pub struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// Opens a socket that receives copies of the packets that pass a classic BPF program, sent or received
    /// by a device of the calling thread's namespace (0: any device), without link header.
    pub fn new(filter: &[FilterStep], device: u32) -> io::Result<PacketSocket> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        // Protocol 0 receives nothing, until the filter is attached.
        let socket = rustix::net::socket_with(AddressFamily::PACKET, SocketType::DGRAM, flags, None)?;
        attach(&socket, filter)?;
        bind(&socket, device)?;
        Ok(PacketSocket(socket))
    }

    /// Receives the start of the next packet, and returns its direction.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Received> {
        // SAFETY: all zeros is a value of `sockaddr_ll`, which holds numbers only.
        let mut from: libc::sockaddr_ll = unsafe { zeroed() };
        let mut size = size_of_val(&from) as libc::socklen_t;
        let (at, len) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: the kernel writes at most `len` bytes to the buffer, and at most `size` bytes of an address
        // to `from`; a packet socket's address is a `sockaddr_ll`.
        check_size(unsafe {
            libc::recvfrom(self.0.as_raw_fd(), at, len, 0, (&raw mut from).cast(), &mut size)
        })?;
        Ok(match from.sll_pkttype {
            libc::PACKET_HOST => Received::Here,
            libc::PACKET_OUTGOING => Received::Outgoing,
            _ => Received::Other,
        })
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A socket that sends whole frames through a device of the calling thread's namespace. Non-blocking, closed
/// on exec.
pub struct FrameSender(OwnedFd, u32);

impl FrameSender {
    /// Opens the socket for a device.
    pub fn new(device: u32) -> io::Result<FrameSender> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        // Protocol 0 receives nothing.
        let socket = rustix::net::socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
        Ok(FrameSender(socket, device))
    }

    /// Sends a frame, Ethernet header included.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        let to = address(self.1, frame.get(12..14).map_or(0, |b| u16::from_ne_bytes([b[0], b[1]])));
        let (at, len) = (frame.as_ptr().cast(), frame.len());
        let size = size_of_val(&to) as libc::socklen_t;
        // SAFETY: the kernel reads `len` bytes of the frame, and the address, whose size is given.
        check_size(unsafe { libc::sendto(self.0.as_raw_fd(), at, len, 0, (&raw const to).cast(), size) })?;
        Ok(())
    }
}

/// An address of packet sockets; `protocol` is in network order.
fn address(device: u32, protocol: u16) -> libc::sockaddr_ll {
    // SAFETY: all zeros is a value of `sockaddr_ll`, which holds numbers only.
    let mut a: libc::sockaddr_ll = unsafe { zeroed() };
    a.sll_family = libc::AF_PACKET as libc::c_ushort;
    a.sll_protocol = protocol;
    a.sll_ifindex = device as libc::c_int;
    a
}

/// Attaches a filter (SO_ATTACH_FILTER, socket(7)).
pub(crate) fn attach(socket: &OwnedFd, filter: &[FilterStep]) -> io::Result<()> {
    let length = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_ptr().cast_mut() };
    let (at, size) = ((&raw const program).cast(), size_of_val(&program) as libc::socklen_t);
    // SAFETY: the kernel reads the structure, whose size is given, and copies the number of instructions that
    // it states, which is the filter's length; it writes to neither.
    check(
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, at, size) }
            .into(),
    )
    .map(drop)
}

pub(crate) fn bind(socket: &OwnedFd, device: u32) -> io::Result<()> {
    // Outgoing packets are visible only to sockets of all protocols.
    let a = address(device, (libc::ETH_P_ALL as u16).to_be());
    let size = size_of_val(&a) as libc::socklen_t;
    // SAFETY: the kernel reads the address, whose size is given.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const a).cast(), size) }.into()).map(drop)
}
