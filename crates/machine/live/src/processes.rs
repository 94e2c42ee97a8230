//! A process, its descendants, and the sockets that they hold (/proc/PID/fd).

use std::collections::BTreeSet;
use std::fs;

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

    /// Collects the inodes of the members' sockets, except those of this process itself.
    pub fn sockets(&self, into: &mut BTreeSet<u32>) {
        into.clear();
        let own = std::process::id();
        for pid in self.members.iter().filter(|pid| **pid != own) {
            for entry in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
                let target = fs::read_link(entry.path()).unwrap_or_default();
                into.extend(target.to_str().and_then(inode));
            }
        }
    }
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
        let mut held = BTreeSet::new();
        tree.sockets(&mut held);
        assert!(held.contains(&socket_inode));
        let _ = child.kill();
        let _ = child.wait();
        tree.update();
        assert!(!tree.members.contains(&child.id()));
    }
}
