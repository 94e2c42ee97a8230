//! Puts changed connections back, in this process or in the one that outlives it.

use super::place::{NamespaceFile, all_namespaces};
use kernel_cc::{ApplyPrograms, RestoredSocket};
use std::collections::BTreeSet;
use std::io;

/// What became of the changed connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// They have what they had before.
    pub restored: u64,
    /// Of these, those that were not paced before and stay paced until they are closed.
    pub stay_paced: u64,
    /// Somebody else had changed them since, which was left.
    pub others: u64,
    /// The kernel refused it.
    pub failed: u64,
    /// They had been closed.
    pub closed: u64,
}

impl Undone {
    fn count(&mut self, sockets: &[RestoredSocket]) {
        for socket in sockets {
            match socket {
                RestoredSocket { has_failed: true, .. } => self.failed += 1,
                RestoredSocket { is_others: true, .. } => self.others += 1,
                _ => self.restored += 1,
            }
            self.stay_paced += u64::from(socket.stays_paced);
        }
    }
}

/// Passes over the sockets: one that is established while new connections were still being changed may appear
/// after the first.
const MAX_PASSES: usize = 5;

/// Puts every changed connection back. `known` are namespaces that are tried first.
///
/// # Errors
/// Fails with the kernel's error.
pub fn undo(programs: &ApplyPrograms, known: &[NamespaceFile]) -> io::Result<Undone> {
    let mut undone = Undone::default();
    for _ in 0..MAX_PASSES {
        let left: BTreeSet<u32> = programs.changed()?.into_iter().map(|c| c.namespace).collect();
        if left.is_empty() {
            break;
        }
        let has = |files: &[NamespaceFile]| left.iter().all(|n| files.iter().any(|f| f.inode as u32 == *n));
        let files = if has(known) { known.to_vec() } else { all_namespaces() };
        let mut count = 0;
        for file in files.iter().filter(|file| left.contains(&(file.inode as u32))) {
            // A namespace that has ended has no connections any more.
            let Ok(done) = file.enter(|| programs.restore()) else { continue };
            let done = done?;
            count += done.len();
            undone.count(&done);
        }
        if count == 0 {
            break;
        }
    }
    undone.closed = programs.changed()?.len() as u64;
    Ok(undone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_counted_once() {
        let socket = |is_others, has_failed, stays_paced| RestoredSocket {
            cookie: 1,
            is_others,
            has_failed,
            stays_paced,
        };
        let mut undone = Undone::default();
        undone.count(&[
            socket(false, false, false),
            socket(false, false, true),
            socket(true, false, false),
            socket(true, true, false),
        ]);
        assert_eq!(undone, Undone { restored: 2, stay_paced: 1, others: 1, failed: 1, closed: 0 });
    }
}
