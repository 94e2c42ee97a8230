//! Pipes to splice through, lent while they hold bytes.
//!
//! A pipe is two descriptors and pins pages, of which an unprivileged user has 16,384 (`fs.pipe-user-pages-soft`, pipe(7)): so
//! no connection owns one. A loop keeps what came back, up to [`SPARE`]; more are closed.

use linux::pipe;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Bytes of a pipe: as much as one turn moves. 64 pages: 256 of these are all that an unprivileged user may have.
pub const PIPE_BYTES: usize = 256 << 10;
/// Empty ones that are kept.
const SPARE: usize = 32;
/// Pipes lent at once by one loop. Beyond it connections copy.
const MOST: usize = 1024;
/// Less than this and splicing costs more than it saves: the pipe is one of two pages, as the kernel gives an unprivileged
/// user whose pages are used up.
const LEAST_BYTES: usize = 32 << 10;

/// A pipe and how many bytes are in it.
pub struct SplicePipe {
    read: OwnedFd,
    write: OwnedFd,
    size: usize,
    held: usize,
}

impl SplicePipe {
    /// Bytes in it.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Takes from a socket what fits in one go; 0: the stream has ended. The pipe must be empty, else "would block" could
    /// mean either end.
    pub fn fill(&mut self, from: &OwnedFd) -> io::Result<usize> {
        debug_assert_eq!(self.held, 0);
        let n = pipe::splice(from.as_fd(), self.write.as_fd(), self.size)?;
        self.held = n;
        Ok(n)
    }

    /// Gives to a socket what it takes in one go.
    pub fn drain(&mut self, to: &OwnedFd) -> io::Result<usize> {
        let n = pipe::splice(self.read.as_fd(), to.as_fd(), self.held)?;
        self.held -= n;
        Ok(n)
    }
}

/// The pipes of one loop.
#[derive(Default)]
pub struct PipePool {
    spare: Vec<SplicePipe>,
    lent: usize,
}

impl PipePool {
    /// An empty pipe; `None` when there are no more to be had: copy instead.
    pub fn borrow(&mut self) -> Option<SplicePipe> {
        let pipe = match self.spare.pop() {
            Some(pipe) => pipe,
            None if self.lent >= MOST => return None,
            None => {
                let (read, write, size) = pipe::sized_pipe(PIPE_BYTES).ok()?;
                if size < LEAST_BYTES {
                    return None;
                }
                SplicePipe { read, write, size, held: 0 }
            }
        };
        self.lent += 1;
        Some(pipe)
    }

    /// Takes it back; one with bytes in it, of a connection that failed, is closed.
    pub fn give_back(&mut self, pipe: SplicePipe) {
        self.lent -= 1;
        if pipe.held == 0 && self.spare.len() < SPARE {
            self.spare.push(pipe);
        }
    }

    /// Pipes that are lent.
    pub fn lent(&self) -> usize {
        self.lent
    }
}
