//! Id-mapped mounts that exchange root and another user, so that a program of that user can use a folder of
//! root.
//!
//! Through such a mount, root's files on the disk belong to the user, and files that the user creates belong
//! to root on the disk (mount_setattr(2), MOUNT_ATTR_IDMAP). All other owners stay the same. Nothing on the
//! disk changes.

use crate::mount::{map_owners, open_tree};
use crate::namespace::enter_new_user_unmapped;
use crate::pipe::pipe;
use crate::process::{Forked, exit_now, fork, reap};
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns a detached mount of a folder. If `user` (uid, gid) is given, root and that user are exchanged.
///
/// # Errors
/// Fails if the file system or the kernel does not support mapped ids, or if this process lacks the
/// privilege.
pub fn folder_for(path: &Path, user: Option<(u32, u32)>) -> io::Result<OwnedFd> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)?;
    let tree = open_tree(&path, false)?;
    if let Some((uid, gid)) = user {
        map_owners(tree.as_fd(), exchanging_namespace(uid, gid)?.as_fd())?;
    }
    Ok(tree)
}

/// Creates a user namespace that exchanges root and another user.
fn exchanging_namespace(uid: u32, gid: u32) -> io::Result<OwnedFd> {
    // A namespace needs a process; the child only waits until its namespace has been opened.
    let ((mut status, status_writer), (release, release_writer)) =
        (pipe().map(|(r, w)| (File::from(r), w))?, pipe()?);
    match fork()? {
        Forked::Child => {
            drop((status, release_writer));
            let message = [u8::from(enter_new_user_unmapped().is_ok())];
            let _ = File::from(status_writer).write_all(&message);
            let _ = File::from(release).read(&mut [0]);
            exit_now(0)
        }
        Forked::Parent(pid) => {
            drop((status_writer, release));
            let mut message = [0];
            let entered = status.read_exact(&mut message).is_ok() && message == [1];
            let number = pid.as_raw_pid();
            let set = |file: &str, id: u32| fs::write(format!("/proc/{number}/{file}"), exchange(id));
            let mapped = match entered {
                false => Err(io::Error::from_raw_os_error(libc::EPERM)),
                true => set("uid_map", uid).and_then(|()| set("gid_map", gid)),
            };
            let opened = mapped.and_then(|()| File::open(format!("/proc/{number}/ns/user")));
            reap(pid);
            opened.map(OwnedFd::from)
        }
    }
}

/// Returns the lines of `uid_map` that exchange 0 and `id` and map all others to themselves
/// (user_namespaces(7)).
fn exchange(id: u32) -> String {
    if id == 0 {
        return format!("0 0 {}\n", u32::MAX);
    }
    let between = if id > 1 { format!("1 1 {}\n", id - 1) } else { String::new() };
    let rest = u32::MAX - 1 - id;
    let rest = if rest > 0 { format!("{0} {0} {rest}\n", id + 1) } else { String::new() };
    format!("0 {id} 1\n{between}{id} 0 1\n{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_users_are_exchanged_and_all_others_mapped() {
        assert_eq!(exchange(1), "0 1 1\n1 0 1\n2 2 4294967293\n");
        assert_eq!(exchange(1000), "0 1000 1\n1 1 999\n1000 0 1\n1001 1001 4294966294\n");
        assert_eq!(exchange(u32::MAX - 1), "0 4294967294 1\n1 1 4294967293\n4294967294 0 1\n");
    }
}
