//! Starts a user's program inside a host, without any rights over the lab.
//!
//! The program gets the host's network namespace, a mount namespace in which `/etc/hosts` has the
//! scenario's names, and a process-id namespace whose first process ([`Orders`]) takes every
//! descendant along when the program ends, when [`Running`] is dropped, or when this process is
//! gone, however that happened. Its files, its directory and its terminal are the caller's.
//!
//! Whom it runs as says [`crate::identity`]. Nothing it starts can gain privileges again (`no_new_privs`, an empty
//! bounding set): sudo, su and the like do not work inside. What the kernel refuses it besides: `launch/guard.rs`.

mod confine;
pub(crate) mod guard;
mod init;

use crate::LabError;
use crate::identity::{Author, Gifts, Identity, users_shell};
use confine::{Confinement, MountStep};
use init::{CONTINUE, ENDED_BYTES, LaunchStep, Orders, STOPPED, read_ended};
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
    /// What is to stand in `/etc/hosts`.
    pub hosts_file: &'a str,
    /// The program, looked up in `PATH` unless it has a slash, and its arguments.
    pub argv: &'a [OsString],
    /// Variables besides those of this process.
    pub env: &'a [(OsString, OsString)],
    /// Whom it runs as.
    pub identity: &'a Identity,
    /// Who wants it run.
    pub author: Author,
    /// Folders that it may write to besides the usual, where it is confined.
    pub writable: &'a [PathBuf],
    /// Where its input and output go.
    pub output: Output,
}

/// A command's input and output. But for [`Output::Inherit`] its input is empty or a file and it has a
/// session of its own, out of reach of the terminal's keys.
pub(crate) enum Output {
    /// Those of this process. Where its terminal's foreground is ours, it becomes the command's:
    /// keep a [`Foreground`] meanwhile.
    Inherit,
    /// Both stdout and stderr are written there.
    Capture(OwnedFd),
    /// Each has its own.
    Split {
        /// Standard input; empty without.
        stdin: Option<OwnedFd>,
        /// Standard output.
        stdout: OwnedFd,
        /// Standard error.
        stderr: OwnedFd,
    },
}

/// A started command and all it starts. Dropped, they are killed and gone when the drop returns.
pub(crate) struct Running {
    pid: Pid,
    lifeline: OwnedFd,
    ended: Option<i32>,
}

/// News of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandNews {
    /// It ended, with this code: its own, or 128 and the signal.
    Ended(i32),
    /// A signal stopped it.
    Stopped,
}

impl Launch<'_> {
    /// Starts it. Any thread may call this, and may end before the command does.
    ///
    /// # Errors
    /// [`LabError::Command`] where the program is not found or cannot be run.
    pub(crate) fn start(self) -> Result<Running, LabError> {
        let folder = std::env::current_dir().map_err(LabError::system("the current folder"))?;
        let identity = self.identity;
        let gifts = identity.gifts(self.author, &folder, self.writable).map_err(|e| LabError::System {
            what: format!("giving {} to a command's user", e.path.display()),
            source: io::Error::other(e.why),
        })?;
        let mounts = gifts.map(|gifts| Mounts::new(gifts, &folder)).transpose()?;
        let env = self.environment(mounts.as_ref().and_then(|m| m.home.as_deref()));
        let path = env.get(OsStr::new("PATH")).map_or(OsStr::new("/usr/bin:/bin"), OsString::as_os_str);
        let program = self.argv.first().map_or(OsStr::new(""), OsString::as_os_str);
        let paths = texts(candidates(program, path))?;
        let argv = texts(self.argv.iter().cloned())?;
        let rest = self.argv.iter().skip(1).cloned();
        let script = texts(["/bin/sh".into(), OsString::new()].into_iter().chain(rest))?;
        let env = texts(env.into_iter().map(|(key, value)| {
            let pair = [key.as_bytes(), b"=", value.as_bytes()].concat();
            OsString::from_vec(pair)
        }))?;
        let privileged = self.author == Author::Longfat;
        let maps = identity.own_name.map(|(uid, gid)| [format!("{uid} 0 1"), format!("{gid} 0 1")]);

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
        let (lifeline, theirs) = process::socket_pair().map_err(failed())?;
        let (reading, writing) = pipe::pipe().map_err(failed())?;
        let writable = mounts.as_ref().map(Mounts::writable).unwrap_or_default();
        let orders = Orders {
            confined: mounts.as_ref().map(|m| m.confinement(&writable)),
            calls: guard::filter().filter(|_| !privileged),
            privileged,
            network: self.namespace,
            stdio,
            lifeline: theirs.as_fd(),
            errors: Some(writing),
            hosts_file: self.hosts_file.as_bytes(),
            account: identity.account.as_ref(),
            own_name: maps.as_ref().map(|m| [m[0].as_bytes(), m[1].as_bytes()]),
            own_session: !inherits,
            foreground: inherits && Foreground::of(io::stdin().as_fd()).is_some(),
            die_with_thread: process::is_main_thread(),
            paths: &paths,
            argv: list(&argv),
            script: list(&script),
            env: list(&env),
        };
        let pid = orders.start().map_err(failed())?;
        drop(theirs);
        let running = Running { pid, lifeline, ended: None };
        let mut report = [0; 8];
        match File::from(reading).read_exact(&mut report) {
            Ok(()) => Err(explain(program, &paths, identity, LaunchStep::decode(report))),
            // Closed without a word: the command runs.
            Err(_) => Ok(running),
        }
    }

    /// A confined program of a scenario's is told only what it needs: variables hold keys and passwords.
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
            env.insert("SHELL".into(), users_shell(self.identity));
            env.insert("USER".into(), who.name.clone());
            env.insert("LOGNAME".into(), who.name.clone());
        }
        env.extend(self.env.iter().cloned());
        env
    }
}

/// What a confined command is to see, laid out for [`Orders`].
struct Mounts {
    steps: Vec<MountStep>,
    home: Option<PathBuf>,
    folder: CString,
    spare: CString,
}

impl Mounts {
    fn new(gifts: Gifts, folder: &Path) -> Result<Mounts, LabError> {
        let mut steps = Vec::new();
        let mut made: BTreeSet<PathBuf> = BTreeSet::new();
        for (path, options) in &gifts.covers {
            let (at, options) = (text(path.into())?, text(options.into())?);
            if gifts.home.as_ref() == Some(path) {
                steps.push((depth(path), MountStep::Home(at, options)));
            } else {
                steps.push((depth(path), MountStep::Cover(at, options)));
            }
        }
        for gift in gifts.folders {
            // Where something covers the folders around it, they are made anew.
            let covered = |path: &&Path| {
                gifts.covers.iter().any(|(cover, _)| *path != cover && path.starts_with(cover))
            };
            for path in gift.path.ancestors().filter(covered) {
                if made.insert(path.to_path_buf()) {
                    steps.push((depth(path), MountStep::Folder(text(path.into())?)));
                }
            }
            let depth = depth(&gift.path);
            steps.push((depth, MountStep::Given(text(gift.path.into())?, gift.tree)));
        }
        // What is around before what is in it; a folder before what is mounted there.
        steps.sort_by_key(|(depth, step)| (*depth, matches!(step, MountStep::Given(..))));
        let home = gifts.home;
        let spare = home.clone().unwrap_or_else(|| "/tmp".into());
        Ok(Mounts {
            steps: steps.into_iter().map(|(_, step)| step).collect(),
            home,
            folder: text(folder.into())?,
            spare: text(spare.into_os_string())?,
        })
    }

    /// All that it may write to.
    fn writable(&self) -> Vec<&CStr> {
        self.steps.iter().filter_map(MountStep::writable).collect()
    }

    fn confinement<'a>(&'a self, writable: &'a [&'a CStr]) -> Confinement<'a> {
        Confinement { steps: &self.steps, folder: &self.folder, spare: &self.spare, writable }
    }
}

fn depth(path: &Path) -> usize {
    path.components().count()
}

/// The files a name may stand for.
fn candidates(program: &OsStr, path: &OsStr) -> Vec<OsString> {
    if program.as_bytes().contains(&b'/') {
        return vec![program.into()];
    }
    if program.is_empty() {
        return Vec::new();
    }
    // An empty entry is the working directory, as in every shell.
    std::env::split_paths(path).map(|dir| dir.join(program).into_os_string()).collect()
}

fn text(s: OsString) -> Result<CString, LabError> {
    CString::new(s.into_vec()).map_err(|e| LabError::system("a command's argument")(e.into()))
}

fn texts(all: impl IntoIterator<Item = OsString>) -> Result<Vec<CString>, LabError> {
    all.into_iter().map(text).collect()
}

fn list(texts: &[CString]) -> TextList<'_> {
    TextList::new(texts.iter().map(CString::as_c_str))
}

fn explain(
    program: &OsStr,
    tried: &[CString],
    identity: &Identity,
    (step, source): (LaunchStep, io::Error),
) -> LabError {
    let what = match step {
        LaunchStep::Exec => {
            // It may be where root alone comes to.
            let there = |path: &CString| Path::new(OsStr::from_bytes(path.as_bytes())).is_file();
            let hint = identity.account.as_ref().filter(|_| identity.unasked && tried.iter().any(there));
            let hint = hint
                .map(|who| format!("as {}; --user root for what only root may reach", who.name.display()));
            return LabError::Command { name: program.to_string_lossy().into(), source, hint };
        }
        LaunchStep::Network => "a command's network namespace",
        LaunchStep::Mounts => "a command's mount namespace",
        LaunchStep::HostNames => "giving a command the hosts' names (/etc/hosts, through a tmpfs)",
        LaunchStep::Descriptors => "a command's input and output",
        LaunchStep::Guard => "a command's seccomp filter and Landlock rules",
        LaunchStep::Privileges => "dropping a command's privileges",
        LaunchStep::Fork => "starting a command",
    };
    LabError::System { what: what.into(), source }
}

impl Running {
    /// The exit code, if it has ended.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<i32>> {
        self.take(Wait::Look)
    }

    /// The next process of a command that may do what this process may which ended after it had lost its parent: its
    /// process id inside, and its exit code.
    pub(crate) fn next_ended(&mut self) -> Option<(i32, i32)> {
        let lifeline = self.lifeline.as_fd();
        while poll::wait_readable(lifeline, Duration::ZERO).unwrap_or(false) {
            let mut message = [0; ENDED_BYTES];
            match file::read(lifeline, &mut message) {
                Ok(n @ 1..) => {
                    if let Some(ended) = read_ended(&message[..n]) {
                        return Some(ended);
                    }
                }
                _ => return None,
            }
        }
        None
    }

    /// Waits for its end; the exit code.
    pub(crate) fn wait(&mut self) -> io::Result<i32> {
        // The lifeline's other end may be full of news nobody reads; that stops nothing.
        self.take(Wait::Block).map(|code| code.unwrap_or(128 + signal::SIGKILL))
    }

    /// Waits for news, at most as long as told.
    pub(crate) fn wait_change(&mut self, most: Duration) -> io::Result<Option<CommandNews>> {
        if let Some(code) = self.ended {
            return Ok(Some(CommandNews::Ended(code)));
        }
        let lifeline = self.lifeline.as_fd();
        if !poll::wait_readable(lifeline, most)? {
            return Ok(None);
        }
        let mut word = [0];
        match file::read(lifeline, &mut word) {
            Ok(1) if word[0] == STOPPED => Ok(Some(CommandNews::Stopped)),
            Ok(n) if n > 0 => Ok(None),
            _ => self.wait().map(|code| Some(CommandNews::Ended(code))),
        }
    }

    /// Continues a stopped command.
    pub(crate) fn resume(&self) {
        // Where nobody is left to read it there is nothing to continue.
        let _ = process::send_message(self.lifeline.as_fd(), &[CONTINUE]);
    }

    /// Kills it and everything it started; afterwards they are gone.
    pub(crate) fn kill(&mut self) {
        if self.ended.is_none() {
            process::kill(self.pid);
            let _ = self.wait();
        }
    }

    fn take(&mut self, wait: Wait) -> io::Result<Option<i32>> {
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
    fn a_name_is_looked_up_as_shells_do() {
        let of = |program: &str, path: &str| candidates(program.as_ref(), path.as_ref());
        assert_eq!(of("ping", "/bin:/usr/bin"), ["/bin/ping", "/usr/bin/ping"]);
        assert_eq!(of("./ping", "/bin"), ["./ping"]);
        assert_eq!(of("ping", "/bin:"), ["/bin/ping", "ping"]);
        assert!(of("", "/bin").is_empty());
    }

    #[test]
    fn a_missing_command_is_named() {
        let me = Identity { account: None, own_name: None, confined: false, unasked: false };
        let e = explain(
            "pingg".as_ref(),
            &[],
            &me,
            (LaunchStep::Exec, io::Error::from_raw_os_error(libc::ENOENT)),
        );
        assert_eq!(e.to_string(), "pingg: command not found");
        assert_eq!(e.command_code(), Some(127));
        let e = explain(
            "/etc/hosts".as_ref(),
            &[],
            &me,
            (LaunchStep::Exec, io::Error::from_raw_os_error(libc::EACCES)),
        );
        assert_eq!(e.command_code(), Some(126));
    }
}
