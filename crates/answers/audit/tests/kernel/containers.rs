//! `longfat check` with real containers: a separate Docker daemon, and Podman, each with a container of a
//! static busybox. Requires root, dockerd, podman, runc and busybox-static; prints what is missing. Run by
//! `make netns`.

use audit::{AuditFinding, HostFacts, collect, judge};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// A program that needs no library, so that an image consists of it alone.
const BUSYBOX: &str = "/bin/busybox";

/// The host's default congestion control, restored when dropped.
struct RestoredControl(String);

impl Drop for RestoredControl {
    fn drop(&mut self) {
        fs::write(DEFAULT, &self.0).expect("the host's default is restored");
    }
}

/// Returns a command's output; `None`, with a message, where the command is missing or fails.
fn output(program: &str, args: &[&str], variables: &[(&str, &str)]) -> Option<String> {
    let out = Command::new(program).args(args).envs(variables.iter().copied()).stdin(Stdio::null()).output();
    match out {
        Ok(out) if out.status.success() => Some(String::from_utf8_lossy(&out.stdout).trim().into()),
        Ok(out) => {
            eprintln!("{program} {}: {}", args.join(" "), String::from_utf8_lossy(&out.stderr).trim());
            None
        }
        Err(e) => {
            eprintln!("{program}: {e}");
            None
        }
    }
}

/// A folder for all files of an engine, removed when dropped.
struct EngineHome(PathBuf);

impl EngineHome {
    fn new(engine: &str) -> EngineHome {
        let folder = std::env::temp_dir().join(format!("lfcheck-{engine}-{}", std::process::id()));
        fs::create_dir_all(folder.join("root/bin")).expect("is made");
        fs::copy(BUSYBOX, folder.join("root/bin/sleep")).expect("busybox is copied");
        EngineHome(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Creates an image of busybox alone.
    fn image(&self) -> String {
        let (image, root) = (self.path("image.tar"), self.path("root"));
        output("tar", &["-C", &root, "-cf", &image, "."], &[]).expect("tar is there");
        image
    }
}

impl Drop for EngineHome {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A Docker daemon that does not touch the host's network and uses its own folders; stopped when dropped.
struct DockerDaemon {
    daemon: Child,
    socket: String,
    home: EngineHome,
}

impl DockerDaemon {
    fn start() -> Option<DockerDaemon> {
        let home = EngineHome::new("docker");
        let socket = format!("unix://{}", home.path("socket"));
        let (data, exec, pid) = (home.path("data"), home.path("exec"), home.path("pid"));
        let mut command = Command::new("dockerd");
        command.args(["--data-root", &data, "--exec-root", &exec, "--pidfile", &pid, "-H", &socket]);
        command.args(["--bridge=none", "--iptables=false", "--ip-forward=false", "--ip-masq=false"]);
        let daemon = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let daemon = DockerDaemon { daemon, socket, home };
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(200));
            if Path::new(&daemon.home.path("socket")).exists() {
                return Some(daemon);
            }
        }
        None
    }

    fn docker(&self, args: &[&str]) -> Option<String> {
        output("docker", args, &[("DOCKER_HOST", &self.socket)])
    }

    /// Starts a container with its own network namespace.
    fn run(&self, name: &str) -> Option<()> {
        self.docker(&["import", &self.home.image(), "lfcheck:1"])?;
        self.docker(&["run", "-d", "--name", name, "--network", "none", "lfcheck:1", "/bin/sleep", "600"])?;
        Some(())
    }
}

impl Drop for DockerDaemon {
    fn drop(&mut self) {
        if let Some(all) = self.docker(&["ps", "-aq"]) {
            all.lines().for_each(|id| drop(self.docker(&["rm", "-f", id])));
        }
        let _ = Command::new("kill").arg(self.daemon.id().to_string()).status();
        let _ = self.daemon.wait();
    }
}

/// A container of Podman.
struct PodmanContainer {
    home: EngineHome,
    name: String,
}

impl PodmanContainer {
    fn run(name: &str) -> Option<PodmanContainer> {
        let home = EngineHome::new("podman");
        let storage = format!(
            "[storage]\ndriver = \"overlay\"\ngraphroot = \"{}\"\nrunroot = \"{}\"\n",
            home.path("graph"),
            home.path("run")
        );
        fs::write(home.0.join("storage.conf"), storage).expect("is written");
        // Limits that root may set in any environment.
        let limits = "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n";
        fs::write(home.0.join("containers.conf"), limits).expect("is written");
        let container = PodmanContainer { home, name: name.into() };
        container.podman(&["import", &container.home.image(), "lfcheck:1"])?;
        let image = "localhost/lfcheck:1";
        container.podman(&["run", "-d", "--name", name, "--network", "none", image, "/bin/sleep", "600"])?;
        Some(container)
    }

    fn podman(&self, args: &[&str]) -> Option<String> {
        let (storage, containers) = (self.home.path("storage.conf"), self.home.path("containers.conf"));
        let variables = [("CONTAINERS_STORAGE_CONF", &*storage), ("CONTAINERS_CONF", &*containers)];
        let all: Vec<&str> = ["--cgroup-manager", "cgroupfs", "--runtime", "runc"].into_iter().collect();
        output("podman", &[all.as_slice(), args].concat(), &variables)
    }
}

impl Drop for PodmanContainer {
    fn drop(&mut self) {
        self.podman(&["rm", "-f", "-t", "0", &self.name]);
    }
}

/// Returns the findings about the namespace of this name.
fn findings(host: &HostFacts, name: &str) -> Vec<AuditFinding> {
    judge(host, None).into_iter().filter(|f| f.namespaces.iter().any(|n| n == name)).collect()
}

/// Changes the host's default while the container runs, and checks that the finding names the container and
/// that its commands resolve it.
fn check_container(engine: &str, name: &str) {
    let kept = RestoredControl(fs::read_to_string(DEFAULT).expect("reads").trim().into());
    let called = format!("{engine} {name}");
    let host = collect();
    let all: Vec<&str> = host.namespaces.iter().map(|n| n.name.as_str()).collect();
    let namespace =
        host.namespaces.iter().find(|n| n.name == called).unwrap_or_else(|| panic!("{called}: {all:?}"));
    assert!(
        namespace.container.as_deref().is_some_and(|c| c.starts_with(engine)),
        "{:?}",
        namespace.container
    );
    assert_eq!(namespace.default_control(), Some(kept.0.as_str()));
    assert!(findings(&host, &called).is_empty());

    let other = if kept.0 == "reno" { "bbr" } else { "reno" };
    fs::write(DEFAULT, other).expect("root may set it");
    let found = findings(&collect(), &called);
    let [finding] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(finding.rule, "older-than-default");
    for lines in [finding.commands(), finding.undo()] {
        for line in &lines {
            output("sh", &["-c", line], &[]).expect("what it says can be typed");
        }
        let left = findings(&collect(), &called).len();
        assert_eq!(left, usize::from(lines == finding.undo()), "{lines:?}");
    }
}

fn can_run() -> bool {
    let root = fs::write(DEFAULT, fs::read_to_string(DEFAULT).unwrap_or_default()).is_ok();
    let can_run = root && Path::new(BUSYBOX).exists();
    if !can_run {
        eprintln!("SKIPPED: needs root and busybox-static");
    }
    can_run
}

#[test]
fn a_docker_container_is_named_in_its_finding() {
    if !can_run() {
        return;
    }
    let Some(docker) = DockerDaemon::start() else { return eprintln!("SKIPPED: no dockerd runs here") };
    if docker.run("lfcheck-web").is_none() {
        return eprintln!("SKIPPED: dockerd runs no container here");
    }
    check_container("docker", "lfcheck-web");
}

#[test]
fn a_podman_container_is_named_in_its_finding() {
    if !can_run() {
        return;
    }
    let Some(_container) = PodmanContainer::run("lfcheck-store") else {
        return eprintln!("SKIPPED: podman runs no container here");
    };
    check_container("podman", "lfcheck-store");
}
