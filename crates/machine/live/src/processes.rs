//! A process, its descendants, and the sockets that they hold (/proc/PID/fd).

use result::watch::SocketProcess;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Processes by the inodes of the sockets that they hold. Of several that hold one it is the oldest id.
pub type SocketOwners = BTreeMap<u32, u32>;

/// A process tree: a root process and its descendants. A process stays a member when its parent ends.
#[derive(Debug)]
pub struct ProcessTree {
    members: BTreeSet<u32>,
}

impl ProcessTree {
    /// Creates the tree of a root process.
    pub fn new(root: u32) -> ProcessTree {
        ProcessTree { members: BTreeSet::from([root]) }
    }

    /// Returns the members' ids.
    pub fn members(&self) -> impl Iterator<Item = u32> {
        self.members.iter().copied()
    }

    /// Updates the members. Returns whether any member still runs.
    pub fn update(&mut self) -> bool {
        let mut last = 0;
        // Repeat for the children of newly found processes.
        while self.members.len() != last {
            last = self.members.len();
            let members: Vec<u32> = self.members.iter().copied().collect();
            members.iter().for_each(|pid| self.members.extend(children(*pid)));
        }
        self.members.retain(|pid| fs::metadata(format!("/proc/{pid}/fd")).is_ok());
        !self.members.is_empty()
    }

    /// Finds the members' sockets, except those of this process itself.
    pub fn sockets(&self) -> SocketOwners {
        let own = std::process::id();
        sockets_of(self.members.iter().copied().filter(|pid| *pid != own))
    }
}

/// Finds the sockets of all processes whose descriptors this one may see.
pub fn all_sockets() -> SocketOwners {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<u32> = entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    sockets_of(pids.into_iter())
}

/// Finds the sockets of processes, given in ascending order.
fn sockets_of(pids: impl Iterator<Item = u32>) -> SocketOwners {
    let mut owners = SocketOwners::new();
    for pid in pids {
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
            let target = fs::read_link(entry.path()).unwrap_or_default();
            if let Some(inode) = target.to_str().and_then(inode) {
                owners.entry(inode).or_insert(pid);
            }
        }
    }
    owners
}

/// Returns a process with its name; `None` if it has ended.
pub fn named(pid: u32) -> Option<SocketProcess> {
    let name = fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(SocketProcess { pid, name: String::from_utf8_lossy(&name).trim_end_matches('\n').into() })
}

/// Returns the children of all threads of a process (proc(5), `children`).
fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|n| n.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

/// Parses `socket:[4711]`.
fn inode(link: &str) -> Option<u32> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::{AsRawFd, OwnedFd};

    #[test]
    fn a_child_holds_its_sockets() {
        assert_eq!(inode("socket:[4711]"), Some(4711));
        assert_eq!(inode("pipe:[4711]"), None);
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        let socket_inode = inode(link.to_str().unwrap()).unwrap();
        let mut child =
            std::process::Command::new("sleep").arg("9").stdin(OwnedFd::from(socket)).spawn().unwrap();
        let mut tree = ProcessTree::new(std::process::id());
        assert!(tree.update());
        assert!(tree.members.contains(&child.id()));
        assert_eq!(tree.sockets().get(&socket_inode), Some(&child.id()));
        assert_eq!(all_sockets().get(&socket_inode), Some(&child.id()));
        assert!(named(child.id()).is_some_and(|process| process.pid == child.id()));
        assert_eq!(named(u32::MAX), None);
        let _ = child.kill();
        let _ = child.wait();
        tree.update();
        assert!(!tree.members.contains(&child.id()));
    }
}
