//! What a confined command may touch: files in few folders, few devices, nothing else of the machine.
//!
//! Its mounts are read-only but for the folders that it is given, some are covered, and `/dev` holds what programs need:
//! root is the owner of root's files, of `/proc/sys`, of the cgroups and of the disks' devices also without capabilities,
//! and others are of what everybody may write. It runs between `clone3` and `execve`: nothing is allocated here.

use linux::file::{enter_folder, make_file, make_folder, make_link};
use linux::mount::{MountKind, make_read_only, make_writable, mount_new, move_mount, open_tree};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// A step on the way to what a command is to see.
pub enum MountStep {
    /// An empty folder over this one, with these options, writable.
    Home(CString, CString),
    /// The same, read-only.
    Cover(CString, CString),
    /// A folder in one that is covered.
    Folder(CString),
    /// What the descriptor is of, writable.
    Given(CString, OwnedFd),
}

impl MountStep {
    /// The folder that it makes writable.
    pub fn writable(&self) -> Option<&CStr> {
        match self {
            MountStep::Home(path, _) | MountStep::Given(path, _) => Some(path),
            MountStep::Cover(..) | MountStep::Folder(_) => None,
        }
    }
}

/// What a command is to see.
#[derive(Clone, Copy)]
pub struct Confinement<'a> {
    /// In this order.
    pub steps: &'a [MountStep],
    /// Where it begins, or there, where that cannot be seen.
    pub folder: &'a CStr,
    pub spare: &'a CStr,
    /// All that it may write to.
    pub writable: &'a [&'a CStr],
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
pub fn confine(c: &Confinement<'_>) -> io::Result<()> {
    let kept = DEVICES.map(|path| open_tree(path, false).ok());
    let terminals = open_tree(TERMINALS, true).ok();
    for step in c.steps {
        match step {
            MountStep::Home(path, options) | MountStep::Cover(path, options) => {
                mount_new(c"tmpfs", path, MountKind::Programs, Some(options))?;
            }
            MountStep::Folder(path) => _ = make_folder(path, 0o755),
            MountStep::Given(path, tree) => _ = move_mount(tree.as_fd(), path),
        }
    }
    make_read_only(c"/", true, false)?;
    c.steps.iter().filter_map(MountStep::writable).try_for_each(make_writable)?;
    devices(&kept, terminals.as_ref())?;
    // The folder's own mount is another than the one this process stands in.
    enter_folder(c.folder).or_else(|_| enter_folder(c.spare))
}

/// A `/dev` with these alone.
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
