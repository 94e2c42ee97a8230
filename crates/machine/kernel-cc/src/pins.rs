//! Pinned congestion controls, which stay when longfat has ended. Each has a folder in `/sys/fs/bpf/longfat`
//! with the link that keeps it registered and one of its programs, from which its parameters are read. There
//! is no other record, so the folders always match the kernel. Removing a folder unregisters its control.

use crate::{ControlError, Kernel};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Mount point of the bpffs (bpf(2)).
const BPFFS: &str = "/sys/fs/bpf";
/// Limit until a removed pin is gone: an RCU grace period and a work queue, so milliseconds.
const UNPIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the folder of a pinned control.
pub fn folder(kernel_name: &str) -> PathBuf {
    Path::new(BPFFS).join("longfat").join(kernel_name)
}

/// Whether longfat has pinned a control of this name.
pub fn is_pinned(kernel_name: &str) -> bool {
    folder(kernel_name).join("link").exists()
}

/// Returns the kernel's names of all pinned controls.
pub fn pinned() -> Vec<String> {
    let entries = fs::read_dir(folder("")).into_iter().flatten().flatten();
    let names = entries.filter_map(|e| e.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|n| is_pinned(n)).collect();
    names.sort();
    names
}

/// Mounts the bpffs if it is missing. Returns whether it mounted one.
///
/// # Errors
/// Fails with the kernel's error, usually for missing privileges.
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

/// Removes a control from the kernel's list. Sockets that use it keep it until they close.
///
/// # Errors
/// Fails with [`ControlError::NotLoaded`], or with the kernel's error.
pub fn unpin(kernel_name: &str) -> Result<(), ControlError> {
    if !is_pinned(kernel_name) {
        return Err(ControlError::NotLoaded { name: kernel_name.into() });
    }
    remove(&folder(kernel_name)).map_err(ControlError::system(format!("unloading {kernel_name}")))?;
    let _ = fs::remove_dir(folder("")); // succeeds once it is empty
    // The kernel drops a removed pin a moment later; its name is taken until then.
    let started = Instant::now();
    while Kernel::now().has(kernel_name) && started.elapsed() < UNPIN_TIMEOUT {
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Removes a folder and its files; the bpffs does not remove recursively.
pub fn remove(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        fs::remove_file(entry?.path())?;
    }
    fs::remove_dir(folder)
}
