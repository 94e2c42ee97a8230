//! Runs between `clone3` and `execve`: the first process of a command's process-id namespace.
//!
//! The cloning process may have many threads, so the child must not allocate, take locks, or call functions
//! of the C library that do. Everything that it needs is prepared in [`InitSetup`].
//!
//! It enters the host's network, mounts, replaces descriptors and drops privileges, then starts the command
//! as its child. From then on it reaps processes and passes on how the command ended. For a privileged
//! command (daemons) it also reports how each orphaned process ended.
//!
//! When the first process ends, the kernel kills every process of the namespace (pid_namespaces(7)). It ends
//! when the command does, when it is killed, or when the other end of its lifeline is closed, which happens
//! when the process that started it is gone, for whatever reason.

use super::confine::{self, Confinement};
use linux::file::{read, write, write_file};
use linux::mount::{self, MountKind};
use linux::namespace::{enter_network, enter_new_user_unmapped};
use linux::packet::FilterStep;
use linux::poll::wait_either;
use linux::process::{
    self, ChildChange, CloneInto, Forked, Pid, TextList, close_all_but, exit_now, replace_standard,
    send_message,
};
use linux::sandbox::{filter_calls, limit_writes};
use linux::user::UserAccount;
use linux::{privilege, signal, terminal};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Steps before the command runs that may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LaunchStep {
    Network,
    Mounts,
    HostNames,
    Descriptors,
    Privileges,
    Sandbox,
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
        LaunchStep::Sandbox,
        LaunchStep::Fork,
        LaunchStep::Exec,
    ];

    /// Decodes a report from the error pipe: the step, and the kernel's error.
    pub fn decode(report: [u8; 8]) -> (LaunchStep, io::Error) {
        let [step, _, _, _, code @ ..] = report;
        let step = LaunchStep::ALL.into_iter().find(|s| *s as u8 == step).unwrap_or(LaunchStep::Fork);
        (step, io::Error::from_raw_os_error(i32::from_ne_bytes(code)))
    }
}

/// A failed step, and its error number.
struct Failed(LaunchStep, i32);

trait At<T> {
    fn at(self, step: LaunchStep) -> Result<T, Failed>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, step: LaunchStep) -> Result<T, Failed> {
        self.map_err(|e| Failed(step, e.raw_os_error().unwrap_or(libc::EINVAL)))
    }
}

/// Everything that the first process needs.
pub struct InitSetup<'a> {
    /// The host's network namespace.
    pub network: BorrowedFd<'a>,
    /// Descriptors that become 0, 1 and 2; `None` keeps the current one.
    pub stdio: [Option<BorrowedFd<'a>>; 3],
    /// Socket to the process that starts the command; it closes when that process is gone.
    pub lifeline: BorrowedFd<'a>,
    /// Pipe for the report of a failed step; closed when the command runs.
    pub errors: Option<OwnedFd>,
    /// Content of `/etc/hosts`.
    pub hosts_file: &'a [u8],
    /// The command's view of the file system; `None`: unrestricted.
    pub confined: Option<Confinement<'a>>,
    /// Whether the command keeps this process's privileges, with its own `/run`.
    pub privileged: bool,
    /// Filter of system calls.
    pub calls: Option<&'a [FilterStep]>,
    /// The user to switch to.
    pub account: Option<&'a UserAccount>,
    /// Lines of `uid_map` and `gid_map` of a nested user namespace in which the caller has the same ids as
    /// outside.
    pub outer_ids: Option<[&'a [u8]; 2]>,
    /// Whether to start a new session, without a terminal.
    pub own_session: bool,
    /// Whether the command takes the terminal on descriptor 0. It then gets its own process group: the
    /// caller's group has no number inside, and shells expect one.
    pub foreground: bool,
    /// Whether to also die with the cloning thread.
    pub die_with_thread: bool,
    /// Paths of the program to try, in order.
    pub paths: &'a [CString],
    pub argv: TextList<'a>,
    /// Arguments for `/bin/sh` to run scripts without `#!`; index 1 is reserved for the script's path.
    pub script: TextList<'a>,
    pub env: TextList<'a>,
}

impl InitSetup<'_> {
    /// Starts the first process.
    #[allow(unsafe_code)]
    pub fn start(self) -> io::Result<Pid> {
        // SAFETY: the child never leaves `first`, which ends the process, and calls only what this module
        // calls: functions of `linux` that may be called between `clone` and `execve`, and no allocator. Its
        // data was allocated before the clone and is never freed: `exit_now` and `execve` drop nothing.
        match unsafe { process::clone(CloneInto::NewPidAndMount) }? {
            Forked::Child => first(self),
            Forked::Parent(pid) => Ok(pid),
        }
    }
}

/// The first process.
fn first(mut setup: InitSetup<'_>) -> ! {
    let code = match prepare(&setup).and_then(|()| command(&mut setup)) {
        Ok(pid) => {
            // The command has its own copy of the pipe.
            drop(setup.errors.take());
            supervise(pid, setup.lifeline, setup.foreground, setup.privileged)
        }
        Err(failed) => report(&setup, &failed),
    };
    exit_now(code)
}

/// Reports a failed step. Returns the exit code.
fn report(o: &InitSetup<'_>, failed: &Failed) -> i32 {
    let mut record = [0; 8];
    record[0] = failed.0 as u8;
    record[4..].copy_from_slice(&failed.1.to_ne_bytes());
    if let Some(errors) = &o.errors {
        // A pipe accepts a record of this size in one write.
        let _ = write(errors.as_fd(), &record);
    }
    127
}

#[allow(unsafe_code)]
fn prepare(o: &InitSetup<'_>) -> Result<(), Failed> {
    signal::block_all();
    // If SIGCHLD stayed ignored, the exit status of children would be lost.
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
        // SAFETY: of the descriptors of the starting process, which this copy of it still has, the first
        // process uses these two alone; it ends by `exit_now`, which drops no owner of the others.
        unsafe { close_all_but([o.lifeline, errors.as_fd()]) }.at(LaunchStep::Descriptors)?;
    }
    if let Some(maps) = o.outer_ids {
        map_outer_ids(maps).at(LaunchStep::Privileges)?;
    }
    if !o.privileged {
        let user = o.account.map(|who| (who.uid, who.gid));
        privilege::drop_all(user, o.outer_ids.is_none()).at(LaunchStep::Privileges)?;
    }
    // A change of credentials clears this setting, so it comes last. A stopped process would not notice a
    // closed lifeline.
    if o.die_with_thread {
        process::die_with_parent();
    }
    Ok(())
}

const TMPFS: &CStr = c"tmpfs";
const HIDDEN: &CStr = c"/proc";
const CGROUPS: &CStr = c"/sys/fs/cgroup";

/// Creates the mounts of this namespace. `/proc` and `/sys` are optional: some containers forbid mounting
/// them.
fn mounts(hosts_file: &[u8]) -> Result<(), Failed> {
    // Later mounts outside also appear here (automounted home directories); mounts inside do not propagate.
    mount::follow_outer_mounts().at(LaunchStep::Mounts)?;
    // The file is in memory and has a name only until it is mounted, so nothing remains.
    mount::mount_new(TMPFS, HIDDEN, MountKind::Data, None).at(LaunchStep::HostNames)?;
    write_file(c"/proc/hosts", hosts_file, true).at(LaunchStep::HostNames)?;
    mount::cover_file(c"/proc/hosts", c"/etc/hosts").at(LaunchStep::HostNames)?;
    mount::detach(HIDDEN).at(LaunchStep::HostNames)?;
    // The machine's name cache would return the machine's names, not the scenario's.
    let _ = mount::mount_new(TMPFS, c"/run/nscd", MountKind::ReadOnlyData, None);
    let _ = mount::mount_new(c"proc", HIDDEN, MountKind::Data, None);
    let cgroups = mount::open_tree(CGROUPS, true);
    // Show this namespace's devices, but keep the cgroups, which tell programs their resource limits.
    if mount::mount_new(c"sysfs", c"/sys", MountKind::ReadOnlyData, None).is_ok()
        && let Ok(cgroups) = cgroups
    {
        let _ = mount::move_mount(cgroups.as_fd(), CGROUPS);
    }
    // A file with capabilities (often `ping`) would not run at all where it cannot get them; on a nosuid
    // mount it runs without them (execve(2), EPERM).
    let _ = mount::ignore_file_privileges();
    Ok(())
}

/// Mounts a `/run` for the daemons' sockets and files: in memory, gone with the namespace.
fn own_run() -> io::Result<()> {
    mount::mount_new(TMPFS, c"/run", MountKind::Data, Some(c"mode=755,size=1g"))
}

/// Enters a nested user namespace, without rights over the outer one, in which the user has its own ids
/// again: in the outer one it looks like root to programs. If the kernel refuses, the command runs as root of
/// the outer one.
fn map_outer_ids([uid_map, gid_map]: [&[u8]; 2]) -> io::Result<()> {
    if enter_new_user_unmapped().is_err() {
        return Ok(());
    }
    write_file(c"/proc/self/uid_map", uid_map, false)?;
    write_file(c"/proc/self/gid_map", gid_map, false)
}

#[allow(unsafe_code)]
fn command(o: &mut InitSetup<'_>) -> Result<Pid, Failed> {
    // Prevent the command, which runs as the same user, from tracing the first process; execve makes it
    // traceable again.
    process::forbid_tracing();
    // SAFETY: as in `InitSetup::start`: the child ends in this function, in `execve` or `exit_now`.
    if let Forked::Parent(pid) = unsafe { process::clone(CloneInto::SameNamespaces) }.at(LaunchStep::Fork)? {
        return Ok(pid);
    }
    if o.foreground {
        // SIGTTOU is still blocked, so the terminal can be taken from the background.
        terminal::take_foreground();
    }
    // Rust's runtime ignores SIGPIPE; programs expect to end when the reader is gone.
    signal::default_action(signal::SIGPIPE);
    signal::block_none();
    let failed = match if o.privileged { Ok(()) } else { restrict(o) } {
        Ok(()) => Failed(LaunchStep::Exec, execute(o)),
        Err(failed) => failed,
    };
    exit_now(report(o, &failed))
}

/// Applies restrictions to the command that the first process must not have.
fn restrict(o: &InitSetup<'_>) -> Result<(), Failed> {
    let writable = o.confined.as_ref().map(|c| c.writable);
    limit_writes(writable).at(LaunchStep::Sandbox)?;
    o.calls.map_or(Ok(()), filter_calls).at(LaunchStep::Sandbox)
}

/// Tries the paths, as execvp(3) does. Returns the error if none could be run.
fn execute(o: &mut InitSetup<'_>) -> i32 {
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
            // If the user may not search the folder, the file counts as not found.
            libc::EACCES if !linux::file::exists(path) => {}
            libc::EACCES => why = failed,
            _ => return failed,
        }
    }
    why
}

/// Message on the lifeline from the first process: the command is stopped.
pub const STOPPED: u8 = b's';
/// Message on the lifeline to the first process: continue the command.
pub const CONTINUE: u8 = b'c';

/// Interval of polling for state changes when no descriptor is left to wait for them.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Message on the lifeline from the first process: another process than the command has ended; its process id
/// inside and its exit code follow.
pub const ENDED: u8 = b'e';
/// Length of the [`ENDED`] message, bytes.
pub const ENDED_BYTES: usize = 9;

fn ended_message(pid: Pid, code: i32) -> [u8; ENDED_BYTES] {
    let mut message = [ENDED; ENDED_BYTES];
    message[1..5].copy_from_slice(&pid.as_raw_nonzero().get().to_ne_bytes());
    message[5..].copy_from_slice(&code.to_ne_bytes());
    message
}

/// Decodes a message of [`ended_message`].
pub fn decode_ended(message: &[u8]) -> Option<(i32, i32)> {
    let (&ENDED, rest) = message.split_first()? else { return None };
    let (pid, code) = rest.split_first_chunk()?;
    Some((i32::from_ne_bytes(*pid), i32::from_ne_bytes(code.try_into().ok()?)))
}

/// Reaps processes until the command ends. Returns its exit code.
fn supervise(command: Pid, lifeline: BorrowedFd<'_>, foreground: bool, reports: bool) -> i32 {
    let signals = signal::child_descriptor().ok();
    loop {
        match process::next_child_change() {
            Some((pid, ChildChange::Stopped)) if pid == command => {
                let _ = send_message(lifeline, &[STOPPED]);
                continue;
            }
            Some((pid, ChildChange::Ended(code))) if pid == command => return code,
            Some((pid, ChildChange::Ended(code))) if reports => {
                let _ = send_message(lifeline, &ended_message(pid, code));
                continue;
            }
            Some(_) => continue,
            None => {}
        }
        let ready = match &signals {
            Some(signals) => wait_either([lifeline, signals.as_fd()], None),
            None => wait_either([lifeline, lifeline], Some(POLL_INTERVAL)),
        };
        let [has_message, has_child_change] = ready.unwrap_or_default();
        if let Some(signals) = &signals
            && has_child_change
        {
            let _ = read(signals.as_fd(), &mut [0; signal::CHILD_RECORD]);
        }
        if has_message {
            let mut message = [0];
            match read(lifeline, &mut message) {
                Ok(1) if message[0] == CONTINUE && foreground => {
                    terminal::give_foreground(command);
                    process::resume_group(command);
                }
                Ok(1) if message[0] == CONTINUE => process::resume(command),
                Ok(1) => {}
                // The process that started this one is gone.
                _ => return 128 + signal::SIGKILL,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ended_message_is_decoded_completely() {
        assert_eq!(
            decode_ended(&ended_message(process::own_id(), 137)),
            Some((std::process::id() as i32, 137))
        );
        assert_eq!(decode_ended(&[STOPPED]), None);
        assert_eq!(decode_ended(&[ENDED, 1, 2]), None);
        assert_eq!(decode_ended(&[]), None);
    }
}
