//! Creates processes, waits for them, kills them, and executes programs.

use crate::check;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use rustix::process::{WaitOptions, WaitStatus, kill_process, waitpid};
use std::ffi::{CStr, c_char};
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

pub use rustix::process::{Pid, Signal};

/// The process in which [`fork`] or [`clone`] returned.
pub enum Forked {
    /// The new process.
    Child,
    /// The parent, with the child's id.
    Parent(Pid),
}

impl Forked {
    fn of(pid: libc::c_int) -> Forked {
        Pid::from_raw(pid).map_or(Forked::Child, Forked::Parent)
    }
}

/// Forks (fork(3)). The child has only the calling thread. It should end with [`exit_now`].
pub fn fork() -> io::Result<Forked> {
    // SAFETY: the child's memory is a copy that no other thread can change, and the C library makes its
    // allocator usable there. A lock that another thread held at that moment stays locked in the child, so
    // its data is never seen half-changed: at worst, safe code waits forever.
    Ok(Forked::of(check(unsafe { libc::fork() }.into())?))
}

/// Namespaces of a child of [`clone`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CloneInto {
    /// The parent's namespaces.
    SameNamespaces,
    /// A new mount namespace, and a new process-id namespace with the child as its first process.
    NewPidAndMount,
}

/// Forks without the C library (clone3(2)). The library's `fork` takes locks that a thread of the calling
/// process may hold if that process was cloned itself; in the copy they are never released.
///
/// # Safety
/// The child, which has only the calling thread, must not return from the caller, allocate, take a lock, or
/// call anything else that is not async-signal-safe (signal-safety(7)), because the C library does not know
/// that it is another process.
pub unsafe fn clone(into: CloneInto) -> io::Result<Forked> {
    let namespaces = match into {
        CloneInto::SameNamespaces => 0,
        CloneInto::NewPidAndMount => libc::CLONE_NEWPID | libc::CLONE_NEWNS,
    };
    // SAFETY: all zeros is a value of `clone_args`, which holds numbers only.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = namespaces as u64;
    args.exit_signal = libc::SIGCHLD as u64;
    // SAFETY: the kernel reads the given number of bytes. Without CLONE_VM the child has its own copy of all
    // memory and returns here on it; the caller guarantees what it does then.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<libc::clone_args>()) };
    Ok(Forked::of(check(pid)?))
}

/// Ends the process without running its exit handlers (_exit(2)). May be called between `clone` and `execve`.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: the call takes a number and never returns; the kernel releases all memory and descriptors.
    unsafe { libc::_exit(code) }
}

/// Makes the kernel kill this process when the thread that forked it ends (prctl(2), PR_SET_PDEATHSIG). May
/// be called between `clone` and `execve`.
pub fn die_with_parent() {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
}

/// Prevents other processes from tracing this one until it executes a program (prctl(2), PR_SET_DUMPABLE).
/// May be called between `clone` and `execve`.
pub fn forbid_tracing() {
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Returns the parent's process id; `None` if the parent is outside of this process-id namespace.
pub fn parent() -> Option<Pid> {
    rustix::process::getppid()
}

/// Returns this process's id.
pub fn own_id() -> Pid {
    rustix::process::getpid()
}

/// Whether the calling thread is the process's main thread.
pub fn is_main_thread() -> bool {
    rustix::thread::gettid() == rustix::process::getpid()
}

/// Kills a child that has not been reaped.
pub fn kill(pid: Pid) {
    let _ = kill_process(pid, Signal::KILL);
}

/// Sends SIGTERM to a process.
pub fn terminate(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let _ = pid.map(|pid| kill_process(pid, Signal::TERM));
}

/// Continues a stopped child. May be called between `clone` and `execve`.
pub fn resume(pid: Pid) {
    let _ = kill_process(pid, Signal::CONT);
}

/// Continues the stopped processes of a group. May be called between `clone` and `execve`.
pub fn resume_group(group: Pid) {
    let _ = rustix::process::kill_process_group(group, Signal::CONT);
}

/// Kills a child and reaps it.
pub fn reap(pid: Pid) {
    kill(pid);
    let _ = waitpid(Some(pid), WaitOptions::empty());
}

/// Whether to block when waiting for a child.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Do not block.
    Look,
    /// Block until the child ends.
    Block,
}

/// Reaps a child. Returns its exit code, or 128 plus the signal; `None` if it still runs.
pub fn wait_for(pid: Pid, wait: Wait) -> io::Result<Option<i32>> {
    let options = if wait == Wait::Look { WaitOptions::NOHANG } else { WaitOptions::empty() };
    let found = rustix::io::retry_on_intr(|| waitpid(Some(pid), options))?;
    Ok(found.map(|(_, status)| exit_code(status)))
}

/// Waits for any child to end (wait(2)).
pub fn wait_for_any() {
    let _ = rustix::process::wait(WaitOptions::empty());
}

/// A change of a child's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildChange {
    /// The child ended with this code: its own, or 128 plus the signal.
    Ended(i32),
    /// A signal stopped the child.
    Stopped,
}

/// Returns the next change of a child's state that has not been reported; `None` if there is none. May be
/// called between `clone` and `execve`.
pub fn next_child_change() -> Option<(Pid, ChildChange)> {
    let (pid, status) = rustix::process::wait(WaitOptions::NOHANG | WaitOptions::UNTRACED).ok()??;
    let change = if status.stopped() { ChildChange::Stopped } else { ChildChange::Ended(exit_code(status)) };
    Some((pid, change))
}

/// Converts a wait status to an exit code, as shells do.
fn exit_code(status: WaitStatus) -> i32 {
    match status.terminating_signal() {
        Some(signal) => 128 + signal,
        None => status.exit_status().unwrap_or(0),
    }
}

/// Creates two connected local sockets that preserve message boundaries (socketpair(2), SOCK_SEQPACKET).
/// Closed on exec.
pub fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    Ok(rustix::net::socketpair(family, kind, SocketFlags::CLOEXEC, None)?)
}

/// Sends a message on a socket of [`socket_pair`], without blocking and without SIGPIPE. May be called
/// between `clone` and `execve`.
pub fn send_message(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?)
}

/// Replaces standard input (0), output (1) or error (2) by a descriptor, which stays open on exec. May be
/// called between `clone` and `execve`.
pub fn replace_standard(stream: usize, with: BorrowedFd<'_>) -> io::Result<()> {
    Ok(match stream {
        0 => rustix::stdio::dup2_stdin(with),
        1 => rustix::stdio::dup2_stdout(with),
        _ => rustix::stdio::dup2_stderr(with),
    }?)
}

/// Closes all descriptors except 0, 1, 2 and these two (close_range(2)). May be called between `clone` and
/// `execve`.
///
/// # Safety
/// Nothing in this process may use or close any of the other descriptors again.
pub unsafe fn close_all_but(kept: [BorrowedFd<'_>; 2]) -> io::Result<()> {
    let mut kept = kept.map(|fd| fd.as_raw_fd() as libc::c_uint);
    kept.sort_unstable();
    let [a, b] = kept;
    for (from, to) in [(3, a - 1), (a + 1, b - 1), (b + 1, libc::c_uint::MAX)] {
        if from <= to {
            // SAFETY: the call takes numbers; the caller guarantees that the descriptors are not used again.
            check(unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) })?;
        }
    }
    Ok(())
}

/// A list of texts for `execve`: addresses, ending with a null pointer.
pub struct TextList<'a> {
    pointers: Vec<*const c_char>,
    texts: PhantomData<&'a CStr>,
}

impl<'a> TextList<'a> {
    /// Creates a list of these texts.
    pub fn new(texts: impl IntoIterator<Item = &'a CStr>) -> TextList<'a> {
        let pointers = texts.into_iter().map(CStr::as_ptr).chain([std::ptr::null()]).collect();
        TextList { pointers, texts: PhantomData }
    }

    /// Replaces an existing text. Does not allocate.
    pub fn replace(&mut self, number: usize, text: &'a CStr) {
        // The last pointer is null and must stay so.
        let texts = self.pointers.len() - 1;
        if let Some(slot) = self.pointers[..texts].get_mut(number) {
            *slot = text.as_ptr();
        }
    }
}

/// Executes a program in this process (execve(2)). Returns only on failure, with the error. May be called
/// between `clone` and `execve`.
pub fn execute(program: &CStr, arguments: &TextList<'_>, environment: &TextList<'_>) -> io::Error {
    // SAFETY: `TextList` borrows the texts that its addresses are of, each ends with zero, and each list ends
    // with null. On success nothing of this program is left that could be used wrongly.
    unsafe {
        libc::execve(program.as_ptr(), arguments.pointers.as_ptr(), environment.pointers.as_ptr());
    }
    io::Error::last_os_error()
}

/// Starts a session without a terminal (setsid(2)). May be called between `clone` and `execve`.
pub fn leave_terminal() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Excludes this process from those that the kernel kills when memory runs out (proc_pid_oom_score_adj(5)).
/// Without CAP_SYS_RESOURCE it can only give up a raised score, such as a process in a pod may have.
///
/// # Errors
/// Fails if the score stays as it is.
pub fn survive_out_of_memory() -> io::Result<()> {
    const SCORE: &str = "/proc/self/oom_score_adj";
    let raised = || std::fs::read_to_string(SCORE).is_ok_and(|score| !score.starts_with(['-', '0']));
    std::fs::write(SCORE, "-1000")
        .or_else(|denied| if raised() { std::fs::write(SCORE, "0") } else { Err(denied) })
}

/// Returns the resident memory of this process, bytes (proc(5), `statm`).
pub fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    pages * page_bytes()
}

/// Returns the size of a page, bytes.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// Raises the limit of descriptors as far as this user may (setrlimit(2)). Returns the new limit.
pub fn raise_descriptors(wanted: u64) -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // "Unlimited" is represented by the largest number.
    let number = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
    let limit = |n: u64| Some(n).filter(|&n| n != u64::MAX);
    let before = getrlimit(Resource::Nofile);
    let (current, maximum) = (number(before.current), number(before.maximum));
    let raised = maximum.max(wanted);
    let all = Rlimit { current: limit(raised.min(current.max(wanted))), maximum: limit(raised) };
    if setrlimit(Resource::Nofile, all).is_err() {
        let permitted = Rlimit { current: limit(maximum.min(wanted.max(current))), ..before };
        let _ = setrlimit(Resource::Nofile, permitted);
    }
    number(getrlimit(Resource::Nofile).current)
}
