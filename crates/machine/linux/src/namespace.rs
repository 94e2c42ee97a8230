//! Namespaces of the calling thread or process (namespaces(7)).
//!
//! Only the calling *thread* enters a network namespace; [`within`] uses a separate thread for it.

use rustix::process::{getegid, geteuid};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

/// `NSFS_MAGIC` (linux/magic.h): the file system of namespaces.
const NSFS_MAGIC: u64 = 0x6e73_6673;

/// Kinds of namespaces that this module creates.
#[derive(Clone, Copy)]
enum Kind {
    Network,
    User,
}

fn unshare(kind: Kind) -> io::Result<()> {
    let flags = match kind {
        Kind::Network => UnshareFlags::NEWNET,
        Kind::User => UnshareFlags::NEWUSER,
    };
    // SAFETY: unshare(2) is unsafe only with CLONE_FILES, which gives the thread its own descriptor table, so
    // that descriptors of other threads would mean something else here. Neither kind sets it.
    Ok(unsafe { unshare_unsafe(flags) }?)
}

/// Moves the calling thread into a new network namespace (unshare(2), `CLONE_NEWNET`).
pub fn enter_new_network() -> io::Result<()> {
    unshare(Kind::Network)
}

/// Moves the calling thread into a network namespace (setns(2)). May be called between `clone` and `execve`.
pub fn enter_network(namespace: BorrowedFd<'_>) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))?)
}

/// Runs `work` in a network namespace, on a temporary thread; the caller stays in its namespace.
///
/// # Errors
/// Fails if the namespace may not be entered (CAP_SYS_ADMIN), or if `work` panicked.
pub fn within<T: Send>(namespace: BorrowedFd<'_>, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let enter_and_work = || enter_network(namespace).map(|()| work());
    let done = std::thread::scope(|s| s.spawn(enter_and_work).join());
    done.unwrap_or_else(|_| Err(io::Error::other("the thread in the namespace panicked")))
}

/// Opens the calling thread's network namespace. It exists at least as long as the descriptor is open.
pub fn own_network() -> io::Result<OwnedFd> {
    File::open("/proc/thread-self/ns/net").map(OwnedFd::from)
}

/// Whether a file is a namespace of any kind; setns(2) checks the kind.
pub fn is_namespace(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|s| s.f_type as u64 == NSFS_MAGIC)
}

/// Moves the calling, single-threaded process into a new user namespace without any mapped users
/// (user_namespaces(7)). May be called between `clone` and `execve`.
pub fn enter_new_user_unmapped() -> io::Result<()> {
    unshare(Kind::User)
}

/// Moves the calling, single-threaded process into a new user namespace as its root.
pub fn enter_new_user() -> io::Result<()> {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    enter_new_user_unmapped()?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
}

/// Explains why the kernel refused a new namespace of this kind (`user`, `net`). It reports "no space left on
/// device" when a user has reached its limit of namespaces (user_namespaces(7),
/// `/proc/sys/user/max_KIND_namespaces`).
pub fn refusal(e: &io::Error, kind: &str) -> String {
    match e.raw_os_error() {
        Some(libc::ENOSPC | libc::EUSERS) => {
            format!(
                "this user has reached the limit of {kind} namespaces (sysctl user.max_{kind}_namespaces)"
            )
        }
        _ => e.to_string(),
    }
}
