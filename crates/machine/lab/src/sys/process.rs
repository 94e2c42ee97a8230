//! Processes, signals, terminals and accounts.

use super::{check, check_size};
use std::ffi::{CStr, CString, OsString};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

/// How long a wait for a child may take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    Look,
    /// Until it ends.
    Block,
}

/// Takes the status of a child that has ended: its exit code, or 128 and the signal. `None`: it runs.
pub fn wait_for(pid: libc::pid_t, wait: Wait) -> io::Result<Option<i32>> {
    let flags = if wait == Wait::Look { libc::WNOHANG } else { 0 };
    let mut status = 0;
    loop {
        // SAFETY: writes one int. The child is ours and not yet waited for.
        match check(unsafe { libc::waitpid(pid, &mut status, flags) }) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(exit_code(status))),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// What a shell would make of a wait status.
pub fn exit_code(status: i32) -> i32 {
    if libc::WIFSIGNALED(status) { 128 + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) }
}

/// Kills a child that has not been waited for.
pub fn kill(pid: libc::pid_t) {
    // SAFETY: takes no pointers.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// Two connected ends that keep messages apart. Closed on exec.
pub fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: writes two descriptors to the array; both are new and ours.
    unsafe {
        check(libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()))?;
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// Sends a message down a socket, without waiting and without SIGPIPE.
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: reads at most `len` bytes of the slice.
    check_size(unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) })
}

/// Whether the calling thread is the process's first, the one whose end is the process's.
pub fn is_main_thread() -> bool {
    // SAFETY: these take no pointers and cannot fail.
    unsafe { libc::gettid() == libc::getpid() }
}

/// Continues a stopped child.
pub fn resume(pid: libc::pid_t) {
    // SAFETY: takes no pointers.
    unsafe { libc::kill(pid, libc::SIGCONT) };
}

/// User and group the process acts as.
pub fn effective_ids() -> (u32, u32) {
    // SAFETY: these take no pointers and cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// A user of this machine.
#[derive(Clone, Debug)]
pub struct UserAccount {
    pub uid: u32,
    pub gid: u32,
    pub name: OsString,
    pub home: OsString,
    pub shell: OsString,
}

/// Looks a user up by number.
pub fn account(uid: u32) -> Option<UserAccount> {
    // SAFETY: as `entry` has it: the call writes to what it is given, at most the buffer's length.
    entry(|passwd, buffer, found| unsafe {
        libc::getpwuid_r(uid, passwd, buffer.as_mut_ptr(), buffer.len(), found);
    })
}

/// Looks a user up by name.
pub fn account_named(name: &str) -> Option<UserAccount> {
    let name = CString::new(name).ok()?;
    // SAFETY: as above; the name is terminated.
    entry(|passwd, buffer, found| unsafe {
        libc::getpwnam_r(name.as_ptr(), passwd, buffer.as_mut_ptr(), buffer.len(), found);
    })
}

fn entry(
    look: impl FnOnce(&mut libc::passwd, &mut [libc::c_char], &mut *mut libc::passwd),
) -> Option<UserAccount> {
    let mut buffer = vec![0; 64 << 10];
    let mut found = std::ptr::null_mut();
    // SAFETY: `passwd` is plain data. The texts lie in `buffer`, which outlives them, and are terminated.
    unsafe {
        let mut entry: libc::passwd = zeroed();
        look(&mut entry, &mut buffer, &mut found);
        if found.is_null() {
            return None;
        }
        let text = |at: *const libc::c_char| match at.is_null() {
            true => OsString::new(),
            false => OsString::from_vec(CStr::from_ptr(at).to_bytes().to_vec()),
        };
        let (name, home, shell) = (text(entry.pw_name), text(entry.pw_dir), text(entry.pw_shell));
        Some(UserAccount { uid: entry.pw_uid, gid: entry.pw_gid, name, home, shell })
    }
}

/// Signals that the process ignores for as long as this lives.
pub struct Ignored(Vec<(libc::c_int, libc::sighandler_t)>);

impl Ignored {
    /// What the terminal's keys send is for the command that runs in the foreground.
    pub fn terminal_keys() -> Ignored {
        let keys = [libc::SIGINT, libc::SIGQUIT, libc::SIGTSTP];
        // SAFETY: sets no handler that could run.
        Ignored(keys.map(|s| (s, unsafe { libc::signal(s, libc::SIG_IGN) })).to_vec())
    }
}

impl Drop for Ignored {
    fn drop(&mut self) {
        for &(signal, before) in &self.0 {
            if before != libc::SIG_ERR {
                // SAFETY: puts back what was set before.
                unsafe { libc::signal(signal, before) };
            }
        }
    }
}

/// Stops this process as the terminal's suspend key does, until somebody continues it. Where
/// nobody could (an orphaned process group, POSIX 2.4.3) the kernel does not stop it.
pub fn suspend() {
    // SAFETY: the default action only; what was set before is put back.
    unsafe {
        let before = libc::signal(libc::SIGTSTP, libc::SIG_DFL);
        libc::raise(libc::SIGTSTP);
        if before != libc::SIG_ERR {
            libc::signal(libc::SIGTSTP, before);
        }
    }
}

/// A terminal whose foreground was ours.
pub struct Foreground<'a>(BorrowedFd<'a>, libc::pid_t);

impl<'a> Foreground<'a> {
    /// `None`: it is no terminal, or others are in its foreground.
    pub fn of(terminal: BorrowedFd<'a>) -> Option<Foreground<'a>> {
        // SAFETY: these take no pointers; the descriptor is open.
        unsafe {
            let own = libc::getpgrp();
            (libc::tcgetpgrp(terminal.as_raw_fd()) == own).then_some(Foreground(terminal, own))
        }
    }
}

/// A command leaves the terminal to its process group, which is gone; nobody could type.
impl Drop for Foreground<'_> {
    fn drop(&mut self) {
        // SAFETY: these take no pointers; signal 0 only asks. Out of the background the last one stops
        // the caller unless SIGTTOU is ignored.
        unsafe {
            let group = libc::tcgetpgrp(self.0.as_raw_fd());
            let gone = group > 0 && libc::kill(-group, 0) != 0;
            if gone && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH) {
                let before = libc::signal(libc::SIGTTOU, libc::SIG_IGN);
                libc::tcsetpgrp(self.0.as_raw_fd(), self.1);
                if before != libc::SIG_ERR {
                    libc::signal(libc::SIGTTOU, before);
                }
            }
        }
    }
}
