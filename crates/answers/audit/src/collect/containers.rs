//! Finds a container by its name.

use super::{container_name, namespaces};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Least number of an id's digits by which a container may be named.
const MIN_DIGITS: usize = 6;

/// A running container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerProcess {
    /// Name as `longfat check` shows it: with its engine; the beginning of the id if it has none.
    pub name: String,
    /// Id, 64 hexadecimal digits.
    pub id: String,
    /// First process of the container that was found.
    pub pid: u32,
    /// Whether it is in longfat's own network namespace, as with the host's network.
    pub shares_network: bool,
}

/// Finds the running container that is called `name`: by its whole name, the name without the engine, or at
/// least 6 digits of its id.
///
/// # Errors
/// Fails with a sentence if there is none, or several match.
pub fn find_container(name: &str) -> Result<ContainerProcess, String> {
    let (all, where_seen) = running();
    chosen(name, &all, where_seen)
}

/// Finds a container of a Kubernetes pod on this node; all containers of a pod share its network.
///
/// # Errors
/// Fails with a sentence if there is none.
pub fn find_pod(namespace: &str, pod: &str) -> Result<ContainerProcess, String> {
    let (all, where_seen) = running();
    let of_pod = all.iter().find(|c| is_of_pod(short_name(c), namespace, pod));
    of_pod.cloned().ok_or_else(|| none_is_called(&format!("{namespace}/{pod}"), &all, where_seen))
}

/// Whether a name is that of a pod or of one of its containers.
fn is_of_pod(name: &str, namespace: &str, pod: &str) -> bool {
    let mut parts = name.split('/');
    parts.next() == Some(namespace) && parts.next() == Some(pod)
}

/// The running containers, and the end of the message that one is not among them.
fn running() -> (Vec<ContainerProcess>, &'static str) {
    let (by_inode, hidden) = namespaces::processes();
    let own = fs::metadata("/proc/thread-self/ns/net").map(|m| m.ino()).unwrap_or_default();
    let mut all: Vec<ContainerProcess> = Vec::new();
    for (inode, processes) in by_inode {
        for process in processes {
            let Some(group) = process.container else { continue };
            if all.iter().any(|known| known.id == group.id) {
                continue;
            }
            let name = container_name::of_process(&group, process.pid).unwrap_or_else(|| group.to_string());
            let shares_network = inode == own;
            all.push(ContainerProcess { name, id: group.id, pid: process.pid, shares_network });
        }
    }
    let hidden =
        (hidden > 0).then_some(" among the processes that longfat may see (CAP_SYS_PTRACE shows all)");
    (all, hidden.unwrap_or_default())
}

/// The name without the engine.
fn short_name(container: &ContainerProcess) -> &str {
    container.name.split_once(' ').map_or(container.name.as_str(), |(_, short)| short)
}

fn listed<'a>(some: impl Iterator<Item = &'a ContainerProcess>) -> String {
    let mut names: Vec<&str> = some.map(|c| c.name.as_str()).collect();
    names.sort_unstable();
    names.join(", ")
}

fn none_is_called(name: &str, all: &[ContainerProcess], where_seen: &str) -> String {
    match all.is_empty() {
        true => format!("`{name}`: no container runs{where_seen}"),
        false => format!(
            "`{name}`: no running container has this name{where_seen}; there are {}",
            listed(all.iter())
        ),
    }
}

/// Chooses the container that is called `name`. `where_seen` ends the message that there is none.
fn chosen(name: &str, all: &[ContainerProcess], where_seen: &str) -> Result<ContainerProcess, String> {
    let is_called = |c: &&ContainerProcess| {
        let is_id = name.len() >= MIN_DIGITS && c.id.starts_with(name);
        c.name == name || short_name(c) == name || is_id
    };
    let found: Vec<&ContainerProcess> = all.iter().filter(is_called).collect();
    match found[..] {
        [one] => Ok(one.clone()),
        [] => Err(none_is_called(name, all, where_seen)),
        _ => Err(format!(
            "`{name}`: several containers have this name: {}; their ids tell them apart",
            found.iter().map(|c| format!("{} ({})", c.name, &c.id[..12])).collect::<Vec<_>>().join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(name: &str, digit: &str, pid: u32) -> ContainerProcess {
        ContainerProcess { name: name.into(), id: digit.repeat(64), pid, shares_network: false }
    }

    #[test]
    fn a_container_is_found_by_its_name_or_id() {
        let all = [
            container("docker web", "a", 1),
            container("podman web", "b", 2),
            container("kubernetes prod/shop-7/app", "c", 3),
            container("docker 0123", "d", 4),
        ];
        let pid = |name: &str| chosen(name, &all, "").map(|c| c.pid);
        assert_eq!(pid("docker web"), Ok(1));
        assert_eq!(pid("prod/shop-7/app"), Ok(3));
        assert_eq!(pid("bbbbbb"), Ok(2));
        assert!(pid("bbbbb").is_err(), "too short");
        assert!(pid("web").unwrap_err().contains("docker web (aaaaaaaaaaaa), podman web (bbbbbbbbbbbb)"));
        assert_eq!(
            pid("db").unwrap_err(),
            "`db`: no running container has this name; there are docker 0123, docker web, kubernetes prod/shop-7/app, podman web"
        );
        assert_eq!(chosen("db", &[], " here").unwrap_err(), "`db`: no container runs here");
    }

    #[test]
    fn a_pod_is_called_by_its_namespace_and_name() {
        for (name, is) in [("prod/shop-7/app", true), ("prod/shop-7", true), ("prod/shop-70/app", false)] {
            assert_eq!(is_of_pod(name, "prod", "shop-7"), is, "{name}");
        }
    }

    #[test]
    fn a_container_that_does_not_exist_is_not_found() {
        assert!(find_container("longfat-has-no-such-container").unwrap_err().starts_with("`longfat-has"));
    }
}
