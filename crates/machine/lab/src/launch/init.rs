//! What runs between `clone3` and `execve`: the first process of a command's process-id namespace.
//!
//! The process that clones may have many threads, so the child allocates nothing and takes no lock,
//! nor calls what does inside the C library: everything it needs was laid out before, in [`Orders`].
//!
//! Its order of work: the host's network, mounts, descriptors, privileges away, then the command as
//! a child of its own. From then on it reaps, and passes on how the command ended; of a command that may do what this
//! process may (daemons) also how each process ended that had lost its parent. When it ends, the
//! kernel kills every process of the namespace with it (pid_namespaces(7)); and it ends when the
//! command does, when it is killed, or when the other end of its lifeline is closed, which is when
//! the process that started it is gone, however that ended.

use super::confine::{self, Confinement};
use linux::file::{read, write, write_file};
use linux::guard::{filter_calls, limit_writes};
use linux::mount::{self, MountKind};
use linux::namespace::{enter_network, enter_new_user_unmapped};
use linux::packet::FilterStep;
use linux::poll::wait_either;
use linux::process::{
    self, ChildNews, CloneInto, Forked, Pid, TextList, close_all_but, exit_now, replace_standard,
    send_message,
};
use linux::user::UserAccount;
use linux::{privilege, signal, terminal};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

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

/// What the first process is to do.
pub struct Orders<'a> {
    /// The host's network namespace.
    pub network: BorrowedFd<'a>,
    /// Descriptors that become 0, 1, 2; `None` keeps what is there.
    pub stdio: [Option<BorrowedFd<'a>>; 3],
    /// Whose other end the starting process holds.
    pub lifeline: BorrowedFd<'a>,
    /// Where a failed step is reported; closed when the command runs.
    pub errors: Option<OwnedFd>,
    /// What stands in `/etc/hosts`.
    pub hosts_file: &'a [u8],
    /// What it is to see and to write to, where that is not all.
    pub confined: Option<Confinement<'a>>,
    /// It keeps what this process may do, and has a `/run` of its own.
    pub privileged: bool,
    /// System calls that it may make.
    pub calls: Option<&'a [FilterStep]>,
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
    pub paths: &'a [CString],
    pub argv: TextList<'a>,
    /// The same for `/bin/sh`, with room for the file's path at index 1: for scripts without `#!`.
    pub script: TextList<'a>,
    pub env: TextList<'a>,
}

impl Orders<'_> {
    /// Starts the first process.
    #[allow(unsafe_code)]
    pub fn start(self) -> io::Result<Pid> {
        // SAFETY: the child never leaves `first`, which ends the process, and calls only what this module calls: functions of
        // `linux` that may be called between `clone` and `execve`, and no allocator. What it works on was laid out before, and
        // is not given back: `exit_now` and `execve` drop nothing.
        match unsafe { process::clone(CloneInto::NewPidAndMount) }? {
            Forked::Child => first(self),
            Forked::Parent(pid) => Ok(pid),
        }
    }
}

/// The first process, from its birth.
fn first(mut orders: Orders<'_>) -> ! {
    let code = match prepare(&orders).and_then(|()| command(&mut orders)) {
        Ok(pid) => {
            // The command has a copy of its own.
            drop(orders.errors.take());
            tend(pid, orders.lifeline, orders.foreground, orders.privileged)
        }
        Err(failed) => report(&orders, &failed),
    };
    exit_now(code)
}

/// Writes down which step failed; the exit code.
fn report(o: &Orders<'_>, failed: &Failed) -> i32 {
    let mut record = [0; 8];
    record[0] = failed.0 as u8;
    record[4..].copy_from_slice(&failed.1.to_ne_bytes());
    if let Some(errors) = &o.errors {
        // A pipe takes so few bytes at once.
        let _ = write(errors.as_fd(), &record);
    }
    127
}

#[allow(unsafe_code)]
fn prepare(o: &Orders<'_>) -> Result<(), Failed> {
    signal::block_all();
    // An inherited "ignore" would lose the status of children.
    signal::default_action(signal::SIGCHLD);
    enter_network(o.network).at(LaunchStep::Network)?;
    mounts(o.hosts_file)?;
    if o.privileged {
        own_run().at(LaunchStep::Mounts)?;
    }
    if let Some(confinement) = &o.confined {
        confine::confine(confinement).at(LaunchStep::Mounts)?;
    }
    if o.own_session {
        process::leave_terminal().at(LaunchStep::Descriptors)?;
    }
    for (to, from) in o.stdio.iter().enumerate() {
        if let Some(from) = from {
            replace_standard(to, *from).at(LaunchStep::Descriptors)?;
        }
    }
    if let Some(errors) = &o.errors {
        // SAFETY: of the descriptors of the starting process, which this copy of it still has, the first process uses these two
        // alone; it ends by `exit_now`, which drops no owner of the others.
        unsafe { close_all_but([o.lifeline, errors.as_fd()]) }.at(LaunchStep::Descriptors)?;
    }
    if let Some(maps) = o.own_name {
        keep_own_name(maps).at(LaunchStep::Privileges)?;
    }
    if !o.privileged {
        let user = o.account.map(|who| (who.uid, who.gid));
        privilege::drop_all(user, o.own_name.is_none()).at(LaunchStep::Privileges)?;
    }
    // Changed credentials clear it, so it comes last. Who is stopped sees no closed lifeline.
    if o.die_with_thread {
        process::die_with_parent();
    }
    Ok(())
}

const TMPFS: &CStr = c"tmpfs";
const HIDDEN: &CStr = c"/proc";
const CGROUPS: &CStr = c"/sys/fs/cgroup";

/// Mounts that this namespace alone has. `/proc` and `/sys` are worth having and no more: some
/// containers forbid them.
fn mounts(hosts_file: &[u8]) -> Result<(), Failed> {
    // What is mounted outside later appears here too (home directories on demand); nothing goes back.
    mount::follow_outer_mounts().at(LaunchStep::Mounts)?;
    // The file is in memory, and has a name only until it is mounted: nothing is left anywhere.
    mount::mount_new(TMPFS, HIDDEN, MountKind::Data, None).at(LaunchStep::HostNames)?;
    write_file(c"/proc/hosts", hosts_file, true).at(LaunchStep::HostNames)?;
    mount::cover_file(c"/proc/hosts", c"/etc/hosts").at(LaunchStep::HostNames)?;
    mount::detach(HIDDEN).at(LaunchStep::HostNames)?;
    // A daemon that caches names answers with the machine's, not with the scenario's.
    let _ = mount::mount_new(TMPFS, c"/run/nscd", MountKind::ReadOnlyData, None);
    let _ = mount::mount_new(c"proc", HIDDEN, MountKind::Data, None);
    let cgroups = mount::open_tree(CGROUPS, true);
    // Its own devices; the cgroups, which tell programs how much they may use, stay.
    if mount::mount_new(c"sysfs", c"/sys", MountKind::ReadOnlyData, None).is_ok()
        && let Ok(cgroups) = cgroups
    {
        let _ = mount::move_mount(cgroups.as_fd(), CGROUPS);
    }
    // A file with capabilities (often `ping`) would not run at all where it cannot have them;
    // on a mount without setuid it runs without (execve(2), EPERM).
    let _ = mount::ignore_file_privileges();
    Ok(())
}

/// Where daemons leave their sockets and files: in memory, gone with the namespace.
fn own_run() -> io::Result<()> {
    mount::mount_new(TMPFS, c"/run", MountKind::Data, Some(c"mode=755,size=1g"))
}

/// Root of a user namespace looks like root to programs. One more namespace, without any rights
/// over the first, in which the user has the own name again. Where it is refused, root it is.
fn keep_own_name([uid_map, gid_map]: [&[u8]; 2]) -> io::Result<()> {
    if enter_new_user_unmapped().is_err() {
        return Ok(());
    }
    write_file(c"/proc/self/uid_map", uid_map, false)?;
    write_file(c"/proc/self/gid_map", gid_map, false)
}

/// Starts the command.
#[allow(unsafe_code)]
fn command(o: &mut Orders<'_>) -> Result<Pid, Failed> {
    // Nobody attaches to the first process, which is the command's user now; execve sets it back.
    process::be_untraceable();
    // SAFETY: as in `Orders::start`: the child ends in this function, in `execve` or `exit_now`.
    if let Forked::Parent(pid) = unsafe { process::clone(CloneInto::SameNamespaces) }.at(LaunchStep::Fork)? {
        return Ok(pid);
    }
    if o.foreground {
        // SIGTTOU is blocked still, so the terminal can be taken from the background.
        terminal::take_foreground();
    }
    // Rust's runtime ignores it; programs expect to end when nobody reads.
    signal::default_action(signal::SIGPIPE);
    signal::block_none();
    let failed = match if o.privileged { Ok(()) } else { guard(o) } {
        Ok(()) => Failed(LaunchStep::Exec, execute(o)),
        Err(failed) => failed,
    };
    exit_now(report(o, &failed))
}

/// What holds for the command and not for the first process, which has to tend it.
fn guard(o: &Orders<'_>) -> Result<(), Failed> {
    let writable = o.confined.as_ref().map(|c| c.writable);
    limit_writes(writable).at(LaunchStep::Guard)?;
    match o.calls.map_or(Ok(()), filter_calls) {
        // A kernel without seccomp; what else there is holds.
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        done => done.at(LaunchStep::Guard),
    }
}

/// Tries the files, as execvp(3) does; returns why none could be run.
fn execute(o: &mut Orders<'_>) -> i32 {
    let code = |e: io::Error| e.raw_os_error().unwrap_or(libc::EINVAL);
    let mut why = libc::ENOENT;
    for path in o.paths {
        let mut failed = code(process::execute(path, &o.argv, &o.env));
        if failed == libc::ENOEXEC {
            o.script.replace(1, path);
            failed = code(process::execute(c"/bin/sh", &o.script, &o.env));
        }
        match failed {
            libc::ENOENT | libc::ENOTDIR => {}
            // In a folder this user may not look into, nothing was found.
            libc::EACCES if !linux::file::exists(path) => {}
            libc::EACCES => why = failed,
            _ => return failed,
        }
    }
    why
}

/// What the first process says on its lifeline: the command is stopped.
pub const STOPPED: u8 = b's';
/// What it is told: continue the command.
pub const CONTINUE: u8 = b'c';

/// How often it looks for news of the command where there is no descriptor left to wait for them.
const LOOK: Duration = Duration::from_millis(20);

/// What the first process says on its lifeline of another than the command: it ended; its process id inside and its exit
/// code follow.
pub const ENDED: u8 = b'e';
/// The length of that message.
pub const ENDED_BYTES: usize = 9;

fn ended(pid: Pid, code: i32) -> [u8; ENDED_BYTES] {
    let mut message = [ENDED; ENDED_BYTES];
    message[1..5].copy_from_slice(&pid.as_raw_nonzero().get().to_ne_bytes());
    message[5..].copy_from_slice(&code.to_ne_bytes());
    message
}

/// Reads what [`ended`] wrote.
pub fn read_ended(message: &[u8]) -> Option<(i32, i32)> {
    let (&ENDED, rest) = message.split_first()? else { return None };
    let (pid, code) = rest.split_first_chunk()?;
    Some((i32::from_ne_bytes(*pid), i32::from_ne_bytes(code.try_into().ok()?)))
}

/// Reaps until the command ends; its exit code.
fn tend(command: Pid, lifeline: BorrowedFd<'_>, foreground: bool, reports: bool) -> i32 {
    let signals = signal::child_descriptor().ok();
    loop {
        match process::child_news() {
            Some((pid, ChildNews::Stopped)) if pid == command => {
                let _ = send_message(lifeline, &[STOPPED]);
                continue;
            }
            Some((pid, ChildNews::Ended(code))) if pid == command => return code,
            Some((pid, ChildNews::Ended(code))) if reports => {
                let _ = send_message(lifeline, &ended(pid, code));
                continue;
            }
            Some(_) => continue,
            None => {}
        }
        let ready = match &signals {
            Some(signals) => wait_either([lifeline, signals.as_fd()], None),
            None => wait_either([lifeline, lifeline], Some(LOOK)),
        };
        let [called, changed] = ready.unwrap_or_default();
        if let Some(signals) = &signals
            && changed
        {
            let _ = read(signals.as_fd(), &mut [0; signal::CHILD_RECORD]);
        }
        if called {
            let mut word = [0];
            match read(lifeline, &mut word) {
                Ok(1) if word[0] == CONTINUE && foreground => {
                    terminal::give_foreground(command);
                    process::resume_group(command);
                }
                Ok(1) if word[0] == CONTINUE => process::resume(command),
                Ok(1) => {}
                // The process that started it is gone.
                _ => return 128 + signal::SIGKILL,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_process_arrives_whole() {
        assert_eq!(read_ended(&ended(process::own_id(), 137)), Some((std::process::id() as i32, 137)));
        assert_eq!(read_ended(&[STOPPED]), None);
        assert_eq!(read_ended(&[ENDED, 1, 2]), None);
        assert_eq!(read_ended(&[]), None);
    }
}
