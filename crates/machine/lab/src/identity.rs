//! The user that programs run as, and the machine's files that they may access.
//!
//! | longfat started | programs run as | may write to |
//! |---|---|---|
//! | by root, without sudo | `nobody` | the granted folders, `/tmp`, `/var/tmp`, a private home |
//! | by root, with `--user NAME` or `UID`, or through sudo | that user; a user without a home is confined like `nobody` | what that user may write to |
//! | by root, with `--user root` | root, without capabilities | the granted folders, `/tmp`, `/var/tmp`, root's home |
//! | by a user | that user | what the user may write to |
//!
//! A granted folder is mounted with mapped ids: files of root outside belong to the program's user inside,
//! and files that the program creates there belong to root outside. So a command of a root shell can write
//! its output into the current folder as usual, but cannot read other files that only root may read. Not
//! every file system supports such mounts (overlayfs, which containers use, does not). Then the commands that
//! root typed into a shell run as root without capabilities, and a notice says so; programs of a scenario are
//! granted nothing.

use crate::LabError;
use linux::sandbox::landlock_version;
use linux::user::{self, UserAccount};
use linux::{file, idmap};
use std::ffi::OsString;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Folders that every user may write to.
const PUBLIC: [&str; 2] = ["/tmp", "/var/tmp"];
/// Sockets of the machine's services: a program that can connect to them can make services act on its behalf.
const SERVICE_SOCKETS: &str = "/run";
/// Home of a user without one, if root has none either.
const SPARE_HOME: &str = "/dev/shm";
/// Uid of `nobody` in every distribution (`/proc/sys/kernel/overflowuid`).
const NOBODY: u32 = 65_534;

/// The user that programs run as, and whether they are confined.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// The user to switch to; `None`: stay the user of this process.
    pub account: Option<UserAccount>,
    /// User and group ids outside of the lab's user namespace.
    pub outer_ids: Option<(u32, u32)>,
    /// Whether the machine's files are hidden from them or read-only.
    pub confined: bool,
    /// Whether this user is the default, chosen by neither `--user` nor sudo.
    pub is_default: bool,
}

/// The origin of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// The user of longfat: the command of a shell, and its servers.
    User,
    /// The author of the scenario.
    Scenario,
    /// longfat itself: a daemon of the machine with longfat's configuration, which sets up its host's
    /// network.
    Longfat,
}

/// Folders and mounts that a confined program is granted.
pub(crate) struct Grants {
    /// Folders to mount, ordered by depth.
    pub folders: Vec<FolderGrant>,
    /// Folders to cover with an empty one, with the options of that mount.
    pub covers: Vec<(PathBuf, String)>,
    /// The program's home, if it gets a private one.
    pub home: Option<PathBuf>,
}

/// A folder that a confined program may write to, as far as its user may.
pub(crate) struct FolderGrant {
    pub path: PathBuf,
    /// The tree to mount at `path`.
    pub tree: OwnedFd,
}

impl Identity {
    /// The identity of this process, with its privileges: only for [`Author::Longfat`].
    pub(crate) fn own() -> Identity {
        Identity { account: None, outer_ids: None, confined: false, is_default: false }
    }

    /// Resolves `--user`: a name or number, optionally with a colon and a group number.
    ///
    /// # Errors
    /// Fails if the user does not exist, or if this process cannot switch users.
    pub(crate) fn resolve(user: Option<&str>) -> Result<Identity, LabError> {
        let is_root = user::effective_ids().0 == 0;
        let outer_ids = outside_ids();
        let plain = Identity { account: None, outer_ids, confined: false, is_default: false };
        if outer_ids.is_some() || !is_root {
            return match user {
                None => Ok(plain),
                Some(_) => Err(LabError::User("--user: only root can run programs as another user".into())),
            };
        }
        let root = Identity { confined: true, ..plain.clone() };
        let becomes = |account: UserAccount, is_default| {
            let confined = !Path::new(&account.home).is_dir() || account.home == "/";
            Identity { account: Some(account), confined, is_default, ..plain.clone() }
        };
        match user {
            Some(text) => {
                let account = resolve_user(text)?;
                Ok(if account.uid == 0 { root } else { becomes(account, false) })
            }
            None => Ok(becomes(sudo_user().unwrap_or_else(nobody), sudo_ids().is_none())),
        }
    }

    /// Returns root's confined identity, for folders that cannot be mounted with mapped ids.
    pub(crate) fn as_root(&self) -> Identity {
        Identity { account: None, confined: true, is_default: false, outer_ids: None }
    }

    /// Returns what a program that starts in `folder` is granted; `None` if it sees the machine unchanged.
    ///
    /// # Errors
    /// Fails if the folder, or one of `resolve_user`, cannot be granted, with the reason.
    pub(crate) fn grants(
        &self,
        author: Author,
        folder: &Path,
        resolve_user: &[PathBuf],
    ) -> Result<Option<Grants>, GrantError> {
        if !self.confined {
            return Ok(None);
        }
        let root_home = PathBuf::from(user::account(0).map_or_else(|| "/root".into(), |a| a.home));
        let root_home = Some(root_home).filter(|home| home.parent().is_some() && home.is_dir());
        let mut list: Vec<(PathBuf, bool)> = PUBLIC.iter().map(|p| (PathBuf::from(p), false)).collect();
        let mapped = author == Author::User;
        if mapped || Some(folder) != root_home.as_deref() {
            list.push((folder.into(), mapped));
        }
        if self.account.is_none() {
            list.extend(root_home.clone().map(|home| (home, false)));
        }
        list.extend(resolve_user.iter().map(|path| (folder.join(path), true)));
        // Never grant `/` as a whole; folders that are mounted read-only stay read-only.
        list.retain(|(path, _)| path.is_dir() && path.parent().is_some() && !file::is_read_only(path));
        list.sort_by_key(|(path, _)| path.components().count());
        list.dedup_by(|later, first| {
            first.1 |= later.0 == first.0 && later.1;
            later.0 == first.0
        });
        let mut covers = vec![(PathBuf::from(SERVICE_SOCKETS), "mode=755,size=1m".to_string())];
        let mut home = None;
        if let Some(account) = &self.account {
            let free = root_home.filter(|home| list.iter().all(|(path, _)| path != home));
            let options = format!("mode=700,size=256m,uid={},gid={}", account.uid, account.gid);
            covers.extend(free.clone().map(|home| (home, options)));
            home = Some(free.unwrap_or_else(|| SPARE_HOME.into()));
            for closed in list.iter().filter_map(|(path, _)| untraversable_parent(path, account)) {
                if covers.iter().all(|(path, _)| !closed.starts_with(path)) {
                    covers.push((closed, "mode=755,size=1m".into()));
                }
            }
            covers.sort_by_key(|(path, _)| path.components().count());
        }
        let grant = |(path, mapped): (PathBuf, bool)| {
            let mapped_user = self.account.as_ref().filter(|_| mapped && !self.may_write(&path));
            let made = idmap::folder_for(&path, mapped_user.map(|a| (a.uid, a.gid)));
            // A user who was chosen explicitly gets the folder unmapped if mapping fails.
            let plain = mapped_user.is_some() && !self.is_default;
            match made.or_else(|e| if plain { idmap::folder_for(&path, None) } else { Err(e) }) {
                Ok(tree) => Ok(FolderGrant { path, tree }),
                Err(e) => Err(GrantError { path, why: e.to_string() }),
            }
        };
        let folders = list.into_iter().map(grant).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(Grants { folders, covers, home }))
    }

    /// Whether the user may write to a folder without a grant.
    fn may_write(&self, folder: &Path) -> bool {
        let Some(account) = &self.account else { return true };
        fs::metadata(folder).is_ok_and(|m| mode_allows(&m, account, 0o2))
    }
}

/// Restrictions on programs that this machine supports, in addition to their user, namespaces and mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSupport {
    /// Whether system calls can be filtered (seccomp).
    pub seccomp: bool,
    /// Landlock ABI version; 0: not supported. Version 3 and later restricts all writes to folders, version
    /// 6 and later also signals.
    pub landlock: i64,
    /// Why root cannot grant the current folder to `nobody`; a shell's commands then run as root.
    pub folder: Option<String>,
}

/// Detects the restrictions that this machine supports.
pub fn guards() -> SandboxSupport {
    let identity = Identity::resolve(None).ok().filter(|identity| identity.is_default);
    let refusal = identity.zip(std::env::current_dir().ok()).and_then(|(identity, folder)| {
        identity.grants(Author::User, &folder, &[]).err().map(|e| format!("{}: {}", e.path.display(), e.why))
    });
    SandboxSupport {
        seccomp: crate::launch::seccomp::filters_calls(),
        landlock: landlock_version(),
        folder: refusal,
    }
}

/// A folder that cannot be granted to another user.
pub(crate) struct GrantError {
    pub path: PathBuf,
    pub why: String,
}

/// Whether a file's mode allows a user an access: 4 read, 2 write, 1 search.
fn mode_allows(file: &fs::Metadata, user: &UserAccount, what: u32) -> bool {
    let shift = match () {
        () if file.uid() == user.uid => 6,
        () if file.gid() == user.gid => 3,
        () => 0,
    };
    file.mode() >> shift & what == what
}

/// Returns the outermost parent folder that the user cannot traverse.
fn untraversable_parent(folder: &Path, user: &UserAccount) -> Option<PathBuf> {
    let mut parents: Vec<&Path> = folder.ancestors().skip(1).filter(|path| path.parent().is_some()).collect();
    parents.reverse();
    let closed = |path: &&&Path| fs::metadata(path).is_ok_and(|m| !mode_allows(&m, user, 0o1));
    parents.iter().find(closed).map(|path| path.to_path_buf())
}

/// Resolves `NAME` or `UID`, either optionally followed by `:GID`.
fn resolve_user(text: &str) -> Result<UserAccount, LabError> {
    let (who, group) = text.split_once(':').map_or((text, None), |(who, group)| (who, Some(group)));
    let error = |what: String| LabError::User(format!("--user {text}: {what}"));
    let account = match who.parse::<u32>() {
        // u32::MAX is never a user: to setresuid(2) it means "unchanged".
        Ok(u32::MAX) => return Err(error("no user has this number".into())),
        Ok(uid) => user::account(uid).unwrap_or_else(|| unnamed_account(uid, uid)),
        Err(_) => {
            user::account_named(who).ok_or_else(|| error(format!("this machine has no user `{who}`")))?
        }
    };
    let Some(group) = group else { return Ok(account) };
    match group.parse::<u32>() {
        Ok(gid) if gid != u32::MAX => Ok(UserAccount { gid, ..account }),
        _ => Err(error(format!("`{group}` is not the number of a group"))),
    }
}

/// An account without an entry in the user database; it has no home.
fn unnamed_account(uid: u32, gid: u32) -> UserAccount {
    UserAccount { uid, gid, name: uid.to_string().into(), home: "/".into(), shell: "/bin/sh".into() }
}

fn nobody() -> UserAccount {
    let account = user::account(NOBODY).unwrap_or_else(|| unnamed_account(NOBODY, NOBODY));
    UserAccount { home: "/".into(), shell: "/bin/sh".into(), ..account }
}

fn sudo_ids() -> Option<(u32, u32)> {
    let id = |name: &str| std::env::var(name).ok()?.parse().ok();
    Some((id("SUDO_UID")?, id("SUDO_GID")?)).filter(|(uid, _)| *uid != 0)
}

/// Returns the user who called sudo, if this process became root that way.
fn sudo_user() -> Option<UserAccount> {
    let (uid, gid) = sudo_ids()?;
    Some(
        user::account(uid)
            .map_or_else(|| unnamed_account(uid, gid), |account| UserAccount { gid, ..account }),
    )
}

/// In a user namespace with a single mapped user (longfat's own), returns the ids outside that its root
/// stands for.
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

/// Returns the login shell of the user that commands run as; `/bin/sh` if unknown.
pub(crate) fn login_shell(identity: &Identity) -> OsString {
    let known = identity.account.as_ref().filter(|_| !identity.confined).map(|a| a.shell.clone());
    let shell = known.or_else(|| std::env::var_os("SHELL"));
    shell.filter(|s| !s.is_empty()).unwrap_or_else(|| "/bin/sh".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_given_by_name_or_number() {
        let root = resolve_user("root").unwrap();
        assert_eq!((root.uid, resolve_user("0").unwrap().name), (0, "root".into()));
        let unnamed = resolve_user("4000123:77").unwrap();
        assert_eq!((unnamed.uid, unnamed.gid, unnamed.home), (4_000_123, 77, "/".into()));
        for wrong in ["no-such-user-here", "", "4294967295", "0:users", "0:4294967295", "-1"] {
            let error = resolve_user(wrong).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--user {wrong}: ")), "{error}");
        }
    }

    #[test]
    fn access_follows_the_mode_of_owner_group_or_others() {
        let file = fs::metadata("/tmp").unwrap();
        let other = unnamed_account(4_000_123, 4_000_123);
        assert!(mode_allows(&file, &other, 0o2) && mode_allows(&file, &unnamed_account(0, 0), 0o2));
        let closed = std::env::temp_dir().join(format!("longfat-shut-{}", std::process::id()));
        let inner = closed.join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        assert_eq!(untraversable_parent(&inner, &other).as_ref(), Some(&closed));
        assert_eq!(untraversable_parent(&closed, &other), None, "the folder itself is granted");
        fs::remove_dir_all(&closed).unwrap();
    }
}
