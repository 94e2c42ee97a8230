//! What files need of the system: locks, and what the standard library lacks, two names exchanged at once and free space.

#![allow(unsafe_code)]

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// Takes the lock of an open file, for as long as it is open; `false` where another process has it.
pub fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

/// Exchanges two folders at once (renameat2, Linux 3.15); [`io::ErrorKind::Unsupported`] where the file system cannot.
#[cfg(target_os = "linux")]
pub fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    let [a, b] = [c_path(a)?, c_path(b)?];
    // SAFETY: both are texts that end with a zero and live until the call returns.
    let done = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            a.as_ptr(),
            libc::AT_FDCWD,
            b.as_ptr(),
            libc::RENAME_EXCHANGE,
        )
    };
    match done {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            e if matches!(e.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS | libc::ENOTSUP)) => {
                Err(io::ErrorKind::Unsupported.into())
            }
            e => Err(e),
        },
    }
}

/// No system but Linux has it.
#[cfg(not(target_os = "linux"))]
pub fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Bytes that may still be written where `folder` is; `None` where that is not known.
#[cfg(unix)]
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let path = c_path(folder).ok()?;
    let mut stat = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the path ends with a zero; `stat` is as large as the call wants it, and zeros are a value of it.
    let stat = unsafe {
        if libc::statvfs(path.as_ptr(), stat.as_mut_ptr()) != 0 {
            return None;
        }
        stat.assume_init()
    };
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)] // of other widths elsewhere
    Some((stat.f_bavail as u64).saturating_mul(stat.f_frsize as u64))
}

/// Not known here.
#[cfg(not(unix))]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}

#[cfg(unix)]
fn c_path(path: &Path) -> io::Result<std::ffi::CString> {
    use std::os::unix::ffi::OsStrExt;
    Ok(std::ffi::CString::new(path.as_os_str().as_bytes())?)
}
