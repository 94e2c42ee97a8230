//! Calls about the process: its descriptors, its cores, its signals, whom it runs as.

use super::check;
use std::ffi::CString;
use std::io;
use std::mem::{size_of_val, zeroed};
use std::os::fd::{FromRawFd, OwnedFd};

/// Raises the number of descriptors as far as this user may; how many there are then.
pub fn raise_descriptors(wanted: u64) -> u64 {
    // SAFETY: `rlimit` is plain data; the calls read and write the one they are given.
    unsafe {
        let mut limit: libc::rlimit = zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 {
            return 1024;
        }
        let before = limit;
        limit.rlim_max = limit.rlim_max.max(wanted);
        limit.rlim_cur = limit.rlim_max.min(limit.rlim_cur.max(wanted));
        if libc::setrlimit(libc::RLIMIT_NOFILE, &limit) != 0 {
            limit = libc::rlimit { rlim_cur: before.rlim_max.min(wanted.max(before.rlim_cur)), ..before };
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur
    }
}

/// The cores this process may use, by number; at least one.
pub fn cores() -> Vec<usize> {
    // SAFETY: `cpu_set_t` is plain data, the call writes to the one it is given; the numbers are within the set.
    let found: Vec<usize> = unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        if libc::sched_getaffinity(0, size_of_val(&set), &mut set) == 0 {
            (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect()
        } else {
            Vec::new()
        }
    };
    if found.is_empty() { vec![0] } else { found }
}

/// Lets the calling thread run on this core alone, where that is permitted.
pub fn pin(core: usize) {
    // SAFETY: `cpu_set_t` is plain data; `cores` gave the number, which is within the set; the call reads the set.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set);
    }
}

/// Timers of the calling thread are late by no more than they must: the kernel puts others off by up to 50 µs to wake up less
/// often (PR_SET_TIMERSLACK, prctl(2)).
pub fn exact_timers() {
    // SAFETY: takes no pointers; where it is refused timers stay as they are.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0);
    }
}

/// The signals a proxy heeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM or SIGINT.
    End,
    /// SIGHUP.
    Reload,
}

fn heeded() -> libc::sigset_t {
    // SAFETY: `sigset_t` is plain data; the calls write to the one they are given.
    unsafe {
        let mut set: libc::sigset_t = zeroed();
        libc::sigemptyset(&mut set);
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

/// From now on SIGTERM, SIGINT and SIGHUP wait for [`next_signal`], in this thread and those it starts.
pub fn hold_signals() {
    // SAFETY: reads the set.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &heeded(), std::ptr::null_mut()) };
}

/// Waits for one of the signals that are held.
pub fn next_signal() -> Signal {
    loop {
        let mut signal = 0;
        // SAFETY: reads the set and writes the signal's number.
        let code = unsafe { libc::sigwait(&heeded(), &mut signal) };
        match (code, signal) {
            (0, libc::SIGHUP) => return Signal::Reload,
            (0, _) => return Signal::End,
            _ => {}
        }
    }
}

/// A descriptor that the service manager has handed over, at this number.
///
/// # Safety
/// It must be open and nobody else's: `LISTEN_PID` and `LISTEN_FDS` said so (sd_listen_fds(3)).
pub unsafe fn inherited(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes no pointers; the caller says that the descriptor is open and ours.
    unsafe {
        check(libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC))?;
        let flags = check(libc::fcntl(number, libc::F_GETFL))?;
        check(libc::fcntl(number, libc::F_SETFL, flags | libc::O_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(number))
    }
}

/// Whether this process is root's.
pub fn is_root() -> bool {
    // SAFETY: takes no pointers, cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// A user's id and group, by name or number.
pub fn user(name: &str) -> io::Result<(u32, u32)> {
    let unknown = || io::Error::new(io::ErrorKind::NotFound, format!("there is no user `{name}`"));
    let wanted = CString::new(name).map_err(|_| unknown())?;
    // SAFETY: reads the name; what it returns is read before any other such call, in a process with one thread as yet.
    unsafe {
        let entry = libc::getpwnam(wanted.as_ptr());
        if !entry.is_null() {
            return Ok(((*entry).pw_uid, (*entry).pw_gid));
        }
    }
    name.parse().map(|id| (id, id)).map_err(|_| unknown())
}

const CAP_NET_ADMIN: u32 = 12;

/// Becomes another user, for good and with every thread; of the capabilities CAP_NET_ADMIN stays where `net_admin` says so.
/// To be called while there is one thread.
pub fn become_user(uid: u32, gid: u32, net_admin: bool) -> io::Result<()> {
    // SAFETY: no pointers but a list of one group, which the call reads.
    unsafe {
        if net_admin {
            check(libc::prctl(libc::PR_SET_KEEPCAPS, 1 as libc::c_ulong, 0, 0, 0))?;
        }
        check(libc::setgroups(1, &gid))?;
        check(libc::setresgid(gid, gid, gid))?;
        check(libc::setresuid(uid, uid, uid))?;
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1 as libc::c_ulong, 0, 0, 0))?;
    }
    if net_admin { keep_only(1 << CAP_NET_ADMIN) } else { Ok(()) }
}

/// Sets the effective and permitted capabilities of the calling thread (capset(2), version 3).
fn keep_only(mask: u32) -> io::Result<()> {
    let header = [0x2008_0522u32, 0];
    let data = [mask, mask, 0, 0, 0, 0];
    // SAFETY: reads a header of two and data of six 32-bit words, as version 3 has them.
    let code = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), data.as_ptr()) };
    check(code as libc::c_int).map(drop)
}

/// Resident memory of this process, bytes.
pub fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    // SAFETY: takes no pointers.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages * u64::try_from(page).unwrap_or(4096)
}
