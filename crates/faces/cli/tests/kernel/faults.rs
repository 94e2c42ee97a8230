//! After `kill -9` of any process at any moment nothing is left behind, and the next run is right. A flooded
//! path does not stall another one. In real time; needs root, and prints that it is skipped without.

use crate::common::within;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Number of kills, a multiple of the four kinds of commands; `LONGFAT_KILLS` overrides it.
const ROUNDS: u64 = 32;
/// Goodput of [`SCENARIO`] in the simulator and on an idle machine, Mbit/s.
const RIGHT_MBPS: f64 = 18.78;
/// Number of runs before an unreliable measurement is judged loosely.
const MAX_TRIES: u32 = 4;
/// An environment variable that marks all processes of a round.
const MARK: &str = "LONGFAT_FAULTS_TEST";

const SCENARIO: &str = r#"
duration = "2s"
[links.path]
between = ["a", "b"]
forward = [{ kind = "link", rate = "20Mbit/s", delay = "10ms" }]
backward = [{ kind = "delay", delay = "10ms" }]
[flows.f]
from = "a"
to = "b"
"#;

/// Number of kills with daemons; `LONGFAT_DAEMON_KILLS` overrides it.
const DAEMON_ROUNDS: u64 = 4;

const NETWORK: &str = r#"
duration = "1s"
[hosts.box]
services = [{ kind = "ipsec", link = "access" }, { kind = "bgp", as = 65001 }]
[hosts.gw]
services = [{ kind = "ipsec", link = "access" }, { kind = "bgp", as = 65002 }, { kind = "ftp" }]
[links.access]
between = ["box", "gw"]
forward = [{ kind = "delay", delay = "2ms" }]
backward = [{ kind = "delay", delay = "2ms" }]
[flows.f]
from = "box"
to = "gw"
app = { kind = "udp", rate = "1Mbit/s" }
"#;

/// One test, so that its parts do not run in parallel.
#[test]
fn faults() {
    let place = Place::new();
    if !place.works() {
        return;
    }
    place.kills();
    place.daemons();
    place.deaths();
    place.flood();
}

struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Place {
    fn new() -> Place {
        let dir = std::env::temp_dir().join(format!("longfat-faults-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder");
        fs::write(dir.join("s.toml"), SCENARIO).expect("a file");
        // Readable and writable for a user without privileges, too.
        let _ = Command::new("chmod").arg("-R").arg("a+rwX").arg(&dir).status();
        Place(dir)
    }

    fn longfat(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longfat"));
        command.args(args).current_dir(&self.0).env(MARK, "1").stdin(Stdio::null());
        command
    }

    /// Returns the goodput of the scenario, Mbit/s, and whether the run calls it reliable.
    fn goodput(&self) -> Result<(f64, bool), String> {
        let out = self.longfat(&["run", "s.toml", "--on", "kernel", "--json", "--out", "whole"]).output();
        let out = out.map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&out.stdout);
        let json: serde_json::Value =
            serde_json::from_str(&text).map_err(|_| String::from_utf8_lossy(&out.stderr).into_owned())?;
        let variant = &json["variants"][0];
        let found = variant["total_goodput_mbps"].as_f64().zip(variant["trust"]["reliable"].as_bool());
        found.ok_or_else(|| text.into_owned())
    }

    fn works(&self) -> bool {
        match self.goodput() {
            Ok(_) => true,
            Err(e) if e.contains("missing CAP") => {
                eprintln!("SKIPPED, this needs root: {e}");
                false
            }
            Err(e) => panic!("{e}"),
        }
    }

    fn start(&self, kind: u64) -> Child {
        // A run of one second is still running at the latest kill.
        let run = ["run", "s.toml", "--on", "kernel", "--out", "o", "--force", "--set", "duration=1s"];
        let tool = "flows.f.tool=iperf3";
        let mut command = match kind {
            0 => self.longfat(&run),
            1 => self.longfat(&[&run[..], &["--set", tool]].concat()),
            2 => self.longfat(&[
                "shell",
                "s.toml",
                "--serve",
                "b=iperf3 -s",
                "--",
                "iperf3",
                "-c",
                "b",
                "-t",
                "1",
            ]),
            _ => self.longfat(&[
                "shell",
                "s.toml",
                "--flows",
                "--",
                "sh",
                "-c",
                "(setsid sleep 30 &) ; sleep 1",
            ]),
        };
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("longfat starts")
    }

    fn kills(&self) {
        let named_before = fs::read_dir("/run/netns").map_or(0, Iterator::count);
        let mut dice = 0x9e37_79b9_7f4a_7c15u64;
        let mut roll = |n: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            dice % n
        };
        let mut killed = BTreeMap::<String, u32>::new();
        let rounds = std::env::var("LONGFAT_KILLS").ok().and_then(|n| n.parse().ok());
        for round in 0..rounds.unwrap_or(ROUNDS) {
            let mut child = self.start(round % 4);
            thread::sleep(Duration::from_millis(roll(900)));
            // Kill longfat itself, or any process of the round.
            let mut all = marked();
            if round % 8 < 4 {
                all.retain(|&pid| pid == child.id());
            }
            if let Some(&victim) = all.get(roll(all.len().max(1) as u64) as usize) {
                *killed.entry(name_of(victim)).or_default() += 1;
                let _ = Command::new("kill").args(["-9", &victim.to_string()]).status();
            }
            // Longfat ends by itself when a sender or receiver is gone.
            let ended = within(Duration::from_secs(10), || child.try_wait().expect("a status").is_some());
            assert!(ended, "round {round}: it still runs");
            // The namespaces have no name, so they are gone with their last process.
            let gone = within(Duration::from_secs(5), || marked().is_empty());
            assert!(gone, "round {round}: left {:?}", marked());
            let named = fs::read_dir("/run/netns").map_or(0, Iterator::count);
            assert_eq!(named, named_before, "round {round}");
            let devices = fs::read_to_string("/proc/net/dev").unwrap_or_default();
            assert!(!devices.contains("tun0:"), "round {round}: the machine's own namespace was touched");
            if round % 8 == 7 {
                self.is_right();
            }
        }
        println!("killed: {killed:?}");
    }

    /// Kills processes of a run with daemons: strongSwan, BIRD, vsftpd, and the shells that started them.
    fn daemons(&self) {
        fs::write(self.0.join("net.toml"), NETWORK).expect("a file");
        let run = ["run", "net.toml", "--on", "kernel", "--out", "n", "--force"];
        let out = self.longfat(&run).output().expect("longfat starts");
        let printed = String::from_utf8_lossy(&out.stderr);
        if printed.contains("lacks") {
            eprintln!("SKIPPED: {printed}");
            return;
        }
        assert!(out.status.success(), "{printed}");
        let rounds = std::env::var("LONGFAT_DAEMON_KILLS").ok().and_then(|n| n.parse().ok());
        let mut dice = 0x2545_f491_4f6c_dd1du64;
        let mut roll = |n: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            dice % n
        };
        let mut killed = BTreeMap::<String, u32>::new();
        for round in 0..rounds.unwrap_or(DAEMON_ROUNDS) {
            let mut child =
                self.longfat(&run).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
            thread::sleep(Duration::from_millis(roll(3000)));
            let mut all = marked();
            // Waiting for a killed daemon takes long, so two rounds of three kill longfat itself.
            if round % 3 > 0 {
                all.retain(|&pid| pid == child.id());
            }
            if let Some(&victim) = all.get(roll(all.len().max(1) as u64) as usize) {
                *killed.entry(name_of(victim)).or_default() += 1;
                let _ = Command::new("kill").args(["-9", &victim.to_string()]).status();
            }
            let ended = within(Duration::from_secs(45), || child.try_wait().expect("a status").is_some());
            assert!(ended, "round {round}: it still runs");
            let gone = within(Duration::from_secs(5), || marked().is_empty());
            let left: Vec<String> = marked().into_iter().map(name_of).collect();
            assert!(gone, "round {round}: left {left:?}");
            assert!(
                !fs::exists("/run/longfat").unwrap_or(true),
                "round {round}: the machine's /run was touched"
            );
        }
        println!("killed: {killed:?}");
    }

    /// When a daemon dies during a measurement, the first line of the errors says so and the exit code is 1.
    fn deaths(&self) {
        let run = [
            "run",
            "net.toml",
            "--on",
            "kernel",
            "--out",
            "d",
            "--force",
            "--no-progress",
            "--set",
            "duration=6s",
        ];
        let child = self.longfat(&run).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        let daemon = || marked().into_iter().find(|&pid| name_of(pid) == "charon");
        if !within(Duration::from_secs(5), || daemon().is_some()) {
            let out = child.wait_with_output().expect("its end");
            eprintln!("SKIPPED: no daemon here: {}", String::from_utf8_lossy(&out.stderr));
            return;
        }
        // Setting up tunnels, sessions and routes takes about 2 s; then the run takes 6 s.
        thread::sleep(Duration::from_secs(5));
        let killed = daemon().map(|pid| Command::new("kill").args(["-9", &pid.to_string()]).status());
        assert!(killed.is_some(), "it is over");
        let out = child.wait_with_output().expect("its end");
        let printed = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{printed}");
        let first = printed.lines().next().unwrap_or_default();
        assert!(
            first.starts_with("error: default: host ") && first.contains("charon (IPsec over link access)"),
            "{printed}"
        );
        assert!(printed.contains("warning: do not trust the kernel run of \"default\": host "), "{printed}");
    }

    /// Asserts that the goodput is the link's rate minus headers and slow start. A run on a machine that is
    /// too busy is repeated; the last repeat is only checked for a stall.
    fn is_right(&self) {
        let mut last = 0.0;
        for _ in 0..MAX_TRIES {
            let (goodput, reliable) = self.goodput().expect("a result");
            if reliable {
                assert!((goodput / RIGHT_MBPS - 1.0).abs() < 0.03, "{goodput} Mbit/s");
                return;
            }
            last = goodput;
        }
        eprintln!("NOT JUDGED CLOSELY: the machine was too busy {MAX_TRIES} times");
        assert!(last > 0.5 * RIGHT_MBPS, "{last} Mbit/s");
    }

    /// Sends as many datagrams as a core can through an unlimited path, while the scenario is measured on
    /// another one.
    fn flood(&self) {
        let text = r#"
            duration = "60s"
            [links.path]
            between = ["x", "y"]
            forward = [{ kind = "delay", delay = "1ms" }]
            backward = [{ kind = "delay", delay = "1ms" }]
            [flows.u]
            from = "x"
            to = "y"
            app = { kind = "udp", rate = "10Gbit/s", size = 1500 }
        "#;
        fs::write(self.0.join("flood.toml"), text).expect("a file");
        let mut flood = self.longfat(&["run", "flood.toml", "--on", "kernel", "--out", "f"]);
        let mut flood = flood.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("longfat starts");
        thread::sleep(Duration::from_millis(700));
        self.is_right();
        assert!(flood.try_wait().expect("a status").is_none(), "the flood ended before");
        let ended = Command::new("kill").args(["-TERM", &flood.id().to_string()]).status();
        assert!(ended.is_ok_and(|s| s.success()));
        assert_eq!(flood.wait().expect("a status").code(), Some(143));
    }
}

fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|e| e.file_name().to_str()?.parse().ok())
}

/// Returns the running processes that a round started, without this one.
fn marked() -> Vec<u32> {
    let ours = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&b| b == 0).any(|v| v.starts_with(MARK.as_bytes()))
    };
    processes().filter(|&pid| pid != std::process::id()).filter(ours).collect()
}

fn name_of(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_string()
}
