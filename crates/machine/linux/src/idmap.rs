//! Folders as a program of another user is given them: mounted on a descriptor, root and that user exchanged.
//!
//! What is root's on the disk is the user's through such a mount, what the user makes is root's on the disk
//! (mount_setattr(2), MOUNT_ATTR_IDMAP); all other users are who they are. Nothing on the disk changes.

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

/// A mount of a folder, nowhere yet; to `user` and group, where one is given, it is as it is to root.
///
/// # Errors
/// The file system, or the kernel, cannot exchange owners; or this process may not.
pub fn folder_for(path: &Path, user: Option<(u32, u32)>) -> io::Result<OwnedFd> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)?;
    let tree = open_tree(&path, false)?;
    if let Some((uid, gid)) = user {
        map_owners(tree.as_fd(), users_exchanged(uid, gid)?.as_fd())?;
    }
    Ok(tree)
}

/// A user namespace that exchanges root and another.
fn users_exchanged(uid: u32, gid: u32) -> io::Result<OwnedFd> {
    // A namespace is some process's; this one only waits until it has been opened.
    let ((mut told, telling), (waiting, hold)) = (pipe().map(|(r, w)| (File::from(r), w))?, pipe()?);
    match fork()? {
        Forked::Child => {
            drop((told, hold));
            let word = [u8::from(enter_new_user_unmapped().is_ok())];
            let _ = File::from(telling).write_all(&word);
            let _ = File::from(waiting).read(&mut [0]);
            exit_now(0)
        }
        Forked::Parent(pid) => {
            drop((telling, waiting));
            let mut word = [0];
            let entered = told.read_exact(&mut word).is_ok() && word == [1];
            let number = pid.as_raw_pid();
            let set = |file: &str, id: u32| fs::write(format!("/proc/{number}/{file}"), exchange(id));
            let made = match entered {
                false => Err(io::Error::from_raw_os_error(libc::EPERM)),
                true => set("uid_map", uid).and_then(|()| set("gid_map", gid)),
            };
            let opened = made.and_then(|()| File::open(format!("/proc/{number}/ns/user")));
            reap(pid);
            opened.map(OwnedFd::from)
        }
    }
}

/// The lines of `uid_map` that exchange 0 and `id` and leave all others (user_namespaces(7)).
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
    fn two_users_are_exchanged_and_nobody_is_left_out() {
        assert_eq!(exchange(1), "0 1 1\n1 0 1\n2 2 4294967293\n");
        assert_eq!(exchange(1000), "0 1000 1\n1 1 999\n1000 0 1\n1001 1001 4294966294\n");
        assert_eq!(exchange(u32::MAX - 1), "0 4294967294 1\n1 1 4294967293\n4294967294 0 1\n");
    }
}
