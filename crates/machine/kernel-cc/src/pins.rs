//! Controls that stay when longfat has ended: a folder for each below `/sys/fs/bpf/longfat`, with
//! the link that keeps it registered and a program of it, from which its parameters are read. Nothing
//! else is kept: what the folder says is what the kernel has. Removing the folder unregisters it.

use crate::{ControlError, Kernel};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Where pinned objects live (bpf(2)).
const BPFFS: &str = "/sys/fs/bpf";
/// How long a removed pin may take to go: an RCU grace period and a work queue, so milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// The folder of a pinned control.
pub fn folder(kernel_name: &str) -> PathBuf {
    Path::new(BPFFS).join("longfat").join(kernel_name)
}

/// Whether longfat keeps a control of this name in the kernel.
pub fn is_pinned(kernel_name: &str) -> bool {
    folder(kernel_name).join("link").exists()
}

/// Names in the kernel of all that are pinned.
pub fn pinned() -> Vec<String> {
    let entries = fs::read_dir(folder("")).into_iter().flatten().flatten();
    let names = entries.filter_map(|e| e.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|n| is_pinned(n)).collect();
    names.sort();
    names
}

/// Mounts the file system for pins where it is missing; whether that was so.
///
/// # Errors
/// What the kernel says, mostly that this process may not.
#[cfg(target_os = "linux")]
pub fn mount() -> Result<bool, ControlError> {
    use linux::mount;
    let path = Path::new(BPFFS);
    let failed = || ControlError::system(format!("mounting a bpf file system on {BPFFS}"));
    if mount::is_bpffs(path).map_err(failed())? {
        return Ok(false);
    }
    mount::mount_bpffs(path).map_err(failed())?;
    Ok(true)
}

/// Takes a control out of the kernel's list. Sockets that use it keep it until they close.
///
/// # Errors
/// [`ControlError::NotLoaded`], or what the kernel says.
pub fn unpin(kernel_name: &str) -> Result<(), ControlError> {
    if !is_pinned(kernel_name) {
        return Err(ControlError::NotLoaded { name: kernel_name.into() });
    }
    remove(&folder(kernel_name)).map_err(ControlError::system(format!("unloading {kernel_name}")))?;
    let _ = fs::remove_dir(folder("")); // with the last of them
    // The kernel drops a removed pin a moment later, and the name is taken until then.
    let begun = Instant::now();
    while Kernel::now().has(kernel_name) && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Removes what is in a folder, then the folder: the bpf file system removes nothing recursively.
pub fn remove(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        fs::remove_file(entry?.path())?;
    }
    fs::remove_dir(folder)
}
