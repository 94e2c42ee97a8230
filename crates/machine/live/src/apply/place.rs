//! Whose connections are changed: control groups (cgroups(7), version 2), processes and network namespaces.

use crate::filter::LiveFilter;
use crate::processes::{ProcessTree, SocketOwners};
use linux::namespace::within;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Whose connections to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyPlace {
    /// A control group and those below it: its folder, or its path as in `/proc/PID/cgroup`.
    Group(PathBuf),
    /// A process and its descendants.
    Process(u32),
    /// A container: one of its processes, its id, and whether it has longfat's network namespace.
    Container { pid: u32, id: String, shares_network: bool },
    /// A namespace that `ip netns` has named.
    Namespace(String),
}

/// How connections are found that are established later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewConnections {
    /// The kernel changes each when it is established in a control group or one below it.
    Group {
        /// The group's folder.
        path: PathBuf,
        /// Only connections in the namespace with this inode.
        namespace: Option<u32>,
    },
    /// longfat searches for them: they are changed a moment later.
    Search,
}

/// A network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceFile {
    path: PathBuf,
    /// Identifies the namespace while it exists.
    pub inode: u64,
}

/// Folder of the namespaces that `ip netns` has named (ip-netns(8)).
const NAMED: &str = "/run/netns";

impl NamespaceFile {
    fn at(path: PathBuf) -> io::Result<NamespaceFile> {
        let inode = fs::metadata(&path)?.ino();
        Ok(NamespaceFile { path, inode })
    }

    fn of_process(pid: u32) -> io::Result<NamespaceFile> {
        NamespaceFile::at(format!("/proc/{pid}/ns/net").into())
    }

    /// Whether the namespace still has this name or process.
    fn exists(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|m| m.ino() == self.inode)
    }

    /// Runs `work` in the namespace, on a temporary thread. The namespace is open only meanwhile: an open
    /// descriptor would keep it alive after its last process.
    ///
    /// # Errors
    /// Fails if the namespace has gone or may not be entered.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        let file = File::open(&self.path)?;
        if file.metadata()?.ino() != self.inode {
            return Err(io::ErrorKind::NotFound.into());
        }
        within(file.as_fd(), work)
    }
}

/// Returns the network namespaces of all processes that this one may see, and those with names.
pub fn all_namespaces() -> Vec<NamespaceFile> {
    let named = fs::read_dir(NAMED).into_iter().flatten().flatten().map(|e| e.path());
    let named = named.filter_map(|path| NamespaceFile::at(path).ok());
    distinct(named.chain(numbered("/proc").into_iter().filter_map(|pid| NamespaceFile::of_process(pid).ok())))
}

fn distinct(files: impl Iterator<Item = NamespaceFile>) -> Vec<NamespaceFile> {
    let mut seen = BTreeSet::new();
    files.filter(|file| seen.insert(file.inode)).collect()
}

/// Returns the numbers among the names in a folder.
fn numbered(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

/// A control group of version 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its folder.
    pub path: PathBuf,
}

impl Group {
    /// The folders of the group and of those below it.
    fn folders(&self) -> Vec<PathBuf> {
        let mut all = vec![self.path.clone()];
        let mut next = 0;
        while let Some(folder) = all.get(next) {
            let inner = fs::read_dir(folder).into_iter().flatten().flatten();
            let inner: Vec<PathBuf> =
                inner.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()).collect();
            all.extend(inner);
            next += 1;
        }
        all
    }

    /// The ids of the group and of those below it: the inodes of their folders.
    fn ids(&self) -> BTreeSet<u64> {
        self.folders().iter().filter_map(|folder| Some(fs::metadata(folder).ok()?.ino())).collect()
    }

    /// The processes in the group and those below it.
    fn members(&self) -> Vec<u32> {
        let read = |folder: PathBuf| fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        let lists: Vec<String> = self.folders().into_iter().map(read).collect();
        lists.iter().flat_map(|list| list.split_whitespace().filter_map(|n| n.parse().ok())).collect()
    }
}

/// Returns where the hierarchy of version 2 is mounted.
fn mount_point() -> Option<PathBuf> {
    mount_point_in(&fs::read_to_string("/proc/self/mounts").ok()?)
}

/// Parses `/proc/self/mounts` (fstab(5)).
fn mount_point_in(mounts: &str) -> Option<PathBuf> {
    let line = mounts.lines().find(|l| l.split(' ').nth(2) == Some("cgroup2"))?;
    Some(PathBuf::from(line.split(' ').nth(1)?.replace("\\040", " ")))
}

/// Returns a process's path in the hierarchy of version 2; `None` if there is none, or it is outside of what
/// this process may see.
fn path_of(pid: u32) -> Option<String> {
    path_in(&fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?)
}

/// Parses a `/proc/PID/cgroup` (cgroups(7)).
fn path_in(text: &str) -> Option<String> {
    let path = text.lines().find_map(|l| l.strip_prefix("0::"))?;
    (!path.split('/').any(|part| part == "..")).then(|| path.to_string())
}

/// Cuts a path after the part that names a container: what the container's own init makes is below it.
fn container_part(path: &str, id: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let at = parts.iter().position(|part| part.contains(id))?;
    Some(parts[..=at].join("/"))
}

/// The message for a target that everything belongs to.
const WHOLE_HOST: &str = "these are all connections of this host; choose some with --only";

enum Who {
    Group(Group),
    Tree(ProcessTree),
    Namespace(NamespaceFile),
}

/// The target of `apply`, resolved.
pub struct Scope {
    who: Who,
    new: NewConnections,
    /// Ids of the control groups, or the sockets of the processes, at the last update.
    groups: BTreeSet<u64>,
    owners: SocketOwners,
}

impl Scope {
    /// Finds the target.
    ///
    /// # Errors
    /// Fails with a sentence if it does not exist, or its connections cannot be told from those of others.
    pub fn find(place: &ApplyPlace, filter: &LiveFilter) -> Result<Scope, String> {
        let mount = mount_point();
        let (who, new) = match place {
            ApplyPlace::Group(path) => {
                let mount = mount.ok_or(
                    "no cgroup v2 hierarchy is mounted, in which the kernel keeps the connections of control groups",
                )?;
                let group = group(path, &mount)?;
                if group.path == mount && filter.is_empty() {
                    return Err(WHOLE_HOST.into());
                }
                let new = NewConnections::Group { path: group.path.clone(), namespace: None };
                (Who::Group(group), new)
            }
            ApplyPlace::Process(1) if filter.is_empty() => return Err(WHOLE_HOST.into()),
            ApplyPlace::Process(pid) => {
                let mut tree = ProcessTree::new(*pid);
                if !tree.update() {
                    return Err(format!("there is no process {pid}"));
                }
                let new = own_group(*pid, &tree, mount.as_deref());
                (Who::Tree(tree), new)
            }
            ApplyPlace::Container { pid, id, shares_network } => {
                let path = path_of(*pid).and_then(|path| container_part(&path, id));
                match (path, &mount) {
                    (Some(path), Some(mount)) => {
                        let group = Group { path: mount.join(path.trim_start_matches('/')) };
                        let new = NewConnections::Group { path: group.path.clone(), namespace: None };
                        (Who::Group(group), new)
                    }
                    _ if *shares_network => {
                        return Err(format!(
                            "it has the host's network and no control group (v2) of its own; name a process of it, such as \
                             pid:{pid}"
                        ));
                    }
                    _ => {
                        let file = NamespaceFile::of_process(*pid)
                            .map_err(|e| format!("its network namespace: {e}"))?;
                        of_namespace(file, mount)
                    }
                }
            }
            ApplyPlace::Namespace(name) => {
                let file = NamespaceFile::at(Path::new(NAMED).join(name)).map_err(|e| match e.kind() {
                    io::ErrorKind::NotFound => {
                        format!("there is no network namespace {name} (`ip netns` lists them)")
                    }
                    _ => format!("its network namespace: {e}"),
                })?;
                of_namespace(file, mount)
            }
        };
        let mut scope = Scope { who, new, groups: BTreeSet::new(), owners: SocketOwners::new() };
        scope.update();
        Ok(scope)
    }

    /// How new connections are found.
    pub fn new_connections(&self) -> &NewConnections {
        &self.new
    }

    /// Looks again who belongs to the target. Returns whether it still exists.
    pub fn update(&mut self) -> bool {
        match &mut self.who {
            Who::Group(group) => {
                self.groups = group.ids();
                !self.groups.is_empty()
            }
            Who::Tree(tree) => {
                let is_alive = tree.update();
                self.owners = tree.sockets();
                is_alive
            }
            Who::Namespace(file) => file.exists(),
        }
    }

    /// The network namespaces in which the target may have connections.
    pub fn namespaces(&self) -> Vec<NamespaceFile> {
        let of_processes =
            |pids: Vec<u32>| distinct(pids.into_iter().filter_map(|pid| NamespaceFile::of_process(pid).ok()));
        match &self.who {
            Who::Group(group) => of_processes(group.members()),
            Who::Tree(tree) => of_processes(tree.members().collect()),
            Who::Namespace(file) => vec![file.clone()],
        }
    }

    /// Whether a socket of these namespaces belongs to the target, by its inode and the id of its control
    /// group.
    pub fn has(&self, inode: u32, group: u64) -> bool {
        match &self.who {
            Who::Group(_) => self.groups.contains(&group),
            Who::Tree(_) => self.owners.contains_key(&inode),
            Who::Namespace(_) => true,
        }
    }
}

/// New connections of a namespace are seen at the root of all control groups.
fn of_namespace(file: NamespaceFile, mount: Option<PathBuf>) -> (Who, NewConnections) {
    let namespace = Some(file.inode as u32);
    let new = mount.map_or(NewConnections::Search, |path| NewConnections::Group { path, namespace });
    (Who::Namespace(file), new)
}

/// A process that is alone in its control group, except for its descendants, is recognised by it.
fn own_group(pid: u32, tree: &ProcessTree, mount: Option<&Path>) -> NewConnections {
    let path = mount.zip(path_of(pid)).map(|(mount, path)| mount.join(path.trim_start_matches('/')));
    let Some(path) = path.filter(|path| Some(path.as_path()) != mount) else { return NewConnections::Search };
    let group = Group { path };
    let members: BTreeSet<u32> = tree.members().collect();
    let in_group = group.members();
    match !in_group.is_empty() && in_group.iter().all(|pid| members.contains(pid)) {
        true => NewConnections::Group { path: group.path, namespace: None },
        false => NewConnections::Search,
    }
}

/// Finds a control group by its folder, or by its path in the hierarchy that is mounted at `mount`.
fn group(path: &Path, mount: &Path) -> Result<Group, String> {
    let inside = path.strip_prefix("/").unwrap_or(path);
    let folder = if path.starts_with(mount) { path.to_path_buf() } else { mount.join(inside) };
    if !folder.join("cgroup.procs").is_file() {
        return Err(format!(
            "there is no control group {}; cgroup v2 is mounted at {}, and /proc/PID/cgroup has a process's path after `0::`",
            folder.display(),
            mount.display()
        ));
    }
    // Without a final slash, and without `..`.
    let folder = fs::canonicalize(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    match folder.starts_with(mount) {
        true => Ok(Group { path: folder }),
        false => Err(format!("{} is not below {}", folder.display(), mount.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_of_version_2_is_found_among_the_mounts() {
        let hybrid =
            "cgroup /sys/fs/cgroup/cpu cgroup rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(mount_point_in(hybrid), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(mount_point_in("cgroup2 /a\\040b cgroup2 rw 0 0"), Some("/a b".into()));
        assert_eq!(mount_point_in("cgroup /sys/fs/cgroup/cpu cgroup rw 0 0\n"), None);
    }

    #[test]
    fn a_process_has_one_path_of_version_2() {
        let text = "4:memory:/x\n1:name=systemd:/y\n0::/system.slice/nginx.service\n";
        assert_eq!(path_in(text).as_deref(), Some("/system.slice/nginx.service"));
        assert_eq!(path_in("4:memory:/x\n"), None);
        // Outside of this process's control-group namespace.
        assert_eq!(path_in("0::/../other\n"), None);
    }

    #[test]
    fn a_container_is_the_part_with_its_id() {
        let part = |path| container_part(path, "0123456789ab");
        assert_eq!(
            part("/system.slice/docker-0123456789abcdef.scope/init.scope").as_deref(),
            Some("/system.slice/docker-0123456789abcdef.scope")
        );
        assert_eq!(part("/docker/0123456789ab").as_deref(), Some("/docker/0123456789ab"));
        assert_eq!(part("/"), None);
    }

    #[test]
    fn missing_targets_are_named() {
        let why = |place| Scope::find(&place, &LiveFilter::default()).err().unwrap();
        assert!(why(ApplyPlace::Namespace("no-such".into())).contains("no network namespace no-such"));
        assert!(why(ApplyPlace::Process(u32::MAX)).contains("no process"));
        assert!(why(ApplyPlace::Process(1)).contains("--only"));
        if mount_point().is_some() {
            assert!(why(ApplyPlace::Group("/no-such-group".into())).contains("no control group"));
            assert!(why(ApplyPlace::Group("/".into())).contains("--only"));
        }
    }
}
