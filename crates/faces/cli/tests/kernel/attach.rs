//! `longfat attach` between two namespaces: the path is the lab's, the rest is untouched, and nothing is left
//! behind however it ends. In real time; needs root and iperf3, and prints that it is skipped without.

use crate::common::within;
use crate::engines::{BUSYBOX, DockerDaemon, PodmanContainer};
use crate::site::{DEVICES, DIRECT_MS, FAR, LONGFAT, Running, Site, inside, ip};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

impl Site {
    /// Starts `longfat attach` and waits until packets are led through the path.
    fn attach(&self, args: &[&str]) -> Running {
        let mut running = Running::start("attach", &self.target(), args);
        assert!(running.has_said("attached:"), "{args:?}: {:?}", running.said);
        running
    }

    /// Disciplines and filters of the near device, as tc shows them.
    fn traffic_control(&self) -> String {
        let shown = [&["qdisc"][..], &["filter", "egress"], &["filter", "ingress"]].map(|what| {
            let tc = [&["tc", what[0], "show", "dev", DEVICES[0]], &what[1..]].concat();
            String::from_utf8_lossy(&inside(&self.near, &tc).output().expect("tc").stdout).into_owned()
        });
        shown.concat()
    }

    /// Runs a command in the near namespace behind a path; returns longfat's output.
    fn behind(&self, path: &[&str], command: &[&str]) -> Output {
        let (target, near) = (self.target(), ["ip", "netns", "exec", &self.near]);
        let mut longfat = Command::new(LONGFAT);
        longfat.arg("attach").arg(target).args(path).arg("--").args(near).args(command);
        longfat.output().expect("longfat")
    }

    /// Runs iperf3 behind a path, and returns its report.
    fn iperf3(&self, path: &[&str], args: &[&str]) -> Value {
        let file = self.folder.join("near.json");
        let _ = fs::remove_file(&file);
        let log = file.display().to_string();
        let iperf3 = ["iperf3", "-J", "--logfile", &log, "-c", FAR];
        let done = self.behind(path, &[&iperf3, args].concat());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        read(&file)
    }
}

fn read(file: &PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(file).expect("a report")).expect("JSON")
}

/// The rate that iperf3's receiver measured, Mbit/s.
fn received(report: &Value) -> f64 {
    report["end"]["sum_received"]["bits_per_second"].as_f64().expect("a rate") / 1e6
}

const PATHS: &str = r#"
name = "paths"
duration = "8s"
[links.wan]
between = ["a", "b"]
forward = [{ kind = "shaper", rate = "30Mbit/s", queue = { kind = "fifo", packets = 100 } }, { kind = "delay", delay = "20ms" }]
backward = [{ kind = "delay", delay = "20ms" }]
[flows.up]
from = "a"
to = "b"
cc = "reno"
[variants.shaper]
[variants.policer]
"links.wan.forward" = [{ kind = "policer", rate = "20Mbit/s", burst = "9kB" }, { kind = "delay", delay = "20ms" }]
"#;

/// The same program over the same scenario in the lab's own namespaces.
fn in_the_lab(site: &Site, scenario: &str, variant: &str, args: &str) -> Value {
    let file = site.folder.join("lab.json");
    let _ = fs::remove_file(&file);
    // Connects until the server listens.
    let script = format!(
        "for i in $(seq 100); do iperf3 -J --logfile {0} -c b {args} && break; rm -f {0}; sleep 0.1; done",
        file.display()
    );
    let shell = ["shell", scenario, "--variant", variant, "--user", "root", "--host", "a"];
    let mut lab = Command::new(LONGFAT);
    let lab = lab.args(shell).args(["--serve", "b=iperf3 -s", "--", "sh", "-c", &script]).output();
    assert!(lab.as_ref().is_ok_and(|o| o.status.success()), "{lab:?}");
    read(&file)
}

#[test]
fn traffic_through_an_attached_path_is_as_in_the_lab() {
    let Some(site) = Site::new() else { return };
    let scenario = site.file("paths.toml", PATHS);
    let link = format!("{scenario}#wan");
    for (variant, args) in [("shaper", "-O 3 -t 8 -C reno"), ("policer", "-u -b 30M -l 1400 -t 8")] {
        let path = [&link, "--variant", variant];
        let words: Vec<&str> = args.split(' ').collect();
        // Other load on this machine may disturb one of them.
        let mut seen = String::new();
        let agrees = (0..3).any(|_| {
            let (lab, attached) = (in_the_lab(&site, &scenario, variant, args), site.iperf3(&path, &words));
            let (a, b) = (received(&lab), received(&attached));
            seen += &format!("{a:.2} and {b:.2} Mbit/s; ");
            (b - a).abs() <= 0.03 * a
        });
        assert!(agrees, "{variant}: in the lab, attached: {seen}");
    }
    let file = site.folder.join("ping");
    let done = site.behind(&[&link], &["sh", "-c", &format!("ping -c 5 -i 0.2 {FAR} > {}", file.display())]);
    assert!(done.status.success());
    let text = fs::read_to_string(file).expect("ping's output");
    let least: f64 =
        text.split("= ").nth(1).and_then(|t| t.split('/').next()).and_then(|t| t.parse().ok()).expect(&text);
    assert!((least - 40.0).abs() < 1.0, "{text}");
}

/// A packet larger than the link's MTU causes an ICMP error that reaches the program, also over IPv6.
#[test]
fn the_mtu_of_the_path_reaches_the_sender() {
    let Some(site) = Site::new() else { return };
    let link = r#"{ kind = "link", rate = "100Mbit/s", mtu = 1400 }"#;
    let text = format!(
        "[links.wan]\nbetween = [\"a\", \"b\"]\nforward = [{link}]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\n"
    );
    let scenario = site.file("mtu.toml", &text);
    let attached = site.attach(&[&format!("{scenario}#wan")]);
    for (family, to, size) in [("-4", FAR, "1400"), ("-6", "fd77::2", "1380")] {
        let ping = ["ping", family, "-c", "1", "-W", "1", "-M", "do", "-s", size, to];
        let refused = inside(&site.near, &ping).output().expect("ping");
        let text = String::from_utf8_lossy(&[refused.stdout, refused.stderr].concat()).to_lowercase();
        assert!(text.contains("mtu") && text.contains("1400"), "{text}");
    }
    // TCP over it finds its way by the same messages.
    let sent = inside(&site.near, &["iperf3", "-c", FAR, "-n", "2M", "-J"]).output().expect("iperf3");
    assert!(sent.status.success());
    attached.signal("-TERM");
    assert_eq!(attached.code(), Some(0));
}

#[test]
fn it_keeps_the_exit_code_and_reports_as_json() {
    let Some(site) = Site::new() else { return };
    let done = site.behind(&["--rtt", "10ms", "--json"], &["sh", "-c", "exit 7"]);
    assert_eq!(done.status.code(), Some(7), "{}", String::from_utf8_lossy(&done.stderr));
    let json: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(json["self_test"][0]["fault"], Value::Null);
    assert!(
        json["self_test"][0]["shown_delay_ms"].as_f64().is_some_and(|ms| (4.9..6.0).contains(&ms)),
        "{json}"
    );
    assert!(site.is_as_before());
}

#[test]
fn what_is_not_selected_runs_at_full_speed() {
    let Some(site) = Site::new() else { return };
    let path = [
        "--limiter",
        "policer",
        "--rate",
        "5Mbit/s",
        "--burst",
        "9kB",
        "--direction",
        "both",
        "--only",
        "port 5202",
    ];
    let limited = received(&site.iperf3(&path, &["-p", "5202", "-t", "2"]));
    let free = received(&site.iperf3(&path, &["-p", "5201", "-t", "2"]));
    assert!(limited < 5.0 && free > 100.0, "{limited} and {free} Mbit/s");
    // Also over IPv6, which the filter of an IPv4 host excludes.
    let attached = site.attach(&["--rtt", "60ms", "--only", &format!("host {FAR}")]);
    assert!(site.ping().is_some_and(|ms| (60.0..61.5).contains(&ms)));
    let six = inside(&site.near, &["ping", "-c", "1", "fd77::2"]).output().expect("ping");
    let text = String::from_utf8_lossy(&six.stdout).into_owned();
    let ms: Option<f64> = text.split("time=").nth(1).and_then(|t| t.split(' ').next()?.parse().ok());
    assert!(ms.is_some_and(|ms| ms < DIRECT_MS), "{text}");
    attached.signal("-TERM");
    assert_eq!(attached.code(), Some(0));
}

#[test]
fn a_killed_longfat_leaves_nothing_behind() {
    let Some(site) = Site::new() else { return };
    for _ in 0..5 {
        let attached =
            site.attach(&["--limiter", "policer", "--rate", "2Mbit/s", "--burst", "9kB", "--rtt", "100ms"]);
        assert!(site.ping().is_some_and(|ms| ms >= 100.0));
        assert!(site.has_devices_of_longfat());
        attached.signal("-KILL");
        let killed = Instant::now();
        assert!(within(Duration::from_secs(1), || site.is_as_before()), "after {:?}", killed.elapsed());
        attached.code();
    }
}

#[test]
fn packets_pass_while_longfat_is_stopped() {
    let Some(site) = Site::new() else { return };
    let attached = site.attach(&["--rtt", "100ms"]);
    attached.signal("-STOP");
    assert!(within(Duration::from_secs(3), || site.ping().is_some_and(|ms| ms < DIRECT_MS)));
    attached.signal("-CONT");
    assert!(within(Duration::from_secs(3), || site.ping().is_some_and(|ms| ms >= 100.0)));
    attached.signal("-TERM");
    assert_eq!(attached.code(), Some(0));
    assert!(site.is_as_before());
}

/// Options of both methods of attaching.
const METHODS: [&[&str]; 2] = [&[], &["--classic"]];

#[test]
fn it_ends_when_the_device_or_the_namespace_has_gone() {
    for method in METHODS {
        let path = [&["--rtt", "10ms"], method].concat();
        let Some(site) = Site::new() else { return };
        let mut attached = site.attach(&path);
        assert!(ip(&format!("-n {} link del {}", site.near, DEVICES[0])));
        assert!(attached.has_said("has gone"), "{:?}", attached.said);
        assert_eq!(attached.code(), Some(1));
        assert!(!site.has_devices_of_longfat());

        let Some(site) = Site::new() else { return };
        let mut attached = site.attach(&path);
        assert!(ip(&format!("netns del {}", site.near)));
        assert!(attached.has_said("has gone"), "{:?}", attached.said);
        assert_eq!(attached.code(), Some(1));
        // The far end's device goes with the namespace.
        let shown = || inside(&site.far, &["ip", "link", "show", DEVICES[1]]).output();
        assert!(within(Duration::from_secs(5), || !shown().is_ok_and(|o| o.status.success())));
    }
}

#[test]
fn one_of_two_at_once_is_refused() {
    let Some(site) = Site::new() else { return };
    let before = site.traffic_control();
    for methods in [[0, 0], [1, 1], [0, 1], [1, 1], [0, 0]] {
        let mut both = methods.map(|n| {
            let path = [&["--rtt", "10ms", "--for", "2s"], METHODS[n]].concat();
            Running::start("attach", &site.target(), &path)
        });
        let attached = both.each_mut().map(|one| one.has_said("attached:"));
        assert_eq!(attached.iter().filter(|a| **a).count(), 1, "{:?} {:?}", both[0].said, both[1].said);
        let refused = both.iter().find(|one| !one.said.iter().any(|s| s.contains("attached:")));
        assert!(
            refused.is_some_and(|one| one.said.iter().any(|s| s.contains("another longfat is attached")))
        );
        let codes = both.map(Running::code);
        assert!(codes.contains(&Some(0)) && codes.contains(&Some(2)), "{codes:?}");
        assert!(site.is_as_before());
        assert_eq!(site.traffic_control(), before);
    }
}

#[test]
fn classic_filters_make_the_same_path() {
    let Some(site) = Site::new() else { return };
    // A discipline and a filter of somebody else are left as they are.
    for tc in [
        "qdisc add dev lfnear clsact",
        "filter add dev lfnear egress pref 5 protocol all u32 match u32 0 0 flowid 1:1",
    ] {
        assert!(
            inside(&site.near, &[&["tc"], &tc.split(' ').collect::<Vec<_>>()[..]].concat())
                .status()
                .is_ok_and(|s| s.success())
        );
    }
    let before = site.traffic_control();
    assert!(before.contains("clsact") && before.contains("u32"), "{before}");
    let mut attached =
        site.attach(&["--rtt", "60ms", "--limiter", "shaper", "--rate", "30Mbit/s", "--classic"]);
    assert!(attached.said.iter().any(|s| s.contains("with classic filters")), "{:?}", attached.said);
    assert!(site.ping().is_some_and(|ms| (60.0..61.5).contains(&ms)));
    assert!(site.traffic_control().contains("longfat_out"));
    // Other load on this machine may disturb one.
    let mut seen = String::new();
    let agrees = (0..3).any(|_| {
        let sent =
            inside(&site.near, &["iperf3", "-J", "-c", FAR, "-O", "2", "-t", "5"]).output().expect("iperf3");
        let mbps = received(&serde_json::from_slice(&sent.stdout).expect("JSON"));
        seen += &format!("{mbps:.2} Mbit/s; ");
        // The rate counts IP headers, which are up to 4 % of full packets.
        (28.0..30.2).contains(&mbps)
    });
    assert!(agrees, "{seen}");
    attached.signal("-TERM");
    attached.has_said("nothing, to read the rest");
    assert!(!attached.said.iter().any(|s| s.contains("killed")), "{:?}", attached.said);
    assert_eq!(attached.code(), Some(0));
    assert!(site.is_as_before());
    assert_eq!(site.traffic_control(), before);
}

#[test]
fn a_killed_longfat_leaves_no_classic_filter() {
    let Some(site) = Site::new() else { return };
    let before = site.traffic_control();
    for _ in 0..5 {
        let mut attached = site.attach(&["--rtt", "100ms", "--classic"]);
        assert!(site.ping().is_some_and(|ms| ms >= 100.0));
        assert_ne!(site.traffic_control(), before);
        attached.is_watched_when_memory_runs_out();
        attached.signal("-KILL");
        // The end of its messages is that of the watcher.
        assert!(attached.has_said("have been removed"), "{:?}", attached.said);
        assert!(site.is_as_before());
        assert_eq!(site.traffic_control(), before);
        attached.code();
    }
}

#[test]
fn the_next_longfat_removes_classic_filters_of_one_that_was_killed_with_its_watcher() {
    let Some(site) = Site::new() else { return };
    let before = site.traffic_control();
    for method in METHODS {
        let attached = site.attach(&["--rtt", "100ms", "--classic"]);
        let mut processes = attached.children();
        assert_eq!(processes.len(), 1);
        processes.push(attached.child.id().to_string());
        assert!(Command::new("kill").arg("-KILL").args(&processes).status().is_ok_and(|s| s.success()));
        assert!(within(Duration::from_secs(5), || site.is_as_before()), "packets pass");
        assert!(site.traffic_control().contains("longfat_in"), "the filters stay");
        attached.code();
        let mut next = site.attach(&[&["--rtt", "20ms"], method].concat());
        assert!(next.said.iter().any(|s| s.contains("removed from lfnear")), "{:?}", next.said);
        assert!(site.ping().is_some_and(|ms| (20.0..40.0).contains(&ms)));
        next.signal("-TERM");
        assert!(!next.has_said("killed"));
        assert_eq!(next.code(), Some(0));
        assert!(site.is_as_before());
        assert_eq!(site.traffic_control(), before);
    }
}

#[test]
fn longfat_removes_its_classic_filters_without_a_watcher() {
    let Some(site) = Site::new() else { return };
    let before = site.traffic_control();
    let attached = site.attach(&["--rtt", "10ms", "--classic"]);
    assert!(Command::new("kill").arg("-KILL").args(attached.children()).status().is_ok_and(|s| s.success()));
    attached.signal("-TERM");
    assert_eq!(attached.code(), Some(0));
    assert!(site.is_as_before());
    assert_eq!(site.traffic_control(), before);
}

/// Attaches a path to a container whose device `eth0` this adds, and pings through it from outside. Then
/// `stop` removes the container.
fn in_front_of_a_container(site: &Site, target: &str, pid: &str, stop: impl FnOnce()) {
    let far = &site.far;
    assert!(ip(&format!("link add eth0 netns {pid} type veth peer name lfcont netns {far}")));
    assert!(ip(&format!("-n {far} addr add 10.78.0.2/24 dev lfcont")));
    assert!(ip(&format!("-n {far} link set lfcont up")));
    let in_container = |args: &str| {
        let mut nsenter = Command::new("nsenter");
        nsenter.args(["-t", pid, "-n", "ip"]).args(args.split(' ')).status().is_ok_and(|s| s.success())
    };
    assert!(in_container("addr add 10.78.0.1/24 dev eth0") && in_container("link set eth0 up"));
    let ping = || {
        let ping = inside(far, &["ping", "-c", "1", "-W", "1", "10.78.0.1"]).output().expect("ping");
        let text = String::from_utf8_lossy(&ping.stdout).into_owned();
        text.split("time=").nth(1)?.split(' ').next()?.parse::<f64>().ok()
    };
    let path = ["--limiter", "policer", "--rate", "20Mbit/s", "--burst", "9kB", "--rtt", "60ms"];
    let mut attached = Running::start("attach", target, &path);
    assert!(attached.has_said("attached:"), "{:?}", attached.said);
    assert!(within(Duration::from_secs(5), || ping().is_some_and(|ms| (60.0..61.0).contains(&ms))));
    attached.signal("-TERM");
    assert_eq!(attached.code(), Some(0));
    assert!(within(Duration::from_secs(1), || ping().is_some_and(|ms| ms < DIRECT_MS)));

    let mut attached = Running::start("attach", target, &path);
    assert!(attached.has_said("attached:"), "{:?}", attached.said);
    stop();
    assert!(attached.has_said("has gone"), "{:?}", attached.said);
    assert_eq!(attached.code(), Some(1));
}

#[test]
fn a_docker_container_gets_a_path_and_can_be_removed() {
    let Some(site) = Site::new() else { return };
    if !Path::new(BUSYBOX).exists() {
        return eprintln!("SKIPPED: needs busybox-static");
    }
    let Some(docker) = DockerDaemon::start() else { return eprintln!("SKIPPED: no dockerd runs here") };
    if docker.run("lfattach").is_none() {
        return eprintln!("SKIPPED: dockerd runs no container here");
    }
    let pid = docker.docker(&["inspect", "-f", "{{.State.Pid}}", "lfattach"]).expect("its process");
    in_front_of_a_container(&site, "docker:lfattach", &pid, || {
        drop(docker.docker(&["rm", "-f", "lfattach"]))
    });
}

#[test]
fn a_podman_container_gets_a_path_and_can_be_removed() {
    let Some(site) = Site::new() else { return };
    if !Path::new(BUSYBOX).exists() {
        return eprintln!("SKIPPED: needs busybox-static");
    }
    let Some(podman) = PodmanContainer::run("lfattach") else {
        return eprintln!("SKIPPED: podman runs no container here");
    };
    let pid = podman.podman(&["inspect", "-f", "{{.State.Pid}}", "lfattach"]).expect("its process");
    in_front_of_a_container(&site, "podman:lfattach", &pid, || {
        drop(podman.podman(&["rm", "-f", "-t", "0", "lfattach"]))
    });
}

#[test]
fn captures_show_both_sides_of_the_path() {
    let Some(site) = Site::new() else { return };
    let folder = site.folder.join("pcap");
    let path = ["--rtt", "40ms", "--pcap", folder.to_str().expect("a name")];
    let done = site.behind(&path, &["iperf3", "-c", FAR, "-n", "1M", "-J"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let ends = ["target.pcap", "network.pcap"].map(|name| folder.join(name));
    let joined = Command::new(LONGFAT).arg("diagnose").args(&ends).args(["--both-ends", "--json"]).output();
    let joined: Value = serde_json::from_slice(&joined.expect("longfat").stdout).expect("JSON");
    assert!(joined["flows"].as_array().is_some_and(|flows| !flows.is_empty()), "{joined}");
}

#[test]
fn wrong_targets_and_paths_are_refused() {
    let Some(site) = Site::new() else { return };
    let fails = |args: &[&str], text: &str| {
        let done = Command::new(LONGFAT).arg("attach").args(args).output().expect("longfat");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(2) && said.contains(text), "{args:?}: {said}");
    };
    let target = site.target();
    fails(&["dev:lo", "--rtt", "1ms"], "not an Ethernet device");
    fails(&[&format!("{target}:nope"), "--rtt", "1ms"], DEVICES[0]);
    fails(&[&target], "no path");
    fails(&[&target, "home-line#nope"], "no such link");
    fails(&[&target, "home-line", "--rate", "1Mbit/s"], "--set");
    fails(&[&target, "--rtt", "1ms", "--only", "tcp"], "--only");
    fails(&["nope:x", "--rtt", "1ms"], "expected docker:NAME");
    fails(&["docker:longfat-no-such", "--rtt", "1ms"], "longfat-no-such");
    assert!(site.is_as_before());
}

#[test]
fn tables_of_a_scenario_attach_several_targets_at_once() {
    let Some(site) = Site::new() else { return };
    let delay = |ms: u32| format!("[{{ kind = \"delay\", delay = \"{ms}ms\" }}]");
    let link = |name: &str, ms| {
        format!(
            "[links.{name}]\nbetween = [\"{name}-host\", \"net\"]\nforward = {0}\nbackward = {0}\n",
            delay(ms)
        )
    };
    let attached = format!(
        "[attach.near]\nlink = \"a\"\ntarget = \"netns:{}\"\n[attach.far]\nlink = \"b\"\ntarget = \"netns:{}\"\n\
         direction = \"forward\"\n",
        site.near, site.far
    );
    let file = site.file("both.toml", &format!("{}{}{attached}", link("a", 10), link("b", 15)));
    let ping = ["ip", "netns", "exec", &site.near, "ping", "-c", "5", "-i", "0.2", FAR];
    let done = Command::new(LONGFAT).args(["attach", &file, "--json", "--"]).args(ping).output();
    let done = done.expect("longfat");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8_lossy(&done.stdout);
    let json: Value = serde_json::from_str(text.lines().last().unwrap()).expect("JSON in the last line");
    let of = |name: &str| json["attached"].as_array().unwrap().iter().find(|a| a["name"] == name).unwrap();
    let passed =
        |name: &str| ["outgoing", "incoming"].map(|way| of(name)["passed_packets"][way].as_u64().unwrap());
    assert!(passed("near").iter().all(|n| *n >= 5), "{json}");
    assert!(passed("far")[0] >= 5 && passed("far")[1] == 0, "{json}");
    // 10 ms there and back, 15 ms back only.
    let least: f64 =
        text.split("min/avg/max/mdev = ").nth(1).unwrap().split('/').next().unwrap().parse().unwrap();
    assert!((35.0..45.0).contains(&least), "{text}");
    assert!(site.is_as_before());
}
