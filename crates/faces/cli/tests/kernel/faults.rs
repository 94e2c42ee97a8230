//! `kill -9` of anything at any moment: nothing is left behind, and the next run is right. And a
//! path that is flooded does not stall another one. In real time, as root; elsewhere it says so aloud.

use crate::common::within;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// How many times something is killed: four times whatever a round may begin with. `LONGFAT_KILLS` for more.
const ROUNDS: u64 = 32;
/// Mbit/s of goodput that the simulator and a machine at rest agree on.
const RIGHT: f64 = 18.78;
/// Runs that are judged, of those that cannot be relied on.
const TRIES: u32 = 4;
/// In the environment of everything a round starts.
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

/// How many times with daemons; `LONGFAT_DAEMON_KILLS` for more.
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

/// Not a test of its own so that it does not run beside the other.
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
        // Also for a user without privileges.
        let _ = Command::new("chmod").arg("-R").arg("a+rwX").arg(&dir).status();
        Place(dir)
    }

    fn longfat(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longfat"));
        command.args(args).current_dir(&self.0).env(MARK, "1").stdin(Stdio::null());
        command
    }

    /// Goodput of the scenario's one flow, Mbit/s, and whether the run says that it can be relied on.
    fn goodput(&self) -> Result<(f64, bool), String> {
        let out = self.longfat(&["run", "s.toml", "--on", "kernel", "--json", "--out", "whole"]).output();
        let out = out.map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&out.stdout);
        let json: serde_json::Value =
            serde_json::from_str(&text).map_err(|_| String::from_utf8_lossy(&out.stderr).into_owned())?;
        let variant = &json["variants"][0];
        let told = variant["total_goodput_mbps"].as_f64().zip(variant["trust"]["reliable"].as_bool());
        told.ok_or_else(|| text.into_owned())
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
        // A second is longer than the latest kill.
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
            // The engine (which sends and receives itself), or any process that sends or receives.
            let mut all = marked();
            if round % 8 < 4 {
                all.retain(|&pid| pid == child.id());
            }
            if let Some(&victim) = all.get(roll(all.len().max(1) as u64) as usize) {
                *killed.entry(name_of(victim)).or_default() += 1;
                let _ = Command::new("kill").args(["-9", &victim.to_string()]).status();
            }
            // Whoever has lost its sender or receiver ends by itself.
            let ended = within(Duration::from_secs(10), || child.try_wait().expect("a status").is_some());
            assert!(ended, "round {round}: it still runs");
            // A namespace is gone with its last process: namespaces here have no other name.
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

    /// The same with daemons of hosts: strongSwan, BIRD, vsftpd, and the shells that hold them.
    fn daemons(&self) {
        fs::write(self.0.join("net.toml"), NETWORK).expect("a file");
        let run = ["run", "net.toml", "--on", "kernel", "--out", "n", "--force"];
        let out = self.longfat(&run).output().expect("longfat starts");
        let said = String::from_utf8_lossy(&out.stderr);
        if said.contains("lacks") {
            eprintln!("SKIPPED: {said}");
            return;
        }
        assert!(out.status.success(), "{said}");
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
            // While it waits for a daemon that is gone it would wait long: then longfat itself.
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

    /// A daemon that dies while it is measured is the first that a run says, and its exit code is 1.
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
        // Tunnels, sessions and routes take 2 s or so, and there are 6 s after that.
        thread::sleep(Duration::from_secs(5));
        let killed = daemon().map(|pid| Command::new("kill").args(["-9", &pid.to_string()]).status());
        assert!(killed.is_some(), "it is over");
        let out = child.wait_with_output().expect("its end");
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{said}");
        let first = said.lines().next().unwrap_or_default();
        assert!(
            first.starts_with("error: default: host ") && first.contains("charon (IPsec over link access)"),
            "{said}"
        );
        assert!(said.contains("warning: do not trust the kernel run of \"default\": host "), "{said}");
    }

    /// The link's rate, but for headers and slow start. A run that says itself that the machine was too busy for it is
    /// asked again, and in the end for no more than that it was not stalled.
    fn is_right(&self) {
        let mut last = 0.0;
        for _ in 0..TRIES {
            let (goodput, reliable) = self.goodput().expect("a result");
            if reliable {
                assert!((goodput / RIGHT - 1.0).abs() < 0.03, "{goodput} Mbit/s");
                return;
            }
            last = goodput;
        }
        eprintln!("NOT JUDGED CLOSELY: the machine was too busy {TRIES} times");
        assert!(last > 0.5 * RIGHT, "{last} Mbit/s");
    }

    /// As many datagrams as a core can send, through a path that limits nothing, next to the scenario; ended once that is judged.
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

/// Living processes that a round started, this one not among them.
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
