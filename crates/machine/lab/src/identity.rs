//! Whom programs run as, and what of the machine's files they are given.
//!
//! | started | programs run as | write to |
//! |---|---|---|
//! | by root, without sudo | `nobody` | the folders they are given, `/tmp`, `/var/tmp`, a private home |
//! | by root, with `--user NAME` or `UID`, or through sudo | that user; one without a home as `nobody` does | what that user may write to |
//! | by root, with `--user root` | root, without capabilities | the folders they are given, `/tmp`, `/var/tmp`, root's home |
//! | by a user | that user | what the user may write to |
//!
//! A folder that is given is mounted with its users mapped: what is root's outside is the program's inside, and what the
//! program makes there is root's outside. So a command of a root shell writes its output into the current folder as
//! ever, and reads nothing else that root alone may read. Not every file system can be mounted so (overlayfs, of which
//! containers are made, cannot): then a shell's commands, which root typed, run as root without capabilities, and it is
//! said; programs of a scenario are given nothing.

use crate::LabError;
use linux::guard::landlock_version;
use linux::user::{self, UserAccount};
use linux::{file, idmap};
use std::ffi::OsString;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where everybody may write.
const PUBLIC: [&str; 2] = ["/tmp", "/var/tmp"];
/// Sockets of the machine's services: who may connect to them asks others to do what they may not.
const SERVICES: &str = "/run";
/// The home of who has none, where root has none either.
const SPARE_HOME: &str = "/dev/shm";
/// `nobody` of every distribution (`/proc/sys/kernel/overflowuid`).
const NOBODY: u32 = 65_534;

/// Whom programs run as.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// Whom they become; `None`: the user of this process.
    pub account: Option<UserAccount>,
    /// User and group outside of the lab's user namespace.
    pub own_name: Option<(u32, u32)>,
    /// Whether the machine's files are hidden or read-only to them.
    pub confined: bool,
    /// Whether nobody chose this user.
    pub unasked: bool,
}

/// Who has programs started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// Whoever runs longfat: the command of a shell, and its servers.
    User,
    /// Whoever wrote the scenario.
    Scenario,
    /// longfat itself: a daemon of the machine's with a configuration of longfat's, which sets up its host's network.
    Longfat,
}

/// What a confined program is given.
pub(crate) struct Gifts {
    /// Folders to mount, in the order of their depth.
    pub folders: Vec<Gift>,
    /// Folders to mount an empty one over, with the options of that mount.
    pub covers: Vec<(PathBuf, String)>,
    /// The home, if it is a private one.
    pub home: Option<PathBuf>,
}

/// A folder that a confined program may write to, where its users may.
pub(crate) struct Gift {
    pub path: PathBuf,
    /// What to mount there.
    pub tree: OwnedFd,
}

impl Identity {
    /// Whoever this process is, with its privileges: for [`Author::Longfat`] alone.
    pub(crate) fn own() -> Identity {
        Identity { account: None, own_name: None, confined: false, unasked: false }
    }

    /// `user` is what `--user` said: a name or number, perhaps a group's number after a colon.
    ///
    /// # Errors
    /// There is no such user, or this process cannot become another.
    pub(crate) fn of(user: Option<&str>) -> Result<Identity, LabError> {
        let is_root = user::effective_ids().0 == 0;
        let own_name = outside_ids();
        let plain = Identity { account: None, own_name, confined: false, unasked: false };
        if own_name.is_some() || !is_root {
            return match user {
                None => Ok(plain),
                Some(_) => Err(LabError::User("--user: only root's programs can run as another user".into())),
            };
        }
        let root = Identity { confined: true, ..plain.clone() };
        let becomes = |account: UserAccount, unasked| {
            let confined = !Path::new(&account.home).is_dir() || account.home == "/";
            Identity { account: Some(account), confined, unasked, ..plain.clone() }
        };
        match user {
            Some(text) => {
                let account = named(text)?;
                Ok(if account.uid == 0 { root } else { becomes(account, false) })
            }
            None => Ok(becomes(sudo_user().unwrap_or_else(nobody), sudo_ids().is_none())),
        }
    }

    /// The same, root's: where a folder cannot be mounted as it must be.
    pub(crate) fn as_root(&self) -> Identity {
        Identity { account: None, confined: true, unasked: false, own_name: None }
    }

    /// What a program is given that begins in `folder`; `None`: it sees the machine as it is.
    ///
    /// # Errors
    /// The folder, or one of `named`, cannot be given: says why.
    pub(crate) fn gifts(
        &self,
        author: Author,
        folder: &Path,
        named: &[PathBuf],
    ) -> Result<Option<Gifts>, GiftError> {
        if !self.confined {
            return Ok(None);
        }
        let roots_home = PathBuf::from(user::account(0).map_or_else(|| "/root".into(), |a| a.home));
        let roots_home = Some(roots_home).filter(|home| home.parent().is_some() && home.is_dir());
        let mut list: Vec<(PathBuf, bool)> = PUBLIC.iter().map(|p| (PathBuf::from(p), false)).collect();
        let mapped = author == Author::User;
        if mapped || Some(folder) != roots_home.as_deref() {
            list.push((folder.into(), mapped));
        }
        if self.account.is_none() {
            list.extend(roots_home.clone().map(|home| (home, false)));
        }
        list.extend(named.iter().map(|path| (folder.join(path), true)));
        // Not in all of the machine, where one of these is `/`; what is mounted read-only stays so.
        list.retain(|(path, _)| path.is_dir() && path.parent().is_some() && !file::is_read_only(path));
        list.sort_by_key(|(path, _)| path.components().count());
        list.dedup_by(|later, first| {
            first.1 |= later.0 == first.0 && later.1;
            later.0 == first.0
        });
        let mut covers = vec![(PathBuf::from(SERVICES), "mode=755,size=1m".to_string())];
        let mut home = None;
        if let Some(account) = &self.account {
            let free = roots_home.filter(|home| list.iter().all(|(path, _)| path != home));
            let options = format!("mode=700,size=256m,uid={},gid={}", account.uid, account.gid);
            covers.extend(free.clone().map(|home| (home, options)));
            home = Some(free.unwrap_or_else(|| SPARE_HOME.into()));
            for shut in list.iter().filter_map(|(path, _)| shut_above(path, account)) {
                if covers.iter().all(|(path, _)| !shut.starts_with(path)) {
                    covers.push((shut, "mode=755,size=1m".into()));
                }
            }
            covers.sort_by_key(|(path, _)| path.components().count());
        }
        let give = |(path, mapped): (PathBuf, bool)| {
            let to = self.account.as_ref().filter(|_| mapped && !self.may_write(&path));
            let made = idmap::folder_for(&path, to.map(|a| (a.uid, a.gid)));
            // Who asked for a user gets that one, with the folder as it is.
            let plain = to.is_some() && !self.unasked;
            match made.or_else(|e| if plain { idmap::folder_for(&path, None) } else { Err(e) }) {
                Ok(tree) => Ok(Gift { path, tree }),
                Err(e) => Err(GiftError { path, why: e.to_string() }),
            }
        };
        let folders = list.into_iter().map(give).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(Gifts { folders, covers, home }))
    }

    /// Whether the user may write there without any help.
    fn may_write(&self, folder: &Path) -> bool {
        let Some(account) = &self.account else { return true };
        fs::metadata(folder).is_ok_and(|m| allows(&m, account, 0o2))
    }
}

/// What this machine holds programs by besides their user, namespaces and mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guards {
    /// System calls are refused (seccomp).
    pub seccomp: bool,
    /// Version of Landlock; 0: the kernel has none. From 3 on writes are held to folders whole, from 6 on signals.
    pub landlock: i64,
    /// Why the current folder cannot be given to nobody by root, so that a shell's commands run as root.
    pub folder: Option<String>,
}

/// Looks what there is.
pub fn guards() -> Guards {
    let me = Identity::of(None).ok().filter(|me| me.unasked);
    let refusal = me.zip(std::env::current_dir().ok()).and_then(|(me, folder)| {
        me.gifts(Author::User, &folder, &[]).err().map(|e| format!("{}: {}", e.path.display(), e.why))
    });
    Guards { seccomp: crate::launch::guard::filters_calls(), landlock: landlock_version(), folder: refusal }
}

/// A folder that cannot be given to another user.
pub(crate) struct GiftError {
    pub path: PathBuf,
    pub why: String,
}

/// Whether a file's mode lets a user do this: 4 read, 2 write, 1 search.
fn allows(file: &fs::Metadata, user: &UserAccount, what: u32) -> bool {
    let shift = match () {
        () if file.uid() == user.uid => 6,
        () if file.gid() == user.gid => 3,
        () => 0,
    };
    file.mode() >> shift & what == what
}

/// The outermost folder around this one that the user cannot pass.
fn shut_above(folder: &Path, user: &UserAccount) -> Option<PathBuf> {
    let mut around: Vec<&Path> = folder.ancestors().skip(1).filter(|path| path.parent().is_some()).collect();
    around.reverse();
    let shut = |path: &&&Path| fs::metadata(path).is_ok_and(|m| !allows(&m, user, 0o1));
    around.iter().find(shut).map(|path| path.to_path_buf())
}

/// The user that `NAME`, `UID` or either with `:GID` stands for.
fn named(text: &str) -> Result<UserAccount, LabError> {
    let (who, group) = text.split_once(':').map_or((text, None), |(who, group)| (who, Some(group)));
    let wrong = |what: String| LabError::User(format!("--user {text}: {what}"));
    let account = match who.parse::<u32>() {
        // By definition no user (setresuid(2) takes it for "as it is").
        Ok(u32::MAX) => return Err(wrong("no user has this number".into())),
        Ok(uid) => user::account(uid).unwrap_or_else(|| nameless(uid, uid)),
        Err(_) => {
            user::account_named(who).ok_or_else(|| wrong(format!("this machine has no user `{who}`")))?
        }
    };
    let Some(group) = group else { return Ok(account) };
    match group.parse::<u32>() {
        Ok(gid) if gid != u32::MAX => Ok(UserAccount { gid, ..account }),
        _ => Err(wrong(format!("`{group}` is not the number of a group"))),
    }
}

/// A user the machine does not know has no home.
fn nameless(uid: u32, gid: u32) -> UserAccount {
    UserAccount { uid, gid, name: uid.to_string().into(), home: "/".into(), shell: "/bin/sh".into() }
}

fn nobody() -> UserAccount {
    let account = user::account(NOBODY).unwrap_or_else(|| nameless(NOBODY, NOBODY));
    UserAccount { home: "/".into(), shell: "/bin/sh".into(), ..account }
}

fn sudo_ids() -> Option<(u32, u32)> {
    let id = |name: &str| std::env::var(name).ok()?.parse().ok();
    Some((id("SUDO_UID")?, id("SUDO_GID")?)).filter(|(uid, _)| *uid != 0)
}

/// The user who called sudo, where that is how this process became root.
fn sudo_user() -> Option<UserAccount> {
    let (uid, gid) = sudo_ids()?;
    Some(user::account(uid).map_or_else(|| nameless(uid, gid), |account| UserAccount { gid, ..account }))
}

/// In a user namespace of one user (ours): the ids outside that its root stands for.
fn outside_ids() -> Option<(u32, u32)> {
    let only = |file: &str| {
        let map = fs::read_to_string(file).ok()?;
        let numbers: Vec<u32> = map.split_whitespace().map_while(|n| n.parse().ok()).collect();
        match numbers[..] {
            [0, outside, 1] if outside != 0 => Some(outside),
            _ => None,
        }
    };
    Some((only("/proc/self/uid_map")?, only("/proc/self/gid_map")?))
}

/// The shell of whoever commands run as; `/bin/sh` where none is known.
pub(crate) fn users_shell(identity: &Identity) -> OsString {
    let known = identity.account.as_ref().filter(|_| !identity.confined).map(|a| a.shell.clone());
    let shell = known.or_else(|| std::env::var_os("SHELL"));
    shell.filter(|s| !s.is_empty()).unwrap_or_else(|| "/bin/sh".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_named_or_numbered() {
        let root = named("root").unwrap();
        assert_eq!((root.uid, named("0").unwrap().name), (0, "root".into()));
        let some = named("4000123:77").unwrap();
        assert_eq!((some.uid, some.gid, some.home), (4_000_123, 77, "/".into()));
        for wrong in ["no-such-user-here", "", "4294967295", "0:users", "0:4294967295", "-1"] {
            let told = named(wrong).unwrap_err().to_string();
            assert!(told.starts_with(&format!("--user {wrong}: ")), "{told}");
        }
    }

    #[test]
    fn modes_are_the_owners_the_groups_or_everybodys() {
        let file = fs::metadata("/tmp").unwrap();
        let other = nameless(4_000_123, 4_000_123);
        assert!(allows(&file, &other, 0o2) && allows(&file, &nameless(0, 0), 0o2));
        let shut = std::env::temp_dir().join(format!("longfat-shut-{}", std::process::id()));
        let inner = shut.join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::set_permissions(&shut, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        assert_eq!(shut_above(&inner, &other).as_ref(), Some(&shut));
        assert_eq!(shut_above(&shut, &other), None, "it is given itself");
        fs::remove_dir_all(&shut).unwrap();
    }
}
