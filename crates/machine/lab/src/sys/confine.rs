//! What a confined command may touch: files in few folders, few devices, nothing else of the machine.
//!
//! Its mounts are read-only but for the folders that it is given, some are covered, and `/dev` holds what programs need:
//! root is the owner of root's files, of `/proc/sys`, of the cgroups and of the disks' devices also without capabilities,
//! and others are of what everybody may write. It runs between `clone3` and `execve`: nothing is allocated here.

use super::check;
use super::init::{MountAttributes, move_mount, open_tree};
use std::ffi::CStr;
use std::io;
use std::mem::size_of;
use std::os::fd::RawFd;

/// Read-only and without devices (linux/mount.h).
const MOUNT_ATTR_RDONLY: u64 = 1;
const MOUNT_ATTR_NODEV: u64 = 4;

type Text = *const libc::c_char;

/// A step on the way to what a command is to see. Texts are terminated.
#[derive(Clone, Copy)]
pub enum MountStep {
    /// An empty folder over this one, with these options, writable.
    Home(Text, Text),
    /// The same, read-only.
    Cover(Text, Text),
    /// A folder in one that is covered.
    Folder(Text),
    /// What the descriptor is of, writable.
    Given(Text, RawFd),
}

/// What a command is to see.
#[derive(Clone, Copy)]
pub struct Confinement<'a> {
    /// In this order.
    pub steps: &'a [MountStep],
    /// Where it begins, or there, where that cannot be seen.
    pub folder: Text,
    pub spare: Text,
    /// All that it may write to, as terminated texts.
    pub writable: &'a [Text],
}

/// Device files that programs expect, each where it was.
const DEVICES: [&CStr; 6] =
    [c"/dev/null", c"/dev/zero", c"/dev/full", c"/dev/random", c"/dev/urandom", c"/dev/tty"];
const TERMINALS: &CStr = c"/dev/pts";
const LINKS: [[&CStr; 2]; 5] = [
    [c"/proc/self/fd", c"/dev/fd"],
    [c"/proc/self/fd/0", c"/dev/stdin"],
    [c"/proc/self/fd/1", c"/dev/stdout"],
    [c"/proc/self/fd/2", c"/dev/stderr"],
    [c"pts/ptmx", c"/dev/ptmx"],
];

/// Makes all mounts of this namespace read-only but for what is given, and goes to the folder.
///
/// # Safety
/// The pointers are to terminated texts; this process has a mount namespace of its own.
pub unsafe fn confine(c: &Confinement<'_>) -> io::Result<()> {
    // SAFETY: as the caller promises; the other texts are terminated and outlive their calls.
    unsafe {
        let kept = DEVICES.map(|path| open_tree(path, false));
        let terminals = open_tree(TERMINALS, true);
        let safe = libc::MS_NOSUID | libc::MS_NODEV;
        for step in c.steps {
            match *step {
                MountStep::Home(path, options) | MountStep::Cover(path, options) => {
                    let tmpfs = c"tmpfs".as_ptr();
                    check(libc::mount(tmpfs, path, tmpfs, safe, options.cast()))?;
                }
                MountStep::Folder(path) => _ = libc::mkdir(path, 0o755),
                MountStep::Given(path, tree) => move_mount(tree, CStr::from_ptr(path)),
            }
        }
        let closed =
            MountAttributes { set: MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV, ..MountAttributes::default() };
        set_attributes(c"/".as_ptr(), libc::AT_RECURSIVE, &closed)?;
        let open = MountAttributes { clear: MOUNT_ATTR_RDONLY, ..MountAttributes::default() };
        for step in c.steps {
            if let MountStep::Home(path, _) | MountStep::Given(path, _) = *step {
                set_attributes(path, 0, &open)?;
            }
        }
        devices(&kept, terminals)?;
        // The folder's own mount is another than the one this process stands in.
        if libc::chdir(c.folder) != 0 {
            check(libc::chdir(c.spare))?;
        }
        Ok(())
    }
}

unsafe fn set_attributes(
    path: *const libc::c_char,
    flags: libc::c_int,
    to: &MountAttributes,
) -> io::Result<()> {
    // SAFETY: the path is terminated; reads as many bytes as it is told.
    let code = unsafe {
        libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, path, flags, to, size_of::<MountAttributes>())
    };
    check(code as libc::c_int).map(drop)
}

/// A `/dev` with these alone.
unsafe fn devices(kept: &[libc::c_int], terminals: libc::c_int) -> io::Result<()> {
    // SAFETY: every text is terminated; the descriptors are ours.
    unsafe {
        let mount = |at: &CStr, flags, data: &CStr| {
            let tmpfs = c"tmpfs".as_ptr();
            check(libc::mount(tmpfs, at.as_ptr(), tmpfs, flags, data.as_ptr().cast())).map(drop)
        };
        let safe = libc::MS_NOSUID | libc::MS_NOEXEC;
        mount(c"/dev", safe, c"mode=755,size=64k")?;
        for (&path, &tree) in DEVICES.iter().zip(kept) {
            if tree >= 0 {
                let file = check(libc::open(path.as_ptr(), libc::O_CREAT | libc::O_CLOEXEC, 0o666))?;
                libc::close(file);
                move_mount(tree, path);
            }
        }
        libc::mkdir(TERMINALS.as_ptr(), 0o755);
        if terminals >= 0 {
            move_mount(terminals, TERMINALS);
        }
        for [to, at] in LINKS {
            libc::symlink(to.as_ptr(), at.as_ptr());
        }
        libc::mkdir(c"/dev/shm".as_ptr(), 0o777);
        mount(c"/dev/shm", safe | libc::MS_NODEV, c"mode=1777,size=256m")?;
        let closed = MountAttributes { set: MOUNT_ATTR_RDONLY, ..MountAttributes::default() };
        set_attributes(c"/dev".as_ptr(), 0, &closed)
    }
}
