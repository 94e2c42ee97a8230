//! One connection: a TCP socket here, a stream of QUIC towards the peer, and what is between them.
//!
//! Each direction holds at most what one read gave. While it holds something it takes nothing more: the sender's window
//! closes, on the one side TCP's, on the other QUIC's.

use crate::entrance::Entrance;
use crate::reader::{StreamRead, StreamReader};
use bytes::Bytes;
use linux::socket::reset_on_close;
use noq_proto::{Connection, ConnectionHandle, StreamId, VarInt, WriteError};
use proxy::ClientPlace;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

/// What one turn moves at most in one direction, so that others get theirs.
const TURN: usize = 256 << 10;

/// Why a stream is broken off (application error codes).
pub mod code {
    /// The connection at the other end was reset.
    pub const RESET: u32 = 1;
    /// The upstream is unknown or not for this peer.
    pub const REFUSED: u32 = 2;
    /// No server of the upstream answers.
    pub const UNREACHABLE: u32 = 3;
    /// Nothing moved for too long.
    pub const IDLE: u32 = 4;
    /// The stream began with something else.
    pub const NONSENSE: u32 = 5;
}

/// What a turn came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It waits for one of its ends.
    Waits,
    /// It could move more now.
    More,
    /// Both directions have ended.
    Done,
    /// One of its ends was reset; the other has been too.
    Reset,
}

/// One connection.
pub struct StreamRelay {
    /// The TCP end; `None` while a server is still to be connected to.
    pub tcp: Option<TcpStream>,
    /// The connection of QUIC it belongs to.
    pub link: ConnectionHandle,
    /// The stream there.
    pub stream: StreamId,
    /// The TCP socket may have something to read.
    pub tcp_readable: bool,
    /// The TCP socket may have room.
    pub tcp_writable: bool,
    /// The stream may have something to read.
    pub stream_readable: bool,
    /// The listener it came by; `None` at the server's side, which leaves idle ones to the client's.
    pub entrance: Option<Arc<Entrance>>,
    /// Its place among its client's, where they are limited.
    pub place: Option<ClientPlace>,
    /// When bytes moved last.
    pub moved: Instant,
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
    /// A connection that nothing has moved on; `first` is what its stream is sent before all else.
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
            moved: now,
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

    /// Bytes that came with the stream's beginning and are for the server, and what reads on.
    pub fn hand_down(&mut self, bytes: Bytes, reader: StreamReader) {
        (self.down, self.reader) = (bytes, reader);
    }

    /// Whether one of its directions has ended.
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

    /// From TCP to the stream; whether more could be moved.
    fn up(
        &mut self,
        tcp: &mut TcpStream,
        conn: &mut Connection,
        buffer: &mut [u8],
        now: Instant,
    ) -> io::Result<bool> {
        let mut moved = 0;
        while moved < TURN {
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
                    (moved, self.moved) = (moved + n, now);
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

    /// From the stream to TCP; whether more could be moved.
    fn down(&mut self, tcp: &mut TcpStream, conn: &mut Connection, now: Instant) -> io::Result<bool> {
        let mut moved = 0;
        while moved < TURN {
            if !self.down.is_empty() {
                if !self.tcp_writable {
                    return Ok(false);
                }
                match tcp.write(&self.down) {
                    Ok(n) => {
                        (moved, self.moved) = (moved + n, now);
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

    /// Breaks both ends off.
    pub fn abort(&mut self, conn: &mut Connection, code: u32) {
        let code = VarInt::from_u32(code);
        let _ = conn.send_stream(self.stream).reset(code);
        let _ = conn.recv_stream(self.stream).stop(code);
        self.abort_tcp();
    }

    /// Breaks the TCP end off.
    pub fn abort_tcp(&mut self) {
        if let Some(tcp) = self.tcp.take() {
            reset_on_close(tcp.as_fd());
        }
    }
}

fn broken() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

/// Hands bytes to a stream; how many it took, 0 when it has no room.
fn write(conn: &mut Connection, stream: StreamId, bytes: &[u8]) -> io::Result<usize> {
    match conn.send_stream(stream).write(bytes) {
        Ok(n) => Ok(n),
        Err(WriteError::Blocked) => Ok(0),
        Err(_) => Err(broken()),
    }
}
