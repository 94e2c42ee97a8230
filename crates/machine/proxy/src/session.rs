//! One connection: the client's end, the server's end, and the two directions between them.

use crate::client_slots::ClientSlot;
use crate::direction::{Direction, DirectionContext, DirectionFault, DirectionState, ProxyEnd};
use crate::pipes::PipePool;
use crate::sample::ConnectionSample;
use crate::shared::ListenerState;
use crate::upstream::{ServerState, UpstreamState};
use std::net::SocketAddr;
use std::sync::Arc;

/// Stage of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStage {
    /// Waiting for a PROXY header or a ClientHello.
    Hello,
    /// Connecting to a server.
    Connecting,
    /// Forwarding bytes.
    Open,
}

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    Client,
    Server,
}

/// Destination of a connection.
pub enum Route {
    Unknown,
    Upstream(Arc<UpstreamState>),
    /// The original destination.
    Transparent,
}

/// A proxied connection: its two sockets and its two directions.
pub struct Session {
    /// Distinguishes the connection from earlier ones in the same slot.
    pub generation: u32,
    pub stage: SessionStage,
    pub listener: Arc<ListenerState>,
    pub client: ProxyEnd,
    /// The server's end, once connecting.
    pub server: Option<ProxyEnd>,
    /// The connection's peer address.
    pub peer: SocketAddr,
    /// The client's address: the peer, or the source in a PROXY header.
    pub client_address: SocketAddr,
    /// The client's destination, from a PROXY header or TPROXY.
    pub destination: Option<SocketAddr>,
    /// Whether a PROXY header is still expected.
    pub awaits_header: bool,
    pub route: Route,
    /// The server that the connection goes to.
    pub server_state: Option<Arc<ServerState>>,
    /// Servers that have failed.
    pub tried: Vec<SocketAddr>,
    /// Direction to the server.
    pub up: Direction,
    /// Direction to the client.
    pub down: Direction,
    /// Time of the next timeout, milliseconds since the proxy started.
    pub deadline_ms: u64,
    /// Time of acceptance.
    pub began_ms: u64,
    /// Time of the last forwarded byte.
    pub moved_ms: u64,
    /// The client's connection slot, if the number of its connections is limited.
    pub slot: Option<ClientSlot>,
    /// Whether the connection has more to do in the loop's next iteration.
    pub has_more: bool,
    /// Values at the last sample; `None` before the first.
    pub sample: Option<Box<ConnectionSample>>,
}

impl Session {
    /// Returns the upstream's name, or a placeholder.
    pub fn upstream_name(&self) -> &str {
        match &self.route {
            Route::Upstream(upstream) => &upstream.name,
            Route::Transparent => "(transparent)",
            Route::Unknown => "(none)",
        }
    }

    /// Forwards as many bytes as possible in both directions.
    ///
    /// # Errors
    /// Fails with the end whose socket failed.
    pub fn pump(
        &mut self,
        buffer: &mut [u8],
        pipes: &mut PipePool,
        now_ms: u64,
    ) -> Result<(), ConnectionEnd> {
        let Some(server) = &mut self.server else { return Ok(()) };
        let before = self.up.moved() + self.down.moved();
        let mut context = DirectionContext { buffer, pipes, now_ms, is_last: self.down.is_done() };
        let up = self.up.pump(&mut self.client, server, &mut context);
        context.is_last = self.up.is_done();
        let down = self.down.pump(server, &mut self.client, &mut context);
        if self.up.moved() + self.down.moved() > before {
            self.moved_ms = now_ms;
        }
        let up = up.map_err(|fault| {
            if fault == DirectionFault::Source { ConnectionEnd::Client } else { ConnectionEnd::Server }
        })?;
        let down = down.map_err(|fault| {
            if fault == DirectionFault::Source { ConnectionEnd::Server } else { ConnectionEnd::Client }
        })?;
        self.has_more = up == DirectionState::HasMore || down == DirectionState::HasMore;
        Ok(())
    }

    /// Returns when the connection is reset if no byte moves.
    pub fn idle_deadline_ms(&self) -> u64 {
        let config = &self.listener.config;
        let half_closed = self.up.is_done() || self.down.is_done();
        let timeout = if half_closed { config.half_close_timeout } else { config.idle_timeout };
        self.moved_ms + timeout.as_nanos() / 1_000_000
    }
}
