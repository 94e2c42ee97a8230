//! Which network namespaces there are: those that processes are in (/proc/PID/ns/net), and those with a name under /run/netns
//! (ip-netns(8)) or Docker's /run/docker/netns.

use super::container;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where engines and `ip netns` keep namespaces open by name.
const NAMED: &[&str] = &["/run/netns", "/var/run/netns", "/run/docker/netns"];

/// A namespace, not looked at yet.
#[derive(Debug)]
pub struct FoundNamespace {
    pub name: String,
    pub inode: u64,
    pub container: Option<String>,
    pub processes: u32,
    /// What a command is prefixed with to run in it.
    pub enter: Option<String>,
    /// Open, to be entered; `None` for the one that longfat is in.
    pub file: Option<File>,
}

/// All that were found.
#[derive(Debug, Default)]
pub struct FoundNamespaces {
    pub namespaces: Vec<FoundNamespace>,
    pub not_seen: Vec<String>,
}

/// A process whose namespace is known.
#[derive(Clone, Debug)]
struct SeenProcess {
    pid: u32,
    name: String,
    container: Option<String>,
}

/// Finds them, in the order: longfat's own, those of processes by the least process, named ones by name.
pub fn find() -> FoundNamespaces {
    let mut all = FoundNamespaces::default();
    let (by_inode, hidden) = processes();
    if hidden > 0 {
        let some = if hidden == 1 { "process" } else { "processes" };
        all.not_seen.push(format!(
            "the namespaces of {hidden} {some}: to see those of others takes root (CAP_SYS_PTRACE)"
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
        match one(inode, inode == own, inside, named.get(&inode)) {
            Ok(mut namespace) => {
                // Two containers of one name are told apart.
                let count = names.entry(namespace.name.clone()).or_default();
                *count += 1;
                if *count > 1 {
                    namespace.name = format!("{} ({count})", namespace.name);
                }
                all.namespaces.push(namespace);
            }
            Err(why) => all.not_seen.push(why),
        }
    }
    all
}

fn one(
    inode: u64,
    own: bool,
    inside: &[SeenProcess],
    named: Option<&PathBuf>,
) -> Result<FoundNamespace, String> {
    let container = inside.iter().find_map(|p| p.container.clone());
    let first = inside.first();
    let file_name = named.and_then(|p| p.file_name()).map(|n| n.to_string_lossy().into_owned());
    let by_ip = named.filter(|p| !p.starts_with("/run/docker")).and(file_name.clone());
    let name = match (own, by_ip.clone(), &container, first, file_name) {
        (true, _, _, _, _) => "here".into(),
        (_, Some(name), _, _, _) => name,
        (_, _, Some(container), _, _) => container.clone(),
        (_, _, _, Some(p), _) => format!("{} ({})", p.name, p.pid),
        (_, _, _, _, Some(name)) => name,
        (_, _, _, None, None) => format!("net:[{inode}]"),
    };
    let enter = match (own, &by_ip, first, named) {
        (true, _, _, _) => Some(String::new()),
        (_, Some(name), _, _) => Some(format!("ip netns exec {}", crate::finding::quoted(name))),
        (_, _, Some(p), _) => Some(format!("nsenter -t {} -n", p.pid)),
        (_, _, _, Some(path)) => {
            Some(format!("nsenter --net={}", crate::finding::quoted(&path.to_string_lossy())))
        }
        _ => None,
    };
    let file = match own {
        true => None,
        false => Some(open(inode, inside, named).map_err(|e| format!("namespace {name}: {e}"))?),
    };
    Ok(FoundNamespace { name, inode, container, processes: inside.len() as u32, enter, file })
}

/// Opens it by whatever still leads there: processes end.
fn open(inode: u64, inside: &[SeenProcess], named: Option<&PathBuf>) -> std::io::Result<File> {
    let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
    let by_process = inside.iter().map(|p| PathBuf::from(format!("/proc/{}/ns/net", p.pid)));
    for path in named.cloned().into_iter().chain(by_process) {
        match File::open(&path).and_then(|f| Ok((f.metadata()?.ino(), f))) {
            Ok((at, file)) if at == inode => return Ok(file),
            Ok(_) => {}
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// Processes by the inode of their namespace, and how many could not be looked at.
fn processes() -> (BTreeMap<u64, Vec<SeenProcess>>, u32) {
    let mut by_inode: BTreeMap<u64, Vec<SeenProcess>> = BTreeMap::new();
    let mut hidden = 0;
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids: Vec<u32> = entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    for pid in pids {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        match fs::metadata(folder.join("ns/net")) {
            Ok(m) => by_inode.entry(m.ino()).or_default().push(process(pid, &folder)),
            Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => hidden += 1,
            // It ended, or is a zombie.
            Err(_) => {}
        }
    }
    (by_inode, hidden)
}

fn process(pid: u32, folder: &Path) -> SeenProcess {
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    SeenProcess { pid, name: read("comm").trim().into(), container: container::of_cgroup(&read("cgroup")) }
}

/// Files that hold a namespace open, by its inode; `ip netns` names before others. What is no namespace is left out.
fn named() -> BTreeMap<u64, PathBuf> {
    let mut all = BTreeMap::new();
    for folder in NAMED {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if super::sys::is_network(&path)
                && let Ok(m) = fs::metadata(&path)
            {
                all.entry(m.ino()).or_insert(path);
            }
        }
    }
    all
}
