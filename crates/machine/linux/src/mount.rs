//! Mounts of the calling process's mount namespace (mount_namespaces(7)).
//!
//! All of these may be called between `clone` and `execve`.

use crate::check;
use rustix::fs::CWD;
use rustix::mount::{MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// What a file system that holds no programs and no devices is mounted with.
const SAFE: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

/// What a mount permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountKind {
    /// No devices, no privileges by files (nodev, nosuid).
    Programs,
    /// The same without programs (noexec).
    Data,
    /// The same, and read-only.
    ReadOnlyData,
    /// Devices, but no programs: `/dev`.
    Devices,
}

impl MountKind {
    fn flags(self) -> MountFlags {
        match self {
            MountKind::Programs => MountFlags::NOSUID | MountFlags::NODEV,
            MountKind::Data => SAFE,
            MountKind::ReadOnlyData => SAFE | MountFlags::RDONLY,
            MountKind::Devices => MountFlags::NOSUID | MountFlags::NOEXEC,
        }
    }
}

/// Mounts a new file system of this type (`tmpfs`, `proc`, `sysfs`), with its own options (mount(2)).
pub fn mount_new(file_system: &CStr, at: &CStr, kind: MountKind, options: Option<&CStr>) -> io::Result<()> {
    Ok(rustix::mount::mount(file_system, at, file_system, kind.flags(), options)?)
}

/// Makes what is mounted here later in the outer namespace appear, and nothing that is mounted here appear there (MS_SLAVE).
pub fn follow_outer_mounts() -> io::Result<()> {
    let flags = MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM;
    Ok(rustix::mount::mount_change(c"/", flags)?)
}

/// Mounts a file over another, read-only (MS_BIND).
pub fn cover_file(with: &CStr, at: &CStr) -> io::Result<()> {
    rustix::mount::mount_bind(with, at)?;
    Ok(rustix::mount::mount_remount(at, MountFlags::BIND | MountFlags::RDONLY | SAFE, c"")?)
}

/// Takes a mount away; it lives on for those who use it (MNT_DETACH).
pub fn detach(at: &CStr) -> io::Result<()> {
    Ok(rustix::mount::unmount(at, UnmountFlags::DETACH)?)
}

/// A copy of what is mounted at a path, on a descriptor; with `all` also of what is mounted beneath (open_tree(2)).
pub fn open_tree(path: &CStr, all: bool) -> io::Result<OwnedFd> {
    let below = if all { OpenTreeFlags::AT_RECURSIVE } else { OpenTreeFlags::empty() };
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | below;
    Ok(rustix::mount::open_tree(CWD, path, flags)?)
}

/// Mounts such a copy (move_mount(2)).
pub fn move_mount(tree: BorrowedFd<'_>, at: &CStr) -> io::Result<()> {
    Ok(rustix::mount::move_mount(tree, c"", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// `struct mount_attr` (mount_setattr(2)).
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// linux/mount.h.
const MOUNT_ATTR_RDONLY: u64 = 1;
const MOUNT_ATTR_NOSUID: u64 = 2;
const MOUNT_ATTR_NODEV: u64 = 4;
const MOUNT_ATTR_IDMAP: u64 = 0x0010_0000;

fn set_attributes(
    folder: Option<BorrowedFd<'_>>,
    path: &CStr,
    flags: libc::c_int,
    to: MountAttributes,
) -> io::Result<()> {
    let folder = folder.map_or(libc::AT_FDCWD, |fd| fd.as_raw_fd());
    // SAFETY: the path ends with zero; the kernel reads as many bytes of the structure as it is told, and has one of the same
    // layout.
    let code = unsafe {
        let size = size_of::<MountAttributes>();
        libc::syscall(libc::SYS_mount_setattr, folder, path.as_ptr(), flags, &raw const to, size)
    };
    check(code).map(drop)
}

/// Makes a mount, and with `all` those beneath it, read-only (mount_setattr(2)); `devices` says whether device files work
/// there.
pub fn make_read_only(at: &CStr, all: bool, devices: bool) -> io::Result<()> {
    let set = MOUNT_ATTR_RDONLY | if devices { 0 } else { MOUNT_ATTR_NODEV };
    let flags = if all { libc::AT_RECURSIVE } else { 0 };
    set_attributes(None, at, flags, MountAttributes { set, ..MountAttributes::default() })
}

/// Makes one mount writable.
pub fn make_writable(at: &CStr) -> io::Result<()> {
    let to = MountAttributes { clear: MOUNT_ATTR_RDONLY, ..MountAttributes::default() };
    set_attributes(None, at, 0, to)
}

/// Ignores set-user-id bits and capabilities of files on all mounts.
pub fn ignore_file_privileges() -> io::Result<()> {
    let to = MountAttributes { set: MOUNT_ATTR_NOSUID, ..MountAttributes::default() };
    set_attributes(None, c"/", libc::AT_RECURSIVE, to)
}

/// Has a copied mount show its files' owners as a user namespace maps them (mount_setattr(2), MOUNT_ATTR_IDMAP).
pub(crate) fn map_owners(tree: BorrowedFd<'_>, users: BorrowedFd<'_>) -> io::Result<()> {
    let user_namespace = users.as_raw_fd() as u64;
    let to = MountAttributes { set: MOUNT_ATTR_IDMAP, user_namespace, ..MountAttributes::default() };
    set_attributes(Some(tree), c"", libc::AT_EMPTY_PATH, to)
}

/// `BPF_FS_MAGIC` (linux/magic.h).
const BPF_FS_MAGIC: u64 = 0xcafe_4a11;

/// Whether a file system for pinned objects of eBPF is mounted there.
pub fn is_bpffs(path: &Path) -> io::Result<bool> {
    Ok(rustix::fs::statfs(path)?.f_type as u64 & 0xffff_ffff == BPF_FS_MAGIC)
}

/// Mounts a file system for pinned objects of eBPF there, for root alone.
pub fn mount_bpffs(path: &Path) -> io::Result<()> {
    Ok(rustix::mount::mount(c"bpf", path, c"bpf", MountFlags::empty(), Some(c"mode=0700"))?)
}
