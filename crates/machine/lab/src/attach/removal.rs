//! Removes the classic filters of an attached path, however longfat ends.
//!
//! Filters stay in the kernel when the process that added them ends. A second process, the watcher, waits for
//! the end of a pipe whose other end only longfat holds, and removes them then. It finds the target's
//! namespace by a TAP device: a descriptor of the namespace itself would keep it alive.
//!
//! `longfat apply` forks its watcher (`live/src/apply/guard.rs`), because it needs the programs' maps. That
//! is not possible here: a path is attached from one of several threads.

use super::taps::Taps;
use super::target::{FoundTarget, inside};
use crate::LabError;
use crate::attach::AttachError;
use kernel_cc::remove_filters;
use linux::device::tap_namespace;
use linux::{process, signal};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Removes the filters when it is dropped; its watcher does when longfat is killed.
pub struct Removal<'a> {
    found: &'a FoundTarget,
    taps: &'a Taps,
    watcher: Child,
}

impl<'a> Removal<'a> {
    /// Starts the watcher, before there is anything to remove: `command` with the device's number and the
    /// name of the filters' owner as further arguments.
    ///
    /// # Errors
    /// Fails if the process cannot be started.
    pub fn prepare(
        mut command: Command,
        found: &'a FoundTarget,
        taps: &'a Taps,
    ) -> Result<Removal<'a>, LabError> {
        let failed =
            |e| LabError::system("starting the process that removes filters if longfat is killed")(e);
        let tap = taps.fds[0].try_clone().map_err(failed)?;
        command.arg(found.facts.index.to_string()).arg(taps.owner());
        // In a group of its own no key of longfat's terminal reaches it.
        command.stdin(Stdio::piped()).stdout(tap).process_group(0);
        let watcher = command.spawn().map_err(failed)?;
        Ok(Removal { found, taps, watcher })
    }

    fn remove(&self) -> Result<(), AttachError> {
        // The devices may have been removed, and the namespace may have another name now.
        let named = |_| if self.found.exists() { self.found.namespace().ok() } else { None };
        let Some(namespace) = self.taps.namespace().map_or_else(named, Some) else { return Ok(()) };
        inside(namespace.as_fd(), || Ok(remove_filters(self.found.facts.index, self.taps.owner())?))
    }
}

impl Drop for Removal<'_> {
    fn drop(&mut self) {
        match self.remove() {
            Ok(()) => drop(self.watcher.kill()),
            // It tries again, and reports why it fails.
            Err(_) => drop(self.watcher.stdin.take()),
        }
        let _ = self.watcher.wait();
    }
}

/// The watcher: waits until standard input ends, because longfat was killed, and removes its filters from
/// this device. Standard output is a TAP device in the target's namespace, which this process keeps until
/// then.
///
/// # Errors
/// Fails if the filters cannot be removed.
pub fn watch_attached(device: u32, owner: &str) -> Result<(), AttachError> {
    signal::block_all();
    // It still does its work if it may be killed like longfat.
    let _ = process::survive_out_of_memory();
    // Nothing is ever written to it.
    let _ = io::stdin().read_to_end(&mut Vec::new());
    // Without its device the namespace has gone, and the filters with it.
    let Ok(namespace) = tap_namespace(io::stdout().as_fd()) else { return Ok(()) };
    inside(namespace.as_fd(), || Ok(remove_filters(device, owner)?))
}
