//! Mounts in the calling process's mount namespace (mount_namespaces(7)).
//!
//! All functions but those for bpffs may be called between `clone` and `execve`.

use crate::check;
use rustix::fs::CWD;
use rustix::mount::{MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Flags for a file system without programs and devices.
const SAFE: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

/// What a new mount permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountKind {
    /// Programs, but no devices and no file privileges (nodev, nosuid).
    Programs,
    /// Data only: no devices, no file privileges, no programs (noexec).
    Data,
    /// Read-only data.
    ReadOnlyData,
    /// Devices, but no programs, as for `/dev`.
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

/// Mounts a new file system of a type (`tmpfs`, `proc`, `sysfs`), with options of that type (mount(2)).
pub fn mount_new(file_system: &CStr, at: &CStr, kind: MountKind, options: Option<&CStr>) -> io::Result<()> {
    Ok(rustix::mount::mount(file_system, at, file_system, kind.flags(), options)?)
}

/// Makes later mounts of the outer namespace appear here, but not the reverse (MS_SLAVE).
pub fn follow_outer_mounts() -> io::Result<()> {
    let flags = MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM;
    Ok(rustix::mount::mount_change(c"/", flags)?)
}

/// Mounts a file over another, read-only (MS_BIND).
pub fn cover_file(with: &CStr, at: &CStr) -> io::Result<()> {
    rustix::mount::mount_bind(with, at)?;
    Ok(rustix::mount::mount_remount(at, MountFlags::BIND | MountFlags::RDONLY | SAFE, c"")?)
}

/// Unmounts; current users keep the mount (MNT_DETACH).
pub fn detach(at: &CStr) -> io::Result<()> {
    Ok(rustix::mount::unmount(at, UnmountFlags::DETACH)?)
}

/// Returns a detached copy of the mount at a path; with `all` including the mounts beneath (open_tree(2)).
pub fn open_tree(path: &CStr, all: bool) -> io::Result<OwnedFd> {
    let below = if all { OpenTreeFlags::AT_RECURSIVE } else { OpenTreeFlags::empty() };
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | below;
    Ok(rustix::mount::open_tree(CWD, path, flags)?)
}

/// Mounts a detached copy (move_mount(2)).
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

/// Mount attributes (linux/mount.h).
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
    // SAFETY: the path ends with zero; the kernel reads the given number of bytes of the structure, and has
    // one of the same layout.
    let code = unsafe {
        let size = size_of::<MountAttributes>();
        libc::syscall(libc::SYS_mount_setattr, folder, path.as_ptr(), flags, &raw const to, size)
    };
    check(code).map(drop)
}

/// Makes a mount, and with `all` those beneath, read-only (mount_setattr(2)); `devices`: device files stay
/// usable.
pub fn make_read_only(at: &CStr, all: bool, devices: bool) -> io::Result<()> {
    let set = MOUNT_ATTR_RDONLY | if devices { 0 } else { MOUNT_ATTR_NODEV };
    let flags = if all { libc::AT_RECURSIVE } else { 0 };
    set_attributes(None, at, flags, MountAttributes { set, ..MountAttributes::default() })
}

/// Makes one mount writable.
pub fn make_writable(at: &CStr) -> io::Result<()> {
    let attributes = MountAttributes { clear: MOUNT_ATTR_RDONLY, ..MountAttributes::default() };
    set_attributes(None, at, 0, attributes)
}

/// Ignores set-user-id bits and capabilities of files on all mounts.
pub fn ignore_file_privileges() -> io::Result<()> {
    let attributes = MountAttributes { set: MOUNT_ATTR_NOSUID, ..MountAttributes::default() };
    set_attributes(None, c"/", libc::AT_RECURSIVE, attributes)
}

/// Maps the owners of a detached mount's files by a user namespace (mount_setattr(2), MOUNT_ATTR_IDMAP).
pub(crate) fn map_owners(tree: BorrowedFd<'_>, users: BorrowedFd<'_>) -> io::Result<()> {
    let user_namespace = users.as_raw_fd() as u64;
    let attributes = MountAttributes { set: MOUNT_ATTR_IDMAP, user_namespace, ..MountAttributes::default() };
    set_attributes(Some(tree), c"", libc::AT_EMPTY_PATH, attributes)
}

/// `BPF_FS_MAGIC` (linux/magic.h).
const BPF_FS_MAGIC: u64 = 0xcafe_4a11;

/// Whether a bpffs is mounted at a path.
pub fn is_bpffs(path: &Path) -> io::Result<bool> {
    Ok(rustix::fs::statfs(path)?.f_type as u64 & 0xffff_ffff == BPF_FS_MAGIC)
}

/// Mounts a bpffs, accessible for root only.
pub fn mount_bpffs(path: &Path) -> io::Result<()> {
    Ok(rustix::mount::mount(c"bpf", path, c"bpf", MountFlags::empty(), Some(c"mode=0700"))?)
}
