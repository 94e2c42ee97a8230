//! Accepts connections from the kernel's queue into slots of the loop.

use super::{Ending, ProxyLoop, TokenOwner};
use crate::address::{allows_address, plain};
use crate::direction::{Direction, ProxyEnd};
use crate::session::{ConnectionEnd, Route, Session, SessionStage};
use crate::shared::ListenerState;
use crate::stats::ProxyCounter;
use linux::epoll::EventWatch;
use linux::socket;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Connections accepted at once before others are served.
const MAX_BURST: usize = 64;
/// Pause in accepting when descriptors or connection slots run out.
const PAUSE_MS: u64 = 50;

pub struct LoopListener {
    socket: Arc<OwnedFd>,
    state: Arc<ListenerState>,
    watched: bool,
    /// Connections to accept at once: as many as recently arrived together, so that usually no call finds
    /// the queue empty.
    burst: usize,
    /// The last iteration with new connections. An event in the next iteration means that more arrived than
    /// were accepted.
    iteration: u64,
}

impl ProxyLoop {
    /// Follows a change of the configuration: listens on new sockets and stops listening on removed ones.
    /// Remaining sockets are not touched, so that no connection in their queues is lost.
    pub(super) fn follow_config(&mut self) {
        let epoch = self.shared.epoch();
        if self.epoch == epoch {
            return;
        }
        self.epoch = epoch;
        // Drops the old configuration, with the sockets that only it holds.
        self.running = self.shared.running();
        if self.draining {
            return;
        }
        let running = self.running.clone();
        let wanted = |fd: &Arc<OwnedFd>| {
            running.bound.iter().find(|(bound, _)| Arc::ptr_eq(&bound.sockets[self.index], fd))
        };
        let removed: Vec<usize> =
            (0..self.listeners.len()).filter(|&i| wanted(&self.listeners[i].socket).is_none()).collect();
        for listener in &mut self.listeners {
            if let Some((_, state)) = wanted(&listener.socket) {
                listener.state = state.clone();
            }
        }
        for &i in removed.iter().rev() {
            self.stop_listening(i);
        }
        for (bound, state) in &running.bound {
            let socket = &bound.sockets[self.index];
            if !self.listeners.iter().any(|l| Arc::ptr_eq(&l.socket, socket)) {
                self.listeners.push(LoopListener {
                    socket: socket.clone(),
                    state: state.clone(),
                    watched: false,
                    burst: 1,
                    iteration: 0,
                });
            }
        }
        self.watch_listeners();
    }

    /// Stops listening; connections already in the queue are still served.
    fn stop_listening(&mut self, i: usize) {
        self.accept_all(i, usize::MAX);
        let listener = self.listeners.remove(i);
        self.queue.forget(listener.socket.as_fd());
        // The indices of later listeners have changed: register them again.
        for later in &mut self.listeners[i..] {
            self.queue.forget(later.socket.as_fd());
            later.watched = false;
        }
    }

    /// Registers the listeners that are not watched.
    fn watch_listeners(&mut self) {
        if self.paused_until_ms.is_some() {
            return;
        }
        for (i, listener) in self.listeners.iter_mut().enumerate().filter(|(_, l)| !l.watched) {
            let token = TokenOwner::Listener(i).token();
            listener.watched = self.queue.watch(listener.socket.as_fd(), token, EventWatch::Accept).is_ok();
        }
    }

    /// Stops accepting new connections, except those already in the queues.
    pub(super) fn begin_drain(&mut self) {
        if self.draining {
            return;
        }
        self.draining = true;
        while !self.listeners.is_empty() {
            self.stop_listening(self.listeners.len() - 1);
        }
    }

    pub(super) fn resume_accepting(&mut self) {
        if self.paused_until_ms.is_some_and(|at| at <= self.now_ms) {
            self.paused_until_ms = None;
            self.watch_listeners();
        }
    }

    fn pause_accepting(&mut self) {
        self.count(ProxyCounter::AcceptPauses, 1);
        self.paused_until_ms = Some(self.now_ms + PAUSE_MS);
        for listener in self.listeners.iter_mut().filter(|l| l.watched) {
            self.queue.forget(listener.socket.as_fd());
            listener.watched = false;
        }
    }

    /// Accepts up to the likely number of waiting connections; the rest triggers another event.
    pub(super) fn accept_some(&mut self, i: usize) {
        let Some(burst) = self.listeners.get(i).map(|l| l.burst) else { return };
        let before = self.shared.loops[self.index].get(ProxyCounter::Accepted);
        self.accept_all(i, burst);
        let accepted = self.shared.loops[self.index].get(ProxyCounter::Accepted) - before;
        if let Some(listener) = self.listeners.get_mut(i) {
            let (all, is_next) = (accepted as usize >= burst, listener.iteration + 1 == self.iteration);
            listener.iteration = self.iteration;
            listener.burst = match (all, is_next) {
                (true, true) => (burst * 2).min(MAX_BURST),
                (true, false) => burst,
                (false, _) => (accepted as usize).max(1),
            };
        }
    }

    /// Accepts up to `limit` connections.
    pub(super) fn accept_all(&mut self, i: usize, limit: usize) {
        for _ in 0..limit {
            let Some(listener) = self.listeners.get(i) else { return };
            // Reserve a slot before accepting, so that the loops together do not exceed the limit.
            if self.shared.connections.fetch_add(1, Relaxed) >= self.running.max_connections {
                self.shared.connections.fetch_sub(1, Relaxed);
                return self.pause_accepting();
            }
            match socket::accept(listener.socket.as_fd()) {
                Ok((socket, peer)) => {
                    let state = listener.state.clone();
                    self.count(ProxyCounter::Accepted, 1);
                    self.admit(socket, plain(peer), state);
                }
                Err(e) => {
                    self.shared.connections.fetch_sub(1, Relaxed);
                    match e.kind() {
                        _ if socket::is_connection_error(&e) => continue,
                        io::ErrorKind::WouldBlock => return,
                        _ => return self.pause_accepting(),
                    }
                }
            }
        }
    }

    /// Admits a connection into a slot, or resets it.
    fn admit(&mut self, socket: OwnedFd, peer: SocketAddr, listener: Arc<ListenerState>) {
        let refuse = |this: &Self, socket: &OwnedFd, counter| {
            socket::reset_on_close(socket.as_fd());
            this.count(counter, 1);
            this.shared.connections.fetch_sub(1, Relaxed);
        };
        let config = &listener.config;
        let awaits_header = config.proxy_protocol_from.iter().any(|net| net.contains(peer.ip()));
        // If another proxy forwards the connection, only its header contains the client's address.
        if !awaits_header && !is_allowed(&listener, peer) {
            return refuse(self, &socket, ProxyCounter::NotAllowed);
        }
        let limit = config.max_connections_per_client.filter(|_| !awaits_header);
        let slot = limit.map(|limit| self.shared.clients.take(peer.ip(), limit));
        if matches!(slot, Some(None)) {
            return refuse(self, &socket, ProxyCounter::TooMany);
        }
        let (i, generation) = self.free.pop().unwrap_or((self.sessions.len(), 0));
        let waits_for_hello = awaits_header || !listener.routes.is_empty();
        let hello_ms = config.hello_timeout.as_nanos() / 1_000_000;
        if self.watch_end(&socket, i, generation, ConnectionEnd::Client).is_err() {
            self.free.extend((i < self.sessions.len()).then_some((i, generation)));
            return refuse(self, &socket, ProxyCounter::ClientReset);
        }
        let session = Box::new(Session {
            generation,
            stage: SessionStage::Hello,
            client: ProxyEnd::new(socket),
            server: None,
            peer,
            client_address: peer,
            destination: None,
            awaits_header,
            route: Route::Unknown,
            server_state: None,
            tried: Vec::new(),
            up: Direction::default(),
            down: Direction::default(),
            deadline_ms: 0,
            began_ms: self.now_ms,
            moved_ms: self.now_ms,
            slot: slot.flatten(),
            has_more: false,
            sample: None,
            listener,
        });
        match self.sessions.get_mut(i) {
            Some(free) => *free = Some(session),
            None => self.sessions.push(Some(session)),
        }
        self.set(ProxyCounter::Open, self.open() as u64);
        if waits_for_hello {
            self.arm(i, self.now_ms + hello_ms);
        } else {
            self.route(i, None);
        }
    }

    /// Applies the client limits after a PROXY header has given the client's address. Returns whether the
    /// connection may continue.
    pub(super) fn admit_after_header(&mut self, i: usize) -> bool {
        let Some(session) = self.sessions[i].as_deref_mut() else { return false };
        if !is_allowed(&session.listener, session.client_address) {
            self.close_session(i, Ending::Reset(ProxyCounter::NotAllowed));
            return false;
        }
        if let Some(limit) = session.listener.config.max_connections_per_client {
            session.slot = self.shared.clients.take(session.client_address.ip(), limit);
            if session.slot.is_none() {
                self.close_session(i, Ending::Reset(ProxyCounter::TooMany));
                return false;
            }
        }
        true
    }
}

fn is_allowed(listener: &ListenerState, client: SocketAddr) -> bool {
    allows_address(&listener.config.allow, client.ip())
}
