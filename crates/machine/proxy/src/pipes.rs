//! Pipes to splice through, borrowed by connections while they hold bytes.
//!
//! A pipe uses two descriptors and pins pages, of which an unprivileged user has 16,384
//! (`fs.pipe-user-pages-soft`, pipe(7)), so connections do not own pipes. A loop keeps up to
//! [`MAX_IDLE_PIPES`] returned pipes and closes the others.

use linux::pipe;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Size of a pipe: the bytes that one iteration moves. 64 pages: an unprivileged user may have 256 such
/// pipes.
pub const PIPE_BYTES: usize = 256 << 10;
/// Empty pipes that are kept.
const MAX_IDLE_PIPES: usize = 32;
/// Maximum number of borrowed pipes per loop. Beyond it connections copy.
const MAX_BORROWED: usize = 1024;
/// Minimum size of a useful pipe. The kernel gives an unprivileged user whose pages are used up only pipes of
/// two pages, and splicing through those costs more than it saves.
const MIN_PIPE_BYTES: usize = 32 << 10;

/// A pipe and the number of bytes in it.
pub struct SplicePipe {
    read: OwnedFd,
    write: OwnedFd,
    size: usize,
    held: usize,
}

impl SplicePipe {
    pub fn held(&self) -> usize {
        self.held
    }

    /// Moves bytes from a socket into the pipe with one call; 0: the stream has ended. The pipe must be
    /// empty, otherwise "would block" could refer to either end.
    pub fn fill(&mut self, from: &OwnedFd) -> io::Result<usize> {
        debug_assert_eq!(self.held, 0);
        let n = pipe::splice(from.as_fd(), self.write.as_fd(), self.size)?;
        self.held = n;
        Ok(n)
    }

    /// Moves bytes from the pipe to a socket with one call.
    pub fn drain(&mut self, to: &OwnedFd) -> io::Result<usize> {
        let n = pipe::splice(self.read.as_fd(), to.as_fd(), self.held)?;
        self.held -= n;
        Ok(n)
    }
}

/// Pipes of one event loop that no direction uses at the moment.
#[derive(Default)]
pub struct PipePool {
    spare: Vec<SplicePipe>,
    borrowed: usize,
}

impl PipePool {
    /// Borrows an empty pipe; `None` if none is available, then copy instead.
    pub fn borrow(&mut self) -> Option<SplicePipe> {
        let pipe = match self.spare.pop() {
            Some(pipe) => pipe,
            None if self.borrowed >= MAX_BORROWED => return None,
            None => {
                let (read, write, size) = pipe::sized_pipe(PIPE_BYTES).ok()?;
                if size < MIN_PIPE_BYTES {
                    return None;
                }
                SplicePipe { read, write, size, held: 0 }
            }
        };
        self.borrowed += 1;
        Some(pipe)
    }

    /// Returns a pipe. A pipe that still contains bytes, of a failed connection, is closed.
    pub fn give_back(&mut self, pipe: SplicePipe) {
        self.borrowed -= 1;
        if pipe.held == 0 && self.spare.len() < MAX_IDLE_PIPES {
            self.spare.push(pipe);
        }
    }

    /// Number of borrowed pipes.
    pub fn borrowed(&self) -> usize {
        self.borrowed
    }
}
