//! Pipes, and moving bytes through them without a copy (pipe(7), splice(2)).

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Creates a pipe: its read and its write end, closed on exec.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// Creates a non-blocking pipe: its read and its write end, and its capacity in bytes, which is `size` if
/// this user may have that (pipe(7), `pipe-user-pages-soft`).
pub fn sized_pipe(size: usize) -> io::Result<(OwnedFd, OwnedFd, usize)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let size = match fcntl_setpipe_size(&write, size) {
        Ok(n) if n > 0 => n,
        _ => fcntl_getpipe_size(&write)?,
    };
    Ok((read, write, size))
}

/// Moves up to `limit` bytes from a socket to a pipe or from a pipe to a socket. Never sets SPLICE_F_MORE:
/// the kernel would delay the last piece by 200 ms when no more follows (`tcp_cork` without an end).
pub fn splice(from: BorrowedFd<'_>, to: BorrowedFd<'_>, limit: usize) -> io::Result<usize> {
    Ok(rustix::pipe::splice(from, None, to, None, limit, SpliceFlags::MOVE | SpliceFlags::NONBLOCK)?)
}
