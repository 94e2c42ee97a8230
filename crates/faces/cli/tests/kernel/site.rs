//! Two namespaces joined by a pair of devices, and a longfat that runs there: for the tests of `attach` and
//! `apply`.

use crate::common::within;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub const LONGFAT: &str = env!("CARGO_BIN_EXE_longfat");

/// Addresses of the near and the far end.
pub const NEAR: &str = "10.77.0.1";
pub const FAR: &str = "10.77.0.2";
/// Devices of the near and the far end.
pub const DEVICES: [&str; 2] = ["lfnear", "lffar"];
/// Round trip of the namespaces without a path, ms: far above what an idle machine takes.
pub const DIRECT_MS: f64 = 20.0;

/// Two namespaces joined by a pair of devices, with an iperf3 server at the far end.
pub struct Site {
    /// Names of the namespaces.
    pub near: String,
    pub far: String,
    servers: Vec<Child>,
    pub folder: PathBuf,
}

pub fn ip(args: &str) -> bool {
    Command::new("ip").args(args.split(' ')).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

impl Site {
    /// `None` without root or a program; prints what is missing.
    pub fn new() -> Option<Site> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-{n}", std::process::id());
        if Command::new("iperf3").arg("-v").stdout(Stdio::null()).status().is_err() {
            eprintln!("SKIPPED: no iperf3");
            return None;
        }
        let folder = std::env::temp_dir().join(format!("longfat-site-{id}"));
        fs::create_dir_all(&folder).expect("a folder");
        let (near, far) = (format!("lfn{id}"), format!("lff{id}"));
        let mut site = Site { near, far, servers: Vec::new(), folder };
        if !ip(&format!("netns add {}", site.near)) {
            eprintln!("SKIPPED: needs root and iproute2");
            return None;
        }
        let (near, far, [a, b]) = (&site.near, &site.far, DEVICES);
        assert!(ip(&format!("netns add {far}")));
        assert!(ip(&format!("link add {a} netns {near} type veth peer name {b} netns {far}")));
        for (space, device, v4, v6) in [(near, a, NEAR, "fd77::1"), (far, b, FAR, "fd77::2")] {
            assert!(ip(&format!("-n {space} addr add {v4}/24 dev {device}")));
            assert!(ip(&format!("-n {space} addr add {v6}/64 dev {device} nodad")));
            assert!(ip(&format!("-n {space} link set {device} up")));
            // A control that a namespace may have as default, and that does not pace.
            let control = ["sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno"];
            assert!(inside(space, &control).status().is_ok_and(|s| s.success()));
        }
        for port in ["5201", "5202"] {
            let server = inside(far, &["iperf3", "-s", "-p", port]).stdout(Stdio::null()).spawn();
            site.servers.push(server.expect("iperf3"));
        }
        let listens = |port: &str| {
            let listed = inside(&site.far, &["ss", "-Hltn"]).output().expect("ss");
            String::from_utf8_lossy(&listed.stdout).contains(port)
        };
        assert!(within(Duration::from_secs(10), || listens(":5201") && listens(":5202")));
        // A device that has just come up does not resolve IPv6 neighbours for about a second.
        let answers = || {
            let ping = inside(&site.near, &["ping", "-c", "1", "-W", "1", "fd77::2"]).output();
            ping.is_ok_and(|p| p.status.success())
        };
        assert!(within(Duration::from_secs(10), answers));
        Some(site)
    }

    pub fn target(&self) -> String {
        format!("netns:{}", self.near)
    }

    /// Round trip of the first packet that is answered, ms.
    pub fn ping(&self) -> Option<f64> {
        let ping = inside(&self.near, &["ping", "-c", "1", "-W", "1", FAR]).output().expect("ping");
        let text = String::from_utf8_lossy(&ping.stdout).into_owned();
        text.split("time=").nth(1)?.split(' ').next()?.parse().ok()
    }

    pub fn has_devices_of_longfat(&self) -> bool {
        let listed = inside(&self.near, &["ip", "-br", "link"]).output().expect("ip");
        String::from_utf8_lossy(&listed.stdout).contains("longfat-")
    }

    /// Packets pass as without longfat, and it has left no device.
    pub fn is_as_before(&self) -> bool {
        self.ping().is_some_and(|ms| ms < DIRECT_MS) && !self.has_devices_of_longfat()
    }

    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.join(name);
        fs::write(&path, text).expect("is written");
        path.display().to_string()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
        ip(&format!("netns del {}", self.near));
        ip(&format!("netns del {}", self.far));
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A running longfat, by what it writes to standard error.
pub struct Running {
    pub child: Child,
    lines: BufReader<ChildStderr>,
    pub said: Vec<String>,
}

impl Running {
    pub fn start(command: &str, target: &str, args: &[&str]) -> Running {
        // A background job of a shell ignores SIGINT, and so would its child processes.
        let mut longfat = Command::new("env");
        longfat.args(["--default-signal=INT", LONGFAT, command, target]).args(args);
        longfat.stderr(Stdio::piped()).stdout(Stdio::null());
        // Raised, so that a process may lower it without CAP_SYS_RESOURCE. Child processes inherit it.
        fs::write("/proc/self/oom_score_adj", "500").expect("a raised score");
        let mut child = longfat.spawn().expect("longfat");
        let lines = BufReader::new(child.stderr.take().expect("piped"));
        Running { child, lines, said: Vec::new() }
    }

    /// Reads its messages until one contains `text`; false if it ends before.
    pub fn has_said(&mut self, text: &str) -> bool {
        let mut line = String::new();
        while self.lines.read_line(&mut line).is_ok_and(|n| n > 0) {
            self.said.push(std::mem::take(&mut line));
            if self.said.last().is_some_and(|said| said.contains(text)) {
                return true;
            }
        }
        false
    }

    pub fn signal(&self, signal: &str) {
        let done = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(done.is_ok_and(|s| s.success()));
    }

    /// Ids of its child processes.
    pub fn children(&self) -> Vec<String> {
        let listed =
            Command::new("pgrep").args(["-P", &self.child.id().to_string()]).output().expect("pgrep");
        String::from_utf8_lossy(&listed.stdout).lines().map(str::to_string).collect()
    }

    /// Asserts that the kernel kills it before its second process when memory runs out.
    pub fn is_watched_when_memory_runs_out(&self) {
        let children = self.children();
        assert_eq!(children.len(), 1);
        let score = |id: &str| {
            let text = fs::read_to_string(format!("/proc/{id}/oom_score_adj")).expect("a process");
            text.trim().parse::<i32>().expect("a number")
        };
        // It lowers its score itself soon after it was started.
        let own = self.child.id().to_string();
        assert!(within(Duration::from_secs(5), || score(&children[0]) < score(&own)));
    }

    /// Waits for its end, and returns its exit code.
    pub fn code(mut self) -> Option<i32> {
        self.child.wait().expect("waits").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn inside(namespace: &str, command: &[&str]) -> Command {
    let mut all = Command::new("ip");
    all.args(["netns", "exec", namespace]).args(command);
    all
}
