//! One direction of a connection: takes from one socket, gives to the other.
//!
//! What is small is copied through a buffer of the loop's; once a read fills that, the lane splices, by a pipe borrowed for as
//! long as it holds bytes. At most one pipe full is held: what the receiver does not take stays in the sender's socket, whose
//! window closes. A lane that waits, and holds nothing, owns neither buffer nor pipe.

use crate::pipes::{PipePool, SplicePipe};
use linux::socket;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The buffer of a loop. Reads that fill it begin to splice: below, a copy is cheaper than a pipe's two calls.
pub const COPY_BYTES: usize = 8 << 10;
/// Bytes that a lane moves before others have their turn.
pub const TURN_BYTES: usize = 1 << 20;

/// One end of a connection, with what its last events said.
pub struct ProxyEnd {
    /// The socket.
    pub socket: OwnedFd,
    /// A read may find something.
    pub readable: bool,
    /// A write may find room.
    pub writable: bool,
    /// Its stream has an end or something urgent in it: a short read is not the last.
    pub ends: bool,
}

impl ProxyEnd {
    /// Nothing known yet: the first events will tell.
    pub fn new(socket: OwnedFd) -> ProxyEnd {
        ProxyEnd { socket, readable: false, writable: false, ends: false }
    }
}

/// What a lane needs of its loop.
pub struct LaneTools<'a> {
    /// Of [`COPY_BYTES`].
    pub buffer: &'a mut [u8],
    /// Of the loop.
    pub pipes: &'a mut PipePool,
    /// Milliseconds since the proxy began.
    pub now_ms: u64,
    /// The other direction is done: closing the sockets ends this one's stream too.
    pub is_last: bool,
}

/// How a lane stands after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneState {
    /// Waits for an event of either socket.
    Waits,
    /// Has more to do; others first.
    HasMore,
    /// The stream has ended and all of it was handed on.
    Done,
}

/// Which socket failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneFault {
    /// The one that sends.
    Source,
    /// The one that receives.
    Sink,
}

/// A direction.
#[derive(Default)]
pub struct Lane {
    pipe: Option<SplicePipe>,
    held: Vec<u8>,
    splices: bool,
    ended: bool,
    shut: bool,
    moved: u64,
    blocked_ms: u64,
    blocked_since: Option<u64>,
}

impl Lane {
    /// One that begins with bytes of its own.
    pub fn beginning_with(bytes: Vec<u8>) -> Lane {
        Lane { held: bytes, ..Lane::default() }
    }

    /// Bytes handed on, those it began with among them.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    /// How long it has waited for its sink, milliseconds.
    pub fn blocked_ms(&self, now_ms: u64) -> u64 {
        self.blocked_ms + self.blocked_since.map_or(0, |since| now_ms.saturating_sub(since))
    }

    /// Whether the stream has ended and all of it was handed on.
    pub fn is_done(&self) -> bool {
        self.shut
    }

    /// Bytes taken and not handed on.
    pub fn holds(&self) -> usize {
        self.held.len() + self.pipe.as_ref().map_or(0, SplicePipe::held)
    }

    /// Gives its pipe back, whatever is in it.
    pub fn let_go(&mut self, pipes: &mut PipePool) {
        self.pipe.take().into_iter().for_each(|pipe| pipes.give_back(pipe));
    }

    /// Moves what can be moved.
    ///
    /// # Errors
    /// Which socket failed; nothing more is to be had of it.
    pub fn pump(
        &mut self,
        source: &mut ProxyEnd,
        sink: &mut ProxyEnd,
        tools: &mut LaneTools<'_>,
    ) -> Result<LaneState, LaneFault> {
        let end = self.moved + TURN_BYTES as u64;
        loop {
            // The end of the stream is told only once the pipe is empty.
            if self.holds() > 0 && !self.hand_on(sink).map_err(|_| LaneFault::Sink)? {
                self.blocked_since.get_or_insert(tools.now_ms);
                return Ok(LaneState::Waits);
            }
            if let Some(since) = self.blocked_since.take() {
                self.blocked_ms += tools.now_ms.saturating_sub(since);
            }
            if self.ended {
                self.let_go(tools.pipes);
                if !self.shut && !tools.is_last {
                    socket::end_stream(sink.socket.as_fd()).map_err(|_| LaneFault::Sink)?;
                }
                self.shut = true;
                return Ok(LaneState::Done);
            }
            if !source.readable {
                self.let_go(tools.pipes);
                return Ok(LaneState::Waits);
            }
            if self.moved >= end {
                return Ok(LaneState::HasMore);
            }
            self.take(source, sink, tools)?;
        }
    }

    /// Hands on what is held; whether that was all.
    fn hand_on(&mut self, sink: &mut ProxyEnd) -> io::Result<bool> {
        while self.holds() > 0 {
            if !sink.writable {
                return Ok(false);
            }
            let done = match &mut self.pipe {
                Some(pipe) if pipe.held() > 0 => pipe.drain(&sink.socket),
                _ => {
                    let sent = socket::send(sink.socket.as_fd(), &self.held);
                    if let Ok(n) = sent {
                        self.held.drain(..n);
                    }
                    sent
                }
            };
            match done {
                Ok(n) => self.moved += n as u64,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => sink.writable = false,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        // Not kept for the next time: most lanes never wait again.
        self.held = Vec::new();
        Ok(true)
    }

    /// Takes once, by copy or by pipe.
    fn take(
        &mut self,
        source: &mut ProxyEnd,
        sink: &mut ProxyEnd,
        tools: &mut LaneTools<'_>,
    ) -> Result<(), LaneFault> {
        if self.splices && self.pipe.is_none() {
            self.pipe = tools.pipes.borrow();
        }
        let taken = match &mut self.pipe {
            Some(pipe) if self.splices => pipe.fill(&source.socket),
            _ => socket::receive(source.socket.as_fd(), tools.buffer, false),
        };
        let n = match taken {
            Ok(0) => {
                self.ended = true;
                return Ok(());
            }
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                source.readable = false;
                self.splices = false;
                return Ok(());
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(_) => return Err(LaneFault::Source),
        };
        if self.pipe.as_ref().is_some_and(|pipe| pipe.held() > 0) {
            return Ok(());
        }
        if n == tools.buffer.len() {
            self.splices = true;
        } else if !source.ends {
            // A short read took all there was (epoll(7), "edge-triggered"); what comes is told anew.
            source.readable = false;
        }
        self.copy_on(sink, &tools.buffer[..n]).map_err(|_| LaneFault::Sink)
    }

    /// Sends what was read, and holds what the sink does not take.
    fn copy_on(&mut self, sink: &mut ProxyEnd, mut bytes: &[u8]) -> io::Result<()> {
        while sink.writable && !bytes.is_empty() {
            match socket::send(sink.socket.as_fd(), bytes) {
                Ok(n) => {
                    self.moved += n as u64;
                    bytes = &bytes[n..];
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => sink.writable = false,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.held.extend_from_slice(bytes);
        Ok(())
    }
}
