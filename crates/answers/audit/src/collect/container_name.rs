//! Finds a container's name in the files of its engine, without querying a daemon.
//!
//! | engine | file | name |
//! |---|---|---|
//! | Docker | `DATA/containers/ID/config.v2.json` | `Name` |
//! | Podman | `STORAGE/overlay-containers/containers.json` | `names` of the entry with this `id` |
//! | containerd, and so Kubernetes | `/run/containerd/io.containerd.runtime.v2.task/NAMESPACE/ID/config.json` | annotations of the CRI, or nerdctl's |
//!
//! The container's `/proc/PID/mountinfo` shows where `DATA` and `STORAGE` are configured to be, since its
//! `/etc/hostname` and its root are mounted from there (proc(5)). Root in a container may mount anything, so
//! a name counts only if engines allow it, and only from the entry with the container's own id.

use super::container::ContainerGroup;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Default location of the files of each engine.
const DOCKER: &str = "/var/lib/docker";
const PODMAN: &str = "/var/lib/containers/storage";
const CONTAINERD: &str = "/run/containerd/io.containerd.runtime.v2.task";
/// Namespaces of containerd: of Kubernetes, of nerdctl and `ctr`, of Docker.
const CONTAINERD_NAMESPACES: [&str; 3] = ["k8s.io", "default", "moby"];
/// Size limit for reading a file, in bytes. A container takes some three thousand.
const MAX_FILE_BYTES: u64 = 8 << 20;
/// Length limit of a name: Kubernetes' limit, that of a DNS name (RFC 1123 section 2.1).
const MAX_NAME_BYTES: usize = 253;

/// Returns the name of a container that a process is in; `None` if it is in none of the known files.
pub fn of_process(container: &ContainerGroup, pid: u32) -> Option<String> {
    let mounts = std::fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
    name_of_container(container, &mounts)
}

/// Returns a name such as `docker web`; `None` where the engine's files do not have it or cannot be read.
/// `mounts` is the `/proc/PID/mountinfo` of a process in the container.
fn name_of_container(container: &ContainerGroup, mounts: &str) -> Option<String> {
    let ContainerGroup { engine, id } = container;
    let name = match *engine {
        "docker" => docker(id, mounts),
        "podman" => podman(id, mounts),
        _ => CONTAINERD_NAMESPACES
            .iter()
            .find_map(|space| annotated(&Path::new(CONTAINERD).join(space).join(id))),
    };
    name.map(|name| format!("{engine} {name}"))
}

fn docker(id: &str, mounts: &str) -> Option<String> {
    let mounted =
        mounts.lines().filter_map(|line| mount_root(line).strip_suffix("/hostname")).map(PathBuf::from);
    let folders = mounted.filter(|folder| folder.ends_with(Path::new("containers").join(id)));
    let usual = Path::new(DOCKER).join("containers").join(id);
    folders.chain([usual]).find_map(|folder| {
        let config = read_json(&folder.join("config.v2.json"))?;
        let own = config["ID"].as_str() == Some(id);
        own.then(|| valid_name(config["Name"].as_str()?.strip_prefix('/')?)).flatten()
    })
}

fn podman(id: &str, mounts: &str) -> Option<String> {
    // The option has the form `upperdir=STORAGE/overlay/LAYER/diff`.
    let upper = mounts.split([',', ' ', '\n']).filter_map(|word| word.strip_prefix("upperdir="));
    let storage = upper.filter_map(|path| Some(PathBuf::from(path.rsplit_once("/overlay/")?.0)));
    storage.chain([PODMAN.into()]).find_map(|storage: PathBuf| {
        let all = read_json(&storage.join("overlay-containers/containers.json"))?;
        let own = all.as_array()?.iter().find(|c| c["id"].as_str() == Some(id))?;
        valid_name(own["names"][0].as_str()?)
    })
}

/// Reads the name in a bundle's configuration (OCI runtime specification, `config.md`: annotations).
fn annotated(bundle: &Path) -> Option<String> {
    let config = read_json(&bundle.join("config.json"))?;
    let annotation = |key: &str| config["annotations"][key].as_str().and_then(valid_name);
    // Keys of containerd (pkg/cri/annotations) and of CRI-O.
    let container =
        annotation("io.kubernetes.cri.container-name").or_else(|| annotation("io.kubernetes.container.name"));
    let pod = annotation("io.kubernetes.cri.sandbox-name").or_else(|| annotation("io.kubernetes.pod.name"));
    let namespace = annotation("io.kubernetes.cri.sandbox-namespace")
        .or_else(|| annotation("io.kubernetes.pod.namespace"));
    let parts: Vec<String> = [namespace, pod, container].into_iter().flatten().collect();
    if parts.is_empty() { annotation("nerdctl/name") } else { Some(parts.join("/")) }
}

/// Returns the root of a mount within its file system (proc(5): the fourth field of mountinfo).
fn mount_root(line: &str) -> &str {
    line.split(' ').nth(3).unwrap_or_default()
}

/// Returns the name if an engine would allow it.
fn valid_name(name: &str) -> Option<String> {
    let is = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    (!name.is_empty() && name.len() <= MAX_NAME_BYTES && name.chars().all(is)).then(|| name.into())
}

fn read_json(path: &Path) -> Option<Value> {
    let file = File::open(path).ok().filter(|f| f.metadata().is_ok_and(|m| m.is_file()))?;
    serde_json::from_reader(file.take(MAX_FILE_BYTES)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const ID: &str = "04b0303d38a26f6740f15dfe6cbb777c50b4cb30915d6b554ecf9c984d336484";

    /// A temporary folder with one file, removed when dropped.
    struct EngineFolder(PathBuf);

    impl EngineFolder {
        fn new(test: &str, file: &str, text: &str) -> EngineFolder {
            let folder = std::env::temp_dir().join(format!("longfat-engine-{test}-{}", std::process::id()));
            let path = folder.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("is made");
            fs::write(path, text).expect("is written");
            EngineFolder(folder)
        }

        fn path(&self) -> &str {
            self.0.to_str().expect("a temporary folder's name")
        }
    }

    impl Drop for EngineFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn group(engine: &'static str) -> ContainerGroup {
        ContainerGroup { engine, id: ID.into() }
    }

    #[test]
    fn the_name_in_docker_is_found_by_the_containers_mounts() {
        let config = |id: &str, name: &str| format!(r#"{{"ID":"{id}","Name":"{name}","State":{{}}}}"#);
        let file = format!("containers/{ID}/config.v2.json");
        let name_of = |test: &str, text: &str| {
            let made = EngineFolder::new(test, &file, text);
            let mounts = format!("90 72 254:0 {}/containers/{ID}/hostname /etc/hostname rw", made.path());
            name_of_container(&group("docker"), &mounts)
        };
        assert_eq!(name_of("docker", &config(ID, "/web-1.a_b")), Some("docker web-1.a_b".into()));
        for (test, id, name) in
            [("other", "00", "/web"), ("escape", ID, "/we\\u001b[2J"), ("bare", ID, "web"), ("none", ID, "/")]
        {
            assert_eq!(name_of(test, &config(id, name)), None, "{test}");
        }
        assert_eq!(name_of("damage", "{"), None);
        // A mount of another container's folder does not count.
        assert_eq!(
            name_of_container(&group("docker"), "1 2 254:0 /x/containers/00/hostname /etc/hostname rw"),
            None
        );
    }

    #[test]
    fn names_of_podman_and_kubernetes_containers_are_found() {
        let list = format!(r#"[{{"id":"00","names":["db"]}},{{"id":"{ID}","names":["store"]}}]"#);
        let made = EngineFolder::new("podman", "overlay-containers/containers.json", &list);
        let mounts =
            format!("7 1 0:39 / / rw - overlay overlay rw,upperdir={}/overlay/ab/diff,x=y", made.path());
        assert_eq!(name_of_container(&group("podman"), &mounts), Some("podman store".into()));
        for (test, annotations, name) in [
            (
                "cri",
                r#"{"io.kubernetes.cri.container-name":"app","io.kubernetes.cri.sandbox-name":"shop-7",
                    "io.kubernetes.cri.sandbox-namespace":"prod"}"#,
                Some("prod/shop-7/app"),
            ),
            (
                "cri-o",
                r#"{"io.kubernetes.container.name":"app","io.kubernetes.pod.name":"shop-7"}"#,
                Some("shop-7/app"),
            ),
            ("nerdctl", r#"{"nerdctl/name":"web"}"#, Some("web")),
            ("nothing", "{}", None),
        ] {
            let made = EngineFolder::new(test, "config.json", &format!(r#"{{"annotations":{annotations}}}"#));
            assert_eq!(annotated(&made.0).as_deref(), name, "{test}");
        }
    }
}
