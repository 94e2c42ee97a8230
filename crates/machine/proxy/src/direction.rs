//! One direction of a connection: reads from one socket, writes to the other.
//!
//! Small amounts are copied through the loop's buffer. Once a read fills that buffer, the direction splices,
//! through a pipe that it borrows while the pipe holds bytes. It holds at most one full pipe: data that the
//! receiver does not accept stays in the sender's socket, and its receive window closes. A direction that
//! waits and holds nothing owns neither buffer nor pipe.

use crate::pipes::{PipePool, SplicePipe};
use linux::socket;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Size of a loop's buffer. Reads that fill it start splicing: below that, a copy is cheaper than a pipe's
/// two calls.
pub const COPY_BYTES: usize = 8 << 10;
/// Maximum number of bytes that a direction moves per iteration of the loop, so that others are served.
pub const MAX_ITERATION_BYTES: usize = 1 << 20;

/// One end of a connection, with its latest readiness events.
pub struct ProxyEnd {
    pub socket: OwnedFd,
    /// Whether data may be available.
    pub readable: bool,
    /// Whether there may be room to write.
    pub writable: bool,
    /// Whether the stream has ended or contains urgent data: a short read is not the last.
    pub ends: bool,
}

impl ProxyEnd {
    /// An end whose first events have not arrived.
    pub fn new(socket: OwnedFd) -> ProxyEnd {
        ProxyEnd { socket, readable: false, writable: false, ends: false }
    }
}

/// Resources of the loop that a direction uses.
pub struct DirectionContext<'a> {
    /// A buffer of [`COPY_BYTES`].
    pub buffer: &'a mut [u8],
    pub pipes: &'a mut PipePool,
    /// Milliseconds since the proxy started.
    pub now_ms: u64,
    /// Whether the other direction is done, so closing the sockets also ends this direction's stream.
    pub is_last: bool,
}

/// State of a direction after an iteration of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectionState {
    /// Waits for an event of either socket.
    Waits,
    /// Has more to do in the next iteration.
    HasMore,
    /// The stream has ended and all bytes were forwarded.
    Done,
}

/// The socket that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectionFault {
    Source,
    Sink,
}

/// One direction of a proxied connection.
#[derive(Default)]
pub struct Direction {
    pipe: Option<SplicePipe>,
    held: Vec<u8>,
    is_splicing: bool,
    has_ended: bool,
    is_shut: bool,
    moved: u64,
    blocked_ms: u64,
    blocked_since: Option<u64>,
}

impl Direction {
    /// A direction that first sends `bytes` of its own.
    pub fn starting_with(bytes: Vec<u8>) -> Direction {
        Direction { held: bytes, ..Direction::default() }
    }

    /// Bytes forwarded, including its own first bytes.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    /// Time that the direction has waited for its sink, milliseconds.
    pub fn blocked_ms(&self, now_ms: u64) -> u64 {
        self.blocked_ms + self.blocked_since.map_or(0, |since| now_ms.saturating_sub(since))
    }

    /// Whether the stream has ended and all bytes were forwarded.
    pub fn is_done(&self) -> bool {
        self.is_shut
    }

    /// Bytes read and not yet forwarded.
    pub fn holds(&self) -> usize {
        self.held.len() + self.pipe.as_ref().map_or(0, SplicePipe::held)
    }

    /// Returns the pipe to the pool, whatever the pipe contains.
    pub fn release_pipe(&mut self, pipes: &mut PipePool) {
        self.pipe.take().into_iter().for_each(|pipe| pipes.give_back(pipe));
    }

    /// Forwards as many bytes as possible.
    ///
    /// # Errors
    /// Fails with the socket that failed; nothing more can be read or written there.
    pub fn pump(
        &mut self,
        source: &mut ProxyEnd,
        sink: &mut ProxyEnd,
        context: &mut DirectionContext<'_>,
    ) -> Result<DirectionState, DirectionFault> {
        let end = self.moved + MAX_ITERATION_BYTES as u64;
        loop {
            // The end of the stream is forwarded only once the pipe is empty.
            if self.holds() > 0 && !self.forward_held(sink).map_err(|_| DirectionFault::Sink)? {
                self.blocked_since.get_or_insert(context.now_ms);
                return Ok(DirectionState::Waits);
            }
            if let Some(since) = self.blocked_since.take() {
                self.blocked_ms += context.now_ms.saturating_sub(since);
            }
            if self.has_ended {
                self.release_pipe(context.pipes);
                if !self.is_shut && !context.is_last {
                    socket::end_stream(sink.socket.as_fd()).map_err(|_| DirectionFault::Sink)?;
                }
                self.is_shut = true;
                return Ok(DirectionState::Done);
            }
            if !source.readable {
                self.release_pipe(context.pipes);
                return Ok(DirectionState::Waits);
            }
            if self.moved >= end {
                return Ok(DirectionState::HasMore);
            }
            self.read_once(source, sink, context)?;
        }
    }

    /// Forwards the held bytes. Returns whether all were accepted.
    fn forward_held(&mut self, sink: &mut ProxyEnd) -> io::Result<bool> {
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
        // Release the memory: most directions never wait again.
        self.held = Vec::new();
        Ok(true)
    }

    /// Reads once, by copy or by pipe.
    fn read_once(
        &mut self,
        source: &mut ProxyEnd,
        sink: &mut ProxyEnd,
        context: &mut DirectionContext<'_>,
    ) -> Result<(), DirectionFault> {
        if self.is_splicing && self.pipe.is_none() {
            self.pipe = context.pipes.borrow();
        }
        let taken = match &mut self.pipe {
            Some(pipe) if self.is_splicing => pipe.fill(&source.socket),
            _ => socket::receive(source.socket.as_fd(), context.buffer, false),
        };
        let n = match taken {
            Ok(0) => {
                self.has_ended = true;
                return Ok(());
            }
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                source.readable = false;
                self.is_splicing = false;
                return Ok(());
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(_) => return Err(DirectionFault::Source),
        };
        if self.pipe.as_ref().is_some_and(|pipe| pipe.held() > 0) {
            return Ok(());
        }
        if n == context.buffer.len() {
            self.is_splicing = true;
        } else if !source.ends {
            // A short read emptied the socket (epoll(7), "edge-triggered"); new data triggers an event.
            source.readable = false;
        }
        self.forward_copied(sink, &context.buffer[..n]).map_err(|_| DirectionFault::Sink)
    }

    /// Sends what was read, and holds what the sink does not accept.
    fn forward_copied(&mut self, sink: &mut ProxyEnd, mut bytes: &[u8]) -> io::Result<()> {
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
