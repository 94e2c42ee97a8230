//! An event loop, pinned to one core: accepts from its own sockets and forwards the bytes of its own
//! connections.
//!
//! Loops share nothing on the data path: each has its own queue, buffer, pipes and connections. Every socket
//! is registered once, edge-triggered; its readiness is remembered until a call would block. A connection
//! moves at most [`crate::direction::MAX_ITERATION_BYTES`] per iteration and direction, so that none delays
//! another. Each connection has one deadline; when it expires, the actual deadline is computed again. Moving
//! bytes therefore costs no timer operation.

mod accept;
mod connect;
mod hello;
mod sampling;

use crate::direction::{COPY_BYTES, ProxyEnd};
use crate::pipes::PipePool;
use crate::session::{ConnectionEnd, Session, SessionStage};
use crate::shared::{ProxyShared, RunningConfig, Stopping};
use crate::stats::ProxyCounter;
use linux::epoll::take_wakes;
use linux::epoll::{EventQueue, EventWatch, Readiness};
use linux::socket::reset_on_close;
use serde_json::json;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Interval between samples of connections, and the longest wait.
const SAMPLE_MS: u64 = 1000;
/// Generations of a slot that a token distinguishes.
const GENERATIONS: u32 = 1 << 24;

/// The object that an epoll token refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenOwner {
    /// The eventfd by which other threads wake the loop.
    Wake,
    /// A listening socket, by index.
    Listener(usize),
    /// An end of a connection: slot, generation, end.
    Session(usize, u32, ConnectionEnd),
}

impl TokenOwner {
    fn token(self) -> u64 {
        match self {
            TokenOwner::Wake => 0,
            TokenOwner::Listener(i) => 1 << 60 | i as u64,
            TokenOwner::Session(i, generation, which) => {
                let side = u64::from(which == ConnectionEnd::Server);
                2 << 60 | u64::from(generation) << 33 | side << 32 | i as u64
            }
        }
    }

    fn from_token(token: u64) -> TokenOwner {
        let i = (token & 0xffff_ffff) as usize;
        match token >> 60 {
            0 => TokenOwner::Wake,
            1 => TokenOwner::Listener(i),
            _ => {
                let side = if token >> 32 & 1 == 1 { ConnectionEnd::Server } else { ConnectionEnd::Client };
                TokenOwner::Session(i, (token >> 33) as u32 % GENERATIONS, side)
            }
        }
    }
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Finished,
    /// The connection is reset, and this counter increases.
    Reset(ProxyCounter),
}

pub struct ProxyLoop {
    index: usize,
    shared: Arc<ProxyShared>,
    running: Arc<RunningConfig>,
    epoch: u64,
    queue: EventQueue,
    listeners: Vec<accept::LoopListener>,
    sessions: Vec<Option<Box<Session>>>,
    /// Free slots of `sessions`, and the next generation of each.
    free: Vec<(usize, u32)>,
    deadlines: BTreeSet<(u64, usize)>,
    /// Connections that have more to do.
    again: Vec<usize>,
    buffer: Vec<u8>,
    peek_buffer: Vec<u8>,
    pipes: PipePool,
    /// Number of the current iteration.
    iteration: u64,
    now_ms: u64,
    next_sample_ms: u64,
    /// End of a pause in accepting.
    paused_until_ms: Option<u64>,
    draining: bool,
}

impl ProxyLoop {
    /// Creates the loop with this index.
    pub fn new(index: usize, shared: Arc<ProxyShared>) -> io::Result<ProxyLoop> {
        let queue = EventQueue::new()?;
        queue.watch(shared.wakes[index].as_fd(), TokenOwner::Wake.token(), EventWatch::Read)?;
        Ok(ProxyLoop {
            index,
            running: Arc::default(),
            epoch: 0,
            queue,
            listeners: Vec::new(),
            sessions: Vec::new(),
            free: Vec::new(),
            deadlines: BTreeSet::new(),
            again: Vec::new(),
            buffer: vec![0; COPY_BYTES],
            peek_buffer: vec![0; crate::hello::MAX_HELLO_BYTES],
            pipes: PipePool::default(),
            iteration: 0,
            now_ms: 0,
            next_sample_ms: SAMPLE_MS,
            paused_until_ms: None,
            draining: false,
            shared,
        })
    }

    /// Runs until the proxy ends.
    ///
    /// # Errors
    /// Fails if the event queue fails.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Vec::new();
        loop {
            self.queue.wait(&mut events, self.timeout_ms())?;
            self.now_ms = self.shared.now().as_nanos() / 1_000_000;
            self.iteration += 1;
            self.count(ProxyCounter::Turns, 1);
            for event in &events {
                self.handle(*event);
            }
            self.continue_sessions();
            self.handle_deadlines();
            self.follow_config();
            self.resume_accepting();
            if self.now_ms >= self.next_sample_ms {
                self.next_sample_ms = self.now_ms + SAMPLE_MS;
                self.sample_sessions();
            }
            self.set(ProxyCounter::Pipes, self.pipes.borrowed() as u64);
            match self.shared.stopping() {
                Stopping::No => {}
                Stopping::Drain => {
                    self.begin_drain();
                    if self.open() == 0 {
                        return Ok(());
                    }
                }
                Stopping::Now => {
                    self.begin_drain();
                    self.reset_all();
                    return Ok(());
                }
            }
        }
    }

    fn count(&self, counter: ProxyCounter, n: u64) {
        self.shared.loops[self.index].add(counter, n);
    }

    fn set(&self, counter: ProxyCounter, n: u64) {
        self.shared.loops[self.index].set(counter, n);
    }

    fn open(&self) -> usize {
        self.sessions.len() - self.free.len()
    }

    fn timeout_ms(&self) -> i32 {
        if !self.again.is_empty() {
            return 0;
        }
        let deadline = self.deadlines.first().map_or(u64::MAX, |(at, _)| *at);
        let next = deadline.min(self.next_sample_ms).min(self.paused_until_ms.unwrap_or(u64::MAX));
        next.saturating_sub(self.now_ms).min(SAMPLE_MS) as i32
    }

    fn handle(&mut self, event: Readiness) {
        match TokenOwner::from_token(event.token) {
            TokenOwner::Wake => take_wakes(self.shared.wakes[self.index].as_fd()),
            TokenOwner::Listener(i) => self.accept_some(i),
            TokenOwner::Session(i, generation, which) => {
                let Some(session) = self.sessions.get_mut(i).and_then(Option::as_deref_mut) else { return };
                // Ignore events of a connection that has ended in this iteration.
                if session.generation != generation {
                    return;
                }
                let end = match which {
                    ConnectionEnd::Client => Some(&mut session.client),
                    ConnectionEnd::Server => session.server.as_mut(),
                };
                let Some(end) = end else { return };
                update_readiness(end, event);
                self.advance(i, event.failed.then_some(which), which);
            }
        }
    }

    /// Advances a connection after an event at one end.
    fn advance(&mut self, i: usize, failed: Option<ConnectionEnd>, which: ConnectionEnd) {
        let Some(session) = self.sessions[i].as_deref_mut() else { return };
        match (session.stage, which) {
            (SessionStage::Open, _) => self.pump(i, failed),
            (_, ConnectionEnd::Client) if failed == Some(ConnectionEnd::Client) => {
                self.close_session(i, Ending::Reset(ProxyCounter::ClientReset));
            }
            (SessionStage::Hello, ConnectionEnd::Client) => self.read_hello(i),
            (SessionStage::Connecting, ConnectionEnd::Server) => self.handle_connected(i),
            _ => {}
        }
    }

    /// Forwards bytes. After a failure of an end, forwards once more what that end had sent.
    fn pump(&mut self, i: usize, failed: Option<ConnectionEnd>) {
        let Some(session) = self.sessions[i].as_deref_mut() else { return };
        let was_half_closed = session.up.is_done() || session.down.is_done();
        let had_more = session.has_more;
        let before = (session.up.moved(), session.down.moved());
        let pumped = session.pump(&mut self.buffer, &mut self.pipes, self.now_ms);
        let moved = (session.up.moved() - before.0, session.down.moved() - before.1);
        let (up_done, down_done) = (session.up.is_done(), session.down.is_done());
        let has_more = session.has_more;
        self.count(ProxyCounter::BytesUp, moved.0);
        self.count(ProxyCounter::BytesDown, moved.1);
        match (pumped, failed) {
            (Err(which), _) => self.close_session(i, reset_by(which)),
            (Ok(()), _) if up_done && down_done => self.close_session(i, Ending::Finished),
            (Ok(()), Some(which)) => self.close_session(i, reset_by(which)),
            (Ok(()), None) => {
                if has_more && !had_more {
                    self.again.push(i);
                }
                if (up_done || down_done) && !was_half_closed {
                    self.arm_idle(i);
                }
            }
        }
    }

    /// Continues connections that had more to do in the previous iteration.
    fn continue_sessions(&mut self) {
        for i in std::mem::take(&mut self.again) {
            if let Some(session) = self.sessions[i].as_deref_mut().filter(|s| s.has_more) {
                session.has_more = false;
                self.pump(i, None);
            }
        }
    }

    fn arm(&mut self, i: usize, at_ms: u64) {
        let Some(session) = self.sessions[i].as_deref_mut() else { return };
        self.deadlines.remove(&(session.deadline_ms, i));
        session.deadline_ms = at_ms;
        self.deadlines.insert((at_ms, i));
    }

    fn arm_idle(&mut self, i: usize) {
        if let Some(session) = self.sessions[i].as_deref() {
            self.arm(i, session.idle_deadline_ms());
        }
    }

    fn handle_deadlines(&mut self) {
        while let Some(&(at, i)) = self.deadlines.first().filter(|(at, _)| *at <= self.now_ms) {
            let Some(session) = self.sessions[i].as_deref() else {
                self.deadlines.remove(&(at, i));
                continue;
            };
            match session.stage {
                SessionStage::Hello => self.close_session(i, Ending::Reset(ProxyCounter::HelloTimeout)),
                SessionStage::Connecting => self.handle_connect_failure(i, "timed out"),
                SessionStage::Open if session.idle_deadline_ms() <= self.now_ms => {
                    self.close_session(i, Ending::Reset(ProxyCounter::Idle));
                }
                SessionStage::Open => self.arm_idle(i),
            }
        }
    }

    /// Ends a connection and releases its resources.
    fn close_session(&mut self, i: usize, ending: Ending) {
        let Some(mut session) = self.sessions[i].take() else { return };
        self.deadlines.remove(&(session.deadline_ms, i));
        if session.sample.is_some() {
            self.sample_session(&mut session);
        }
        session.up.release_pipe(&mut self.pipes);
        session.down.release_pipe(&mut self.pipes);
        if let Ending::Reset(counter) = ending {
            let ends = [Some(&session.client), session.server.as_ref()];
            ends.into_iter().flatten().for_each(|end| reset_on_close(end.socket.as_fd()));
            self.count(counter, 1);
        } else {
            self.count(ProxyCounter::Finished, 1);
        }
        if let Some(server) = &session.server_state {
            server.connections.fetch_sub(1, Relaxed);
        }
        if self.running.log_connections {
            self.log_ended(&session, ending);
        }
        self.shared.connections.fetch_sub(1, Relaxed);
        self.free.push((i, (session.generation + 1) % GENERATIONS));
        self.set(ProxyCounter::Open, self.open() as u64);
    }

    fn log_ended(&self, session: &Session, ending: Ending) {
        let why = match ending {
            Ending::Finished => "finished".to_string(),
            Ending::Reset(counter) => format!("{counter:?}"),
        };
        let server = session.server_state.as_ref().map(|s| s.address.to_string());
        let details = json!({
            "listener": session.listener.name,
            "client": session.client_address.to_string(),
            "upstream": session.upstream_name(),
            "server": server,
            "seconds": self.now_ms.saturating_sub(session.began_ms) as f64 / 1e3,
            "bytes_up": session.up.moved(),
            "bytes_down": session.down.moved(),
            "end": why,
        });
        self.shared.log_event("connection", details);
    }

    /// Resets the remaining connections at the end of a drain.
    fn reset_all(&mut self) {
        for i in 0..self.sessions.len() {
            self.close_session(i, Ending::Reset(ProxyCounter::Drained));
        }
    }

    /// Registers a new socket of a connection.
    fn watch_end(&self, socket: &OwnedFd, i: usize, generation: u32, which: ConnectionEnd) -> io::Result<()> {
        let token = TokenOwner::Session(i, generation, which).token();
        self.queue.watch(socket.as_fd(), token, EventWatch::Stream)
    }
}

fn reset_by(which: ConnectionEnd) -> Ending {
    Ending::Reset(match which {
        ConnectionEnd::Client => ProxyCounter::ClientReset,
        ConnectionEnd::Server => ProxyCounter::ServerReset,
    })
}

fn update_readiness(end: &mut ProxyEnd, event: Readiness) {
    end.readable |= event.readable;
    end.writable |= event.writable;
    end.ends |= event.ends;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_round_trip() {
        for owner in [
            TokenOwner::Wake,
            TokenOwner::Listener(7),
            TokenOwner::Session(0, 0, ConnectionEnd::Client),
            TokenOwner::Session(0xffff_ffff, GENERATIONS - 1, ConnectionEnd::Server),
            TokenOwner::Session(5, 9, ConnectionEnd::Client),
        ] {
            assert_eq!(TokenOwner::from_token(owner.token()), owner);
        }
    }
}
