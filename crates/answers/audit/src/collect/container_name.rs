//! What a container is called, by the files that its engine keeps: no daemon is asked.
//!
//! | engine | file | its name |
//! |---|---|---|
//! | Docker | `DATA/containers/ID/config.v2.json` | `Name` |
//! | Podman | `STORAGE/overlay-containers/containers.json` | `names` of the entry with this `id` |
//! | containerd, and so Kubernetes | `/run/containerd/io.containerd.runtime.v2.task/NAMESPACE/ID/config.json` | annotations of the CRI, or nerdctl's |
//!
//! `DATA` and `STORAGE` are where the engine was told to put them: the container's own `/proc/PID/mountinfo` says it, since its
//! `/etc/hostname` and its root are mounted from there (proc(5)). Who is root in a container may mount what it likes, so a name
//! counts only if it is one that engines take, and only of the entry with the container's own id.

use super::container::ContainerGroup;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Where engines keep these when they are told nothing else.
const DOCKER: &str = "/var/lib/docker";
const PODMAN: &str = "/var/lib/containers/storage";
const CONTAINERD: &str = "/run/containerd/io.containerd.runtime.v2.task";
/// Namespaces of containerd: Kubernetes', nerdctl's and `ctr`'s, Docker's.
const SPACES: [&str; 3] = ["k8s.io", "default", "moby"];
/// Bytes of a file that are read: a container takes some three thousand.
const LONGEST: u64 = 8 << 20;
/// The longest name that is shown: Kubernetes' limit, that of a DNS name (RFC 1123 section 2.1).
const LONGEST_NAME: usize = 253;

/// `docker web`; `None` where the engine's files do not say, or may not be read. `mounts`: `/proc/PID/mountinfo` of a process in it.
pub fn of(container: &ContainerGroup, mounts: &str) -> Option<String> {
    let ContainerGroup { engine, id } = container;
    let name = match *engine {
        "docker" => docker(id, mounts),
        "podman" => podman(id, mounts),
        _ => SPACES.iter().find_map(|space| annotated(&Path::new(CONTAINERD).join(space).join(id))),
    };
    name.map(|name| format!("{engine} {name}"))
}

fn docker(id: &str, mounts: &str) -> Option<String> {
    let mounted = mounts.lines().filter_map(|line| root(line).strip_suffix("/hostname")).map(PathBuf::from);
    let folders = mounted.filter(|folder| folder.ends_with(Path::new("containers").join(id)));
    let usual = Path::new(DOCKER).join("containers").join(id);
    folders.chain([usual]).find_map(|folder| {
        let config = json(&folder.join("config.v2.json"))?;
        let own = config["ID"].as_str() == Some(id);
        own.then(|| allowed(config["Name"].as_str()?.strip_prefix('/')?)).flatten()
    })
}

fn podman(id: &str, mounts: &str) -> Option<String> {
    // `upperdir=STORAGE/overlay/LAYER/diff`.
    let upper = mounts.split([',', ' ', '\n']).filter_map(|word| word.strip_prefix("upperdir="));
    let storage = upper.filter_map(|path| Some(PathBuf::from(path.rsplit_once("/overlay/")?.0)));
    storage.chain([PODMAN.into()]).find_map(|storage: PathBuf| {
        let all = json(&storage.join("overlay-containers/containers.json"))?;
        let own = all.as_array()?.iter().find(|c| c["id"].as_str() == Some(id))?;
        allowed(own["names"][0].as_str()?)
    })
}

/// The name in the configuration of a bundle (OCI runtime specification, `config.md`: annotations).
fn annotated(bundle: &Path) -> Option<String> {
    let config = json(&bundle.join("config.json"))?;
    let says = |key: &str| config["annotations"][key].as_str().and_then(allowed);
    // containerd's pkg/cri/annotations, and CRI-O's.
    let container = says("io.kubernetes.cri.container-name").or_else(|| says("io.kubernetes.container.name"));
    let pod = says("io.kubernetes.cri.sandbox-name").or_else(|| says("io.kubernetes.pod.name"));
    match (pod, container) {
        (Some(pod), Some(container)) => Some(format!("{pod}/{container}")),
        (pod, container) => pod.or(container).or_else(|| says("nerdctl/name")),
    }
}

/// The place in its file system of what a line of mountinfo mounts (proc(5): the fourth field).
fn root(line: &str) -> &str {
    line.split(' ').nth(3).unwrap_or_default()
}

/// A name that an engine would have taken.
fn allowed(name: &str) -> Option<String> {
    let is = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    (!name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is)).then(|| name.into())
}

fn json(path: &Path) -> Option<Value> {
    let file = File::open(path).ok().filter(|f| f.metadata().is_ok_and(|m| m.is_file()))?;
    serde_json::from_reader(file.take(LONGEST)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const ID: &str = "04b0303d38a26f6740f15dfe6cbb777c50b4cb30915d6b554ecf9c984d336484";

    /// A folder with one file; gone when dropped.
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
    fn docker_is_asked_where_the_container_is_mounted_from() {
        let config = |id: &str, name: &str| format!(r#"{{"ID":"{id}","Name":"{name}","State":{{}}}}"#);
        let file = format!("containers/{ID}/config.v2.json");
        let told = |test: &str, text: &str| {
            let made = EngineFolder::new(test, &file, text);
            let mounts = format!("90 72 254:0 {}/containers/{ID}/hostname /etc/hostname rw", made.path());
            of(&group("docker"), &mounts)
        };
        assert_eq!(told("docker", &config(ID, "/web-1.a_b")), Some("docker web-1.a_b".into()));
        for (test, id, name) in
            [("other", "00", "/web"), ("escape", ID, "/we\\u001b[2J"), ("bare", ID, "web"), ("none", ID, "/")]
        {
            assert_eq!(told(test, &config(id, name)), None, "{test}");
        }
        assert_eq!(told("damage", "{"), None);
        // A mount of another container's folder is none of its own.
        assert_eq!(of(&group("docker"), "1 2 254:0 /x/containers/00/hostname /etc/hostname rw"), None);
    }

    #[test]
    fn podman_and_the_runtimes_of_kubernetes_too() {
        let list = format!(r#"[{{"id":"00","names":["db"]}},{{"id":"{ID}","names":["store"]}}]"#);
        let made = EngineFolder::new("podman", "overlay-containers/containers.json", &list);
        let mounts =
            format!("7 1 0:39 / / rw - overlay overlay rw,upperdir={}/overlay/ab/diff,x=y", made.path());
        assert_eq!(of(&group("podman"), &mounts), Some("podman store".into()));
        for (test, annotations, name) in [
            (
                "cri",
                r#"{"io.kubernetes.cri.container-name":"app","io.kubernetes.cri.sandbox-name":"shop-7"}"#,
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
