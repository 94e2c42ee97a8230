//! Relays on the kernel: longfat's proxy, nginx and HAProxy in a namespace. As root, one at a time.

use lab::{LabError, LabOptions};
use result::Outcome;
use scenario::{Experiment, Scenario};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

static ALONE: Mutex<()> = Mutex::new(());
const TOOLS: [&str; 3] = ["longfat", "nginx", "haproxy"];
/// What other work on this machine disturbed is measured again.
const TRIES: usize = 4;

/// A lossy short link before a long clean one; up, down, and in small pieces.
fn split(tool: &str, relay: &str, flows: &str) -> String {
    format!(
        r#"
        duration = "3s"
        [links.near]
        between = ["client", "node"]
        forward = [{{ kind = "link", rate = "50Mbit/s", delay = "1ms" }}]
        backward = [{{ kind = "delay", delay = "1ms" }}]
        [links.far]
        between = ["node", "server"]
        forward = [{{ kind = "link", rate = "20Mbit/s", delay = "20ms" }}]
        backward = [{{ kind = "link", rate = "20Mbit/s", delay = "20ms" }}]
        [relays.pep]
        host = "node"
        tool = "{tool}"
        {relay}
        {flows}
        "#
    )
}

const FLOWS: &str = r#"
        [flows.up]
        from = "client"
        to = "server"
        cc = "reno"
        via = ["pep"]
        [flows.down]
        from = "server"
        to = "client"
        cc = "reno"
        via = ["pep"]
        [flows.ask]
        from = "client"
        to = "server"
        cc = "reno"
        via = ["pep"]
        app = { kind = "request", request = "1kB", response = "10kB", count = 5 }
"#;

fn scenario(text: &str) -> Scenario {
    let parsed = Experiment::parse("t.toml", text, &[]).unwrap_or_else(|e| panic!("{}", e.render()));
    parsed.variants.into_iter().next().expect("a variant").scenario
}

/// The outcome and its notices; `None`, said aloud, where this machine does not let us.
fn try_run(text: &str) -> Option<Result<(Outcome, Vec<String>), LabError>> {
    try_flow(text, None)
}

/// The same of one flow alone.
fn try_flow(text: &str, only_flow: Option<usize>) -> Option<Result<(Outcome, Vec<String>), LabError>> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut notices = Vec::new();
    let mut notice = |text: &str| notices.push(text.to_string());
    let run = || {
        let options = LabOptions { seed: 1, only_flow, notice: Some(&mut notice), ..LabOptions::default() };
        lab::run("test", &scenario(text), options)
    };
    match lab::trusted(TRIES, run) {
        Err(e @ LabError::Permission { .. }) => {
            eprintln!("SKIPPED, this needs root: {e}");
            None
        }
        run => {
            notices.iter().for_each(|n| eprintln!("  {n}"));
            Some(run.map(|o| (o, notices)))
        }
    }
}

/// Whether a program is missing here, said aloud.
fn lacks(tool: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let there = tool == "longfat" || std::env::split_paths(&folders).any(|f| f.join(tool).is_file());
    if !there {
        eprintln!("SKIPPED, this needs {tool}");
    }
    !there
}

/// 1448 of each 1500 B packet are payload; slow start and what the relay holds at the end cost some.
#[test]
fn each_program_carries_what_the_path_does() {
    for tool in TOOLS.into_iter().filter(|tool| !lacks(tool)) {
        // Five exchanges take less than a second.
        for (only, seconds) in [(0, "3s"), (1, "3s"), (2, "1s")] {
            let text = split(tool, "cc = \"bbr\"", FLOWS).replace("3s", seconds);
            let Some(run) = try_flow(&text, Some(only)) else { return };
            let (o, notices) = run.unwrap_or_else(|e| panic!("{tool}: {e}"));
            let flow = &o.variant.flows[0];
            assert!(!notices.iter().any(|n| n.contains("relay")), "{tool}: {notices:?}");
            // Each end's connection is as long as its link.
            assert!(flow.rtt_ms.min < 5.0, "{tool}: {flow:?}");
            if flow.name == "ask" {
                assert_eq!((flow.completed, flow.delivered_bytes), (Some(5), 50_000), "{tool}");
                continue;
            }
            assert!((14.0..=19.31).contains(&flow.goodput_mbps), "{tool}: {flow:?}");
            // All of its packets, on both links.
            let least = 2 * flow.delivered_bytes / 1448;
            assert!(flow.sent_packets >= least, "{tool}: {} packets, at least {least}", flow.sent_packets);
        }
    }
}

/// 60 kB are 41 packets of 1448 B; what the kernel is handed in one piece may go beyond (`sk_stream_memory_free`), at most a segment
/// of 64 kB. It takes more once a third is free (`sk_stream_write_space`): two thirds of a buffer a round trip are carried for certain.
#[test]
fn a_relays_buffer_is_what_its_program_may_send_ahead() {
    let flow = "[flows.up]\nfrom = \"client\"\nto = \"server\"\ncc = \"reno\"\nvia = [\"pep\"]\n";
    for tool in TOOLS.into_iter().filter(|tool| !lacks(tool)) {
        let Some(run) = try_run(&split(tool, "buffer = \"60kB\"", flow)) else { return };
        let (o, _) = run.unwrap_or_else(|e| panic!("{tool}: {e}"));
        let goodput = o.variant.flows[0].goodput_mbps;
        let queue = o.variant.elements.iter().find(|e| e.name == "far.forward.link").expect("the link");
        assert!(queue.max_queue_packets <= 41 + 45, "{tool}: {queue:?}");
        // nginx takes nothing new while its own buffer, too, is not empty: about half of that.
        let share = if tool == "nginx" { 1.0 / 3.0 } else { 2.0 / 3.0 };
        assert!(goodput > 60e3 * share * 8.0 / 0.065 / 1e6, "{tool}: {goodput} Mbit/s");
    }
}

#[test]
fn what_a_program_cannot_do_is_named_with_its_key() {
    if lacks("nginx") {
        return;
    }
    let flows = FLOWS.replace(
        "[flows.down]\n        from = \"server\"\n        to = \"client\"\n        cc = \"reno\"",
        "[flows.down]\n        from = \"server\"\n        to = \"client\"\n        cc = \"bbr\"",
    );
    let Some(run) = try_run(&split("nginx", "cc = \"reno\"", &flows)) else { return };
    let told = run.expect_err("two controls on one route").to_string();
    assert!(told.starts_with("relays.pep.tool: not on the kernel: towards server it is to have"), "{told}");
    assert!(told.contains("reno") && told.contains("bbr") && told.contains("tool = \"longfat\""), "{told}");
    // longfat's proxy has one a connection.
    let run = try_run(&split("longfat", "cc = \"reno\"", &flows)).expect("as before");
    let (o, notices) = run.unwrap_or_else(|e| panic!("{e}"));
    assert!(o.variant.flows.iter().all(|f| f.delivered_bytes > 0));
    assert!(!notices.iter().any(|n| n.contains("relay")), "{notices:?}");
}

fn namespaces() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        for task in fs::read_dir(process.path().join("task")).into_iter().flatten().flatten() {
            if let Ok(ns) = fs::read_link(task.path().join("ns/net")) {
                all.insert(ns.display().to_string());
            }
        }
    }
    all
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < until, "not within twenty seconds: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// This test in a process of its own, which the environment tells what to do.
fn apart(test: &str, tool: &str, said: &PathBuf, path: &str) -> std::process::Child {
    let mut child = Command::new(std::env::current_exe().expect("this test's file"));
    child.args([test, "--exact", "--nocapture"]).env("PATH", path).env("LAB_RELAY_TOOL", tool);
    child.env("LAB_RELAY_SAID", said).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    child.spawn().expect("a child")
}

/// What a test has to do in a process of its own: the tool, and where to tell what came of it.
fn told_apart() -> Option<(String, PathBuf)> {
    let tool = std::env::var("LAB_RELAY_TOOL").ok()?;
    Some((tool, std::env::var_os("LAB_RELAY_SAID")?.into()))
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("longfat-relays-{name}-{}", std::process::id()))
}

/// However the run ends, nothing of a relay stays: no process, no namespace, no file.
#[test]
fn nothing_of_a_relay_outlives_a_kill() {
    if let Some((tool, said)) = told_apart() {
        let mut begun = |_| drop(fs::write(&said, "running"));
        let options = LabOptions { progress: Some(&mut begun), ..LabOptions::default() };
        drop(lab::run("test", &scenario(&split(&tool, "", FLOWS)), options));
        return;
    }
    if try_run(
        "duration = \"100ms\"\n[links.l]\nbetween = [\"a\", \"b\"]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\n",
    )
    .is_none()
    {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = namespaces();
    let path = std::env::var("PATH").unwrap_or_default();
    for tool in TOOLS.into_iter().filter(|tool| !lacks(tool)) {
        for signal in ["-KILL", "-TERM"] {
            let said = scratch(tool);
            let files = || -> usize {
                let all = ["/tmp", "/var/tmp", "/dev/shm"].into_iter().flat_map(fs::read_dir);
                all.flatten()
                    .flatten()
                    .filter(|e| e.file_name().to_string_lossy().contains("longfat-relay"))
                    .count()
            };
            let mut child = apart("relays::nothing_of_a_relay_outlives_a_kill", tool, &said, &path);
            wait_for("the run is under way", || said.exists());
            let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
            assert!(sent.is_ok_and(|s| s.success()));
            child.wait().expect("its end");
            wait_for("all namespaces are gone", || namespaces().is_subset(&before));
            fs::remove_file(&said).expect("what it said");
            assert_eq!(files(), 0, "{tool}");
        }
    }
}

#[test]
fn a_missing_program_is_named_with_its_package() {
    if let Some((tool, said)) = told_apart() {
        let told = try_run(&split(&tool, "", FLOWS)).map(|run| run.expect_err("no program").to_string());
        fs::write(said, told.unwrap_or_else(|| "SKIPPED".into())).expect("a file");
        return;
    }
    for (tool, package) in [("nginx", "libnginx-mod-stream"), ("haproxy", "haproxy")] {
        let said = scratch(&format!("missing-{tool}"));
        let mut child = apart("relays::a_missing_program_is_named_with_its_package", tool, &said, "/nowhere");
        assert!(child.wait().expect("its end").success());
        let told = fs::read_to_string(&said).expect("what it said");
        fs::remove_file(&said).expect("a file");
        let want = format!("relays.pep.tool: there is no {tool} on this machine");
        let install =
            told.lines().last().is_some_and(|l| l.contains("apt-get install") && l.contains(package));
        assert!(told == "SKIPPED" || told.contains(&want) && install, "{told}");
    }
}
