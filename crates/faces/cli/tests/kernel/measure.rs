//! `longfat measure` and `longfat serve` over a path of the lab and over a TBF, which is not ours: the limit
//! is found with its numbers, and a cure is measured. In real time; needs root, and prints that it is skipped
//! without.

use crate::common::within;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Two hosts with a path between them; removed on drop.
struct Hosts {
    dir: PathBuf,
    /// What keeps the hosts: `longfat shell`, or a server in a namespace.
    keeper: Child,
    /// The network namespace of the near host, for `nsenter --net`.
    near: String,
    /// The far host's address.
    far: &'static str,
    /// Namespaces to be removed.
    namespaces: Vec<String>,
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
        for name in &self.namespaces {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn folder() -> (PathBuf, u32) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let own = COUNT.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("longfat-measure-{}-{own}", std::process::id()));
    fs::create_dir_all(&dir).expect("a folder");
    (dir, own)
}

/// Finds the process that runs `sleep` with the argument `mark`.
fn sleeper(mark: &str) -> Option<u32> {
    let pids = fs::read_dir("/proc").ok()?.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    pids.into_iter().find(|pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|b| *b == 0).eq([b"sleep", mark.as_bytes(), b""])
    })
}

/// A link between two hosts with these stages in the forward direction.
fn link(between: [&str; 2], up: &str) -> String {
    format!(
        "[links.{0}-{1}]\nbetween = [\"{0}\", \"{1}\"]\nforward = [{up}]\n\
         backward = [{{ kind = \"delay\", delay = \"10ms\" }}]\n",
        between[0], between[1]
    )
}

/// A path of the lab whose upward direction has these stages, with a server of `longfat`; `None`, with a
/// message, where there is no lab.
fn lab(up: &str) -> Option<Hosts> {
    lab_with(&link(["a", "b"], up), &[("b", concat!(env!("CARGO_BIN_EXE_longfat"), " serve"))])
}

/// As [`lab`], with these links and servers.
fn lab_with(links: &str, servers: &[(&str, &str)]) -> Option<Hosts> {
    let (dir, own) = folder();
    let path = format!("duration = \"1s\"\n{links}[flows.f]\nfrom = \"a\"\nto = \"b\"\n");
    fs::write(dir.join("s.toml"), path).expect("a file");
    let mark = format!("600.{:06}{own:03}", std::process::id() % 1_000_000);
    let longfat = env!("CARGO_BIN_EXE_longfat");
    let mut keeper = Command::new(longfat)
        .args(["shell", "s.toml", "--user", "root", "--host", "a"])
        .args(servers.iter().flat_map(|(host, server)| ["--serve".into(), format!("{host}=exec {server}")]))
        .args(["--", "sleep", &mark])
        .current_dir(&dir)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("longfat starts");
    let mut near = None;
    within(Duration::from_secs(10), || {
        near = sleeper(&mark);
        near.is_some() || keeper.try_wait().is_ok_and(|status| status.is_some())
    });
    let Some(near) = near else {
        eprintln!("SKIPPED, this needs root");
        let _ = keeper.kill();
        let _ = keeper.wait();
        return None;
    };
    let near = format!("/proc/{near}/ns/net");
    Some(Hosts { dir, keeper, near, far: "10.0.0.2", namespaces: Vec::new() })
}

/// Two namespaces and a veth pair, with a TBF on the near end's device; `None`, with a message, without root.
fn tbf(options: &str) -> Option<Hosts> {
    let (dir, own) = folder();
    let names = ["a", "b"].map(|end| format!("lfm{end}{}-{own}", std::process::id()));
    let [a, b] = &names;
    let lines = [
        format!("netns add {a}"),
        format!("netns add {b}"),
        format!("-n {a} link add v0 type veth peer name v1 netns {b}"),
        format!("-n {a} addr add 10.9.0.1/24 dev v0"),
        format!("-n {b} addr add 10.9.0.2/24 dev v1"),
        format!("-n {a} link set v0 up"),
        format!("-n {b} link set v1 up"),
    ];
    let run = |program: &str, line: &str| {
        let status = Command::new(program).args(line.split_whitespace()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let made = lines.iter().all(|line| run("ip", line))
        && run("tc", &format!("-n {a} qdisc add dev v0 root tbf {options}"));
    let keeper = Command::new("ip")
        .args(["netns", "exec", b, env!("CARGO_BIN_EXE_longfat"), "serve"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("ip starts");
    let near = format!("/run/netns/{a}");
    let hosts = Hosts { dir, keeper, near, far: "10.9.0.2", namespaces: names.to_vec() };
    if !made {
        eprintln!("SKIPPED, this needs root, ip and tc");
        return None;
    }
    Some(hosts)
}

impl Hosts {
    /// Returns `longfat measure` at the near host, with the default action for SIGINT.
    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.near)).args(["env", "--default-signal=INT"]);
        command.args([env!("CARGO_BIN_EXE_longfat"), "measure"]).args(more);
        command.current_dir(&self.dir).stdin(Stdio::null());
        command
    }

    /// Measures the path; returns the measurement.
    fn measure(&self, more: &[&str]) -> Value {
        self.measured(&[&[self.far], more].concat())
    }

    /// Returns what `longfat measure` with these arguments prints.
    fn measured(&self, args: &[&str]) -> Value {
        let measured = || self.command(&[&["--json"], args].concat()).output().expect("longfat runs");
        let mut out = measured();
        // The server may not listen yet.
        within(Duration::from_secs(10), || {
            let is_early = String::from_utf8_lossy(&out.stderr).contains("cannot connect");
            if is_early {
                out = measured();
            }
            !is_early
        });
        assert_eq!(out.status.code(), Some(0), "{out:?}");
        serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"))
    }
}

/// Asserts that a number is that, within a share of it.
fn is_near(value: &Value, truth: f64, share: f64) {
    let is = value.as_f64().unwrap_or_else(|| panic!("not a number: {value}"));
    assert!((is / truth - 1.0).abs() <= share, "{is}, not {truth}");
}

#[test]
fn a_policer_is_found_with_its_numbers_and_a_cure_is_measured() {
    let policer = "{ kind = \"policer\", rate = \"20Mbit/s\", burst = \"30kB\" }";
    let Some(hosts) = lab(&format!("{policer}, {{ kind = \"delay\", delay = \"20ms\" }}")) else { return };
    let mut m = hosts.measure(&[]);
    // On a busy machine the lab is late, trains are disturbed, and the answer is "cannot tell".
    for _ in 0..2 {
        if m["up"]["limiter"]["kind"] == "unknown" {
            m = hosts.measure(&[]);
        }
    }
    println!("{m:#}");
    let limiter = &m["up"]["limiter"];
    assert_eq!(limiter["kind"], "policer", "{limiter}");
    is_near(&limiter["rate_mbps"], 20.0, 0.03);
    is_near(&limiter["bucket_bytes"], 30e3, 0.2);
    assert_eq!(m["idle"]["lost_share"], 0.0);
    assert!(m["idle"]["rtt_min_ms"].as_f64() > Some(30.0), "{}", m["idle"]);
    let path = &m["up"]["path"];
    assert_eq!((&path["mtu"], &path["black_hole"]), (&1500.into(), &false.into()), "{path}");
    for mark in path["marks"].as_array().expect("marks") {
        assert_eq!(mark["arrived"], mark["sent"], "{path}");
    }
    let goodput = |test: &Value| test["goodput_mbps"].as_f64().expect("a number");
    let up = m["tests"].as_array().expect("tests").iter().find(|t| t["name"] == "up").expect("an upload");
    assert!(up["retransmitted_share"].as_f64() > Some(0.0), "{up}");
    let best = &m["cures"][0];
    assert!(goodput(&best["test"]) > 1.2 * goodput(up), "{best} {up}");
    let headline = m["headline"].as_str().expect("a text");
    assert!(headline.starts_with("A policer of 2") || headline.starts_with("A policer of 19"), "{headline}");
    if let Some(cause) = m["up"]["verdict"]["cause"].as_str() {
        let sure = m["up"]["verdict"]["confidence"].as_f64().expect("a number");
        assert!(cause == "policed" || sure < 0.5, "{}", m["up"]["verdict"]);
    }
}

#[test]
fn the_kernels_tbf_is_a_queue_and_not_a_policer() {
    let Some(hosts) = tbf("rate 20mbit burst 20kb limit 200kb") else { return };
    let m = hosts.measure(&["--quick"]);
    println!("{m:#}");
    let limiter = &m["up"]["limiter"];
    let kind = limiter["kind"].as_str().expect("a kind");
    assert!(["shaper", "link"].contains(&kind), "{limiter}");
    // TBF counts the Ethernet header.
    is_near(&limiter["rate_mbps"], 20.0, 0.05);
    assert_eq!(m["cures"].as_array().map(Vec::len), Some(0), "quick");
}

#[test]
fn a_clean_path_gets_no_cures() {
    let link = "{ kind = \"link\", rate = \"30Mbit/s\", queue = { kind = \"codel\" } }";
    let Some(hosts) = lab(&format!("{link}, {{ kind = \"delay\", delay = \"10ms\" }}")) else { return };
    let m = hosts.measure(&[]);
    println!("{m:#}");
    assert_ne!(m["up"]["limiter"]["kind"], "policer", "{}", m["up"]["limiter"]);
    let up = m["tests"].as_array().expect("tests").iter().find(|t| t["name"] == "up").expect("an upload");
    // Where one connection has nine tenths of the rate and no delay is added, nothing is cured.
    if up["goodput_mbps"].as_f64() > Some(26.5) {
        assert_eq!(m["cures"].as_array().map(Vec::len), Some(0), "{} {}", m["headline"], m["cures"]);
    }
}

#[test]
fn repeats_are_summarised_and_compared() {
    let policer = "{ kind = \"policer\", rate = \"20Mbit/s\", burst = \"30kB\" }";
    let Some(hosts) = lab(&format!("{policer}, {{ kind = \"delay\", delay = \"20ms\" }}")) else { return };
    let series = hosts.measure(&["--quick", "--repeat", "2", "--out", "both", "--ticket", "carrier.md"]);
    assert_eq!(series["schema"], "longfat-measure-series/1");
    assert_eq!(series["runs"].as_array().map(Vec::len), Some(2), "{}", series["headline"]);
    let figures = series["figures"].as_array().expect("figures");
    let up = figures.iter().find(|f| f["name"] == "up.goodput").expect("uploads");
    assert_eq!(up["n"], 2, "{up}");
    assert!(hosts.dir.join("both/series.parquet").is_file());
    let ticket = fs::read_to_string(hosts.dir.join("carrier.md")).expect("a page");
    assert!(ticket.contains("packets are dropped") || ticket.contains("are dropped, not queued"), "{ticket}");
    assert!(!ticket.contains("10.0.0."), "{ticket}");
    let mut report = Command::new(env!("CARGO_BIN_EXE_longfat"));
    let out = report.args(["report", "both", "both"]).current_dir(&hosts.dir).output().expect("longfat runs");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.starts_with("Nothing changed beyond the spread"), "{out:?}");
}

#[test]
fn a_series_ends_at_ctrl_c_with_what_it_has() {
    use std::io::{BufRead, BufReader, Read};
    let Some(hosts) = lab("{ kind = \"delay\", delay = \"5ms\" }") else { return };
    // The server answers from here on.
    hosts.measure(&["--quick"]);
    let mut command = hosts.command(&[hosts.far, "--quick", "--every", "1s", "--no-progress"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("longfat runs");
    let mut out = BufReader::new(child.stdout.take().expect("its output"));
    let mut first = String::new();
    out.read_line(&mut first).expect("a line");
    assert!(first.contains(" Mbit/s, idle RTT "), "{first}");
    // `nsenter` and `env` are replaced by the program.
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().is_ok_and(|status| status.success()));
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("the table");
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "{rest}");
    assert!(rest.contains("time, UTC"), "{rest}");
}

#[test]
fn an_iperf3_server_is_enough_for_goodput_and_its_cause() {
    if Command::new("iperf3").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("SKIPPED, this needs iperf3");
        return;
    }
    let policer = "{ kind = \"policer\", rate = \"20Mbit/s\", burst = \"30kB\" }";
    let path = format!("{policer}, {{ kind = \"delay\", delay = \"20ms\" }}");
    let Some(hosts) = lab_with(&link(["a", "b"], &path), &[("b", "iperf3 -s")]) else { return };
    let m = hosts.measure(&["--iperf3", "--quick"]);
    println!("{m:#}");
    let tests = m["tests"].as_array().expect("tests");
    let names: Vec<_> = tests.iter().filter_map(|t| t["name"].as_str()).collect();
    assert_eq!(names, ["down", "up", "down-4", "up-4"]);
    let up = tests.iter().find(|t| t["name"] == "up").expect("an upload");
    assert!(up["goodput_mbps"].as_f64() < Some(20.0) && up["goodput_mbps"].as_f64() > Some(0.5), "{up}");
    assert!(up["retransmitted_share"].as_f64() > Some(0.0), "{up}");
    assert!(m.get("idle").is_none() && m["up"].get("limiter").is_none(), "no server of ours");
    let unknown = m["cannot_tell"][0].as_str().expect("a reason");
    assert!(unknown.starts_with("an iperf3 server is at the far end"), "{unknown}");
}

#[test]
fn the_segment_with_the_policer_is_named() {
    let policer = "{ kind = \"policer\", rate = \"20Mbit/s\", burst = \"30kB\" }";
    let delay = "{ kind = \"delay\", delay = \"10ms\" }";
    let links = [link(["a", "b"], delay), link(["b", "c"], &format!("{policer}, {delay}"))].concat();
    let longfat = env!("CARGO_BIN_EXE_longfat");
    // The third host's address, which `longfat shell` gives in the order of the links.
    let onward = format!("{longfat} serve --onward 10.0.0.3");
    let servers = [("b", onward.as_str()), ("c", concat!(env!("CARGO_BIN_EXE_longfat"), " serve"))];
    let Some(hosts) = lab_with(&links, &servers) else { return };
    let via = ["--via", "10.0.0.2,10.0.0.3", "--quick"];
    let mut m = hosts.measured(&via);
    // On a busy machine trains are disturbed, and the answer is "cannot tell".
    for _ in 0..2 {
        if m.get("up_segment").is_none() {
            m = hosts.measured(&via);
        }
    }
    println!("{m:#}");
    assert_eq!(
        (&m["schema"], &m["up_segment"]),
        (&"longfat-measure-via/1".into(), &1.into()),
        "{}",
        m["headline"]
    );
    let headline = m["headline"].as_str().expect("a text");
    assert!(headline.starts_with("The segment 10.0.0.2 -> 10.0.0.3 limits the upload: "), "{headline}");
    let segments = m["segments"].as_array().expect("segments");
    assert_eq!(segments.len(), 2);
    let limiter = &segments[1]["measurement"]["up"]["limiter"];
    // Where its trains do not decide, the segment is named by its losses.
    if limiter["kind"] != "unknown" {
        assert_eq!(limiter["kind"], "policer", "{limiter}");
        is_near(&limiter["rate_mbps"], 20.0, 0.03);
    }
    // The server of the second host may not measure onwards.
    let refused = hosts.measured(&["--via", "10.0.0.3,10.0.0.2", "--quick"]);
    let why = refused["segments"][1]["error"].as_str().expect("a reason");
    assert!(why.contains("may not measure the path to 10.0.0.2 port 4717"), "{why}");
}
