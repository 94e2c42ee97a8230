//! Starts a user's program inside a host, without any rights over the lab.
//!
//! The program gets the host's network namespace, a mount namespace in which `/etc/hosts` has the
//! scenario's names, and a process-id namespace whose first process ([`sys::Orders`]) takes every
//! descendant along when the program ends, when [`Running`] is dropped, or when this process is
//! gone, however that happened. Its files, its directory and its terminal are the caller's.
//!
//! | started | the program runs as |
//! |---|---|
//! | with sudo | the user who called sudo |
//! | as root | root without any capability |
//! | as a user | that user |
//!
//! Nothing it starts can gain privileges again (`no_new_privs`, an empty bounding set): sudo, su
//! and the like do not work inside.

use crate::LabError;
use crate::sys::{self, CONTINUE, LaunchStep, Orders, STOPPED, UserAccount, Wait};
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
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
    /// Folders that it may write to besides the usual, where it is root's.
    pub writable: &'a [PathBuf],
    /// Where its input and output go.
    pub output: Output,
}

/// A command's input and output. But for [`Output::Inherit`] its input is empty and it has a
/// session of its own, out of reach of the terminal's keys.
pub(crate) enum Output {
    /// Those of this process. Where its terminal's foreground is ours, it becomes the command's:
    /// keep a [`sys::Foreground`] meanwhile.
    Inherit,
    /// Both stdout and stderr are written there.
    Capture(OwnedFd),
    /// Each has its own.
    Split {
        /// Standard output.
        stdout: OwnedFd,
        /// Standard error.
        stderr: OwnedFd,
    },
}

/// A started command and all it starts. Dropped, they are killed and gone when the drop returns.
pub(crate) struct Running {
    pid: libc::pid_t,
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
        let user = User::own();
        let env = self.environment(&user);
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
        let maps = user.own_name.map(|(uid, gid)| [format!("{uid} 0 1"), format!("{gid} 0 1")]);

        let failed = || LabError::system("starting a command");
        let null = File::options().read(true).write(true).open("/dev/null").map_err(failed())?;
        let null = null.as_raw_fd();
        let inherits = matches!(self.output, Output::Inherit);
        let stdio = match &self.output {
            Output::Inherit => [-1; 3],
            Output::Capture(both) => [null, both.as_raw_fd(), both.as_raw_fd()],
            Output::Split { stdout, stderr } => [null, stdout.as_raw_fd(), stderr.as_raw_fd()],
        };
        let (lifeline, theirs) = sys::socket_pair().map_err(failed())?;
        let (reading, writing) = sys::pipe().map_err(failed())?;
        let folder = std::env::current_dir().map_err(LabError::system("the current folder"))?;
        let writable = user.is_root().then(|| texts(writable(&folder, self.writable))).transpose()?;
        let writable = writable.as_deref().map(|list| list.iter().map(|t| t.as_ptr()).collect::<Vec<_>>());
        let folder = texts([folder.into_os_string()])?;
        let orders = Orders {
            confined: writable.as_deref().map(|list| (list, folder[0].as_ptr())),
            network: self.namespace.as_raw_fd(),
            stdio,
            lifeline: theirs.as_raw_fd(),
            errors: writing.as_raw_fd(),
            hosts_file: self.hosts_file.as_bytes(),
            account: user.account.as_ref(),
            own_name: maps.as_ref().map(|m| [m[0].as_bytes(), m[1].as_bytes()]),
            own_session: !inherits,
            foreground: inherits && sys::Foreground::of(io::stdin().as_fd()).is_some(),
            die_with_thread: sys::is_main_thread(),
            paths: &pointers(&paths),
            argv: &pointers(&argv),
            script: &mut pointers(&script),
            env: &pointers(&env),
        };
        let pid = orders.start().map_err(failed())?;
        drop((theirs, writing));
        let running = Running { pid, lifeline, ended: None };
        let mut report = [0; 8];
        match File::from(reading).read_exact(&mut report) {
            Ok(()) => Err(explain(program, LaunchStep::decode(report))),
            // Closed without a word: the command runs.
            Err(_) => Ok(running),
        }
    }

    fn environment(&self, user: &User) -> BTreeMap<OsString, OsString> {
        let mut env: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        if let Some(who) = &user.account {
            env.insert("HOME".into(), who.home.clone());
            env.insert("SHELL".into(), who.shell.clone());
            env.insert("USER".into(), who.name.clone());
            env.insert("LOGNAME".into(), who.name.clone());
        }
        env.extend(self.env.iter().cloned());
        env
    }
}

/// Whom a command runs as.
struct User {
    /// The one who called sudo.
    account: Option<UserAccount>,
    /// User and group outside of the lab's user namespace.
    own_name: Option<(u32, u32)>,
}

/// Where root's commands may write: in the current folder, their home, `/tmp`, and what is named. Not in all of the
/// machine, where one of these is `/`.
fn writable(folder: &Path, named: &[PathBuf]) -> Vec<OsString> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let usual = [folder.into(), "/tmp".into(), "/var/tmp".into()].into_iter().chain(home);
    let all = usual.chain(named.iter().map(|path| folder.join(path)));
    all.filter(|path: &PathBuf| path.is_dir() && path.parent().is_some())
        .map(PathBuf::into_os_string)
        .collect()
}

impl User {
    /// Commands are root's own, without capabilities.
    fn is_root(&self) -> bool {
        self.account.is_none() && self.own_name.is_none() && sys::effective_ids().0 == 0
    }

    fn own() -> User {
        let outside = outside_ids();
        User {
            account: if outside.is_none() && sys::effective_ids().0 == 0 { sudo_user() } else { None },
            own_name: outside,
        }
    }
}

/// The user who called sudo, where that is how this process became root.
fn sudo_user() -> Option<UserAccount> {
    let id = |name: &str| std::env::var(name).ok()?.parse().ok();
    let (uid, gid) = (id("SUDO_UID")?, id("SUDO_GID")?);
    if uid == 0 {
        return None;
    }
    // A user the machine does not know has no home and no other groups.
    let nameless = || UserAccount {
        uid,
        gid,
        groups: vec![gid],
        name: uid.to_string().into(),
        home: "/".into(),
        shell: "/bin/sh".into(),
    };
    Some(sys::account(uid, gid).unwrap_or_else(nameless))
}

/// In a user namespace of one user (ours): the ids outside that its root stands for.
fn outside_ids() -> Option<(u32, u32)> {
    let only = |file: &str| {
        let map = std::fs::read_to_string(file).ok()?;
        let numbers: Vec<u32> = map.split_whitespace().map_while(|n| n.parse().ok()).collect();
        match numbers[..] {
            [0, outside, 1] if outside != 0 => Some(outside),
            _ => None,
        }
    };
    Some((only("/proc/self/uid_map")?, only("/proc/self/gid_map")?))
}

/// The shell of whoever commands run as; `/bin/sh` where none is known.
pub(crate) fn users_shell() -> OsString {
    let shell = User::own().account.map(|a| a.shell).or_else(|| std::env::var_os("SHELL"));
    shell.filter(|s| !s.is_empty()).unwrap_or_else(|| "/bin/sh".into())
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

fn texts(all: impl IntoIterator<Item = OsString>) -> Result<Vec<CString>, LabError> {
    let text = |s: OsString| {
        CString::new(s.into_vec()).map_err(|e| LabError::system("a command's argument")(e.into()))
    };
    all.into_iter().map(text).collect()
}

fn pointers(texts: &[CString]) -> Vec<*const libc::c_char> {
    texts.iter().map(|t| t.as_ptr()).chain([std::ptr::null()]).collect()
}

fn explain(program: &OsStr, (step, source): (LaunchStep, io::Error)) -> LabError {
    let what = match step {
        LaunchStep::Exec => return LabError::Command { name: program.to_string_lossy().into(), source },
        LaunchStep::Network => "a command's network namespace",
        LaunchStep::Mounts => "a command's mount namespace",
        LaunchStep::HostNames => "giving a command the hosts' names (/etc/hosts, through a tmpfs)",
        LaunchStep::Descriptors => "a command's input and output",
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

    /// Waits for its end; the exit code.
    pub(crate) fn wait(&mut self) -> io::Result<i32> {
        // The lifeline's other end may be full of news nobody reads; that stops nothing.
        self.take(Wait::Block).map(|code| code.unwrap_or(128 + libc::SIGKILL))
    }

    /// Waits for news, at most as long as told.
    pub(crate) fn wait_change(&mut self, most: Duration) -> io::Result<Option<CommandNews>> {
        if let Some(code) = self.ended {
            return Ok(Some(CommandNews::Ended(code)));
        }
        let fd = self.lifeline.as_raw_fd();
        let mut ready = Vec::new();
        sys::poll_readable(&[fd], &mut ready, most)?;
        if ready != [true] {
            return Ok(None);
        }
        let mut word = [0];
        match sys::read(fd, &mut word) {
            Ok(1) if word[0] == STOPPED => Ok(Some(CommandNews::Stopped)),
            Ok(n) if n > 0 => Ok(None),
            _ => self.wait().map(|code| Some(CommandNews::Ended(code))),
        }
    }

    /// Continues a stopped command.
    pub(crate) fn resume(&self) {
        // Where nobody is left to read it there is nothing to continue.
        let _ = sys::send(self.lifeline.as_fd(), &[CONTINUE]);
    }

    /// Kills it and everything it started; afterwards they are gone.
    pub(crate) fn kill(&mut self) {
        if self.ended.is_none() {
            sys::kill(self.pid);
            let _ = self.wait();
        }
    }

    fn take(&mut self, wait: Wait) -> io::Result<Option<i32>> {
        if self.ended.is_none() {
            self.ended = sys::wait_for(self.pid, wait)?;
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
        let e = explain("pingg".as_ref(), (LaunchStep::Exec, io::Error::from_raw_os_error(libc::ENOENT)));
        assert_eq!(e.to_string(), "pingg: command not found");
        assert_eq!(e.command_code(), Some(127));
        let e =
            explain("/etc/hosts".as_ref(), (LaunchStep::Exec, io::Error::from_raw_os_error(libc::EACCES)));
        assert_eq!(e.command_code(), Some(126));
    }
}
