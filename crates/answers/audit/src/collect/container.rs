//! Finds the container of a process by its control group (/proc/PID/cgroup).
//!
//! | engine | cgroup v2 with systemd | without systemd |
//! |---|---|---|
//! | Docker | `/system.slice/docker-ID.scope` | `/docker/ID` |
//! | Podman | `/machine.slice/libpod-ID.scope` | `/libpod_parent/libpod-ID` |
//! | containerd | `…/cri-containerd-ID.scope`, `/system.slice/containerd.service/…:ID` | `/NAMESPACE/ID` |
//! | CRI-O | `…/crio-ID.scope` | |
//! | Kubernetes | any of these below `kubepods` | `/kubepods/…/ID` |

use std::fmt;

/// Number of an id's digits that are shown, as in `docker ps`.
const SHOWN_DIGITS: usize = 12;

/// A container, identified by its processes' control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerGroup {
    /// `docker`, `podman`, `containerd`, `cri-o`, `lxc` or `kubernetes`.
    pub engine: &'static str,
    /// The container's id, 64 hexadecimal digits.
    pub id: String,
}

impl fmt::Display for ContainerGroup {
    /// Formats as `docker 0123456789ab`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.engine, &self.id[..SHOWN_DIGITS])
    }
}

/// Returns the container of a process with this content of `/proc/PID/cgroup`; `None` if it is in no known
/// one.
pub fn of_cgroup(text: &str) -> Option<ContainerGroup> {
    text.lines().filter_map(|line| line.splitn(3, ':').nth(2)).find_map(of_path)
}

fn of_path(path: &str) -> Option<ContainerGroup> {
    // The innermost group counts, because engines can be nested.
    let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    for (i, part) in parts.iter().enumerate().rev() {
        // Skip groups such as `init`, `container` or `supervisor`, which an engine, or a system inside it,
        // creates below its own.
        let name = part.strip_suffix(".scope").unwrap_or(part);
        for (prefix, engine) in [
            ("docker-", "docker"),
            ("libpod-", "podman"),
            ("cri-containerd-", "containerd"),
            ("crio-", "cri-o"),
            ("lxc-", "lxc"),
        ] {
            if let Some(id) = name.strip_prefix(prefix).and_then(id) {
                return Some(ContainerGroup { engine, id });
            }
        }
        let Some(id) = id(name.rsplit(':').next().unwrap_or(name)) else { continue };
        let above = parts[..i].join("/");
        let engine = match () {
            () if above.ends_with("docker") => "docker",
            () if above.contains("kubepods") || name.contains("cri-containerd") => "kubernetes",
            () if above.contains("libpod") => "podman",
            () => "containerd",
        };
        return Some(ContainerGroup { engine, id });
    }
    None
}

/// Parses an id of 64 hexadecimal digits.
fn id(name: &str) -> Option<String> {
    let hex = name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit());
    hex.then(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_recognised_by_their_control_groups() {
        let id = "0123456789abcdef".repeat(4);
        for (path, engine) in [
            (format!("0::/system.slice/docker-{id}.scope"), "docker"),
            (format!("12:memory:/docker/{id}\n0::/docker/{id}"), "docker"),
            (format!("0::/system.slice/docker-{id}.scope/init.scope"), "docker"),
            (format!("0::/machine.slice/libpod-{id}.scope/container"), "podman"),
            (
                format!("0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{id}.scope"),
                "podman",
            ),
            (
                format!(
                    "0::/kubepods.slice/kubepods-burstable.slice/kubepods-pod7.slice/cri-containerd-{id}.scope"
                ),
                "containerd",
            ),
            (format!("0::/kubepods/burstable/pod7/{id}"), "kubernetes"),
            (
                format!("0::/system.slice/containerd.service/kubepods-pod7.slice:cri-containerd:{id}"),
                "kubernetes",
            ),
            (format!("0::/default/{id}"), "containerd"),
        ] {
            let found = of_cgroup(&path).map(|c| c.to_string());
            assert_eq!(found, Some(format!("{engine} 0123456789ab")), "{path}");
        }
    }

    #[test]
    fn other_control_groups_are_not_containers() {
        for path in
            ["0::/", "0::/init.scope", "0::/system.slice/ssh.service", "", "nonsense", "0::/docker/short"]
        {
            assert_eq!(of_cgroup(path), None, "{path}");
        }
    }
}
