//! Live connections: the kernel's own account of each TCP socket, and the headers of their packets as they pass.
//!
//! [`LiveCapture`] is both, as a stream of bytes in the pcap format that `capture::CaptureReader` reads: each read waits for
//! packets and meanwhile samples the sockets. The stream ends when what is watched has ended, or the time is over. What the
//! sockets said is in [`LiveAccount`], which both sides share.
//!
//! Memory is bounded: of packets by the ring and by [`gate`], of sockets by [`sockets`].

#![cfg(target_os = "linux")]

mod block;
mod filter;
mod gate;
mod headers;
mod processes;
mod session;
mod sockets;

pub use filter::{LiveFilter, MOST_TERMS};
pub use linux::privilege::keep_only_looking;
pub use linux::process::terminate;
pub use session::{LiveAccount, LiveCapture, LiveError, LiveOptions, LiveTarget, PacketSource};
pub use sockets::{MOST_SAMPLES, MOST_SOCKETS, SocketLife};
