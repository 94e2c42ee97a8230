//! One connection: the client's end, the server's, and the two lanes between them.

use crate::lane::{Lane, LaneFault, LaneState, LaneTools, ProxyEnd};
use crate::pipes::PipePool;
use crate::places::ClientPlace;
use crate::sample::LastLook;
use crate::shared::ListenerState;
use crate::upstream::{ServerState, UpstreamState};
use std::net::SocketAddr;
use std::sync::Arc;

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStage {
    /// A PROXY header or a ClientHello is awaited.
    Hello,
    /// A server is being connected to.
    Connecting,
    /// Bytes pass.
    Open,
}

/// Which of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The one that was accepted.
    Client,
    /// The one that was opened.
    Server,
}

/// Where a connection goes.
pub enum Route {
    /// Not known yet.
    Unknown,
    /// To one of an upstream's servers.
    Upstream(Arc<UpstreamState>),
    /// To the address it was made to.
    Transparent,
}

/// A connection.
pub struct Session {
    /// Tells it from others that had its place before.
    pub generation: u32,
    /// How far it is.
    pub stage: SessionStage,
    /// Where it came from.
    pub listener: Arc<ListenerState>,
    /// The client's end.
    pub client: ProxyEnd,
    /// The server's end, once there is one.
    pub server: Option<ProxyEnd>,
    /// Where the connection came from, as the system says.
    pub peer: SocketAddr,
    /// Whose it is: the same, or what a PROXY header says.
    pub client_address: SocketAddr,
    /// What the client connected to, where a PROXY header or TPROXY says.
    pub destination: Option<SocketAddr>,
    /// Whether the PROXY header is still awaited.
    pub awaits_header: bool,
    /// Where it goes.
    pub route: Route,
    /// The server that it is connected to.
    pub server_state: Option<Arc<ServerState>>,
    /// Servers that failed.
    pub tried: Vec<SocketAddr>,
    /// To the server.
    pub up: Lane,
    /// To the client.
    pub down: Lane,
    /// Its entry among the deadlines, milliseconds since the proxy began.
    pub deadline_ms: u64,
    /// When it was accepted.
    pub began_ms: u64,
    /// When bytes moved last.
    pub moved_ms: u64,
    /// Its place among its client's, where they are limited.
    pub place: Option<ClientPlace>,
    /// Whether it has more to do in the next turn.
    pub has_more: bool,
    /// What its sockets said when they were last looked at; `None` until then.
    pub look: Option<Box<LastLook>>,
}

impl Session {
    /// The upstream's name, or what stands for it.
    pub fn upstream_name(&self) -> &str {
        match &self.route {
            Route::Upstream(upstream) => &upstream.name,
            Route::Transparent => "(transparent)",
            Route::Unknown => "(none)",
        }
    }

    /// Moves what can be moved both ways.
    ///
    /// # Errors
    /// Whose socket failed.
    pub fn pump(&mut self, buffer: &mut [u8], pipes: &mut PipePool, now_ms: u64) -> Result<(), Whose> {
        let Some(server) = &mut self.server else { return Ok(()) };
        let before = self.up.moved() + self.down.moved();
        let mut tools = LaneTools { buffer, pipes, now_ms, is_last: self.down.is_done() };
        let up = self.up.pump(&mut self.client, server, &mut tools);
        tools.is_last = self.up.is_done();
        let down = self.down.pump(server, &mut self.client, &mut tools);
        if self.up.moved() + self.down.moved() > before {
            self.moved_ms = now_ms;
        }
        let up =
            up.map_err(|fault| if fault == LaneFault::Source { Whose::Client } else { Whose::Server })?;
        let down =
            down.map_err(|fault| if fault == LaneFault::Source { Whose::Server } else { Whose::Client })?;
        self.has_more = up == LaneState::HasMore || down == LaneState::HasMore;
        Ok(())
    }

    /// When it is reset if nothing moves.
    pub fn idle_deadline_ms(&self) -> u64 {
        let config = &self.listener.config;
        let half_closed = self.up.is_done() || self.down.is_done();
        let timeout = if half_closed { config.half_close_timeout } else { config.idle_timeout };
        self.moved_ms + timeout.as_nanos() / 1_000_000
    }
}
