//! Connects an accepted connection: chooses its route and a server, and another server after a failure.

use super::{Ending, ProxyLoop};
use crate::address::plain;
use crate::direction::{Direction, ProxyEnd};
use crate::health::HealthChange;
use crate::session::{ConnectionEnd, Route, Session, SessionStage};
use crate::side::SideOptions;
use crate::stats::ProxyCounter;
use linux::socket::{self, SocketOption};
use serde_json::json;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;
use units::Span;

/// Timeout of connecting to the destination of a transparent connection.
const TRANSPARENT_TIMEOUT: Span = Span::from_secs(10);

impl ProxyLoop {
    /// Routes a connection, by its server name if it has one, and starts connecting.
    pub(super) fn route(&mut self, i: usize, name: Option<&str>) {
        let Some(session) = self.sessions[i].as_deref_mut() else { return };
        let listener = &session.listener;
        if !listener.config.transparent.is_empty() {
            let to = socket::local_address(session.client.socket.as_fd()).map(plain).ok();
            let is_permitted =
                |to: &SocketAddr| listener.config.transparent.iter().any(|net| net.contains(to.ip()));
            // A connection to the proxy's own address has no other destination; forwarding it would loop.
            let is_loop = |to: &SocketAddr| {
                let bound = &self.running.bound;
                bound.iter().any(|(b, _)| b.address.port() == to.port()) && is_own(to)
            };
            let to = to.filter(|to| is_permitted(to) && !is_loop(to));
            match to {
                Some(to) => (session.destination, session.route) = (Some(to), Route::Transparent),
                None => return self.close_session(i, Ending::Reset(ProxyCounter::NotAllowed)),
            }
        } else {
            let by_name = name.and_then(|name| listener.routes.find(name));
            let upstream = by_name.or(listener.upstream.as_ref());
            match upstream {
                Some(upstream) => session.route = Route::Upstream(upstream.clone()),
                None => return self.close_session(i, Ending::Reset(ProxyCounter::BadHello)),
            }
        }
        session.stage = SessionStage::Connecting;
        self.connect(i);
    }

    /// Starts connecting to the next server.
    fn connect(&mut self, i: usize) {
        loop {
            let now = self.shared.now();
            let Some(session) = self.sessions[i].as_deref_mut() else { return };
            let client = session.client_address;
            let (to, timeout) = match &session.route {
                Route::Transparent if session.tried.is_empty() => (session.destination, TRANSPARENT_TIMEOUT),
                Route::Upstream(upstream) if session.tried.len() <= upstream.config.retries as usize => {
                    session.server_state = upstream.choose(now, client.ip(), &session.tried);
                    let to = session.server_state.as_ref().map(|server| server.address);
                    (to, upstream.config.connect_timeout)
                }
                _ => (None, Span::ZERO),
            };
            let Some(to) = to else { return self.close_session(i, Ending::Reset(ProxyCounter::NoServer)) };
            if !session.tried.is_empty() {
                self.shared.loops[self.index].increment(ProxyCounter::Retried);
            }
            match start_connecting(session, to) {
                Ok(socket) => {
                    let generation = session.generation;
                    if self.watch_end(&socket, i, generation, ConnectionEnd::Server).is_ok() {
                        let timeout_ms = timeout.as_nanos().div_ceil(1_000_000);
                        if let Some(session) = self.sessions[i].as_deref_mut() {
                            session.server = Some(ProxyEnd::new(socket));
                        }
                        return self.arm(i, self.now_ms + timeout_ms);
                    }
                    self.record_failure(i, "the event queue is full");
                }
                Err(e) => self.record_failure(i, &e.to_string()),
            }
        }
    }

    /// Handles the end of a connection attempt, successful or not.
    pub(super) fn handle_connected(&mut self, i: usize) {
        let Some(session) = self.sessions[i].as_deref_mut() else { return };
        let Some(server) = &session.server else { return };
        if !server.writable {
            return;
        }
        // A failure is also visible in the events (EPOLLERR, EPOLLHUP), so a successful attempt needs no
        // extra call.
        if server.ends
            && let Some(e) = socket::take_error(server.socket.as_fd())
        {
            return self.handle_connect_failure(i, &e.to_string());
        }
        session.stage = SessionStage::Open;
        session.moved_ms = self.now_ms;
        if let (Route::Upstream(upstream), Some(state)) = (&session.route, &session.server_state) {
            // Lock only if something changes: failures are rare.
            if state.health() != Default::default()
                && let Some(HealthChange::Up) = upstream.record_result(state, self.shared.now(), true)
            {
                let details = json!({ "upstream": upstream.name, "server": state.address.to_string() });
                self.shared.log_event("server-up", details);
            }
            if let Some(version) = upstream.config.proxy_protocol {
                let local = || socket::local_address(session.client.socket.as_fd()).map(plain);
                let to = session.destination.or_else(|| local().ok()).unwrap_or(session.peer);
                session.up = Direction::starting_with(version.write(session.client_address, to));
            }
        }
        self.arm_idle(i);
        self.pump(i, None);
    }

    /// Handles a failed connection attempt: tries the next server.
    pub(super) fn handle_connect_failure(&mut self, i: usize, why: &str) {
        self.record_failure(i, why);
        self.connect(i);
    }

    fn record_failure(&mut self, i: usize, why: &str) {
        let now = self.shared.now();
        self.count(ProxyCounter::ConnectFailed, 1);
        let Some(session) = self.sessions[i].as_deref_mut() else { return };
        session.server = None;
        let Some(state) = session.server_state.take() else {
            session.tried.extend(session.destination);
            return;
        };
        state.connections.fetch_sub(1, Relaxed);
        session.tried.push(state.address);
        if let Route::Upstream(upstream) = &session.route
            && let Some(HealthChange::Down) = upstream.record_result(&state, now, false)
        {
            let details =
                json!({ "upstream": upstream.name, "server": state.address.to_string(), "why": why });
            self.shared.log_event("server-down", details);
        }
    }
}

/// Starts connecting to a server, with the options of its side.
fn start_connecting(session: &Session, to: SocketAddr) -> io::Result<OwnedFd> {
    let socket = socket::tcp_socket(to.is_ipv6())?;
    let fd = socket.as_fd();
    let options: &SideOptions = match &session.route {
        Route::Upstream(upstream) => &upstream.options,
        _ => &session.listener.options,
    };
    options.apply(fd)?;
    if session.listener.config.keep_client_address {
        socket::set_transparent(fd, &to)?;
        socket::set_option(fd, SocketOption::SO_REUSEADDR, 1)?;
        socket::bind_to(fd, session.client_address)?;
    }
    socket::connect_to(fd, to)?;
    Ok(socket)
}

/// Whether an address belongs to this host: only such addresses can be bound.
fn is_own(to: &SocketAddr) -> bool {
    std::net::UdpSocket::bind((to.ip(), 0)).is_ok()
}
