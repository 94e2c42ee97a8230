//! Starts a user's program inside a host, without any rights over the lab.
//!
//! The program gets the host's network namespace, a mount namespace in which `/etc/hosts` has the scenario's
//! names, and a process-id namespace. The first process of that namespace ([`InitSetup`]) kills every
//! descendant when the program ends, when [`Running`] is dropped, or when this process is gone for any
//! reason. Files, working directory and terminal are the caller's.
//!
//! [`crate::identity`] determines the user that it runs as. Neither the program nor its children can regain
//! privileges (`no_new_privs`, an empty bounding set): sudo, su and the like do not work inside.
//! `launch/seccomp.rs` lists what the kernel refuses in addition.

mod confine;
mod init;
pub(crate) mod seccomp;

use crate::LabError;
use crate::identity::{Author, Grants, Identity, login_shell};
use confine::{Confinement, MountStep};
use init::{CONTINUE, ENDED_BYTES, InitSetup, LaunchStep, STOPPED, decode_ended};
use linux::process::{Pid, TextList, Wait};
use linux::terminal::Foreground;
use linux::{file, pipe, poll, process, signal};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A command to start.
pub(crate) struct Launch<'a> {
    /// The host's network namespace.
    pub namespace: BorrowedFd<'a>,
    /// Content of `/etc/hosts`.
    pub hosts_file: &'a str,
    /// The program, looked up in `PATH` unless it has a slash, and its arguments.
    pub argv: &'a [OsString],
    /// Environment variables in addition to those of this process.
    pub env: &'a [(OsString, OsString)],
    /// The user that the command runs as.
    pub identity: &'a Identity,
    /// The origin of the command.
    pub author: Author,
    /// Folders that a confined command may write to, in addition to the default ones.
    pub writable: &'a [PathBuf],
    /// Destinations of the command's input and output.
    pub output: Output,
}

/// A command's input and output. Except with [`Output::Inherit`], its input is empty or a file and it has its
/// own session, out of reach of the terminal's keys.
pub(crate) enum Output {
    /// Those of this process. If this process is in the terminal's foreground, the command becomes the
    /// foreground: keep a [`Foreground`] until it ends.
    Inherit,
    /// Stdout and stderr both go there.
    Capture(OwnedFd),
    /// Separate descriptors.
    Split {
        /// Standard input; empty if `None`.
        stdin: Option<OwnedFd>,
        /// Standard output.
        stdout: OwnedFd,
        /// Standard error.
        stderr: OwnedFd,
    },
}

/// A started command and its descendants. Dropping this kills them and waits until they are gone.
pub(crate) struct Running {
    pid: Pid,
    lifeline: OwnedFd,
    ended: Option<i32>,
}

/// A change of a command's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandChange {
    /// The command ended with this code: its own, or 128 plus the signal.
    Ended(i32),
    /// A signal stopped the command.
    Stopped,
}

impl Launch<'_> {
    /// Starts the command. Any thread may call this, and may end before the command does.
    ///
    /// # Errors
    /// Fails with [`LabError::Command`] if the program is not found or cannot be run.
    pub(crate) fn start(self) -> Result<Running, LabError> {
        let folder = std::env::current_dir().map_err(LabError::system("the current folder"))?;
        let identity = self.identity;
        let grants = identity.grants(self.author, &folder, self.writable).map_err(|e| LabError::System {
            what: format!("giving {} to a command's user", e.path.display()),
            source: io::Error::other(e.why),
        })?;
        let mounts = grants.map(|grants| Mounts::new(grants, &folder)).transpose()?;
        let env = self.environment(mounts.as_ref().and_then(|m| m.home.as_deref()));
        let path = env.get(OsStr::new("PATH")).map_or(OsStr::new("/usr/bin:/bin"), OsString::as_os_str);
        let program = self.argv.first().map_or(OsStr::new(""), OsString::as_os_str);
        let paths = c_strings(candidates(program, path))?;
        let argv = c_strings(self.argv.iter().cloned())?;
        let rest = self.argv.iter().skip(1).cloned();
        let script = c_strings(["/bin/sh".into(), OsString::new()].into_iter().chain(rest))?;
        let env = c_strings(env.into_iter().map(|(key, value)| {
            let pair = [key.as_bytes(), b"=", value.as_bytes()].concat();
            OsString::from_vec(pair)
        }))?;
        let privileged = self.author == Author::Longfat;
        let maps = identity.outer_ids.map(|(uid, gid)| [format!("{uid} 0 1"), format!("{gid} 0 1")]);

        let failed = || LabError::system("starting a command");
        let null = File::options().read(true).write(true).open("/dev/null").map_err(failed())?;
        let null = null.as_fd();
        let inherits = matches!(self.output, Output::Inherit);
        let stdio = match &self.output {
            Output::Inherit => [None; 3],
            Output::Capture(both) => [null, both.as_fd(), both.as_fd()].map(Some),
            Output::Split { stdin, stdout, stderr } => {
                let stdin = stdin.as_ref().map_or(null, AsFd::as_fd);
                [stdin, stdout.as_fd(), stderr.as_fd()].map(Some)
            }
        };
        let (lifeline, child_lifeline) = process::socket_pair().map_err(failed())?;
        let (reading, writing) = pipe::pipe().map_err(failed())?;
        let writable = mounts.as_ref().map(Mounts::writable).unwrap_or_default();
        let setup = InitSetup {
            confined: mounts.as_ref().map(|m| m.confinement(&writable)),
            calls: seccomp::filter().filter(|_| !privileged),
            privileged,
            network: self.namespace,
            stdio,
            lifeline: child_lifeline.as_fd(),
            errors: Some(writing),
            hosts_file: self.hosts_file.as_bytes(),
            account: identity.account.as_ref(),
            outer_ids: maps.as_ref().map(|m| [m[0].as_bytes(), m[1].as_bytes()]),
            own_session: !inherits,
            foreground: inherits && Foreground::of(io::stdin().as_fd()).is_some(),
            die_with_thread: process::is_main_thread(),
            paths: &paths,
            argv: list(&argv),
            script: list(&script),
            env: list(&env),
        };
        let pid = setup.start().map_err(failed())?;
        drop(child_lifeline);
        let running = Running { pid, lifeline, ended: None };
        let mut report = [0; 8];
        match File::from(reading).read_exact(&mut report) {
            Ok(()) => Err(launch_error(program, &paths, identity, LaunchStep::decode(report))),
            // Closed without a report: the command runs.
            Err(_) => Ok(running),
        }
    }

    /// Returns the environment. A confined program of a scenario gets only the necessary variables: others
    /// may contain keys and passwords.
    fn environment(&self, home: Option<&Path>) -> BTreeMap<OsString, OsString> {
        let all = self.author == Author::User || !self.identity.confined;
        let plain = |key: &OsStr| {
            let key = key.to_string_lossy();
            ["PATH", "LANG", "TERM", "TZ"].contains(&&*key) || key.starts_with("LC_")
        };
        let mut env: BTreeMap<OsString, OsString> =
            std::env::vars_os().filter(|(key, _)| all || plain(key)).collect();
        if let Some(who) = &self.identity.account {
            let home = home.map_or_else(|| who.home.clone(), |home| home.into());
            env.insert("HOME".into(), home);
            env.insert("SHELL".into(), login_shell(self.identity));
            env.insert("USER".into(), who.name.clone());
            env.insert("LOGNAME".into(), who.name.clone());
        }
        env.extend(self.env.iter().cloned());
        env
    }
}

/// The mounts of a confined command, prepared for [`InitSetup`].
struct Mounts {
    steps: Vec<MountStep>,
    home: Option<PathBuf>,
    folder: CString,
    fallback_folder: CString,
}

impl Mounts {
    fn new(grants: Grants, folder: &Path) -> Result<Mounts, LabError> {
        let mut steps = Vec::new();
        let mut made: BTreeSet<PathBuf> = BTreeSet::new();
        for (path, options) in &grants.covers {
            let (at, options) = (c_string(path.into())?, c_string(options.into())?);
            if grants.home.as_ref() == Some(path) {
                steps.push((depth(path), MountStep::Home(at, options)));
            } else {
                steps.push((depth(path), MountStep::Cover(at, options)));
            }
        }
        for grant in grants.folders {
            // If a mount covers the parent folders, create them again.
            let covered = |path: &&Path| {
                grants.covers.iter().any(|(cover, _)| *path != cover && path.starts_with(cover))
            };
            for path in grant.path.ancestors().filter(covered) {
                if made.insert(path.to_path_buf()) {
                    steps.push((depth(path), MountStep::Folder(c_string(path.into())?)));
                }
            }
            let depth = depth(&grant.path);
            steps.push((depth, MountStep::Grant(c_string(grant.path.into())?, grant.tree)));
        }
        // Outer folders before inner ones; a folder before the mount on it.
        steps.sort_by_key(|(depth, step)| (*depth, matches!(step, MountStep::Grant(..))));
        let home = grants.home;
        let fallback_folder = home.clone().unwrap_or_else(|| "/tmp".into());
        Ok(Mounts {
            steps: steps.into_iter().map(|(_, step)| step).collect(),
            home,
            folder: c_string(folder.into())?,
            fallback_folder: c_string(fallback_folder.into_os_string())?,
        })
    }

    /// Returns all folders that the command may write to.
    fn writable(&self) -> Vec<&CStr> {
        self.steps.iter().filter_map(MountStep::writable).collect()
    }

    fn confinement<'a>(&'a self, writable: &'a [&'a CStr]) -> Confinement<'a> {
        Confinement {
            steps: &self.steps,
            folder: &self.folder,
            fallback_folder: &self.fallback_folder,
            writable,
        }
    }
}

fn depth(path: &Path) -> usize {
    path.components().count()
}

/// Returns the files that a command name may refer to.
fn candidates(program: &OsStr, path: &OsStr) -> Vec<OsString> {
    if program.as_bytes().contains(&b'/') {
        return vec![program.into()];
    }
    if program.is_empty() {
        return Vec::new();
    }
    // An empty entry means the working directory, as in every shell.
    std::env::split_paths(path).map(|dir| dir.join(program).into_os_string()).collect()
}

fn c_string(s: OsString) -> Result<CString, LabError> {
    CString::new(s.into_vec()).map_err(|e| LabError::system("a command's argument")(e.into()))
}

fn c_strings(all: impl IntoIterator<Item = OsString>) -> Result<Vec<CString>, LabError> {
    all.into_iter().map(c_string).collect()
}

fn list(c_strings: &[CString]) -> TextList<'_> {
    TextList::new(c_strings.iter().map(CString::as_c_str))
}

fn launch_error(
    program: &OsStr,
    tried: &[CString],
    identity: &Identity,
    (step, source): (LaunchStep, io::Error),
) -> LabError {
    let what = match step {
        LaunchStep::Exec => {
            // The file may be in a folder that only root can enter.
            let is_file = |path: &CString| Path::new(OsStr::from_bytes(path.as_bytes())).is_file();
            let hint = identity.account.as_ref().filter(|_| identity.is_default && tried.iter().any(is_file));
            let hint = hint
                .map(|who| format!("as {}; use --user root if only root can access it", who.name.display()));
            return LabError::Command { name: program.to_string_lossy().into(), source, hint };
        }
        LaunchStep::Network => "a command's network namespace",
        LaunchStep::Mounts => "a command's mount namespace",
        LaunchStep::HostNames => "mounting a command's /etc/hosts (through a tmpfs)",
        LaunchStep::Descriptors => "a command's input and output",
        LaunchStep::Sandbox => "a command's seccomp filter and Landlock rules",
        LaunchStep::Privileges => "dropping a command's privileges",
        LaunchStep::Fork => "starting a command",
    };
    LabError::System { what: what.into(), source }
}

impl Running {
    /// Returns the exit code if the command has ended.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<i32>> {
        self.reap(Wait::Look)
    }

    /// Returns the next orphaned process of a privileged command that has ended: its process id inside, and
    /// its exit code.
    pub(crate) fn next_ended(&mut self) -> Option<(i32, i32)> {
        let lifeline = self.lifeline.as_fd();
        while poll::wait_readable(lifeline, Duration::ZERO).unwrap_or(false) {
            let mut message = [0; ENDED_BYTES];
            match file::read(lifeline, &mut message) {
                Ok(n @ 1..) => {
                    if let Some(ended) = decode_ended(&message[..n]) {
                        return Some(ended);
                    }
                }
                _ => return None,
            }
        }
        None
    }

    /// Waits until the command ends. Returns its exit code.
    pub(crate) fn wait(&mut self) -> io::Result<i32> {
        // The lifeline may be full of unread messages; that blocks nothing.
        self.reap(Wait::Block).map(|code| code.unwrap_or(128 + signal::SIGKILL))
    }

    /// Waits up to `timeout` for a change.
    pub(crate) fn wait_change(&mut self, timeout: Duration) -> io::Result<Option<CommandChange>> {
        if let Some(code) = self.ended {
            return Ok(Some(CommandChange::Ended(code)));
        }
        let lifeline = self.lifeline.as_fd();
        if !poll::wait_readable(lifeline, timeout)? {
            return Ok(None);
        }
        let mut message_kind = [0];
        match file::read(lifeline, &mut message_kind) {
            Ok(1) if message_kind[0] == STOPPED => Ok(Some(CommandChange::Stopped)),
            Ok(n) if n > 0 => Ok(None),
            _ => self.wait().map(|code| Some(CommandChange::Ended(code))),
        }
    }

    /// Continues a stopped command.
    pub(crate) fn resume(&self) {
        // If the first process is gone, there is nothing to continue.
        let _ = process::send_message(self.lifeline.as_fd(), &[CONTINUE]);
    }

    /// Kills the command and all its descendants, and waits until they are gone.
    pub(crate) fn kill(&mut self) {
        if self.ended.is_none() {
            process::kill(self.pid);
            let _ = self.wait();
        }
    }

    fn reap(&mut self, wait: Wait) -> io::Result<Option<i32>> {
        if self.ended.is_none() {
            self.ended = process::wait_for(self.pid, wait)?;
        }
        Ok(self.ended)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_looked_up_in_path_as_in_shells() {
        let paths = |program: &str, path: &str| candidates(program.as_ref(), path.as_ref());
        assert_eq!(paths("ping", "/bin:/usr/bin"), ["/bin/ping", "/usr/bin/ping"]);
        assert_eq!(paths("./ping", "/bin"), ["./ping"]);
        assert_eq!(paths("ping", "/bin:"), ["/bin/ping", "ping"]);
        assert!(paths("", "/bin").is_empty());
    }

    #[test]
    fn a_missing_command_is_named() {
        let identity = Identity { account: None, outer_ids: None, confined: false, is_default: false };
        let e = launch_error(
            "pingg".as_ref(),
            &[],
            &identity,
            (LaunchStep::Exec, io::Error::from_raw_os_error(libc::ENOENT)),
        );
        assert_eq!(e.to_string(), "pingg: command not found");
        assert_eq!(e.command_code(), Some(127));
        let e = launch_error(
            "/etc/hosts".as_ref(),
            &[],
            &identity,
            (LaunchStep::Exec, io::Error::from_raw_os_error(libc::EACCES)),
        );
        assert_eq!(e.command_code(), Some(126));
    }
}
