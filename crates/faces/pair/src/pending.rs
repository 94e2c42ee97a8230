//! Streams from peers that are not relays yet: each waits for its opening, then for a server.

use crate::frames::Opening;
use crate::reader::StreamReader;
use noq_proto::{ConnectionHandle, StreamId};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Instant;

/// A stream from a peer that is not a relay yet.
pub struct PendingStream {
    pub link: ConnectionHandle,
    /// The number of the stream in the QUIC connection.
    pub stream: StreamId,
    pub reader: StreamReader,
    /// The bytes that have been read.
    pub bytes: Vec<u8>,
    /// The opening, once complete.
    pub opening: Option<Opening>,
    /// Addresses that are still to be tried, the next one last.
    pub servers: Vec<SocketAddr>,
    /// The connection to a server that is being made.
    pub socket: Option<OwnedFd>,
    /// When the stream is refused or the next server is tried.
    pub deadline: Instant,
}

/// All pending streams by number.
#[derive(Default)]
pub struct PendingStreams(pub HashMap<u64, PendingStream>);
