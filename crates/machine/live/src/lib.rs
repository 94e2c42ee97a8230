//! Captures live connections: the kernel's counters of each TCP socket, and the headers of their packets.
//!
//! [`LiveCapture`] yields packets as a byte stream in the pcap format that `capture::CaptureReader` reads;
//! each read waits for packets and meanwhile samples the sockets. The stream ends when the watched processes
//! have ended, or after the set time. [`LiveAccount`], which both sides share, contains the sockets'
//! counters. Meanwhile [`LiveOptions::report`] receives what each connection did, about once a second.
//!
//! [`apply`] changes the congestion control and the pacing of connections that other programs own.
//!
//! Memory is bounded: for packets by the ring and by [`gate`], for sockets by [`sockets`].

#![cfg(target_os = "linux")]

pub mod apply;
mod block;
mod confine;
mod filter;
mod gate;
mod headers;
mod processes;
mod recent;
mod sample;
mod session;
mod sockets;

pub use confine::confine_parser;
pub use filter::{LiveFilter, MAX_TERMS};
pub use linux::process::terminate;
pub use linux::terminal::Restorer;
pub use session::{
    LiveAccount, LiveCapture, LiveError, LiveOptions, LiveTarget, NoPackets, OnReport, PacketSource,
};
pub use sockets::{MAX_ENDED_SOCKETS, MAX_SAMPLES, SocketLife};
