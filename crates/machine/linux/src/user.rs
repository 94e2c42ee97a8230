//! Users: this process's user, the machine's accounts, and switching users.

use crate::check;
use crate::privilege;
use std::ffi::{CStr, CString, OsString, c_char};
use std::io;
use std::os::unix::ffi::OsStringExt;

/// Returns the effective user and group of the process.
pub fn effective_ids() -> (u32, u32) {
    (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw())
}

/// Whether this process runs as root.
pub fn is_root() -> bool {
    effective_ids().0 == 0
}

/// A user account of this machine.
#[derive(Clone, Debug)]
pub struct UserAccount {
    pub uid: u32,
    /// Id of the primary group.
    pub gid: u32,
    pub name: OsString,
    pub home: OsString,
    /// Login shell.
    pub shell: OsString,
}

/// Key of a user lookup.
enum Key {
    Number(u32),
    Name(CString),
}

/// Returns the account of a user id (getpwuid_r(3)).
pub fn account(uid: u32) -> Option<UserAccount> {
    look_up(&Key::Number(uid))
}

/// Returns the account of a user name (getpwnam_r(3)).
pub fn account_named(name: &str) -> Option<UserAccount> {
    look_up(&Key::Name(CString::new(name).ok()?))
}

fn look_up(key: &Key) -> Option<UserAccount> {
    let mut buffer: Vec<c_char> = vec![0; 64 << 10];
    let (texts, length) = (buffer.as_mut_ptr(), buffer.len());
    let mut found = std::ptr::null_mut();
    // SAFETY: all zeros is a value of `passwd`: numbers and null pointers.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    // SAFETY: the calls read a name that ends with zero, and write to the entry, to at most `length` bytes of
    // the buffer, and to `found`; all outlive the call.
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
        // SAFETY: a user was found: the entry's texts lie in `buffer`, which lives until the end of this
        // function, and end with zero.
        false => OsString::from_vec(unsafe { CStr::from_ptr(at) }.to_bytes().to_vec()),
    };
    let (name, home, shell) = (text(entry.pw_name), text(entry.pw_dir), text(entry.pw_shell));
    Some(UserAccount { uid: entry.pw_uid, gid: entry.pw_gid, name, home, shell })
}

/// Returns a user's id and group, by name or number.
///
/// # Errors
/// Fails if the user does not exist.
pub fn user(name: &str) -> io::Result<(u32, u32)> {
    let unknown = || io::Error::new(io::ErrorKind::NotFound, format!("there is no user `{name}`"));
    match account_named(name) {
        Some(account) => Ok((account.uid, account.gid)),
        None => name.parse().map(|id| (id, id)).map_err(|_| unknown()),
    }
}

/// Switches to another user permanently, for all threads; keeps only the capability CAP_NET_ADMIN, if
/// `net_admin`. Call it while there is one thread: capabilities and `no_new_privs` are per thread.
pub fn switch_user(uid: u32, gid: u32, net_admin: bool) -> io::Result<()> {
    if net_admin {
        rustix::thread::set_keep_capabilities(true)?;
    }
    // The C library's functions change every thread (nptl(7)); rustix' functions would change only the
    // calling one.
    // SAFETY: `gid` outlives the call and is a list of one group.
    unsafe {
        check(libc::setgroups(1, &gid).into())?;
        check(libc::setresgid(gid, gid, gid).into())?;
        check(libc::setresuid(uid, uid, uid).into())?;
    }
    rustix::thread::set_no_new_privs(true)?;
    if net_admin { privilege::keep_net_admin() } else { Ok(()) }
}
