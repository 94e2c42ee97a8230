//! Processes: made, waited for, killed, replaced by a program.

use crate::check;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use rustix::process::{WaitOptions, WaitStatus, kill_process, waitpid};
use std::ffi::{CStr, c_char};
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

pub use rustix::process::{Pid, Signal};

/// Which process [`fork`] or [`clone`] returned in.
pub enum Forked {
    /// The new one.
    Child,
    /// The old one, with the new one's id.
    Parent(Pid),
}

impl Forked {
    fn of(pid: libc::c_int) -> Forked {
        Pid::from_raw(pid).map_or(Forked::Child, Forked::Parent)
    }
}

/// Forks (fork(3)). The child has the calling thread only. It should leave by [`exit_now`].
pub fn fork() -> io::Result<Forked> {
    // SAFETY: the child's memory is a copy that no other thread can change, and the C library makes its allocator fit for use
    // there. A lock that another thread held at that moment stays locked in the child, so that what it guards is never seen
    // half-changed: the worst that can happen to safe code is that it waits forever.
    Ok(Forked::of(check(unsafe { libc::fork() }.into())?))
}

/// Whether [`clone`] makes new namespaces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CloneInto {
    /// The child lives in the namespaces of its parent.
    SameNamespaces,
    /// The child is the first process of a new process-id namespace and has a new mount namespace.
    NewPidAndMount,
}

/// Forks without the C library (clone3(2)): its `fork` takes locks that a thread of the calling process may hold if that was
/// cloned itself, and that are never given back in the copy.
///
/// # Safety
/// The child, which has the calling thread only, may not return from the caller, allocate, take a lock, or call anything else
/// that is not async-signal-safe (signal-safety(7)): the C library does not know that it is another process.
pub unsafe fn clone(into: CloneInto) -> io::Result<Forked> {
    let namespaces = match into {
        CloneInto::SameNamespaces => 0,
        CloneInto::NewPidAndMount => libc::CLONE_NEWPID | libc::CLONE_NEWNS,
    };
    // SAFETY: all zeros is a value of `clone_args`, which holds numbers only.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = namespaces as u64;
    args.exit_signal = libc::SIGCHLD as u64;
    // SAFETY: the kernel reads as many bytes as it is told. Without CLONE_VM the child has its own copy of all memory and
    // returns here on it; what it does then is as the caller promises.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<libc::clone_args>()) };
    Ok(Forked::of(check(pid)?))
}

/// Ends the process without running its exit handlers (_exit(2)). May be called between `clone` and `execve`.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: the call takes a number and never returns; memory and descriptors go as a whole.
    unsafe { libc::_exit(code) }
}

/// Has the kernel kill this process when the thread that forked it ends (prctl(2), PR_SET_PDEATHSIG). May be called between
/// `clone` and `execve`.
pub fn die_with_parent() {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
}

/// Keeps others from attaching to this process, until it executes a program (prctl(2), PR_SET_DUMPABLE). May be called between
/// `clone` and `execve`.
pub fn be_untraceable() {
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// The parent's process id; `None` where it is outside of this process-id namespace.
pub fn parent() -> Option<Pid> {
    rustix::process::getppid()
}

/// This process's id.
pub fn own_id() -> Pid {
    rustix::process::getpid()
}

/// Whether the calling thread is the process's first, the one whose end is the process's.
pub fn is_main_thread() -> bool {
    rustix::thread::gettid() == rustix::process::getpid()
}

/// Kills a child that has not been waited for.
pub fn kill(pid: Pid) {
    let _ = kill_process(pid, Signal::KILL);
}

/// Asks a process to end (SIGTERM).
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

/// Kills a child and takes its exit status.
pub fn reap(pid: Pid) {
    kill(pid);
    let _ = waitpid(Some(pid), WaitOptions::empty());
}

/// How long a wait for a child may take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    Look,
    /// Until it ends.
    Block,
}

/// Takes the status of a child that has ended: its exit code, or 128 and the signal. `None`: it runs.
pub fn wait_for(pid: Pid, wait: Wait) -> io::Result<Option<i32>> {
    let options = if wait == Wait::Look { WaitOptions::NOHANG } else { WaitOptions::empty() };
    let found = rustix::io::retry_on_intr(|| waitpid(Some(pid), options))?;
    Ok(found.map(|(_, status)| exit_code(status)))
}

/// Waits for any child to end (wait(2)).
pub fn wait_for_any() {
    let _ = rustix::process::wait(WaitOptions::empty());
}

/// What happened to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildNews {
    /// It ended, with this code: its own, or 128 and the signal.
    Ended(i32),
    /// A signal stopped it.
    Stopped,
}

/// What happened to the next child of which that is not yet known; `None`: nothing. May be called between `clone` and
/// `execve`.
pub fn child_news() -> Option<(Pid, ChildNews)> {
    let (pid, status) = rustix::process::wait(WaitOptions::NOHANG | WaitOptions::UNTRACED).ok()??;
    let news = if status.stopped() { ChildNews::Stopped } else { ChildNews::Ended(exit_code(status)) };
    Some((pid, news))
}

/// What a shell would make of a wait status.
fn exit_code(status: WaitStatus) -> i32 {
    match status.terminating_signal() {
        Some(signal) => 128 + signal,
        None => status.exit_status().unwrap_or(0),
    }
}

/// Two connected local sockets that keep messages apart (socketpair(2), SOCK_SEQPACKET). Closed on exec.
pub fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    Ok(rustix::net::socketpair(family, kind, SocketFlags::CLOEXEC, None)?)
}

/// Sends a message down such a socket, without waiting and without SIGPIPE. May be called between `clone` and `execve`.
pub fn send_message(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?)
}

/// Puts a descriptor in the place of standard input (0), output (1) or error (2), open on exec. May be called between `clone`
/// and `execve`.
pub fn replace_standard(stream: usize, with: BorrowedFd<'_>) -> io::Result<()> {
    Ok(match stream {
        0 => rustix::stdio::dup2_stdin(with),
        1 => rustix::stdio::dup2_stdout(with),
        _ => rustix::stdio::dup2_stderr(with),
    }?)
}

/// Closes all descriptors but 0, 1, 2 and these two (close_range(2)). May be called between `clone` and `execve`.
///
/// # Safety
/// Nothing in this process will use or close any of the others again.
pub unsafe fn close_all_but(kept: [BorrowedFd<'_>; 2]) -> io::Result<()> {
    let mut kept = kept.map(|fd| fd.as_raw_fd() as libc::c_uint);
    kept.sort_unstable();
    let [a, b] = kept;
    for (from, to) in [(3, a - 1), (a + 1, b - 1), (b + 1, libc::c_uint::MAX)] {
        if from <= to {
            // SAFETY: the call takes numbers; nobody misses the descriptors, as the caller promises.
            check(unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) })?;
        }
    }
    Ok(())
}

/// Texts as `execve` takes them: a list of addresses that ends with a null pointer.
pub struct TextList<'a> {
    pointers: Vec<*const c_char>,
    texts: PhantomData<&'a CStr>,
}

impl<'a> TextList<'a> {
    /// A list of these texts.
    pub fn new(texts: impl IntoIterator<Item = &'a CStr>) -> TextList<'a> {
        let pointers = texts.into_iter().map(CStr::as_ptr).chain([std::ptr::null()]).collect();
        TextList { pointers, texts: PhantomData }
    }

    /// Puts another text in the place of one that is there. Allocates nothing.
    pub fn replace(&mut self, number: usize, text: &'a CStr) {
        // The last one is null and stays so.
        let texts = self.pointers.len() - 1;
        if let Some(slot) = self.pointers[..texts].get_mut(number) {
            *slot = text.as_ptr();
        }
    }
}

/// Replaces this process's program (execve(2)). Returns only where that failed: why. May be called between `clone` and
/// `execve`.
pub fn execute(program: &CStr, arguments: &TextList<'_>, environment: &TextList<'_>) -> io::Error {
    // SAFETY: `TextList` borrows the texts that its addresses are of, each ends with zero, and each list ends with null. On
    // success nothing of this program is left that could be used wrongly.
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

/// Resident memory of this process, bytes (proc(5), `statm`).
pub fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    pages * page_bytes()
}

/// Bytes of a page.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// Raises the number of descriptors as far as this user may (setrlimit(2)); how many there are then.
pub fn raise_descriptors(wanted: u64) -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // "Unlimited" is a number too large to be reached.
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
