//! Operations on descriptors and files.

use rustix::fs::{MemfdFlags, Mode, OFlags};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

/// Reads once (read(2)).
#[inline]
pub fn read(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(fd, buffer)?)
}

/// Writes once (write(2)).
#[inline]
pub fn write(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::io::write(fd, bytes)?)
}

/// Makes reads and writes non-blocking (`O_NONBLOCK`).
pub fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | OFlags::NONBLOCK)?)
}

/// Creates a file in memory with these bytes, positioned at its start; it disappears with its last descriptor
/// (memfd_create(2)).
pub fn memory_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(rustix::fs::memfd_create(c"longfat", MemfdFlags::CLOEXEC)?);
    io::Write::write_all(&mut file, bytes)?;
    io::Seek::rewind(&mut file)?;
    Ok(file.into())
}

/// Whether a file is on a read-only mount (statvfs(3)).
pub fn is_read_only(path: &Path) -> bool {
    let read_only = |s: rustix::fs::StatVfs| s.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY);
    // A path with a zero byte exists on no mount.
    let ends_early = path.as_os_str().as_encoded_bytes().contains(&0);
    ends_early || rustix::fs::statvfs(path).is_ok_and(read_only)
}

/// Writes a whole file; with `create` the file is created, otherwise it must exist. Every user may read a
/// created file, whatever the umask. May be called between `clone` and `execve`.
pub fn write_file(path: &CStr, bytes: &[u8], create: bool) -> io::Result<()> {
    let create_flag = if create { OFlags::CREATE } else { OFlags::empty() };
    let mode = Mode::from_raw_mode(0o644);
    let fd = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC | create_flag, mode)?;
    let mut rest = bytes;
    let mut done = Ok(());
    while !rest.is_empty() && done.is_ok() {
        done = rustix::io::write(&fd, rest).map(|n| rest = rest.get(n..).unwrap_or(&[]));
    }
    if create {
        let _ = rustix::fs::fchmod(&fd, mode);
    }
    Ok(done?)
}

/// Creates an empty file, writable for every user as the umask permits, if there is none (`O_CREAT`). May be
/// called between `clone` and `execve`.
pub fn make_file(path: &CStr) -> io::Result<()> {
    rustix::fs::open(path, OFlags::CREATE | OFlags::CLOEXEC, Mode::from_raw_mode(0o666))?;
    Ok(())
}

/// Creates a folder (mkdir(2)). May be called between `clone` and `execve`.
pub fn make_folder(path: &CStr, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::mkdir(path, Mode::from_raw_mode(mode))?)
}

/// Creates a symbolic link (symlink(2)). May be called between `clone` and `execve`.
pub fn make_link(to: &CStr, at: &CStr) -> io::Result<()> {
    Ok(rustix::fs::symlink(to, at)?)
}

/// Whether a file exists and the caller can see it (access(2), `F_OK`). May be called between `clone` and
/// `execve`.
pub fn exists(path: &CStr) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXISTS).is_ok()
}

/// Changes the working directory (chdir(2)). May be called between `clone` and `execve`.
pub fn enter_folder(path: &CStr) -> io::Result<()> {
    Ok(rustix::process::chdir(path)?)
}
