//! Streams of peers that are not relays yet: each waits for its beginning, then for a server.

use crate::frames::Opening;
use crate::reader::StreamReader;
use noq_proto::{ConnectionHandle, StreamId};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Instant;

/// A stream of a peer that is not a relay yet.
pub struct Served {
    /// The connection of QUIC it belongs to.
    pub link: ConnectionHandle,
    /// Its number there.
    pub stream: StreamId,
    /// Reads it.
    pub reader: StreamReader,
    /// What was read of its beginning.
    pub bytes: Vec<u8>,
    /// Its beginning, once that is whole.
    pub opening: Option<Opening>,
    /// Addresses that are still to be tried, the next one last.
    pub servers: Vec<SocketAddr>,
    /// The connection to a server that is under way.
    pub socket: Option<OwnedFd>,
    /// When it is given up, or the next server is tried.
    pub deadline: Instant,
}

/// All of them, by number.
#[derive(Default)]
pub struct Serving(pub HashMap<u64, Served>);
