//! Filters of system calls (seccomp(2)).

use crate::check;
use std::io;

/// Whether this kernel refuses system calls with an error where a filter says so (SECCOMP_RET_ERRNO).
pub fn filters_calls() -> bool {
    let refuse = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the kernel reads the number whose address it is given, which outlives the call, and changes nothing.
    let code =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0u32, &raw const refuse) };
    code == 0
}

/// The calling thread and all it starts pass this filter from now on (PR_SET_SECCOMP). `no_new_privs` must be set. May be called
/// between `clone` and `execve`.
pub fn filter_calls(filter: &[libc::sock_filter]) -> io::Result<()> {
    let length = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the kernel copies as many instructions as `program` says, which is as many as there are, and writes to none. A
    // filter makes calls fail or ends the process: it cannot change what a call does to memory.
    let code = unsafe {
        let (mode, unused) = (libc::SECCOMP_MODE_FILTER as libc::c_ulong, 0 as libc::c_ulong);
        libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program, unused, unused)
    };
    check(code.into()).map(drop)
}
