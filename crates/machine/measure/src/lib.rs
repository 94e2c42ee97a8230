//! Tests of a path between two hosts: `longfat serve` at the far end, `longfat measure` at the near one. This
//! crate has the protocol, the server and the client; it does not interpret what they measure.
//!
//! # The protocol, version 1
//!
//! All connections begin at the client, to one port of TCP and UDP. Each message on a TCP connection is a
//! length (32 bits, big-endian) and JSON ([`frame`], [`message`]).
//!
//! 1. The *control* connection: the client says [`Request::Hello`], the server answers with a challenge, the
//!    client sends a proof that it knows the token ([`token`]; empty without one), and the server opens a
//!    *session* with a random id of 128 bits.
//! 2. The client sends datagrams with that id ([`datagram`]) until one is answered. The server sends
//!    datagrams to the address and port that they came from, if the address is that of the control
//!    connection, and to no other. So a client cannot make it send to a third host.
//! 3. The client requests tests one after the other on the control connection: streams in either direction,
//!    trains of datagrams in either direction, and the datagrams that arrived. For each test of streams it
//!    opens new *stream* connections, which name the session ([`Request::Attach`]).
//!
//! A datagram of [`datagram::DatagramKind::Echo`] is returned at once, during other tests too.

pub mod datagram;
pub mod frame;
pub mod message;
pub mod token;

#[cfg(target_os = "linux")]
pub mod client;
#[cfg(target_os = "linux")]
mod endpoint;
#[cfg(target_os = "linux")]
pub mod server;
#[cfg(target_os = "linux")]
pub mod streams;
#[cfg(target_os = "linux")]
mod wire;

pub use message::{Arrival, Reply, Request, SessionId, SessionLimits, StreamCounters, TrainOrder};

/// Version of the protocol; both ends must have the same.
pub const VERSION: u32 = 1;

/// Port of the server unless another is given.
pub const DEFAULT_PORT: u16 = 4717;

/// Maximum number of stream connections of a test.
pub const MAX_STREAMS: u32 = 16;
/// Maximum duration of a test, ms.
pub const MAX_TEST_MS: u32 = 30_000;
/// Maximum number of datagrams of a train.
pub const MAX_TRAIN_PACKETS: u32 = 16_000;
/// Maximum payload of a datagram of a train, bytes.
pub const MAX_DATAGRAM: u16 = 9_172;
/// Length of an interval in which received bytes are counted, ms.
pub const BIN_MS: u64 = 100;
