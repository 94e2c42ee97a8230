//! Datagrams of one client to one upstream, as this end knows them.

use linux::epoll::{EventQueue, EventWatch};
use noq_proto::{ConnectionHandle, StreamId, VarInt};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Instant;

/// Where a flow's datagrams go on this side.
pub enum FlowEnd {
    /// To a client, by the socket of a listener.
    Client {
        /// The listener's number.
        listener: u64,
        /// The client's address.
        address: SocketAddr,
    },
    /// To a server, by a socket of its own.
    Server(UdpSocket),
}

/// One client's datagrams to one upstream.
pub struct DatagramFlow {
    /// The connection of QUIC it belongs to.
    pub link: ConnectionHandle,
    /// Its stream there, which carries nothing but its beginning and its end.
    pub stream: StreamId,
    /// Its end here.
    pub end: FlowEnd,
    /// When a datagram passed last.
    pub moved: Instant,
}

impl DatagramFlow {
    /// What it is called in datagrams: its stream's number.
    pub fn tag(&self) -> u32 {
        u64::from(VarInt::from(self.stream)) as u32
    }

    /// At the server's side.
    ///
    /// # Errors
    /// No socket, or no way to the server.
    pub fn to_server(
        server: SocketAddr,
        link: ConnectionHandle,
        stream: StreamId,
        now: Instant,
    ) -> io::Result<DatagramFlow> {
        let any: SocketAddr = if server.is_ipv6() { ([0u16; 8], 0).into() } else { ([0u8; 4], 0).into() };
        let socket = UdpSocket::bind(any)?;
        socket.set_nonblocking(true)?;
        socket.connect(server)?;
        Ok(DatagramFlow { link, stream, end: FlowEnd::Server(socket), moved: now })
    }

    /// Has its own socket watched, if it has one.
    pub fn watch(&self, queue: &EventQueue, number: u64) -> bool {
        match &self.end {
            FlowEnd::Server(socket) => queue.watch(socket.as_fd(), number, EventWatch::Read).is_ok(),
            FlowEnd::Client { .. } => true,
        }
    }
}
