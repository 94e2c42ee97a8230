//! A process, its descendants, and the sockets that they hold (/proc/PID/fd).

use std::collections::BTreeSet;
use std::fs;

/// The processes of a tree: its root, and all that descend from it. A process stays one of them when its parent ends.
#[derive(Debug)]
pub struct ProcessTree {
    members: BTreeSet<u32>,
}

impl ProcessTree {
    /// The tree of this process.
    pub fn new(root: u32) -> ProcessTree {
        ProcessTree { members: BTreeSet::from([root]) }
    }

    /// Looks again; whether any of them is left.
    pub fn look(&mut self) -> bool {
        let mut last = 0;
        // A child of a child that was just found, and so on.
        while self.members.len() != last {
            last = self.members.len();
            let members: Vec<u32> = self.members.iter().copied().collect();
            members.iter().for_each(|pid| self.members.extend(children(*pid)));
        }
        self.members.retain(|pid| fs::metadata(format!("/proc/{pid}/fd")).is_ok());
        !self.members.is_empty()
    }

    /// Inodes of the sockets that they hold; those of this process, which has none to watch, are left out.
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

/// The children of each thread of a process (proc(5), `children`).
fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|n| n.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

/// `socket:[4711]`.
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
        let its = inode(link.to_str().unwrap()).unwrap();
        let mut child =
            std::process::Command::new("sleep").arg("9").stdin(OwnedFd::from(socket)).spawn().unwrap();
        let mut tree = ProcessTree::new(std::process::id());
        assert!(tree.look());
        assert!(tree.members.contains(&child.id()));
        let mut held = BTreeSet::new();
        tree.sockets(&mut held);
        assert!(held.contains(&its));
        let _ = child.kill();
        let _ = child.wait();
        tree.look();
        assert!(!tree.members.contains(&child.id()));
    }
}
