//! The system calls that std lacks.
#![allow(unsafe_code)]

#[cfg(target_endian = "little")]
pub mod bpf;

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// `BPF_FS_MAGIC` (linux/magic.h).
const BPF_FS: u64 = 0xcafe_4a11;

/// A path as the kernel wants it.
fn c_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Whether a file system for pinned objects is mounted there.
pub fn is_bpffs(path: &Path) -> io::Result<bool> {
    let path = c_string(path)?;
    let mut about = std::mem::MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: both pointers are valid; all zeros is a valid statfs.
    let (done, about) = unsafe { (libc::statfs(path.as_ptr(), about.as_mut_ptr()), about.assume_init()) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(about.f_type as u64 & 0xffff_ffff == BPF_FS)
}

/// Mounts one there, for root alone.
pub fn mount_bpffs(path: &Path) -> io::Result<()> {
    let path = c_string(path)?;
    let kind = c"bpf".as_ptr();
    // SAFETY: all are strings that end in zero and live long enough.
    let done =
        unsafe { libc::mount(kind, path.as_ptr(), kind, 0, c"mode=0700".as_ptr().cast::<libc::c_void>()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
