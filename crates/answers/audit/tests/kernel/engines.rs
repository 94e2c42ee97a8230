//! Real container engines of the tests' own, with a container of a static busybox. Also a module of the
//! command line's tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A program that needs no library, so that an image consists of it alone.
pub const BUSYBOX: &str = "/bin/busybox";

/// Returns a command's output; `None`, with a message, where the command is missing or fails.
pub fn output(program: &str, args: &[&str], variables: &[(&str, &str)]) -> Option<String> {
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
pub struct EngineHome(PathBuf);

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
pub struct DockerDaemon {
    daemon: Child,
    socket: String,
    home: EngineHome,
}

impl DockerDaemon {
    pub fn start() -> Option<DockerDaemon> {
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

    pub fn docker(&self, args: &[&str]) -> Option<String> {
        output("docker", args, &[("DOCKER_HOST", &self.socket)])
    }

    /// Starts a container with its own network namespace.
    pub fn run(&self, name: &str) -> Option<()> {
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
pub struct PodmanContainer {
    home: EngineHome,
    name: String,
}

impl PodmanContainer {
    pub fn run(name: &str) -> Option<PodmanContainer> {
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

    pub fn podman(&self, args: &[&str]) -> Option<String> {
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
