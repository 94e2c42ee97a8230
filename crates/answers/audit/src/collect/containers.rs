//! Finds a container by its name.

use super::{container_name, namespaces};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Least number of an id's digits by which a container may be named.
const MIN_DIGITS: usize = 6;

/// A running container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerProcess {
    /// Name as `longfat check` shows it: with its engine, or pod and container; the engine and the beginning
    /// of the id if it has none.
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
    chosen(name, &all, hidden.unwrap_or_default())
}

/// Chooses the container that is called `name`. `where_seen` ends the message that there is none.
fn chosen(name: &str, all: &[ContainerProcess], where_seen: &str) -> Result<ContainerProcess, String> {
    let is_called = |c: &&ContainerProcess| {
        let short = c.name.split_once(' ').map_or(c.name.as_str(), |(_, short)| short);
        let is_id = name.len() >= MIN_DIGITS && c.id.starts_with(name);
        c.name == name || short == name || is_id
    };
    let found: Vec<&ContainerProcess> = all.iter().filter(is_called).collect();
    let names = |some: &mut dyn Iterator<Item = &ContainerProcess>| {
        let mut names: Vec<&str> = some.map(|c| c.name.as_str()).collect();
        names.sort_unstable();
        names.join(", ")
    };
    match found[..] {
        [one] => Ok(one.clone()),
        [] if all.is_empty() => Err(format!("`{name}`: no container runs{where_seen}")),
        [] => Err(format!(
            "`{name}`: no running container has this name{where_seen}; there are {}",
            names(&mut all.iter())
        )),
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
            container("shop-7/app", "c", 3),
            container("docker 0123", "d", 4),
        ];
        let pid = |name: &str| chosen(name, &all, "").map(|c| c.pid);
        assert_eq!(pid("docker web"), Ok(1));
        assert_eq!(pid("shop-7/app"), Ok(3));
        assert_eq!(pid("bbbbbb"), Ok(2));
        assert!(pid("bbbbb").is_err(), "too short");
        assert!(pid("web").unwrap_err().contains("docker web (aaaaaaaaaaaa), podman web (bbbbbbbbbbbb)"));
        assert_eq!(
            pid("db").unwrap_err(),
            "`db`: no running container has this name; there are docker 0123, docker web, podman web, shop-7/app"
        );
        assert_eq!(chosen("db", &[], " here").unwrap_err(), "`db`: no container runs here");
    }

    #[test]
    fn a_container_that_does_not_exist_is_not_found() {
        assert!(find_container("longfat-has-no-such-container").unwrap_err().starts_with("`longfat-has"));
    }
}
