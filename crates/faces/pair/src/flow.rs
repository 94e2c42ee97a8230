//! The datagrams between one client and one upstream, at this end.

use linux::epoll::{EventQueue, EventWatch};
use noq_proto::{ConnectionHandle, StreamId, VarInt};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Instant;

/// Where a flow's datagrams go at this end.
pub enum FlowEnd {
    /// To a client, from the socket of a listener.
    Client { listener: u64, address: SocketAddr },
    /// To a server, from its own socket.
    Server(UdpSocket),
}

/// The datagrams of one client to one upstream.
pub struct DatagramFlow {
    pub link: ConnectionHandle,
    /// The stream of the flow, which carries only an opening and an end.
    pub stream: StreamId,
    pub end: FlowEnd,
    pub last_moved: Instant,
}

impl DatagramFlow {
    /// The number of the flow in datagrams, which is that of its stream.
    pub fn tag(&self) -> u32 {
        u64::from(VarInt::from(self.stream)) as u32
    }

    /// A flow at the server's side.
    ///
    /// # Errors
    /// Fails if there is no socket or no route to the server.
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
        Ok(DatagramFlow { link, stream, end: FlowEnd::Server(socket), last_moved: now })
    }

    /// Adds its own socket, if it has one, to the event queue.
    pub fn watch(&self, queue: &EventQueue, number: u64) -> bool {
        match &self.end {
            FlowEnd::Server(socket) => queue.watch(socket.as_fd(), number, EventWatch::Read).is_ok(),
            FlowEnd::Client { .. } => true,
        }
    }
}
