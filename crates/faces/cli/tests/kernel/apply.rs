//! `longfat apply` on connections between two namespaces: they change without a reconnect, gain what `plan`
//! predicts, and get back what they had however it ends. In real time; needs root and iperf3, and prints that
//! it is skipped without.

use crate::common::within;
use crate::engines::{BUSYBOX, DockerDaemon};
use crate::site::{FAR, LONGFAT, Running, Site, inside};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long the kernel and other programs may take for what they do at once.
const SOON: Duration = Duration::from_secs(10);

/// A running program, killed when dropped.
struct Program(Child);

impl Program {
    fn start(command: &mut Command) -> Program {
        Program(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An iperf3 client that sends from the near namespace to this port for a minute, with CUBIC.
fn sending(site: &Site, port: &str) -> Program {
    let program = Program::start(&mut inside(
        &site.near,
        &["iperf3", "-c", FAR, "-p", port, "-C", "cubic", "-t", "60"],
    ));
    assert!(within(SOON, || controls(site, port).iter().any(|c| c.name == "cubic")), "iperf3 connects");
    program
}

/// A connection as `ss` shows it.
#[derive(Clone, Debug, PartialEq)]
struct Control {
    name: String,
    /// Port of the near end: another one after a reconnect.
    from: String,
    /// `SO_MAX_PACING_RATE` as a number and unit; `None` if there is no cap.
    cap: Option<String>,
}

/// The congestion control of each connection from the near namespace to this port.
fn controls(site: &Site, port: &str) -> Vec<Control> {
    let filter = format!("dport = :{port}");
    let ss = inside(&site.near, &["ss", "-HtniO", "state", "established", &filter]).output().expect("ss");
    let text = String::from_utf8_lossy(&ss.stdout).into_owned();
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let from = words.iter().find_map(|w| w.strip_prefix("10.77.0.1:"))?.to_string();
        let name = words.iter().find(|w| ["reno", "cubic", "bbr"].contains(w))?.to_string();
        // `pacing_rate 1234bps/5678bps`: the cap is the second.
        let at = words.iter().position(|w| *w == "pacing_rate").and_then(|at| words.get(at + 1));
        let cap = at.and_then(|w| w.split_once('/')).map(|(_, cap)| cap.to_string());
        Some(Control { name, from, cap })
    };
    text.lines().filter_map(line).collect()
}

/// The data connection to this port: the only one with CUBIC before anything is changed.
fn data(site: &Site, port: &str) -> Control {
    controls(site, port).into_iter().find(|c| c.name == "cubic").expect("a connection with CUBIC")
}

/// The connection from this port now.
fn now(site: &Site, port: &str, from: &Control) -> Option<Control> {
    controls(site, port).into_iter().find(|c| c.from == from.from)
}

fn apply(site: &Site, args: &[&str]) -> Running {
    let mut running = Running::start("apply", &site.target(), args);
    assert!(running.has_said("applied:"), "{args:?}: {:?}", running.said);
    running
}

const POLICED: &str = r#"
name = "policed"
duration = "20s"
[links.wan]
between = ["client", "server"]
forward = [{ kind = "policer", rate = "20Mbit/s", burst = "9kB" }, { kind = "delay", delay = "30ms" }]
backward = [{ kind = "delay", delay = "30ms" }]
[flows.f]
from = "client"
to = "server"
cc = "cubic"
"#;

/// The gain lies within a quarter of what the simulator predicts for the same path: a few seconds of one flow
/// through a policer vary, and CUBIC's rate, which is small, more than BBR's.
#[test]
fn bbr_gains_what_plan_predicts_without_a_reconnect() {
    let Some(site) = Site::new() else { return };
    let scenario = site.file("policed.toml", POLICED);
    let plan =
        Command::new(LONGFAT).args(["plan", &scenario, "--only", "sender", "--json"]).output().expect("plan");
    let plan: Value = serde_json::from_slice(&plan.stdout).expect("JSON");
    let cures = plan["cures"].as_array().expect("cures");
    let bbr = cures.iter().find(|c| c["name"] == "bbr").expect("BBR is a cure");
    let (gain, with) = (&bbr["gain"]["mean"], &bbr["figures"]["goodput_mbps"]["mean"]);
    let (gain, with) = (gain.as_f64().expect("a gain"), with.as_f64().expect("a goodput"));

    // Other load on this machine may disturb one of them.
    let mut seen = String::new();
    let agrees = (0..3).any(|_| {
        let mut path = Running::start("attach", &site.target(), &[&format!("{scenario}#wan")]);
        assert!(path.has_said("attached:"), "{:?}", path.said);
        let _iperf3 = sending(&site, "5201");
        let before = data(&site, "5201");
        let done = Command::new(LONGFAT)
            .args(["apply", &site.target(), "--cc", "bbr", "--for", "12s", "--measure", "8s", "--json"])
            .output()
            .expect("longfat");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        // The same connection, with what it had.
        assert_eq!(now(&site, "5201", &before), Some(before));
        let json: Value = serde_json::from_slice(&done.stdout).expect("JSON");
        assert_eq!(
            (&json["undone"]["failed"], &json["undone"]["stay_paced"]),
            (&0.into(), &0.into()),
            "{json}"
        );
        let sent = |when: &str| json[when]["sent_mbps"].as_f64().expect("a figure");
        let (first, then) = (sent("before"), sent("after"));
        seen += &format!("{first:.2} to {then:.2} Mbit/s; ");
        path.signal("-TERM");
        assert_eq!(path.code(), Some(0));
        (then - first - gain).abs() <= gain / 4.0 && (then - with).abs() <= with / 4.0
    });
    eprintln!("plan: a gain of {gain:.2} to {with:.2} Mbit/s; seen: {seen}");
    assert!(agrees, "plan: a gain of {gain:.2} to {with:.2} Mbit/s; seen: {seen}");
}

#[test]
fn every_end_puts_it_back() {
    let Some(site) = Site::new() else { return };
    let _iperf3 = sending(&site, "5201");
    let before = data(&site, "5201");
    let is_bbr = || now(&site, "5201", &before).is_some_and(|c| c.name == "bbr");
    for (signal, code) in [("-TERM", Some(0)), ("-INT", Some(0)), ("-HUP", None), ("-KILL", None)] {
        let mut applied = apply(&site, &["--cc", "bbr", "--measure", "0s"]);
        assert!(is_bbr());
        applied.is_watched_when_memory_runs_out();
        applied.signal(signal);
        let expected = if code.is_some() { "undone: 2" } else { "longfat: killed; 2" };
        assert!(applied.has_said(expected), "{signal}: {:?}", applied.said);
        assert_eq!(applied.code(), code, "{signal}");
        assert_eq!(now(&site, "5201", &before).as_ref(), Some(&before), "{signal}");
    }
}

#[test]
fn new_connections_are_changed_until_the_end() {
    let Some(site) = Site::new() else { return };
    let applied = apply(&site, &["--cc", "bbr", "--measure", "0s"]);
    let iperf3 = ["iperf3", "-c", FAR, "-p", "5202", "-t", "60"];
    let _iperf3 = Program::start(&mut inside(&site.near, &iperf3));
    let all = |name: &str| {
        let all = controls(&site, "5202");
        all.len() == 2 && all.iter().all(|c| c.name == name)
    };
    assert!(within(SOON, || all("bbr")), "{:?}", controls(&site, "5202"));
    // The server's side of the same connections is in another namespace.
    let far = inside(&site.far, &["ss", "-Htni", "state", "established"]).output().expect("ss");
    assert!(!String::from_utf8_lossy(&far.stdout).contains("bbr"));
    applied.signal("-TERM");
    assert_eq!(applied.code(), Some(0));
    assert!(all("reno"), "{:?}", controls(&site, "5202"));
}

#[test]
fn a_dry_run_lists_and_changes_nothing() {
    let Some(site) = Site::new() else { return };
    let _iperf3 = sending(&site, "5201");
    let before = controls(&site, "5201");
    let args = ["apply", &site.target(), "--cc", "cubic", "--pacing", "8Mbit/s", "--dry-run"];
    let done = Command::new(LONGFAT).args(args).output().expect("longfat");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success() && text.contains("2 of 2 connections would change"), "{text}");
    let line = |end: &str| text.lines().any(|l| l.contains(" > 10.77.0.2:5201 ") && l.ends_with(end));
    assert!(
        line("reno -> cubic, no pacing cap -> 8Mbit/s") && line("  cubic, no pacing cap -> 8Mbit/s"),
        "{text}"
    );
    let done = Command::new(LONGFAT).args(args).arg("--json").output().expect("longfat");
    let json: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(json["connections"].as_array().map(Vec::len), Some(2), "{json}");
    assert_eq!(controls(&site, "5201"), before);
}

#[test]
fn a_pacing_cap_is_kept_and_undone_and_only_selects() {
    let Some(site) = Site::new() else { return };
    let (_one, _two) = (sending(&site, "5201"), sending(&site, "5202"));
    let [one, two] = ["5201", "5202"].map(|port| data(&site, port));
    assert_eq!((&one.cap, &two.cap), (&None, &None));
    let args = ["--pacing", "8Mbit/s", "--only", "port 5202", "--measure", "2s", "--for", "6s", "--json"];
    let mut longfat = Command::new(LONGFAT);
    let longfat =
        longfat.arg("apply").arg(site.target()).args(args).stdout(Stdio::piped()).spawn().expect("longfat");
    let capped = || now(&site, "5202", &two).and_then(|c| c.cap);
    assert!(within(SOON, || capped().is_some()));
    let cap: Option<f64> = capped().and_then(|cap| cap.strip_suffix("bps")?.parse().ok());
    assert_eq!(cap, Some(8e6));
    assert_eq!(now(&site, "5201", &one).as_ref(), Some(&one));
    let done = longfat.wait_with_output().expect("longfat");
    let json: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    // Both connections of the second iperf3; the veth pair alone would carry gigabits.
    let mbps = json["after"]["sent_mbps"].as_f64().expect("a figure");
    assert!(json["changed"].as_array().is_some_and(|c| c.len() == 2) && (4.0..8.5).contains(&mbps), "{json}");
    assert_eq!(json["undone"]["stay_paced"], 0);
    assert_eq!(now(&site, "5202", &two), Some(two));
}

/// Where control groups of version 2 are mounted.
fn mount() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let line = mounts.lines().find(|l| l.split(' ').nth(2) == Some("cgroup2"))?;
    line.split(' ').nth(1).map(PathBuf::from)
}

/// A control group of this test, removed when dropped.
struct TestGroup(PathBuf);

impl TestGroup {
    fn new(name: &str) -> Option<TestGroup> {
        TestGroup::named(&format!("longfat-test-{name}-{}", std::process::id()))
    }

    fn named(name: &str) -> Option<TestGroup> {
        let path = mount()?.join(name);
        fs::create_dir(&path).ok()?;
        Some(TestGroup(path))
    }

    /// Starts a command in the group.
    fn start(&self, site: &Site, command: &str) -> Program {
        // `ip netns exec` hides the folders of control groups: the shell enters one before.
        let script = "echo $$ > $0/cgroup.procs && exec ip netns exec $1 $2";
        let script = script
            .replace("$0", &self.0.display().to_string())
            .replace("$1", &site.near)
            .replace("$2", command);
        Program::start(Command::new("sh").args(["-c", &script]))
    }
}

impl Drop for TestGroup {
    fn drop(&mut self) {
        // The kernel releases a group a moment after its last process.
        within(SOON, || fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
fn only_the_connections_of_a_control_group_change() {
    let Some(site) = Site::new() else { return };
    let Some(group) = TestGroup::new("one") else { return eprintln!("SKIPPED: no cgroup v2 is mounted") };
    let _other = sending(&site, "5201");
    let other = controls(&site, "5201");
    let old = group.start(&site, &format!("iperf3 -c {FAR} -p 5202 -t 60"));
    let all = |name: &str| {
        let all = controls(&site, "5202");
        all.len() == 2 && all.iter().all(|c| c.name == name)
    };
    assert!(within(SOON, || all("reno")));
    let target = format!("cgroup:{}", group.0.display());
    let mut applied = Running::start("apply", &target, &["--cc", "bbr", "--measure", "0s"]);
    assert!(applied.has_said("applied: bbr to 2 of 2"), "{:?}", applied.said);
    assert!(all("bbr"));
    drop(old);
    // A new one of the group, and a new one of another.
    let _new = group.start(&site, &format!("iperf3 -c {FAR} -p 5202 -t 60"));
    assert!(within(SOON, || all("bbr")), "{:?}", controls(&site, "5202"));
    assert_eq!(controls(&site, "5201"), other);
    applied.signal("-TERM");
    assert!(applied.has_said("undone: 2"), "{:?}", applied.said);
    assert!(all("reno") && controls(&site, "5201") == other);
}

/// The process of a container that is alone in its control group, with its descendants, is recognised by the
/// group.
#[test]
fn a_container_and_a_process_of_their_own_groups_are_recognised_by_them() {
    let Some(site) = Site::new() else { return };
    let id = "0123456789abcdef".repeat(4);
    let Some(group) = TestGroup::named(&format!("docker-{id}.scope")) else {
        return eprintln!("SKIPPED: no cgroup v2 is mounted");
    };
    let _other = sending(&site, "5201");
    let other = controls(&site, "5201");
    let iperf3 = group.start(&site, &format!("iperf3 -c {FAR} -p 5202 -t 60"));
    let all = |name: &str| {
        let all = controls(&site, "5202");
        all.len() == 2 && all.iter().all(|c| c.name == name)
    };
    assert!(within(SOON, || all("reno")));
    // The other program is in the same network namespace.
    for target in ["docker:0123456789ab".to_string(), format!("pid:{}", iperf3.0.id())] {
        let mut applied = Running::start("apply", &target, &["--cc", "bbr", "--measure", "0s"]);
        assert!(applied.has_said("applied: bbr to 2 of 2"), "{:?}", applied.said);
        assert!(all("bbr") && controls(&site, "5201") == other);
        applied.signal("-TERM");
        assert!(applied.has_said("undone: 2"), "{:?}", applied.said);
        assert!(all("reno") && !applied.said.iter().any(|s| s.contains("of its own")), "{:?}", applied.said);
    }
}

/// The second of two warns, and ends first.
#[test]
fn a_second_one_puts_back_what_the_first_has_set() {
    let Some(site) = Site::new() else { return };
    let _iperf3 = sending(&site, "5201");
    let before = data(&site, "5201");
    let control = || now(&site, "5201", &before).map(|c| c.name);
    let first = apply(&site, &["--cc", "bbr", "--measure", "0s"]);
    let second = apply(&site, &["--cc", "reno", "--measure", "0s"]);
    assert!(second.said.iter().any(|s| s.contains("another `longfat apply` runs")), "{:?}", second.said);
    assert_eq!(control().as_deref(), Some("reno"));
    second.signal("-TERM");
    second.code();
    assert_eq!(control().as_deref(), Some("bbr"));
    first.signal("-TERM");
    first.code();
    assert_eq!(now(&site, "5201", &before), Some(before));
}

/// Processes that share a control group are told apart by their sockets.
#[test]
fn only_the_connections_of_a_process_change() {
    let Some(site) = Site::new() else { return };
    let (one, _two) = (sending(&site, "5201"), sending(&site, "5202"));
    let other = controls(&site, "5202");
    // `ip netns exec` becomes the program.
    let target = format!("pid:{}", one.0.id());
    let mut applied = Running::start("apply", &target, &["--cc", "bbr", "--measure", "0s"]);
    assert!(applied.has_said("applied: bbr to 2 of 2"), "{:?}", applied.said);
    assert!(controls(&site, "5201").iter().all(|c| c.name == "bbr") && controls(&site, "5202") == other);
    assert!(applied.has_said("no control group of its own"), "{:?}", applied.said);
    drop(one);
    assert!(applied.has_said("has gone"), "{:?}", applied.said);
    assert_eq!(applied.code(), Some(1));
}

/// New connections of a process in a shared control group are found by searching.
#[test]
fn a_process_in_a_shared_group_is_searched_for_new_connections() {
    let Some(site) = Site::new() else { return };
    let script = format!("read wait; exec iperf3 -c {FAR} -p 5202 -t 60");
    let mut command = inside(&site.near, &["sh", "-c", &script]);
    let mut shell = Program(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("sh"));
    let target = format!("pid:{}", shell.0.id());
    let mut applied = Running::start("apply", &target, &["--cc", "bbr", "--measure", "0s"]);
    assert!(applied.has_said("applied: bbr to 0 of 0"), "{:?}", applied.said);
    assert!(applied.said.iter().any(|line| line.contains("has no connection now")), "{:?}", applied.said);
    drop(shell.0.stdin.take());
    let all = |name: &str| {
        let all = controls(&site, "5202");
        all.len() == 2 && all.iter().all(|c| c.name == name)
    };
    assert!(within(SOON, || all("bbr")), "{:?}", controls(&site, "5202"));
    applied.signal("-TERM");
    assert!(applied.has_said("2 were established meanwhile"), "{:?}", applied.said);
    assert!(all("reno"));
}

#[test]
fn it_lasts_as_long_as_a_command_and_keeps_its_exit_code() {
    let Some(site) = Site::new() else { return };
    let _iperf3 = sending(&site, "5201");
    let before = data(&site, "5201");
    let filter = "dport = :5201";
    let see =
        format!("ip netns exec {} ss -Htni state established '{filter}' | grep -c bbr; exit 7", site.near);
    let target = site.target();
    let args = ["apply", &target, "--cc", "bbr", "--measure", "0s", "--", "sh", "-c", &see];
    let done = Command::new(LONGFAT).args(args).output().expect("longfat");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.code() == Some(7) && text.trim() == "2", "{text}");
    assert_eq!(now(&site, "5201", &before), Some(before));
}

/// The study's container: its namespace keeps the congestion control that it was created with.
#[test]
fn a_container_keeps_running_with_another_control() {
    let Some(_root_and_iperf3) = Site::new() else { return };
    if !Path::new(BUSYBOX).exists() {
        return eprintln!("SKIPPED: needs busybox-static");
    }
    let Some(docker) = DockerDaemon::start() else { return eprintln!("SKIPPED: no dockerd runs here") };
    if docker.run("lfapply").is_none() {
        return eprintln!("SKIPPED: dockerd runs no container here");
    }
    let pid = docker.docker(&["inspect", "-f", "{{.State.Pid}}", "lfapply"]).expect("its process");
    let enter = |command: &[&str]| {
        let mut nsenter = Command::new("nsenter");
        nsenter.args(["-t", &pid, "-n"]).args(command);
        nsenter
    };
    // The host's programs in the container's control group and namespace, as `docker exec` starts one's own.
    let enter_group = |command: &[&str]| {
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("its control groups");
        let path = text.lines().find_map(|l| l.strip_prefix("0::/")).filter(|path| !path.is_empty());
        let folder = path.zip(mount()).map(|(path, mount)| mount.join(path).join("cgroup.procs"));
        let join = folder.map(|file| format!("echo $$ > {} && ", file.display())).unwrap_or_default();
        let script = format!("{join}exec nsenter -t {pid} -n {}", command.join(" "));
        let mut sh = Command::new("sh");
        sh.args(["-c", &script]);
        sh
    };
    assert!(enter(&["ip", "link", "set", "lo", "up"]).status().is_ok_and(|s| s.success()));
    // The default of the namespace, which is otherwise that of the host.
    let control = ["sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno"];
    assert!(enter(&control).status().is_ok_and(|s| s.success()));
    let _server = Program::start(&mut enter_group(&["iperf3", "-s", "-p", "5203"]));
    let listens = || {
        let ss = enter(&["ss", "-Hltn"]).output().expect("ss");
        String::from_utf8_lossy(&ss.stdout).contains(":5203")
    };
    assert!(within(SOON, listens));
    let iperf3 = ["iperf3", "-c", "127.0.0.1", "-p", "5203", "-C", "cubic", "-t", "60"];
    let _client = Program::start(&mut enter_group(&iperf3));
    let count = |name: &str| {
        let ss = enter(&["ss", "-HtniO", "state", "established"]).output().expect("ss");
        let text = String::from_utf8_lossy(&ss.stdout).into_owned();
        text.lines().filter(|l| l.split_whitespace().any(|w| w == name)).count()
    };
    // Both ends of the data's connection.
    assert!(within(SOON, || count("cubic") == 2));
    let mut applied = Running::start("apply", "docker:lfapply", &["--cc", "reno", "--measure", "0s"]);
    assert!(applied.has_said("applied: reno"), "{:?}", applied.said);
    // And both ends of that of iperf3's messages.
    assert_eq!((count("reno"), count("cubic")), (4, 0));
    applied.signal("-TERM");
    assert!(applied.has_said("undone:"), "{:?}", applied.said);
    assert_eq!(count("cubic"), 2);
}

#[test]
fn wrong_targets_and_controls_are_refused_in_a_line() {
    let Some(site) = Site::new() else { return };
    let fails = |args: &[&str], text: &str| {
        let done = Command::new(LONGFAT).arg("apply").args(args).output().expect("longfat");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(2) && said.contains(text), "{args:?}: {said}");
    };
    let target = site.target();
    fails(&[&target], "--cc <NAME>");
    fails(&[&target, "--cc", "nope"], "it has reno");
    fails(&[&target, "--cc", "bbr-hsr"], "longfat cc load bbr-hsr");
    fails(&[&target, "--cc", "bbr", "--only", "tcp"], "--only");
    fails(&["dev:eth0", "--cc", "bbr"], "a device has no connections");
    fails(&["netns:no-such", "--cc", "bbr"], "no network namespace no-such");
    fails(&["pid:999999999", "--cc", "bbr"], "no process");
    fails(&["docker:longfat-no-such", "--cc", "bbr"], "longfat-no-such");
    fails(&["cgroup:/longfat-no-such", "--cc", "bbr"], "no control group");
    fails(&["cgroup:/", "--cc", "bbr"], "--only");
    fails(&["pid:1", "--cc", "bbr"], "--only");
}
