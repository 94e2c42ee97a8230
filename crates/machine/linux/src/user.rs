//! Users: who this process is, who there are, becoming another.

use crate::check;
use crate::privilege;
use std::ffi::{CStr, CString, OsString, c_char};
use std::io;
use std::os::unix::ffi::OsStringExt;

/// User and group that the process acts as.
pub fn effective_ids() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

/// Whether this process is root's.
pub fn is_root() -> bool {
    effective_ids().0 == 0
}

/// A user of this machine.
#[derive(Clone, Debug)]
pub struct UserAccount {
    /// The user's number.
    pub uid: u32,
    /// The number of the user's group.
    pub gid: u32,
    /// The user's name.
    pub name: OsString,
    /// The home folder.
    pub home: OsString,
    /// The program that the user logs in to.
    pub shell: OsString,
}

/// What a user is looked up by.
enum Key {
    Number(u32),
    Name(CString),
}

/// Looks a user up by number (getpwuid_r(3)).
pub fn account(uid: u32) -> Option<UserAccount> {
    look_up(&Key::Number(uid))
}

/// Looks a user up by name (getpwnam_r(3)).
pub fn account_named(name: &str) -> Option<UserAccount> {
    look_up(&Key::Name(CString::new(name).ok()?))
}

fn look_up(key: &Key) -> Option<UserAccount> {
    let mut buffer: Vec<c_char> = vec![0; 64 << 10];
    let (texts, length) = (buffer.as_mut_ptr(), buffer.len());
    let mut found = std::ptr::null_mut();
    // SAFETY: all zeros is a value of `passwd`: numbers and null pointers.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    // SAFETY: the calls read a name that ends with zero, and write to the entry, to at most `length` bytes of the buffer, and to
    // `found`; all of them outlive the call.
    unsafe {
        match key {
            Key::Number(uid) => libc::getpwuid_r(*uid, &mut entry, texts, length, &mut found),
            Key::Name(name) => libc::getpwnam_r(name.as_ptr(), &mut entry, texts, length, &mut found),
        };
    }
    if found.is_null() {
        return None;
    }
    let text = |at: *const c_char| match at.is_null() {
        true => OsString::new(),
        // SAFETY: a user was found: the entry's texts lie in `buffer`, which lives until the end of this function, and end with
        // zero.
        false => OsString::from_vec(unsafe { CStr::from_ptr(at) }.to_bytes().to_vec()),
    };
    let (name, home, shell) = (text(entry.pw_name), text(entry.pw_dir), text(entry.pw_shell));
    Some(UserAccount { uid: entry.pw_uid, gid: entry.pw_gid, name, home, shell })
}

/// A user's id and group, by name or number.
///
/// # Errors
/// There is no such user.
pub fn user(name: &str) -> io::Result<(u32, u32)> {
    let unknown = || io::Error::new(io::ErrorKind::NotFound, format!("there is no user `{name}`"));
    match account_named(name) {
        Some(account) => Ok((account.uid, account.gid)),
        None => name.parse().map(|id| (id, id)).map_err(|_| unknown()),
    }
}

/// Becomes another user, for good and with every thread; of the capabilities CAP_NET_ADMIN stays where `net_admin` says so.
/// To be called while there is one thread: capabilities and `no_new_privs` are a thread's own.
pub fn become_user(uid: u32, gid: u32, net_admin: bool) -> io::Result<()> {
    if net_admin {
        rustix::thread::set_keep_capabilities(true)?;
    }
    // The C library's calls, which change every thread (nptl(7)); rustix' change the calling one.
    // SAFETY: setgroups(2) reads a list of one group, which outlives the call; the others take numbers. No memory is touched.
    unsafe {
        check(libc::setgroups(1, &gid).into())?;
        check(libc::setresgid(gid, gid, gid).into())?;
        check(libc::setresuid(uid, uid, uid).into())?;
    }
    rustix::thread::set_no_new_privs(true)?;
    if net_admin { privilege::keep_net_admin() } else { Ok(()) }
}
