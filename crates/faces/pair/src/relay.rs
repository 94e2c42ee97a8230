//! A relayed connection: a TCP socket here, a QUIC stream to the peer, and the data in between.
//!
//! Each direction holds at most the data of one read. While it holds any, it reads no more, so the sender's
//! window closes: TCP's on one side, QUIC's on the other.

use crate::entrance::Entrance;
use crate::reader::{StreamRead, StreamReader};
use bytes::Bytes;
use linux::socket::reset_on_close;
use noq_proto::{Connection, ConnectionHandle, StreamId, VarInt, WriteError};
use proxy::ClientSlot;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

/// The most bytes to move in one direction per turn, so that other connections get theirs.
const MAX_BYTES_PER_TURN: usize = 256 << 10;

/// Why a stream was reset (application error codes).
pub mod code {
    /// The connection at the other end was reset.
    pub const RESET: u32 = 1;
    /// The upstream is unknown, or this peer may not use it.
    pub const REFUSED: u32 = 2;
    /// No server of the upstream answered.
    pub const UNREACHABLE: u32 = 3;
    /// The connection was idle for too long.
    pub const IDLE: u32 = 4;
    /// The stream did not start with a valid opening.
    pub const BAD_OPENING: u32 = 5;
}

/// The result of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The relay waits for one of its ends.
    Waits,
    /// The relay can move more.
    More,
    /// Both directions have ended.
    Done,
    /// One of its ends was reset, and now the other too.
    Reset,
}

/// A relayed connection.
pub struct StreamRelay {
    /// The TCP end; `None` while not connected to a server yet.
    pub tcp: Option<TcpStream>,
    pub link: ConnectionHandle,
    /// The stream of the QUIC connection.
    pub stream: StreamId,
    /// Whether the TCP socket may have data.
    pub tcp_readable: bool,
    /// Whether the TCP socket may have room.
    pub tcp_writable: bool,
    /// Whether the stream may have data.
    pub stream_readable: bool,
    /// The listener; `None` at the server's side, which does not end idle connections.
    pub entrance: Option<Arc<Entrance>>,
    /// The slot of this connection, if the listener limits connections per client.
    pub place: Option<ClientSlot>,
    pub last_moved: Instant,
    up: Vec<u8>,
    up_at: usize,
    up_ended: bool,
    finished: bool,
    reader: StreamReader,
    down: Bytes,
    down_ended: bool,
    shut: bool,
}

impl StreamRelay {
    /// A connection on which nothing has moved yet. `first` is sent on the stream before everything else.
    pub fn new(
        tcp: Option<TcpStream>,
        link: ConnectionHandle,
        stream: StreamId,
        now: Instant,
        first: Vec<u8>,
    ) -> StreamRelay {
        StreamRelay {
            tcp,
            link,
            stream,
            tcp_readable: true,
            tcp_writable: true,
            stream_readable: true,
            entrance: None,
            place: None,
            last_moved: now,
            up: first,
            up_at: 0,
            up_ended: false,
            finished: false,
            reader: StreamReader::default(),
            down: Bytes::new(),
            down_ended: false,
            shut: false,
        }
    }

    /// Passes on bytes for the server that came after the opening, and the reader of the stream.
    pub fn hand_down(&mut self, bytes: Bytes, reader: StreamReader) {
        (self.down, self.reader) = (bytes, reader);
    }

    /// Whether one direction has ended.
    pub fn is_half_closed(&self) -> bool {
        self.up_ended || self.down_ended
    }

    /// Moves what can be moved.
    pub fn turn(&mut self, conn: &mut Connection, buffer: &mut [u8], now: Instant) -> Turn {
        let Some(mut tcp) = self.tcp.take() else { return Turn::Waits };
        let ups = self.up(&mut tcp, conn, buffer, now);
        let downs = self.down(&mut tcp, conn, now);
        let done = self.finished && self.shut;
        self.tcp = Some(tcp);
        match (ups, downs) {
            (Ok(_), Ok(_)) if done => Turn::Done,
            (Ok(up), Ok(down)) => {
                if up || down {
                    Turn::More
                } else {
                    Turn::Waits
                }
            }
            _ => {
                self.abort(conn, code::RESET);
                Turn::Reset
            }
        }
    }

    /// From TCP to the stream. Returns whether it can move more.
    fn up(
        &mut self,
        tcp: &mut TcpStream,
        conn: &mut Connection,
        buffer: &mut [u8],
        now: Instant,
    ) -> io::Result<bool> {
        let mut moved = 0;
        while moved < MAX_BYTES_PER_TURN {
            if self.up_at < self.up.len() {
                match write(conn, self.stream, &self.up[self.up_at..])? {
                    0 => return Ok(false),
                    n => self.up_at += n,
                }
                continue;
            }
            if self.up_ended {
                if !self.finished {
                    self.finished = true;
                    conn.send_stream(self.stream).finish().map_err(|_| broken())?;
                }
                return Ok(false);
            }
            if !self.tcp_readable {
                return Ok(false);
            }
            match tcp.read(buffer) {
                Ok(0) => self.up_ended = true,
                Ok(n) => {
                    (moved, self.last_moved) = (moved + n, now);
                    let sent = write(conn, self.stream, &buffer[..n])?;
                    self.up.clear();
                    self.up.extend_from_slice(&buffer[sent..n]);
                    self.up_at = 0;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.tcp_readable = false,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    /// From the stream to TCP. Returns whether it can move more.
    fn down(&mut self, tcp: &mut TcpStream, conn: &mut Connection, now: Instant) -> io::Result<bool> {
        let mut moved = 0;
        while moved < MAX_BYTES_PER_TURN {
            if !self.down.is_empty() {
                if !self.tcp_writable {
                    return Ok(false);
                }
                match tcp.write(&self.down) {
                    Ok(n) => {
                        (moved, self.last_moved) = (moved + n, now);
                        let _ = self.down.split_to(n);
                    }
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.tcp_writable = false,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                }
                continue;
            }
            if self.down_ended {
                if !self.shut {
                    self.shut = true;
                    tcp.shutdown(Shutdown::Write)?;
                }
                return Ok(false);
            }
            if !self.stream_readable {
                return Ok(false);
            }
            match self.reader.read(conn, self.stream)? {
                StreamRead::Bytes(bytes) => self.down = bytes,
                StreamRead::End => self.down_ended = true,
                StreamRead::Nothing => self.stream_readable = false,
            }
        }
        Ok(true)
    }

    /// Resets both ends.
    pub fn abort(&mut self, conn: &mut Connection, code: u32) {
        let code = VarInt::from_u32(code);
        let _ = conn.send_stream(self.stream).reset(code);
        let _ = conn.recv_stream(self.stream).stop(code);
        self.abort_tcp();
    }

    /// Resets the TCP end.
    pub fn abort_tcp(&mut self) {
        if let Some(tcp) = self.tcp.take() {
            reset_on_close(tcp.as_fd());
        }
    }
}

fn broken() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

/// Writes to a stream. Returns how many bytes it took, 0 if it has no room.
fn write(conn: &mut Connection, stream: StreamId, bytes: &[u8]) -> io::Result<usize> {
    match conn.send_stream(stream).write(bytes) {
        Ok(n) => Ok(n),
        Err(WriteError::Blocked) => Ok(0),
        Err(_) => Err(broken()),
    }
}
