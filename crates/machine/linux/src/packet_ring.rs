//! Captures a namespace's packets through memory shared with the kernel (packet(7): `PACKET_RX_RING`,
//! `TPACKET_V3`).
//!
//! The kernel writes packets consecutively into blocks and passes each block on when it is full or after a
//! timeout; the process reads it in place and returns it. No system call is needed per packet. When no block
//! is free the kernel drops packets and counts them ([`PacketRing::drops`]).

use crate::check;
use crate::packet::{FilterStep, attach, bind};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Options of packet sockets (linux/if_packet.h).
const PACKET_RX_RING: libc::c_int = 5;
const PACKET_STATISTICS: libc::c_int = 6;
const PACKET_VERSION: libc::c_int = 10;
const TPACKET_V3: libc::c_int = 2;
/// Owner of a block: the kernel, or this process (`TP_STATUS_USER`).
const TO_KERNEL: u32 = 0;
const TO_USER: u32 = 1;
/// Offset of `block_status` in a block (`struct tpacket_block_desc`).
const STATUS: usize = 8;
/// Smallest frame size that the kernel accepts; blocks hold packets of any size.
const FRAME: u32 = 2048;

/// `struct tpacket_req3` (linux/if_packet.h).
#[repr(C)]
struct RingRequest {
    block_size: u32,
    blocks: u32,
    frame_size: u32,
    frames: u32,
    /// Milliseconds after which a block with packets is passed on although it is not full.
    timeout_ms: u32,
    private_size: u32,
    features: u32,
}

/// Dimensions of a ring.
#[derive(Clone, Copy, Debug)]
pub struct RingSize {
    /// Bytes of a block: a power of two, at least a page.
    pub block: u32,
    /// Number of blocks.
    pub blocks: u32,
    /// Milliseconds after which a block with packets is passed on.
    pub timeout_ms: u32,
}

/// A packet socket with a ring. Closed on exec; dropping it frees its memory and the socket.
pub struct PacketRing {
    socket: OwnedFd,
    memory: NonNull<u8>,
    size: RingSize,
    /// The next block that the kernel will fill.
    next: u32,
    drops: u64,
}

// SAFETY: the memory belongs to this value alone, as a `Box` would; the kernel does not care which thread
// reads it.
unsafe impl Send for PacketRing {}

impl PacketRing {
    /// Opens a ring with copies of the packets that pass a classic BPF program, sent or received by a device
    /// of the calling thread's namespace (0: any device), starting with the network header. The program
    /// returns the number of bytes to keep.
    ///
    /// # Errors
    /// Fails if the thread lacks CAP_NET_RAW, or without enough memory.
    pub fn new(filter: &[FilterStep], device: u32, size: RingSize) -> io::Result<PacketRing> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        // Protocol 0 receives nothing, until filter and ring are set up.
        let socket = rustix::net::socket_with(AddressFamily::PACKET, SocketType::DGRAM, flags, None)?;
        attach(&socket, filter)?;
        set(&socket, PACKET_VERSION, &TPACKET_V3)?;
        let request = RingRequest {
            block_size: size.block,
            blocks: size.blocks,
            frame_size: FRAME,
            frames: size.block / FRAME * size.blocks,
            timeout_ms: size.timeout_ms,
            private_size: 0,
            features: 0,
        };
        set(&socket, PACKET_RX_RING, &request)?;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of this process.
        let at =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes(size), access, kind, socket.as_raw_fd(), 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(at.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let ring = PacketRing { socket, memory, size, next: 0, drops: 0 };
        bind(&ring.socket, device)?;
        Ok(ring)
    }

    /// Passes the next filled block to `read` (`struct tpacket_block_desc` and its packets) and returns it to
    /// the kernel. Returns `false` if there is none.
    pub fn next_block(&mut self, read: &mut dyn FnMut(&[u8])) -> bool {
        let offset = self.next as usize * self.size.block as usize;
        // SAFETY: `next` is below the number of blocks, so the block lies within the mapping, which lives as
        // long as `self`.
        let block = unsafe { self.memory.add(offset) };
        // SAFETY: the status lies in the block, which starts at a page boundary, so it is aligned; both sides
        // access it as an atomic.
        let status = unsafe { AtomicU32::from_ptr(block.add(STATUS).as_ptr().cast()) };
        if status.load(Ordering::Acquire) & TO_USER == 0 {
            return false;
        }
        // SAFETY: a block with this status belongs to this process: the kernel writes nothing to it until the
        // status is changed below, and no other reference to it exists.
        read(unsafe { std::slice::from_raw_parts(block.as_ptr(), self.size.block as usize) });
        status.store(TO_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.size.blocks;
        true
    }

    /// Returns the number of packets that the kernel has dropped since the ring was created, because no block
    /// was free.
    pub fn drops(&mut self) -> u64 {
        // `struct tpacket_stats_v3`: packets, drops, queue freezes; reading resets them.
        let mut counts = [0u32; 3];
        let mut size = size_of_val(&counts) as libc::socklen_t;
        let (fd, at) = (self.socket.as_raw_fd(), (&raw mut counts).cast());
        // SAFETY: the kernel writes at most `size` bytes to the numbers, which outlive the call.
        let code = unsafe { libc::getsockopt(fd, libc::SOL_PACKET, PACKET_STATISTICS, at, &mut size) };
        if code == 0 {
            self.drops += u64::from(counts[1]);
        }
        self.drops
    }
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for PacketRing {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this size, and nothing refers to it after `self`.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), bytes(self.size)) };
    }
}

fn bytes(size: RingSize) -> usize {
    size.block as usize * size.blocks as usize
}

fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    let (at, size) = ((&raw const *value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the kernel reads at most `size` bytes of the value, which outlives the call; no value here
    // holds an address.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, at, size) }.into())
        .map(drop)
}
