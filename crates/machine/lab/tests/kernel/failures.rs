//! Components that are killed with `kill -9` during a measurement: each is named and makes the measurement
//! unreliable. Components that a fault of the scenario kills do not count. Runs in real time, as root;
//! otherwise, or if a program is not installed, prints that it is skipped.

use lab::{LabError, LabOptions, Serve, ShellOptions};
use result::{Outcome, Trust, TrustKind};
use scenario::{Experiment, Scenario};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::process::{self, Command};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};
use units::{Span, Time};

static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|e| e.into_inner())
}

const NETWORK: &str = r#"
duration = "3s"
[hosts.box]
services = [{ kind = "ipsec", link = "access" }, { kind = "bgp", as = 65001, hold = "3s" }]
[hosts.gw]
services = [{ kind = "ipsec", link = "access" }, { kind = "bgp", as = 65002, hold = "3s" }, { kind = "ftp" }]
[links]
lan = { between = ["pc", "box"] }
access = { between = ["box", "gw"], forward = [{ kind = "delay", delay = "2ms" }], backward = [{ kind = "delay", delay = "2ms" }] }
[flows.f]
from = "pc"
to = "gw"
app = { kind = "udp", rate = "1Mbit/s" }
"#;

fn parse(text: &str) -> Scenario {
    Experiment::parse("t.toml", text, &[])
        .unwrap_or_else(|e| panic!("{}", e.render()))
        .variants
        .remove(0)
        .scenario
}

/// Returns all descendants of this process, by id: parent and name.
fn descendants() -> BTreeMap<u32, (u32, String)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all: BTreeMap<u32, (u32, String)> = entries
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let (head, rest) = stat.rsplit_once(')')?;
            let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
            Some((pid, (parent, head.split_once('(')?.1.to_string())))
        })
        .collect();
    let is_ours = |mut pid: u32| {
        while let Some((parent, _)) = all.get(&pid) {
            if *parent == process::id() {
                return true;
            }
            pid = *parent;
        }
        false
    };
    all.iter().filter(|(pid, _)| is_ours(**pid)).map(|(pid, who)| (*pid, who.clone())).collect()
}

/// Kills one descendant with that name, or its parent. Returns whether there was one.
fn kill(name: &str, parent: bool) -> bool {
    let all = descendants();
    let Some((pid, (parent_pid, _))) = all.iter().find(|(_, (_, n))| n == name) else { return false };
    let pid = if parent { parent_pid } else { pid };
    Command::new("kill").args(["-9", &pid.to_string()]).status().is_ok_and(|s| s.success())
}

/// Runs a scenario and kills the first process of each of these names after a second. Returns `None` and
/// prints the reason if it cannot run here.
fn run(text: &str, victims: &[&str], parents: bool) -> Option<Outcome> {
    let _alone = alone();
    let scenario = parse(text);
    let missing = lab::missing(&[&scenario]).remove(0);
    if !missing.is_empty() {
        eprintln!("SKIPPED: {missing:?}");
        return None;
    }
    let mut left = victims.to_vec();
    let mut progress = |now: Time| {
        if now > Time::ZERO + Span::from_secs(1) {
            left.drain(..).for_each(|name| assert!(kill(name, parents), "no {name} in {:?}", descendants()));
        }
    };
    let mut notice = |text: &str| eprintln!("  {text}");
    let options = LabOptions {
        seed: 1,
        progress: Some(&mut progress),
        notice: Some(&mut notice),
        ..LabOptions::default()
    };
    match lab::run("test", &scenario, options) {
        Ok(outcome) => {
            assert!(left.is_empty(), "{left:?} were not killed");
            Some(outcome)
        }
        Err(e @ LabError::Permission { .. }) => {
            eprintln!("SKIPPED: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// Asserts that exactly these components failed and that this is the first reason to distrust the run.
fn assert_died(outcome: &Outcome, wanted: &[&str]) {
    let trust: &Trust = outcome.variant.trust.as_ref().expect("a verdict on the measurement");
    let mut died: Vec<&str> = trust.dead_components.iter().map(|d| d.component.as_str()).collect();
    died.sort_unstable();
    assert_eq!(died, wanted, "{trust:?}");
    assert!(!trust.reliable);
    assert_eq!(trust.reasons[0].kind, TrustKind::Died, "{trust:?}");
    assert!(trust.dead_components.iter().all(|d| d.at_ms >= 900.0), "{trust:?}");
}

#[test]
fn killed_daemons_are_named() {
    let Some(o) = run(NETWORK, &["charon", "bird", "vsftpd"], false) else { return };
    let died = &o.variant.trust.as_ref().expect("a verdict").dead_components;
    assert_eq!(died.len(), 3, "{died:?}");
    for wanted in ["charon (IPsec over link access)", "BIRD (BGP)", "host gw: vsftpd (FTP)"] {
        assert!(died.iter().any(|d| d.component.ends_with(wanted)), "no {wanted} in {died:?}");
    }
    assert!(died.iter().all(|d| d.how == "killed by signal 9"), "{died:?}");
    assert!(!o.variant.trust.expect("a verdict").reliable);
}

/// When the first process of a host's daemons dies, all daemons of the host die.
#[test]
fn a_hosts_daemons_die_together() {
    let Some(o) = run(NETWORK, &["vsftpd"], true) else { return };
    let expected =
        "host gw: the process that holds charon (IPsec over link access), BIRD (BGP), vsftpd (FTP)";
    let died = &o.variant.trust.as_ref().expect("a verdict").dead_components;
    assert_eq!(died.len(), 1, "{died:?}");
    let words = |text: &str| {
        let mut all: Vec<String> =
            text.split([',', ' ']).filter(|w| !w.is_empty()).map(String::from).collect();
        all.sort();
        all
    };
    assert_eq!(words(&died[0].component), words(expected));
}

/// Daemons that a fault of the scenario kills are not reported.
#[test]
fn daemons_killed_by_a_fault_are_not_failures() {
    let more = r#"
        [links.pop]
        between = ["gw", "far"]
        [faults.power]
        kind = "host"
        host = "gw"
        at = "500ms"
        lasts = "1s"
    "#;
    let text = NETWORK.replace("to = \"gw\"", "to = \"far\"");
    let Some(o) = run(&format!("{text}\n{more}"), &[], false) else { return };
    let trust = o.variant.trust.expect("a verdict");
    assert!(trust.dead_components.is_empty(), "{trust:?}");
}

#[test]
fn killed_relays_and_programs_are_named() {
    let text = |more: &str| {
        format!(
            r#"
            duration = "2500ms"
            [links.path]
            between = ["a", "r"]
            forward = [{{ kind = "link", rate = "20Mbit/s", delay = "2ms" }}]
            [links.on]
            between = ["r", "b"]
            {more}
            "#
        )
    };
    let relay = |tool: &str| {
        text(&format!(
            "[relays.pep]\nhost = \"r\"\ntool = \"{tool}\"\n[flows.f]\nfrom = \"a\"\nto = \"b\"\nvia = [\"pep\"]\ncc = \"reno\""
        ))
    };
    for tool in ["nginx", "haproxy"] {
        if let Some(o) = run(&relay(tool), &[tool], false) {
            assert_died(&o, &["relay pep"]);
        }
    }
    let iperf = text("[flows.f]\nfrom = \"a\"\nto = \"b\"\ncc = \"reno\"\ntool = \"iperf3\"");
    if let Some(o) = run(&iperf, &["iperf3"], false) {
        // The server is the older process. Its client then fails.
        let trust = o.variant.trust.expect("a verdict");
        assert_eq!(trust.dead_components[0].component, "flow f: the server iperf3", "{trust:?}");
        assert!(trust.dead_components[0].how.starts_with("killed by signal 9"), "{trust:?}");
    }
    // A client that exits by itself, with any code, is not a failure; and the longfat relay ends with the
    // run.
    let own = text(
        "[flows.f]\nfrom = \"a\"\nto = \"b\"\ntool = \"sh -c 'exit 3'\"\n[relays.pep]\nhost = \"r\"\n[flows.g]\nfrom = \"a\"\nto \
         = \"b\"\nvia = [\"pep\"]\ncc = \"reno\"",
    );
    let Some(o) = run(&own, &[], false) else { return };
    let trust = o.variant.trust.expect("a verdict");
    assert!(trust.dead_components.is_empty(), "{trust:?}");
}

/// Runs a shell with this command and kills `name` once the command runs. Returns the exit code and the
/// notices.
fn shell(
    text: &str,
    command: &str,
    serve: &[&str],
    name: Option<&'static str>,
) -> Option<(i32, Vec<String>)> {
    let _alone = alone();
    let scenario = parse(text);
    if lab::missing(&[&scenario]).remove(0).iter().any(|need| need.package.is_some()) {
        eprintln!("SKIPPED: {:?}", lab::missing(&[&scenario]));
        return None;
    }
    let sh = |text: &str| ["sh", "-c", text].map(OsString::from).to_vec();
    let mut notices = Vec::new();
    let mut notice = |text: &str| notices.push(text.to_string());
    let serve = serve.iter().map(|text| Serve { host: 0, command: sh(text) }).collect();
    let options = ShellOptions {
        seed: 1,
        command: sh(command),
        serve,
        notice: Some(&mut notice),
        ..ShellOptions::default()
    };
    let killer = name.map(|name| {
        thread::spawn(move || {
            let until = Instant::now() + Duration::from_secs(40);
            let is_asleep = |pid: &u32| {
                fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == b"sleep\x002\x00")
            };
            while !descendants().keys().any(is_asleep) {
                assert!(Instant::now() < until, "the command does not run");
                thread::sleep(Duration::from_millis(20));
            }
            assert!(kill(name, false), "no {name}");
        })
    });
    let done = lab::shell(&scenario, options);
    if let Some(killer) = killer {
        killer.join().expect("the killing thread");
    }
    match done {
        Ok(code) => Some((code, notices)),
        Err(e @ LabError::Permission { .. }) => {
            eprintln!("SKIPPED: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

#[test]
fn a_shell_names_failed_components_and_exits_nonzero() {
    let errors = |notices: &[String]| -> Vec<String> {
        notices.iter().filter(|t| t.starts_with("error: ")).cloned().collect()
    };
    let Some((code, notices)) = shell(NETWORK, "sleep 2", &[], Some("bird")) else { return };
    let error_lines = errors(&notices);
    assert!(
        code == 1 && error_lines.len() == 1 && error_lines[0].contains("BIRD (BGP) died after"),
        "{code} {notices:?}"
    );
    // The command's own nonzero code takes precedence.
    let Some((code, notices)) = shell(NETWORK, "sleep 2; exit 7", &[], Some("charon")) else { return };
    assert!(code == 7 && errors(&notices).len() == 1, "{code} {notices:?}");
    let plain = "[links.l]\nbetween = [\"a\", \"b\"]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\n";
    let Some((code, notices)) = shell(plain, "sleep 1", &["kill -9 $$"], None) else { return };
    assert!(
        code == 1 && errors(&notices)[0].contains("server `sh -c kill -9 $$` died"),
        "{code} {notices:?}"
    );
    let Some((code, notices)) = shell(plain, "sleep 1", &["exit 3"], None) else { return };
    assert!(code == 0 && errors(&notices).is_empty(), "{code} {notices:?}");
}

/// The program starts only when tunnels, sessions and the routes of all hosts are up, so that none of its
/// packets is lost.
#[test]
fn a_shells_program_finds_all_routes() {
    let far = format!("{NETWORK}\n[links.pop]\nbetween = [\"gw\", \"far\"]\n");
    for _ in 0..3 {
        let command = "ping -c1 -W3 gw >/dev/null && ping -c1 -W3 far >/dev/null";
        let Some((code, notices)) = shell(&far, command, &[], None) else { return };
        assert_eq!(code, 0, "{notices:?}");
    }
}
