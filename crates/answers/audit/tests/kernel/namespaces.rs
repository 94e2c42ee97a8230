//! Findings on the real kernel, in namespaces created by `ip netns`. The tests need root and are skipped,
//! with a message, without it. Run by `make netns`.

use audit::{CheckedPath, CostTrial, HostFacts, NamespaceFacts, TrialLoad, collect, fq, judge, sysctl};
use experiment::{Hooks, Order};
use result::Clock;
use scenario::{Experiment, Variant};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Whether namespaces can be created here.
fn can_run() -> bool {
    let can_run =
        Command::new("ip").args(["netns", "add", "lfcheck-may"]).output().is_ok_and(|o| o.status.success());
    let _ = Command::new("ip").args(["netns", "del", "lfcheck-may"]).output();
    if !can_run {
        eprintln!("SKIPPED: needs root and iproute2");
    }
    can_run
}

fn ip(line: &str) {
    let out = Command::new("ip").args(line.split(' ')).output().expect("iproute2 is there");
    assert!(out.status.success(), "ip {line}: {}", String::from_utf8_lossy(&out.stderr));
}

/// A named namespace with a link that is up, deleted when dropped.
struct TestNamespace(String);

impl TestNamespace {
    fn new(name: &str) -> TestNamespace {
        let name = format!("lfcheck-{name}");
        let _ = Command::new("ip").args(["netns", "del", &name]).output();
        ip(&format!("netns add {name}"));
        let made = TestNamespace(name);
        made.run("ip link add v0 type veth peer name v1");
        for device in ["lo", "v0", "v1"] {
            made.run(&format!("ip link set {device} up"));
        }
        made
    }

    fn run(&self, line: &str) {
        ip(&format!("netns exec {} {line}", self.0));
    }

    fn set(&self, sysctl: &str, value: &str) {
        let file = format!("/proc/sys/{}", sysctl.replace('.', "/"));
        let script = format!("printf '%s' '{value}' > {file}");
        let out =
            Command::new("ip").args(["netns", "exec", &self.0, "sh", "-c", &script]).output().expect("runs");
        assert!(out.status.success(), "{sysctl}: {}", String::from_utf8_lossy(&out.stderr));
    }

    fn facts<'a>(&self, host: &'a HostFacts) -> &'a NamespaceFacts {
        let all: Vec<&str> = host.namespaces.iter().map(|n| n.name.as_str()).collect();
        host.namespaces
            .iter()
            .find(|n| n.name == self.0)
            .unwrap_or_else(|| panic!("{} is not in {all:?}", self.0))
    }

    /// Returns the rules with findings about this namespace.
    fn rules(&self, host: &HostFacts) -> Vec<String> {
        let all = judge(host, None).into_iter().filter(|f| f.namespaces.contains(&self.0));
        all.map(|f| f.rule).collect()
    }
}

impl Drop for TestNamespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).output();
    }
}

/// The host's default congestion control, restored when dropped.
struct RestoredDefault(String);

impl RestoredDefault {
    fn now() -> RestoredDefault {
        RestoredDefault(fs::read_to_string(DEFAULT).expect("reads").trim().into())
    }
}

impl Drop for RestoredDefault {
    fn drop(&mut self) {
        fs::write(DEFAULT, &self.0).expect("the host's default is restored");
    }
}

#[test]
fn only_a_namespace_older_than_the_hosts_default_has_a_finding() {
    if !can_run() {
        return;
    }
    let kept = RestoredDefault::now();
    let other = if kept.0 == "reno" { "bbr" } else { "reno" };
    let before = TestNamespace::new("before");
    fs::write(DEFAULT, other).expect("root may set it");
    let after = TestNamespace::new("after");
    let host = collect();
    assert_eq!(host.initial().and_then(NamespaceFacts::default_control), Some(other), "{:?}", host.not_seen);
    assert_eq!(before.facts(&host).default_control(), Some(kept.0.as_str()));
    assert_eq!(after.facts(&host).default_control(), Some(other));
    assert_eq!(before.rules(&host), ["older-than-default"]);
    assert!(after.rules(&host).is_empty());
    let found = judge(&host, None).into_iter().find(|f| f.namespaces.contains(&before.0)).expect("a finding");
    let command = format!("ip netns exec {} sysctl -w net.ipv4.tcp_congestion_control={other}", before.0);
    assert_eq!(found.commands(), std::slice::from_ref(&command));
    // The commands resolve the finding, and their undo brings it back.
    let run_commands = |line: &str| ip(line.strip_prefix("ip ").expect("an ip command"));
    run_commands(&command);
    assert!(before.rules(&collect()).is_empty());
    run_commands(&found.undo()[0]);
    assert_eq!(before.rules(&collect()), ["older-than-default"]);
}

#[test]
fn small_buffers_are_found_and_priced() {
    if !can_run() {
        return;
    }
    let (small, clean) = (TestNamespace::new("small"), TestNamespace::new("clean"));
    small.set("net.ipv4.tcp_rmem", "4096 16384 262144");
    small.set("net.ipv4.tcp_wmem", "4096 16384 262144");
    let host = collect();
    assert_eq!(small.facts(&host).settings.nth("net.ipv4.tcp_rmem", 2), Some(262_144));
    assert_eq!(small.rules(&host), ["buffers-below-host", "buffers-below-host"]);
    assert!(clean.rules(&host).is_empty());
    let devices = &clean.facts(&host).devices;
    let veth = devices.iter().find(|d| d.name == "v0").expect("v0");
    assert_eq!((veth.kind.as_str(), veth.mtu, veth.up, veth.loopback), ("veth", 1500, true, false));
    assert_eq!((veth.qdisc.as_str(), veth.tso), ("noqueue", Some(true)));
    assert!(devices.iter().any(|d| d.loopback && d.up));
    // Cost of the namespace's limits on 100 Mbit/s and 100 ms, with 1.25 MB in flight.
    let path = CheckedPath::new(
        "100Mbit/s".parse().expect("a rate"),
        "100ms".parse().expect("a time"),
        None,
        None,
        0.0,
    );
    let path = path.expect("a path");
    let priced = audit::price(&host, judge(&host, Some(&path)), &path, None);
    let cost = |rule: &str, seen: &str| {
        let finding = priced
            .iter()
            .find(|f| f.rule == rule && f.seen.contains(seen) && f.namespaces.contains(&small.0));
        finding.and_then(|f| f.cost.clone()).unwrap_or_else(|| panic!("{rule} {seen}: {priced:#?}"))
    };
    for seen in ["tcp_rmem", "tcp_wmem"] {
        let cost = cost("buffers-below-host", seen);
        // The limit is the buffer per round trip: 262144 B / 100 ms = 21 Mbit/s.
        let now = cost.now.expect("what it is now is simulated");
        assert!(now < 21.0 && now > 3.0 && cost.then > 2.0 * now, "{seen}: {cost:?}");
    }
    let problems = priced.iter().filter(|f| f.namespaces.contains(&clean.0) && f.rule.ends_with("-buffer"));
    assert_eq!(problems.count(), 0, "the host's buffers suffice");
}

/// Returns the goodput of both sides of a trial in Mbit/s: simulated, then on this kernel.
fn on_both_clocks(trial: &CostTrial, path: &CheckedPath) -> [[f64; 2]; 2] {
    let scenarios = trial.scenarios(path).expect("the simulator knows the control");
    let variants = ["now", "then"].iter().zip(scenarios);
    let variants = variants.map(|(name, scenario)| Variant { name: name.to_string(), scenario }).collect();
    let experiment = Experiment {
        name: "c".into(),
        description: String::new(),
        goal: Vec::new(),
        baseline: None,
        variants,
    };
    let order = Order { clocks: vec![Clock::Sim, Clock::Kernel], ..Order::default() };
    let outcomes = experiment::run(&experiment, &order, Hooks::default());
    assert!(
        outcomes.failed.is_empty(),
        "{:?}",
        outcomes.failed.iter().map(|f| f.failure.to_string()).collect::<Vec<_>>()
    );
    let run = outcomes.run();
    let goodput = |clock, name: &str| {
        let found = run.variants.iter().find(|v| v.clock == clock && v.name == name);
        found.map_or(0.0, |v| v.total_goodput_mbps)
    };
    [Clock::Sim, Clock::Kernel].map(|clock| [goodput(clock, "now"), goodput(clock, "then")])
}

/// The two most expensive findings, simulated and on this kernel.
#[test]
fn simulated_costs_agree_with_the_kernel() {
    if !can_run() {
        return;
    }
    let ns = TestNamespace::new("cost");
    ns.set("net.ipv4.tcp_congestion_control", "reno");
    ns.set("net.ipv4.tcp_rmem", "4096 131072 262144");
    let host = collect();
    let facts = ns.facts(&host);
    let path = |rate: &str, rtt: &str, burst: Option<&str>| {
        let burst = burst.map(|b| b.parse().expect("a size"));
        CheckedPath::new(rate.parse().expect("a rate"), rtt.parse().expect("a time"), burst, None, 0.0)
            .expect("a path")
    };
    let long = path("50Mbit/s", "100ms", None);
    let larger = [sysctl(facts, "net.ipv4.tcp_rmem", "4096 131072 33554432")];
    let [sim, kernel] = on_both_clocks(&CostTrial::of(facts, &long, TrialLoad::Receive, &larger), &long);
    println!(
        "tcp_rmem 262144 and 33554432 at 50 Mbit/s, 100 ms: simulated {sim:.2?}, kernel {kernel:.2?} Mbit/s"
    );
    for (s, k) in sim.iter().zip(kernel) {
        assert!((s / k - 1.0).abs() < 0.1, "{sim:?} {kernel:?}");
    }
    let policed = path("33.2Mbit/s", "137ms", Some("9600B"));
    let paced = fq(facts);
    let [sim, kernel] = on_both_clocks(&CostTrial::of(facts, &policed, TrialLoad::Send, &paced), &policed);
    println!(
        "reno unpaced and paced, 33.2 Mbit/s policed, 137 ms: simulated {sim:.2?}, kernel {kernel:.2?} Mbit/s"
    );
    for [now, then] in [sim, kernel] {
        assert!(then > 2.0 * now, "{sim:?} {kernel:?}");
    }
    for (s, k) in sim.iter().zip(kernel) {
        assert!((0.5..2.5).contains(&(s / k)), "{sim:?} {kernel:?}");
    }
}

/// Runs `tc` in the namespace. Returns false, with a message, where this kernel lacks the feature.
fn tc(ns: &TestNamespace, line: &str) -> bool {
    let all: Vec<&str> = ["netns", "exec", &ns.0, "tc"].into_iter().chain(line.split(' ')).collect();
    let out = Command::new("ip").args(all).output().expect("runs");
    if !out.status.success() {
        eprintln!("SKIPPED: tc {line}: {}", String::from_utf8_lossy(&out.stderr));
    }
    out.status.success()
}

/// Runs the commands of a finding, or their undo.
fn run_commands(lines: &[String]) {
    for line in lines {
        let out = Command::new("sh").args(["-c", line]).output().expect("runs");
        assert!(out.status.success(), "{line}: {}", String::from_utf8_lossy(&out.stderr));
    }
}

#[test]
fn buckets_of_htb_classes_are_read_and_corrected() {
    if !can_run() {
        return;
    }
    let ns = TestNamespace::new("htb");
    if !tc(&ns, "qdisc add dev v0 root handle 1: htb default 10") {
        return;
    }
    assert!(tc(
        &ns,
        "class add dev v0 parent 1: classid 1:10 htb rate 100mbit ceil 200mbit burst 100k cburst 200k"
    ));
    let host = collect();
    let classes = &ns.facts(&host).devices.iter().find(|d| d.name == "v0").expect("v0").classes;
    let [class] = &classes[..] else { panic!("{classes:?}") };
    assert_eq!((class.name.as_str(), class.parent.as_str()), ("1:10", "root"));
    assert_eq!((class.bytes_per_second, class.ceil_bytes_per_second), (12_500_000, 25_000_000));
    // tc and the kernel round to ticks of 64 ns.
    assert!(
        class.burst_bytes.abs_diff(102_400) < 100 && class.cburst_bytes.abs_diff(204_800) < 100,
        "{class:?}"
    );
    assert!(ns.rules(&host).is_empty());

    for (burst, seen) in [("burst 1600 cburst 1600", "1.6 kB"), ("burst 100k cburst 30m", "31")] {
        assert!(tc(
            &ns,
            &format!(
                "class change dev v0 parent 1: classid 1:10 htb rate 100mbit ceil 200mbit prio 3 {burst}"
            )
        ));
        let host = collect();
        let before = ns.facts(&host).devices.clone();
        let found = judge(&host, None).into_iter().find(|f| f.namespaces.contains(&ns.0)).expect("a finding");
        assert!(found.rule == "htb-burst" && found.seen.contains(seen), "{found:?}");
        run_commands(&found.commands());
        assert!(ns.rules(&collect()).is_empty(), "{:?}", ns.facts(&collect()).devices);
        run_commands(&found.undo());
        let after = collect();
        let classes =
            |all: &[audit::DeviceFacts]| -> Vec<_> { all.iter().flat_map(|d| d.classes.clone()).collect() };
        let (before, after) = (classes(&before), classes(&ns.facts(&after).devices));
        assert!(before[0].cburst_bytes.abs_diff(after[0].cburst_bytes) < 2000, "{before:?} {after:?}");
        assert_eq!((before[0].prio, before[0].quantum), (3, after[0].quantum));
        assert_eq!(after[0].prio, 3, "a class keeps what was not to change");
    }
}

#[test]
fn the_command_of_burst_at_policer_resolves_it() {
    if !can_run() {
        return;
    }
    let ns = TestNamespace::new("gso");
    let rate = units::Rate::from_bps(100_000_000);
    let path = CheckedPath::new(rate, units::Span::from_millis(40), Some(units::Bytes::new(9600)), None, 0.0);
    let path = path.expect("a path");
    let found = || {
        let host = collect();
        judge(&host, Some(&path))
            .into_iter()
            .find(|f| f.rule == "burst-at-policer" && f.namespaces.contains(&ns.0))
    };
    let first = found().expect("a finding");
    run_commands(&first.commands());
    assert_eq!(found(), None);
    run_commands(&first.undo());
    assert_eq!(found().expect("it is back").commands(), first.commands());
}

#[test]
fn live_sockets_show_congestion_control_and_rate_cap() {
    if !can_run() {
        return;
    }
    let ns = TestNamespace::new("live");
    // A thread that enters the namespace opens the sockets and keeps them open.
    let (ready, wait) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let file = fs::File::open(format!("/run/netns/{}", ns.0)).expect("it has a name");
    let thread = std::thread::spawn(move || {
        enter(&file);
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let mut out = TcpStream::connect(listener.local_addr().expect("an address")).expect("connects");
        let (mut back, _) = listener.accept().expect("accepts");
        control(&out, "reno");
        cap(&back, 125_000);
        out.write_all(b"x").and_then(|()| back.read_exact(&mut [0])).expect("a byte");
        ready.send(()).expect("waits");
        let _ = ended.recv();
    });
    wait.recv().expect("sockets are there");
    let host = collect();
    let facts = ns.facts(&host);
    let connections: Vec<_> = facts.sockets.iter().filter(|s| !s.listens).collect();
    assert_eq!((facts.sockets.len(), connections.len()), (3, 2), "{:?}", facts.sockets);
    assert_eq!(
        connections.iter().filter(|s| s.control == "reno").count(),
        if facts.default_control() == Some("reno") { 2 } else { 1 }
    );
    assert_eq!(connections.iter().filter_map(|s| s.capped_rate).collect::<Vec<_>>(), [125_000]);
    let listener = facts.sockets.iter().find(|s| s.listens).expect("a listener");
    assert_eq!((listener.accept_queue, listener.accept_limit), (0, 128));
    end.send(()).expect("it waits");
    thread.join().expect("ends");
}

#[test]
fn an_mss_clamp_is_detected() {
    if !can_run() {
        return;
    }
    let ns = TestNamespace::new("router");
    ns.set("net.ipv4.ip_forward", "1");
    ns.run("ip link set v1 mtu 1400");
    let clamps = |host: &HostFacts| ns.facts(host).clamps_mss;
    assert_eq!(clamps(&collect()), Some(false));
    assert_eq!(ns.rules(&collect()), ["mss-clamp"]);
    if Command::new("nft").arg("--version").output().is_err() {
        eprintln!("SKIPPED in part: no nft");
        return;
    }
    for line in
        judge(&collect(), None).into_iter().filter(|f| f.rule == "mss-clamp").flat_map(|f| f.commands())
    {
        let out = Command::new("sh").args(["-c", &line]).output().expect("runs");
        assert!(out.status.success(), "{line}: {}", String::from_utf8_lossy(&out.stderr));
    }
    assert_eq!(clamps(&collect()), Some(true));
    assert!(ns.rules(&collect()).is_empty());
}

#[allow(unsafe_code)]
fn enter(file: &fs::File) {
    use std::os::fd::AsRawFd;
    // SAFETY: takes no pointers; the descriptor is open.
    assert_eq!(unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) }, 0);
}

fn control(socket: &TcpStream, name: &str) {
    option(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name.as_bytes());
}

fn cap(socket: &TcpStream, bytes_per_second: u64) {
    option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &bytes_per_second.to_ne_bytes());
}

#[allow(unsafe_code)]
fn option(socket: &TcpStream, level: i32, name: i32, value: &[u8]) {
    use std::os::fd::AsRawFd;
    // SAFETY: reads at most `len` bytes of the slice.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}
