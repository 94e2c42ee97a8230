//! What runs between `clone3` and `execve`: the first process of a command's process-id namespace.
//!
//! The process that clones may have many threads, so the child allocates nothing and takes no lock,
//! nor calls what does inside the C library: everything it needs was laid out before, in [`Orders`].
//!
//! Its order of work: the host's network, mounts, descriptors, privileges away, then the command as
//! a child of its own. From then on it reaps, and passes on how the command ended. When it ends, the
//! kernel kills every process of the namespace with it (pid_namespaces(7)); and it ends when the
//! command does, when it is killed, or when the other end of its lifeline is closed, which is when
//! the process that started it is gone, however that ended.

use super::confine::{self, Confinement};
use super::{UserAccount, check, check_size, exit_code, guard};
use seccompiler::sock_filter;
use std::ffi::CStr;
use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::os::fd::RawFd;
use std::ptr::{null, null_mut};

/// What may fail on the way to the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LaunchStep {
    Network,
    Mounts,
    HostNames,
    Descriptors,
    Privileges,
    Guard,
    Fork,
    Exec,
}

impl LaunchStep {
    const ALL: [LaunchStep; 8] = [
        LaunchStep::Network,
        LaunchStep::Mounts,
        LaunchStep::HostNames,
        LaunchStep::Descriptors,
        LaunchStep::Privileges,
        LaunchStep::Guard,
        LaunchStep::Fork,
        LaunchStep::Exec,
    ];

    /// Back from the error pipe: which step, and what the kernel said.
    pub fn decode(report: [u8; 8]) -> (LaunchStep, io::Error) {
        let [step, _, _, _, code @ ..] = report;
        let step = LaunchStep::ALL.into_iter().find(|s| *s as u8 == step).unwrap_or(LaunchStep::Fork);
        (step, io::Error::from_raw_os_error(i32::from_ne_bytes(code)))
    }
}

/// A step that failed.
struct Failed(LaunchStep, i32);

trait At<T> {
    fn at(self, step: LaunchStep) -> Result<T, Failed>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, step: LaunchStep) -> Result<T, Failed> {
        self.map_err(|e| Failed(step, e.raw_os_error().unwrap_or(libc::EINVAL)))
    }
}

/// What the first process is to do. Pointer lists end with a null pointer.
pub struct Orders<'a> {
    /// The host's network namespace.
    pub network: RawFd,
    /// Descriptors that become 0, 1, 2; -1 keeps what is there.
    pub stdio: [RawFd; 3],
    /// Whose other end the starting process holds.
    pub lifeline: RawFd,
    /// Where a failed step is told; closed when the command runs.
    pub errors: RawFd,
    /// What stands in `/etc/hosts`.
    pub hosts_file: &'a [u8],
    /// What it is to see and to write to, where that is not all.
    pub confined: Option<Confinement<'a>>,
    /// It keeps what this process may do, and has a `/run` of its own.
    pub privileged: bool,
    /// System calls that it may make.
    pub calls: Option<&'a [sock_filter]>,
    /// Whom to become.
    pub account: Option<&'a UserAccount>,
    /// The lines of `uid_map` and `gid_map` of one more user namespace, in which the caller is
    /// called as outside.
    pub own_name: Option<[&'a [u8]; 2]>,
    /// A session without terminal.
    pub own_session: bool,
    /// The terminal on 0 is the command's, which gets a process group of its own: that of the
    /// caller has no number inside, and shells expect one.
    pub foreground: bool,
    /// Also die with the thread that clones.
    pub die_with_thread: bool,
    /// Files to try, in order.
    pub paths: &'a [*const libc::c_char],
    pub argv: &'a [*const libc::c_char],
    /// The same for `/bin/sh`, with room for the file's path at index 1: for scripts without `#!`.
    pub script: &'a mut [*const libc::c_char],
    pub env: &'a [*const libc::c_char],
}

impl Orders<'_> {
    /// Starts the first process.
    pub fn start(mut self) -> io::Result<libc::pid_t> {
        // SAFETY: the child calls only what POSIX allows after a fork of a process with threads.
        match unsafe { clone(libc::CLONE_NEWPID | libc::CLONE_NEWNS) }? {
            0 => first(&mut self),
            pid => Ok(pid),
        }
    }
}

/// Forks, without the C library: its `fork` takes locks that a thread of the starting process may
/// have held at the first clone, and that nobody gives back in the copy.
unsafe fn clone(namespaces: libc::c_int) -> io::Result<libc::pid_t> {
    // SAFETY: plain data, read by the call. Without CLONE_VM the child has its own copy of everything.
    unsafe {
        let mut args: libc::clone_args = zeroed();
        args.flags = namespaces as u64;
        args.exit_signal = libc::SIGCHLD as u64;
        check(libc::syscall(libc::SYS_clone3, &mut args, size_of::<libc::clone_args>()) as libc::c_int)
    }
}

/// The first process, from its birth.
fn first(orders: &mut Orders<'_>) -> ! {
    let code = match prepare(orders).and_then(|()| command(orders)) {
        Ok(pid) => {
            // SAFETY: the command has a copy of its own; nothing else knows the number.
            unsafe { libc::close(orders.errors) };
            tend(pid, orders.lifeline, orders.foreground)
        }
        Err(failed) => tell(orders.errors, &failed),
    };
    // SAFETY: takes no pointers, never returns.
    unsafe { libc::_exit(code) }
}

fn tell(errors: RawFd, failed: &Failed) -> i32 {
    let mut report = [0; 8];
    report[0] = failed.0 as u8;
    report[4..].copy_from_slice(&failed.1.to_ne_bytes());
    // SAFETY: reads eight bytes. A pipe takes so few at once.
    unsafe { libc::write(errors, report.as_ptr().cast(), report.len()) };
    127
}

fn prepare(o: &Orders<'_>) -> Result<(), Failed> {
    // SAFETY: every pointer of this function is to a value or a text that outlives the call; all
    // other arguments are numbers. This process has one thread, so nobody sees it half-done.
    unsafe {
        let mut all: libc::sigset_t = zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, null_mut());
        // An inherited "ignore" would lose the status of children.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        check(libc::setns(o.network, libc::CLONE_NEWNET)).at(LaunchStep::Network)?;
        mounts(o.hosts_file)?;
        if o.privileged {
            own_run().at(LaunchStep::Mounts)?;
        }
        if let Some(confinement) = &o.confined {
            confine::confine(confinement).at(LaunchStep::Mounts)?;
        }
        if o.own_session {
            check(libc::setsid()).at(LaunchStep::Descriptors)?;
        }
        for (to, &from) in (0..).zip(&o.stdio) {
            if from >= 0 {
                check(libc::dup2(from, to)).at(LaunchStep::Descriptors)?;
            }
        }
        close_others(o.lifeline, o.errors).at(LaunchStep::Descriptors)?;
        if let Some(maps) = o.own_name {
            keep_own_name(maps).at(LaunchStep::Privileges)?;
        }
        if !o.privileged {
            drop_privileges(o.account, o.own_name.is_none()).at(LaunchStep::Privileges)?;
        }
        // Changed credentials clear it, so it comes last. Who is stopped sees no closed lifeline.
        if o.die_with_thread {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
        }
    }
    Ok(())
}

const TMPFS: &CStr = c"tmpfs";
const HIDDEN: &CStr = c"/proc";
const CGROUPS: &CStr = c"/sys/fs/cgroup";

/// Mounts that this namespace alone has. `/proc` and `/sys` are worth having and no more: some
/// containers forbid them.
unsafe fn mounts(hosts_file: &[u8]) -> Result<(), Failed> {
    // SAFETY: every text is terminated and outlives its call.
    unsafe {
        let mount = |what: &CStr, at: &CStr, kind: &CStr, flags| {
            check(libc::mount(what.as_ptr(), at.as_ptr(), kind.as_ptr(), flags, null()))
        };
        // What is mounted outside later appears here too (home directories on demand); nothing goes back.
        mount(c"none", c"/", c"", libc::MS_REC | libc::MS_SLAVE).at(LaunchStep::Mounts)?;
        // The file is in memory, and has a name only until it is mounted: nothing is left anywhere.
        let safe = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        mount(TMPFS, HIDDEN, TMPFS, safe).at(LaunchStep::HostNames)?;
        write_file(c"/proc/hosts", hosts_file, libc::O_CREAT).at(LaunchStep::HostNames)?;
        mount(c"/proc/hosts", c"/etc/hosts", c"", libc::MS_BIND).at(LaunchStep::HostNames)?;
        let read_only = libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY | safe;
        mount(c"", c"/etc/hosts", c"", read_only).at(LaunchStep::HostNames)?;
        check(libc::umount2(HIDDEN.as_ptr(), libc::MNT_DETACH)).at(LaunchStep::HostNames)?;
        // A daemon that caches names answers with the machine's, not with the scenario's.
        let _ = mount(TMPFS, c"/run/nscd", TMPFS, safe | libc::MS_RDONLY);
        let _ = mount(c"proc", HIDDEN, c"proc", safe);
        let cgroups = open_tree(CGROUPS, true);
        // Its own devices; the cgroups, which tell programs how much they may use, stay.
        if mount(c"sysfs", c"/sys", c"sysfs", safe | libc::MS_RDONLY).is_ok() && cgroups >= 0 {
            move_mount(cgroups, CGROUPS);
        }
        // A file with capabilities (often `ping`) would not run at all where it cannot have them;
        // on a mount without setuid it runs without (execve(2), EPERM).
        let nosuid = MountAttributes { set: MOUNT_ATTR_NOSUID, ..MountAttributes::default() };
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            c"/".as_ptr(),
            libc::AT_RECURSIVE,
            &nosuid,
            size_of::<MountAttributes>(),
        );
    }
    Ok(())
}

/// Where daemons leave their sockets and files: in memory, gone with the namespace.
unsafe fn own_run() -> io::Result<()> {
    let safe = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: every text is terminated and outlives the call.
    let done = unsafe {
        libc::mount(
            TMPFS.as_ptr(),
            c"/run".as_ptr(),
            TMPFS.as_ptr(),
            safe,
            c"mode=755,size=1g".as_ptr().cast(),
        )
    };
    check(done).map(drop)
}

const OPEN_TREE_CLONE: libc::c_uint = 1;
const MOVE_EMPTY_PATH: libc::c_uint = 4;
const MOUNT_ATTR_NOSUID: u64 = 2;

/// A copy of what is mounted there, on a descriptor; negative where there is nothing.
pub unsafe fn open_tree(path: &CStr, all: bool) -> libc::c_int {
    let below = if all { libc::AT_RECURSIVE as libc::c_uint } else { 0 };
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC as libc::c_uint | below;
    // SAFETY: the path is terminated.
    unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) as libc::c_int }
}

/// Mounts such a copy.
pub unsafe fn move_mount(tree: libc::c_int, at: &CStr) {
    let (empty, here) = (c"".as_ptr(), libc::AT_FDCWD);
    // SAFETY: both texts are terminated.
    unsafe { libc::syscall(libc::SYS_move_mount, tree, empty, here, at.as_ptr(), MOVE_EMPTY_PATH) };
}

/// `struct mount_attr` (mount_setattr(2)).
#[repr(C)]
#[derive(Default)]
pub struct MountAttributes {
    pub set: u64,
    pub clear: u64,
    pub propagation: u64,
    pub user_namespace: u64,
}

unsafe fn write_file(path: &CStr, bytes: &[u8], create: libc::c_int) -> io::Result<()> {
    // SAFETY: the path is terminated; reads at most `len` bytes; the descriptor is ours.
    unsafe {
        let fd = check(libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC | create, 0o644))?;
        let mut rest = bytes;
        let mut done = Ok(());
        while !rest.is_empty() && done.is_ok() {
            done = check_size(libc::write(fd, rest.as_ptr().cast(), rest.len()))
                .map(|n| rest = rest.get(n..).unwrap_or(&[]));
        }
        if create != 0 {
            // Whatever the umask, everybody reads it.
            libc::fchmod(fd, 0o644);
        }
        libc::close(fd);
        done
    }
}

/// Closes all but 0, 1, 2 and these two.
unsafe fn close_others(a: RawFd, b: RawFd) -> io::Result<()> {
    let (a, b) = (a.min(b) as libc::c_uint, a.max(b) as libc::c_uint);
    for (from, to) in [(3, a - 1), (a + 1, b - 1), (b + 1, libc::c_uint::MAX)] {
        if from <= to {
            // SAFETY: the descriptors belong to nobody in this process that would use them again.
            check(unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) } as libc::c_int)?;
        }
    }
    Ok(())
}

/// Root of a user namespace looks like root to programs. One more namespace, without any rights
/// over the first, in which the user has the own name again. Where it is refused, root it is.
unsafe fn keep_own_name([uid_map, gid_map]: [&[u8]; 2]) -> io::Result<()> {
    // SAFETY: takes no pointers; the texts are terminated.
    unsafe {
        if libc::unshare(libc::CLONE_NEWUSER) != 0 {
            return Ok(());
        }
        write_file(c"/proc/self/uid_map", uid_map, 0)?;
        write_file(c"/proc/self/gid_map", gid_map, 0)
    }
}

/// After this no program, whatever its file says, gains any capability.
unsafe fn drop_privileges(account: Option<&UserAccount>, has_groups: bool) -> io::Result<()> {
    // SAFETY: numbers only, but for an empty list and the capability structures, which the calls read.
    unsafe {
        let prctl = |option: libc::c_int, value: libc::c_int| {
            check(libc::prctl(option, value as libc::c_ulong, 0 as libc::c_ulong, 0 as libc::c_ulong, 0))
        };
        for capability in 0..64 {
            match prctl(libc::PR_CAPBSET_DROP, capability) {
                // The kernel has no more.
                Err(e) if e.raw_os_error() == Some(libc::EINVAL) => break,
                other => other?,
            };
        }
        prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL)?;
        // Not "keep capabilities" locked: ping sets that, and gives up where it may not.
        let bits = libc::SECBIT_NOROOT | libc::SECBIT_NOROOT_LOCKED;
        prctl(libc::PR_SET_SECUREBITS, bits)?;
        // By number: the C library's own would wait for threads that this copy does not have.
        let done = |code: libc::c_long| check(code as libc::c_int);
        // Groups are rights too (docker, disk, sudo). A user's own are not this process's to drop.
        if has_groups && libc::geteuid() == 0 {
            done(libc::syscall(libc::SYS_setgroups, 0, null::<libc::gid_t>()))?;
        }
        if let Some(who) = account {
            done(libc::syscall(libc::SYS_setresgid, who.gid, who.gid, who.gid))?;
            done(libc::syscall(libc::SYS_setresuid, who.uid, who.uid, who.uid))?;
        }
        // linux/capability.h, version 3: header, and effective, permitted, inheritable, twice.
        let (header, none) = ([0x2008_0522u32, 0], [0u32; 6]);
        check(libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) as libc::c_int)?;
        prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map(drop)
    }
}

/// Starts the command.
fn command(o: &mut Orders<'_>) -> Result<libc::pid_t, Failed> {
    // SAFETY: the child has this thread only. Lists and texts are terminated and outlive the calls.
    unsafe {
        // Nobody attaches to the first process, which is the command's user now; execve sets it back.
        libc::prctl(libc::PR_SET_DUMPABLE, 0 as libc::c_ulong);
        match clone(0).at(LaunchStep::Fork)? {
            0 => {}
            pid => return Ok(pid),
        }
        if o.foreground {
            // SIGTTOU is blocked still, so the terminal can be taken from the background.
            libc::setpgid(0, 0);
            libc::tcsetpgrp(0, libc::getpid());
        }
        // Rust's runtime ignores it; programs expect to end when nobody reads.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none: libc::sigset_t = zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, null_mut());
        let failed = match if o.privileged { Ok(()) } else { guard(o) } {
            Ok(()) => Failed(LaunchStep::Exec, execute(o)),
            Err(failed) => failed,
        };
        libc::_exit(tell(o.errors, &failed))
    }
}

/// What holds for the command and not for the first process, which has to tend it.
unsafe fn guard(o: &Orders<'_>) -> Result<(), Failed> {
    // SAFETY: as in `command`.
    unsafe {
        let writable = o.confined.as_ref().map(|c| c.writable);
        guard::limit_writes(writable).at(LaunchStep::Guard)?;
        match o.calls.map_or(Ok(()), |calls| guard::filter_calls(calls)) {
            // A kernel without seccomp; what else there is holds.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(()),
            done => done.at(LaunchStep::Guard),
        }
    }
}

/// Tries the files, as execvp(3) does; returns why none could be run.
unsafe fn execute(o: &mut Orders<'_>) -> i32 {
    let mut why = libc::ENOENT;
    for &path in o.paths.iter().filter(|p| !p.is_null()) {
        // SAFETY: as in `command`.
        let code = unsafe {
            libc::execve(path, o.argv.as_ptr(), o.env.as_ptr());
            if last_error() == libc::ENOEXEC
                && let Some(slot) = o.script.get_mut(1)
            {
                *slot = path;
                libc::execve(c"/bin/sh".as_ptr(), o.script.as_ptr(), o.env.as_ptr());
            }
            last_error()
        };
        match code {
            libc::ENOENT | libc::ENOTDIR => {}
            // In a folder this user may not look into, nothing was found.
            // SAFETY: the path is terminated.
            libc::EACCES if unsafe { libc::access(path, libc::F_OK) } != 0 => {}
            libc::EACCES => why = code,
            _ => return code,
        }
    }
    why
}

fn last_error() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)
}

/// What the first process says on its lifeline: the command is stopped.
pub const STOPPED: u8 = b's';
/// What it is told: continue the command.
pub const CONTINUE: u8 = b'c';

/// Reaps until the command ends; its exit code.
fn tend(command: libc::pid_t, lifeline: RawFd, foreground: bool) -> i32 {
    // SAFETY: every pointer is to a value that outlives the call.
    unsafe {
        let mut children: libc::sigset_t = zeroed();
        libc::sigemptyset(&mut children);
        libc::sigaddset(&mut children, libc::SIGCHLD);
        let signals = libc::signalfd(-1, &children, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        let polled = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let quietly = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        let mut fds = [polled(lifeline), polled(signals)];
        loop {
            let mut status = 0;
            match libc::waitpid(-1, &mut status, libc::WNOHANG | libc::WUNTRACED) {
                pid if pid == command && libc::WIFSTOPPED(status) => {
                    libc::send(lifeline, [STOPPED].as_ptr().cast(), 1, quietly);
                    continue;
                }
                pid if pid == command => return exit_code(status),
                pid if pid > 0 => continue,
                _ => {}
            }
            // Without the descriptor (no room for one), it looks now and then.
            libc::poll(fds.as_mut_ptr(), 2, if signals < 0 { 20 } else { -1 });
            if fds[1].revents != 0 {
                let mut info: libc::signalfd_siginfo = zeroed();
                libc::read(signals, (&raw mut info).cast(), size_of_val(&info));
            }
            if fds[0].revents != 0 {
                let mut word = 0u8;
                match libc::read(lifeline, (&raw mut word).cast(), 1) {
                    1 if word == CONTINUE && foreground => {
                        libc::tcsetpgrp(0, command);
                        libc::kill(-command, libc::SIGCONT);
                    }
                    1 if word == CONTINUE => _ = libc::kill(command, libc::SIGCONT),
                    1 => {}
                    // Nobody is there any more.
                    _ => return 128 + libc::SIGKILL,
                }
            }
        }
    }
}
