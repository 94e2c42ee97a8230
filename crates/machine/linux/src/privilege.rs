//! Capabilities (capabilities(7)): querying and dropping those of the calling thread.

use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits, set_no_new_privs,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use std::io;

/// A capability's number (linux/capability.h).
pub const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;

/// Whether a capability is in the effective set of this thread.
pub fn has_capability(number: u32) -> bool {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let set = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    set.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).is_some_and(|caps| caps >> number & 1 == 1)
}

/// Whether this thread may create namespaces and devices.
pub fn can_create_namespaces() -> bool {
    has_capability(CAP_SYS_ADMIN) && has_capability(CAP_NET_ADMIN)
}

/// Drops all capabilities of the calling thread except CAP_NET_ADMIN (capset(2)).
pub(crate) fn keep_net_admin() -> io::Result<()> {
    keep_only(CapabilitySet::NET_ADMIN)
}

fn keep_only(kept: CapabilitySet) -> io::Result<()> {
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    Ok(set_capabilities(None, sets)?)
}

/// Permanently drops all capabilities of the calling thread except those needed to inspect other users'
/// processes (/proc/PID/fd: CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH), as far as it has them. No program that it
/// starts gains any.
pub fn keep_only_inspection_capabilities() -> io::Result<()> {
    let inspecting = CapabilitySet::SYS_PTRACE | CapabilitySet::DAC_READ_SEARCH;
    let permitted = rustix::thread::capabilities(None)?.permitted;
    keep_only(permitted & inspecting)?;
    Ok(set_no_new_privs(true)?)
}

/// Permanently drops all capabilities of the calling thread. No program that it starts gains any.
pub fn keep_no_capabilities() -> io::Result<()> {
    keep_only(CapabilitySet::empty())?;
    Ok(set_no_new_privs(true)?)
}

/// Permanently drops every privilege of the calling thread: afterwards no program gains any capability,
/// whatever its file says. Switches to `user` (uid, gid) if given, and drops root's groups if `drop_groups`.
/// May be called between `clone` and `execve`: the C library's own functions would wait for threads that the
/// copy does not have.
pub fn drop_all(user: Option<(u32, u32)>, drop_groups: bool) -> io::Result<()> {
    for number in 0..64 {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
            // The kernel has no further capabilities.
            Err(rustix::io::Errno::INVAL) => break,
            other => other?,
        }
    }
    clear_ambient_capability_set()?;
    // Do not lock "keep capabilities": ping sets it, and fails if it may not.
    set_capabilities_secure_bits(CapabilitiesSecureBits::NO_ROOT | CapabilitiesSecureBits::NO_ROOT_LOCKED)?;
    // Groups grant rights too (docker, disk, sudo). A normal user's own groups cannot be dropped.
    if drop_groups && geteuid().is_root() {
        set_thread_groups(&[])?;
    }
    if let Some((uid, gid)) = user {
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
    }
    keep_only(CapabilitySet::empty())?;
    Ok(set_no_new_privs(true)?)
}
