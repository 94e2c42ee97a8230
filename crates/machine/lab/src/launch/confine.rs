//! Mounts of a confined command: few writable folders, few devices, nothing else of the machine.
//!
//! All mounts are read-only except the granted folders, some folders are covered, and `/dev` contains only
//! what programs need. This is necessary because even without capabilities root owns root's files,
//! `/proc/sys`, the cgroups and the disks' devices, and other users own what everybody may write. This code
//! runs between `clone3` and `execve`, so it must not allocate.

use linux::file::{enter_folder, make_file, make_folder, make_link};
use linux::mount::{MountKind, make_read_only, make_writable, mount_new, move_mount, open_tree};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// One step of building a command's view of the file system.
pub enum MountStep {
    /// Covers a folder with an empty writable one, with these mount options.
    Home(CString, CString),
    /// Covers a folder with an empty read-only one, with these mount options.
    Cover(CString, CString),
    /// Creates a folder in a covered one.
    Folder(CString),
    /// Mounts the descriptor's tree, writable.
    Grant(CString, OwnedFd),
}

impl MountStep {
    /// Returns the folder that the step makes writable.
    pub fn writable(&self) -> Option<&CStr> {
        match self {
            MountStep::Home(path, _) | MountStep::Grant(path, _) => Some(path),
            MountStep::Cover(..) | MountStep::Folder(_) => None,
        }
    }
}

/// A command's view of the file system.
#[derive(Clone, Copy)]
pub struct Confinement<'a> {
    /// Applied in this order.
    pub steps: &'a [MountStep],
    /// Working directory, and its replacement if it is not visible.
    pub folder: &'a CStr,
    pub fallback_folder: &'a CStr,
    pub writable: &'a [&'a CStr],
}

/// Device files that programs expect, kept at their paths.
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

/// Makes all mounts of this namespace read-only except the granted ones, and enters the working directory.
pub fn confine(c: &Confinement<'_>) -> io::Result<()> {
    let kept = DEVICES.map(|path| open_tree(path, false).ok());
    let terminals = open_tree(TERMINALS, true).ok();
    for step in c.steps {
        match step {
            MountStep::Home(path, options) | MountStep::Cover(path, options) => {
                mount_new(c"tmpfs", path, MountKind::Programs, Some(options))?;
            }
            MountStep::Folder(path) => _ = make_folder(path, 0o755),
            MountStep::Grant(path, tree) => _ = move_mount(tree.as_fd(), path),
        }
    }
    make_read_only(c"/", true, false)?;
    c.steps.iter().filter_map(MountStep::writable).try_for_each(make_writable)?;
    devices(&kept, terminals.as_ref())?;
    // Enter the folder again: it is now on another mount than the one this process is in.
    enter_folder(c.folder).or_else(|_| enter_folder(c.fallback_folder))
}

/// Mounts a `/dev` with only these devices.
fn devices(kept: &[Option<OwnedFd>], terminals: Option<&OwnedFd>) -> io::Result<()> {
    mount_new(c"tmpfs", c"/dev", MountKind::Devices, Some(c"mode=755,size=64k"))?;
    for (path, tree) in DEVICES.iter().zip(kept) {
        if let Some(tree) = tree {
            make_file(path)?;
            let _ = move_mount(tree.as_fd(), path);
        }
    }
    let _ = make_folder(TERMINALS, 0o755);
    if let Some(terminals) = terminals {
        let _ = move_mount(terminals.as_fd(), TERMINALS);
    }
    for [to, at] in LINKS {
        let _ = make_link(to, at);
    }
    let _ = make_folder(c"/dev/shm", 0o777);
    mount_new(c"tmpfs", c"/dev/shm", MountKind::Data, Some(c"mode=1777,size=256m"))?;
    make_read_only(c"/dev", false, true)
}
