//! An event loop: accepts from its own sockets, and moves the bytes of its own connections. One a core, pinned.
//!
//! Loops share nothing that a connection's bytes need: each has its queue, its buffer, its pipes, its connections. Every socket
//! is registered once, edge-triggered; what its events said is kept with it until a call says otherwise. A connection moves at
//! most [`crate::lane::TURN_BYTES`] a turn and direction, so that none waits for another. One deadline a connection; when it
//! comes, what is due is worked out anew, so that bytes that move cost no timer.

mod accept;
mod connect;
mod hello;
mod watch;

use crate::lane::{COPY_BYTES, ProxyEnd};
use crate::pipes::PipePool;
use crate::session::{Session, SessionStage, Whose};
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

/// How often connections are looked at, and the longest wait.
const LOOK_MS: u64 = 1000;
/// Generations of a place that a token tells apart.
const GENERATIONS: u32 = 1 << 24;

/// What a token stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenOwner {
    /// The counter that others wake the loop by.
    Wake,
    /// A listening socket, by its place.
    Listener(usize),
    /// An end of a connection: its place, its generation.
    Session(usize, u32, Whose),
}

impl TokenOwner {
    fn token(self) -> u64 {
        match self {
            TokenOwner::Wake => 0,
            TokenOwner::Listener(i) => 1 << 60 | i as u64,
            TokenOwner::Session(i, generation, whose) => {
                let side = u64::from(whose == Whose::Server);
                2 << 60 | u64::from(generation) << 33 | side << 32 | i as u64
            }
        }
    }

    fn of(token: u64) -> TokenOwner {
        let i = (token & 0xffff_ffff) as usize;
        match token >> 60 {
            0 => TokenOwner::Wake,
            1 => TokenOwner::Listener(i),
            _ => {
                let whose = if token >> 32 & 1 == 1 { Whose::Server } else { Whose::Client };
                TokenOwner::Session(i, (token >> 33) as u32 % GENERATIONS, whose)
            }
        }
    }
}

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Both streams ended.
    Finished,
    /// It is reset, and counted as this.
    Reset(ProxyCounter),
}

/// A loop.
pub struct ProxyLoop {
    index: usize,
    shared: Arc<ProxyShared>,
    running: Arc<RunningConfig>,
    epoch: u64,
    queue: EventQueue,
    listeners: Vec<accept::LoopListener>,
    sessions: Vec<Option<Box<Session>>>,
    /// Places of `sessions` that are free, and the generation the next there has.
    free: Vec<(usize, u32)>,
    deadlines: BTreeSet<(u64, usize)>,
    /// Connections that have more to do.
    again: Vec<usize>,
    buffer: Vec<u8>,
    peeked: Vec<u8>,
    pipes: PipePool,
    /// Counts turns.
    turn: u64,
    now_ms: u64,
    next_look_ms: u64,
    /// Accepting pauses until then.
    paused_until_ms: Option<u64>,
    draining: bool,
}

impl ProxyLoop {
    /// The loop of this number.
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
            peeked: vec![0; crate::hello::LONGEST_HELLO],
            pipes: PipePool::default(),
            turn: 0,
            now_ms: 0,
            next_look_ms: LOOK_MS,
            paused_until_ms: None,
            draining: false,
            shared,
        })
    }

    /// Runs until the end.
    ///
    /// # Errors
    /// The event queue does not work.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Vec::new();
        loop {
            self.queue.wait(&mut events, self.timeout_ms())?;
            self.now_ms = self.shared.now().as_nanos() / 1_000_000;
            self.turn += 1;
            self.count(ProxyCounter::Turns, 1);
            for event in &events {
                self.handle(*event);
            }
            self.continue_sessions();
            self.handle_deadlines();
            self.follow_config();
            self.resume_accepting();
            if self.now_ms >= self.next_look_ms {
                self.next_look_ms = self.now_ms + LOOK_MS;
                self.look_at_sessions();
            }
            self.set(ProxyCounter::Pipes, self.pipes.lent() as u64);
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
        let next = deadline.min(self.next_look_ms).min(self.paused_until_ms.unwrap_or(u64::MAX));
        next.saturating_sub(self.now_ms).min(LOOK_MS) as i32
    }

    fn handle(&mut self, event: Readiness) {
        match TokenOwner::of(event.token) {
            TokenOwner::Wake => take_wakes(self.shared.wakes[self.index].as_fd()),
            TokenOwner::Listener(i) => self.accept_some(i),
            TokenOwner::Session(i, generation, whose) => {
                let Some(session) = self.sessions.get_mut(i).and_then(Option::as_deref_mut) else { return };
                // Events of a connection that ended in this very turn.
                if session.generation != generation {
                    return;
                }
                let end = match whose {
                    Whose::Client => Some(&mut session.client),
                    Whose::Server => session.server.as_mut(),
                };
                let Some(end) = end else { return };
                note(end, event);
                self.advance(i, event.failed.then_some(whose), whose);
            }
        }
    }

    /// Goes on with a connection of which an end was told of.
    fn advance(&mut self, i: usize, failed: Option<Whose>, whose: Whose) {
        let Some(session) = self.sessions[i].as_deref_mut() else { return };
        match (session.stage, whose) {
            (SessionStage::Open, _) => self.pump(i, failed),
            (_, Whose::Client) if failed == Some(Whose::Client) => {
                self.end(i, Ending::Reset(ProxyCounter::ClientReset));
            }
            (SessionStage::Hello, Whose::Client) => self.read_hello(i),
            (SessionStage::Connecting, Whose::Server) => self.handle_connected(i),
            _ => {}
        }
    }

    /// Moves bytes. An end that failed is pumped once more: what it sent before is handed on as far as that goes at once.
    fn pump(&mut self, i: usize, failed: Option<Whose>) {
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
            (Err(whose), _) => self.end(i, reset_by(whose)),
            (Ok(()), _) if up_done && down_done => self.end(i, Ending::Finished),
            (Ok(()), Some(whose)) => self.end(i, reset_by(whose)),
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

    /// Gives those a turn that had more to do.
    fn continue_sessions(&mut self) {
        for i in std::mem::take(&mut self.again) {
            if let Some(session) = self.sessions[i].as_deref_mut().filter(|s| s.has_more) {
                session.has_more = false;
                self.pump(i, None);
            }
        }
    }

    /// Sets a connection's deadline.
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
                SessionStage::Hello => self.end(i, Ending::Reset(ProxyCounter::HelloTimeout)),
                SessionStage::Connecting => self.handle_connect_failure(i, "no answer in time"),
                SessionStage::Open if session.idle_deadline_ms() <= self.now_ms => {
                    self.end(i, Ending::Reset(ProxyCounter::Idle));
                }
                SessionStage::Open => self.arm_idle(i),
            }
        }
    }

    /// Ends a connection and gives back all it had.
    fn end(&mut self, i: usize, ending: Ending) {
        let Some(mut session) = self.sessions[i].take() else { return };
        self.deadlines.remove(&(session.deadline_ms, i));
        if session.look.is_some() {
            self.look_at(&mut session);
        }
        session.up.let_go(&mut self.pipes);
        session.down.let_go(&mut self.pipes);
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
            self.tell_ended(&session, ending);
        }
        self.shared.connections.fetch_sub(1, Relaxed);
        self.free.push((i, (session.generation + 1) % GENERATIONS));
        self.set(ProxyCounter::Open, self.open() as u64);
    }

    fn tell_ended(&self, session: &Session, ending: Ending) {
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
        self.shared.tell("connection", details);
    }

    /// Resets what is left at the end of a drain.
    fn reset_all(&mut self) {
        for i in 0..self.sessions.len() {
            self.end(i, Ending::Reset(ProxyCounter::Drained));
        }
    }

    /// Watches a new socket of a connection.
    fn watch_end(&self, socket: &OwnedFd, i: usize, generation: u32, whose: Whose) -> io::Result<()> {
        let token = TokenOwner::Session(i, generation, whose).token();
        self.queue.watch(socket.as_fd(), token, EventWatch::Stream)
    }
}

fn reset_by(whose: Whose) -> Ending {
    Ending::Reset(match whose {
        Whose::Client => ProxyCounter::ClientReset,
        Whose::Server => ProxyCounter::ServerReset,
    })
}

fn note(end: &mut ProxyEnd, event: Readiness) {
    end.readable |= event.readable;
    end.writable |= event.writable;
    end.ends |= event.ends;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_back() {
        for owner in [
            TokenOwner::Wake,
            TokenOwner::Listener(7),
            TokenOwner::Session(0, 0, Whose::Client),
            TokenOwner::Session(0xffff_ffff, GENERATIONS - 1, Whose::Server),
            TokenOwner::Session(5, 9, Whose::Client),
        ] {
            assert_eq!(TokenOwner::of(owner.token()), owner);
        }
    }
}
