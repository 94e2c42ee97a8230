//! Messages on a TCP connection, with a deadline for each.

use crate::frame::{self, FrameError};
use linux::{clock, poll, socket};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// A TCP connection that carries messages.
pub struct Wire {
    socket: OwnedFd,
    /// Bytes that were received and not yet read as messages.
    buffer: Vec<u8>,
}

/// Why a message could not be sent or received.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error("the other end has closed the connection")]
    Closed,
    #[error("no answer in time")]
    Late,
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Wire {
    /// Uses a connection, of which `buffer` has been received.
    pub fn new(socket: OwnedFd, buffer: Vec<u8>) -> Wire {
        Wire { socket, buffer }
    }

    /// Sends a message.
    pub fn send(&self, message: &impl Serialize, time: Duration) -> Result<(), WireError> {
        let bytes = frame::encode(message);
        let (begin, mut sent) = (clock::monotonic(), 0);
        while sent < bytes.len() {
            match socket::send(self.socket.as_fd(), &bytes[sent..]) {
                Ok(n) => sent += n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    if is_over(begin, time) {
                        return Err(WireError::Late);
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Receives a message of at most `limit` bytes.
    pub fn receive<T: DeserializeOwned>(&mut self, limit: usize, time: Duration) -> Result<T, WireError> {
        let begin = clock::monotonic();
        let mut chunk = [0; 16 << 10];
        loop {
            if let Some((message, length)) = frame::decode(&self.buffer, limit)? {
                self.buffer.drain(..length);
                return Ok(message);
            }
            match socket::receive(self.socket.as_fd(), &mut chunk, false) {
                Ok(0) => return Err(WireError::Closed),
                Ok(n) => self.buffer.extend(&chunk[..n]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    if is_over(begin, time) {
                        return Err(WireError::Late);
                    }
                    poll::wait_readable(self.socket.as_fd(), time.min(Duration::from_millis(100)))?;
                }
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Returns the socket.
    pub fn into_socket(self) -> OwnedFd {
        self.socket
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn is_over(begin: u64, time: Duration) -> bool {
    u128::from(clock::monotonic() - begin) >= time.as_nanos()
}
