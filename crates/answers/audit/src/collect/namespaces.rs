//! Finds the network namespaces: those that processes are in (/proc/PID/ns/net), and those with a name under
//! /run/netns (ip-netns(8)) or Docker's /run/docker/netns.

use super::container::{self, ContainerGroup};
use super::container_name;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Folders in which engines and `ip netns` keep namespaces open by name.
const NAMED: &[&str] = &["/run/netns", "/var/run/netns", "/run/docker/netns"];

/// Limit of the processes through which a namespace is opened. Most outlive the inspection.
const MAX_PROCESS_PATHS: usize = 16;

/// A namespace that was found and is not inspected yet.
#[derive(Debug)]
pub struct FoundNamespace {
    pub name: String,
    pub inode: u64,
    /// Engine and id of the container in it.
    pub container: Option<String>,
    pub processes: u32,
    /// Command prefix that enters the namespace.
    pub enter: Option<String>,
    /// Whether it is longfat's own namespace.
    pub own: bool,
    /// Files through which the namespace can be opened as long as they exist.
    paths: Vec<PathBuf>,
}

/// The namespaces that were found, and notes about those that were not.
#[derive(Debug, Default)]
pub struct FoundNamespaces {
    pub namespaces: Vec<FoundNamespace>,
    pub not_seen: Vec<String>,
}

/// A process with a readable namespace.
#[derive(Clone, Debug)]
pub struct SeenProcess {
    pub pid: u32,
    name: String,
    pub container: Option<ContainerGroup>,
}

/// Finds the namespaces: longfat's own first, then those of processes by the smallest process id, then named
/// ones.
pub fn find() -> FoundNamespaces {
    let mut all = FoundNamespaces::default();
    let (by_inode, hidden) = processes();
    if hidden > 0 {
        let some = if hidden == 1 { "process" } else { "processes" };
        all.not_seen.push(format!(
            "the namespaces of {hidden} {some}: seeing those of other users \
             requires CAP_SYS_PTRACE, which root in a container may lack"
        ));
    }
    let named = named();
    let own = fs::metadata("/proc/thread-self/ns/net").map(|m| m.ino()).unwrap_or_default();
    let mut inodes: Vec<u64> = by_inode.keys().copied().collect();
    inodes.sort_by_key(|i| by_inode[i].first().map(|p| p.pid));
    inodes.extend(named.keys().filter(|i| !by_inode.contains_key(i)).copied());
    inodes.sort_by_key(|i| *i != own);
    let mut names: BTreeMap<String, u32> = BTreeMap::new();
    for inode in inodes {
        let inside = by_inode.get(&inode).map(Vec::as_slice).unwrap_or_default();
        let container_name = inside
            .iter()
            .find_map(|p| p.container.as_ref().and_then(|c| container_name::of_process(c, p.pid)));
        let mut namespace = build(inode, inode == own, (inside, container_name), named.get(&inode));
        // Number containers that have the same name.
        let count = names.entry(namespace.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            namespace.name = format!("{} ({count})", namespace.name);
        }
        all.namespaces.push(namespace);
    }
    all
}

/// Builds a namespace from the processes in it, the name of its container, and its path in the file system.
fn build(
    inode: u64,
    own: bool,
    (inside, container_name): (&[SeenProcess], Option<String>),
    named: Option<&PathBuf>,
) -> FoundNamespace {
    let container = inside.iter().find_map(|p| p.container.as_ref()).map(ContainerGroup::to_string);
    let first = inside.first();
    let file_name = named.and_then(|p| p.file_name()).map(|n| n.to_string_lossy().into_owned());
    let by_ip = named.filter(|p| !p.starts_with("/run/docker")).and(file_name.clone());
    let name = match (own, by_ip.clone(), &container, first, file_name) {
        (true, _, _, _, _) => "here".into(),
        (_, Some(name), _, _, _) => name,
        (_, _, Some(container), _, _) => container_name.unwrap_or_else(|| container.clone()),
        (_, _, _, Some(p), _) => format!("{} ({})", p.name, p.pid),
        (_, _, _, _, Some(name)) => name,
        (_, _, _, None, None) => format!("net:[{inode}]"),
    };
    let enter = match (own, &by_ip, first, named) {
        (true, _, _, _) => Some(String::new()),
        (_, Some(name), _, _) => Some(format!("ip netns exec {}", result::command::quoted(name))),
        (_, _, Some(p), _) => Some(format!("nsenter -t {} -n", p.pid)),
        (_, _, _, Some(path)) => {
            Some(format!("nsenter --net={}", result::command::quoted(&path.to_string_lossy())))
        }
        _ => None,
    };
    let by_process = inside.iter().map(|p| PathBuf::from(format!("/proc/{}/ns/net", p.pid)));
    let paths = named.cloned().into_iter().chain(by_process.take(MAX_PROCESS_PATHS)).collect();
    FoundNamespace { name, inode, container, processes: inside.len() as u32, enter, own, paths }
}

impl FoundNamespace {
    /// Opens the namespace through the first file that still leads to it. Process ids may have been reused
    /// since.
    ///
    /// # Errors
    /// Fails when no file leads to it any more.
    pub fn open(&self) -> io::Result<File> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for path in &self.paths {
            match File::open(path).and_then(|f| Ok((f.metadata()?.ino(), f))) {
                Ok((at, file)) if at == self.inode => return Ok(file),
                Ok(_) => {}
                Err(e) => last = e,
            }
        }
        Err(last)
    }
}

/// Returns the processes by the inode of their namespace, and the number of processes that could not be
/// inspected.
pub fn processes() -> (BTreeMap<u64, Vec<SeenProcess>>, u32) {
    let mut by_inode: BTreeMap<u64, Vec<SeenProcess>> = BTreeMap::new();
    let mut hidden = 0;
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<u32> = entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    for pid in pids {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        match fs::metadata(folder.join("ns/net")) {
            Ok(m) => by_inode.entry(m.ino()).or_default().push(process(pid, &folder)),
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => hidden += 1,
            // The process has ended, or is a zombie.
            Err(_) => {}
        }
    }
    (by_inode, hidden)
}

fn process(pid: u32, folder: &Path) -> SeenProcess {
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    SeenProcess { pid, name: read("comm").trim().into(), container: container::of_cgroup(&read("cgroup")) }
}

/// Returns the files that keep a namespace open, by its inode. Names of `ip netns` take precedence. Other
/// files are left out.
fn named() -> BTreeMap<u64, PathBuf> {
    let mut all = BTreeMap::new();
    for folder in NAMED {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if linux::namespace::is_namespace(&path)
                && let Ok(m) = fs::metadata(&path)
            {
                all.entry(m.ino()).or_insert(path);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, container: bool) -> SeenProcess {
        let id = "0123456789abcdef".repeat(4);
        let container = container.then_some(ContainerGroup { engine: "docker", id });
        SeenProcess { pid, name: "nginx".into(), container }
    }

    #[test]
    fn a_namespace_has_its_best_known_name_and_a_command_to_enter_it() {
        let named = |path: &str| PathBuf::from(path);
        let name_and_enter = |inside: &[SeenProcess], path: Option<PathBuf>| {
            let n = build(7, false, (inside, None), path.as_ref());
            (n.name, n.enter.unwrap_or_default())
        };
        let (web, docker) = (named("/run/netns/my web"), named("/run/docker/netns/0a1b"));
        let inside = [process(41, false), process(42, true)];
        assert_eq!(
            name_and_enter(&inside, Some(web.clone())),
            ("my web".into(), "ip netns exec 'my web'".into())
        );
        assert_eq!(
            name_and_enter(&inside, Some(docker.clone())),
            ("docker 0123456789ab".into(), "nsenter -t 41 -n".into())
        );
        assert_eq!(name_and_enter(&inside[..1], None), ("nginx (41)".into(), "nsenter -t 41 -n".into()));
        assert_eq!(
            name_and_enter(&[], Some(docker.clone())),
            ("0a1b".into(), "nsenter --net=/run/docker/netns/0a1b".into())
        );
        let container = build(7, false, (&inside, Some("docker web".into())), Some(&docker));
        assert_eq!(
            (container.name.as_str(), container.container.as_deref()),
            ("docker web", Some("docker 0123456789ab"))
        );
        let own = build(7, true, (&inside, None), Some(&web));
        assert_eq!((own.name.as_str(), own.enter.as_deref(), own.processes), ("here", Some(""), 2));
    }

    #[test]
    fn a_file_that_leads_to_another_namespace_is_not_opened() {
        let own = find().namespaces.into_iter().find(|n| n.own).expect("longfat is in one");
        assert_eq!(own.open().and_then(|f| f.metadata()).expect("opens").ino(), own.inode);
        let other = FoundNamespace { inode: own.inode + 1, ..own };
        assert!(other.open().is_err());
    }
}
