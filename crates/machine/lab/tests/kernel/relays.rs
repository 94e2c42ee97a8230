//! Relays on the kernel: longfat's proxy, nginx and HAProxy in a namespace. Needs root; one test at a time.

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
/// Maximum number of measurements per run: other load on this machine may disturb one.
const TRIES: usize = 4;

/// A short link before a long bottleneck link, with a relay between them.
fn split_path(tool: &str, relay: &str, flows: &str) -> String {
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

/// Returns the outcome and its notices; `None` if this machine lacks the privileges, with the reason printed.
fn try_run(text: &str) -> Option<Result<(Outcome, Vec<String>), LabError>> {
    try_flow(text, None)
}

/// Runs only one flow; otherwise as [`try_run`].
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

/// Whether a program is missing here; prints it.
fn is_missing(tool: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_installed = tool == "longfat" || std::env::split_paths(&folders).any(|f| f.join(tool).is_file());
    if !is_installed {
        eprintln!("SKIPPED, this needs {tool}");
    }
    !is_installed
}

/// 1448 of each 1500 B packet are payload; slow start and the data that the relay still holds at the end cost
/// some.
#[test]
fn each_relay_reaches_the_paths_rate() {
    for tool in TOOLS.into_iter().filter(|tool| !is_missing(tool)) {
        // Five exchanges take less than a second.
        for (only, seconds) in [(0, "3s"), (1, "3s"), (2, "1s")] {
            let text = split_path(tool, "cc = \"bbr\"", FLOWS).replace("3s", seconds);
            let Some(run) = try_flow(&text, Some(only)) else { return };
            let (o, notices) = run.unwrap_or_else(|e| panic!("{tool}: {e}"));
            let flow = &o.variant.flows[0];
            assert!(!notices.iter().any(|n| n.contains("relay")), "{tool}: {notices:?}");
            // Each connection spans one link only.
            assert!(flow.rtt_ms.min < 5.0, "{tool}: {flow:?}");
            if flow.name == "ask" {
                assert_eq!((flow.completed, flow.delivered_bytes), (Some(5), 50_000), "{tool}");
                continue;
            }
            assert!((14.0..=19.31).contains(&flow.goodput_mbps), "{tool}: {flow:?}");
            // Packets on both links count.
            let least = 2 * flow.delivered_bytes / 1448;
            assert!(flow.sent_packets >= least, "{tool}: {} packets, at least {least}", flow.sent_packets);
        }
    }
}

/// 60 kB are 41 packets of 1448 B. The last write may exceed the buffer (`sk_stream_memory_free`) by at most
/// a segment of 64 kB. The kernel accepts more data once a third is free (`sk_stream_write_space`), so at
/// least two thirds of the buffer are sent per round trip.
#[test]
fn a_relays_buffer_limits_its_unacknowledged_data() {
    let flow = "[flows.up]\nfrom = \"client\"\nto = \"server\"\ncc = \"reno\"\nvia = [\"pep\"]\n";
    for tool in TOOLS.into_iter().filter(|tool| !is_missing(tool)) {
        let Some(run) = try_run(&split_path(tool, "buffer = \"60kB\"", flow)) else { return };
        let (o, _) = run.unwrap_or_else(|e| panic!("{tool}: {e}"));
        let goodput = o.variant.flows[0].goodput_mbps;
        let queue = o.variant.elements.iter().find(|e| e.name == "far.forward.link").expect("the link");
        assert!(queue.max_queue_packets <= 41 + 45, "{tool}: {queue:?}");
        // nginx also waits until its own buffer is empty, so it reaches about half of that.
        let share = if tool == "nginx" { 1.0 / 3.0 } else { 2.0 / 3.0 };
        assert!(goodput > 60e3 * share * 8.0 / 0.065 / 1e6, "{tool}: {goodput} Mbit/s");
    }
}

#[test]
fn an_unsupported_setting_is_named_with_its_key() {
    if is_missing("nginx") {
        return;
    }
    let flows = FLOWS.replace(
        "[flows.down]\n        from = \"server\"\n        to = \"client\"\n        cc = \"reno\"",
        "[flows.down]\n        from = \"server\"\n        to = \"client\"\n        cc = \"bbr\"",
    );
    let Some(run) = try_run(&split_path("nginx", "cc = \"reno\"", &flows)) else { return };
    let error = run.expect_err("two controls on one route").to_string();
    assert!(
        error.starts_with("relays.pep.tool: not on the kernel: flows towards server need both"),
        "{error}"
    );
    assert!(
        error.contains("reno") && error.contains("bbr") && error.contains("tool = \"longfat\""),
        "{error}"
    );
    // longfat's proxy sets the control per connection.
    let run = try_run(&split_path("longfat", "cc = \"reno\"", &flows)).expect("the run succeeds");
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

/// Runs this test in a child process, controlled by environment variables.
fn spawn_test(test: &str, tool: &str, result_file: &PathBuf, path: &str) -> std::process::Child {
    let mut child = Command::new(std::env::current_exe().expect("the test executable's path"));
    child.args([test, "--exact", "--nocapture"]).env("PATH", path).env("LAB_RELAY_TOOL", tool);
    child.env("LAB_RELAY_SAID", result_file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    child.spawn().expect("a child")
}

/// In a child process, returns the tool to test and the file for the result.
fn child_task() -> Option<(String, PathBuf)> {
    let tool = std::env::var("LAB_RELAY_TOOL").ok()?;
    Some((tool, std::env::var_os("LAB_RELAY_SAID")?.into()))
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("longfat-relays-{name}-{}", std::process::id()))
}

/// However the run ends, nothing of a relay remains: no process, no namespace, no file.
#[test]
fn nothing_of_a_relay_outlives_a_kill() {
    if let Some((tool, result_file)) = child_task() {
        let mut on_progress = |_| drop(fs::write(&result_file, "running"));
        let options = LabOptions { progress: Some(&mut on_progress), ..LabOptions::default() };
        drop(lab::run("test", &scenario(&split_path(&tool, "", FLOWS)), options));
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
    for tool in TOOLS.into_iter().filter(|tool| !is_missing(tool)) {
        for signal in ["-KILL", "-TERM"] {
            let result_file = scratch(tool);
            let files = || -> usize {
                let all = ["/tmp", "/var/tmp", "/dev/shm"].into_iter().flat_map(fs::read_dir);
                all.flatten()
                    .flatten()
                    .filter(|e| e.file_name().to_string_lossy().contains("longfat-relay"))
                    .count()
            };
            let mut child =
                spawn_test("relays::nothing_of_a_relay_outlives_a_kill", tool, &result_file, &path);
            wait_for("the run is under way", || result_file.exists());
            let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
            assert!(sent.is_ok_and(|s| s.success()));
            child.wait().expect("the child's exit status");
            wait_for("all namespaces are gone", || namespaces().is_subset(&before));
            fs::remove_file(&result_file).expect("the child's result file");
            assert_eq!(files(), 0, "{tool}");
        }
    }
}

#[test]
fn a_missing_program_is_named_with_its_package() {
    if let Some((tool, result_file)) = child_task() {
        let error =
            try_run(&split_path(&tool, "", FLOWS)).map(|run| run.expect_err("no program").to_string());
        fs::write(result_file, error.unwrap_or_else(|| "SKIPPED".into())).expect("a file");
        return;
    }
    for (tool, package) in [("nginx", "libnginx-mod-stream"), ("haproxy", "haproxy")] {
        let result_file = scratch(&format!("missing-{tool}"));
        let mut child =
            spawn_test("relays::a_missing_program_is_named_with_its_package", tool, &result_file, "/nowhere");
        assert!(child.wait().expect("the child's exit status").success());
        let error = fs::read_to_string(&result_file).expect("the child's result file");
        fs::remove_file(&result_file).expect("a file");
        let want = format!("relays.pep.tool: {tool} is not installed");
        let install =
            error.lines().last().is_some_and(|l| l.contains("apt-get install") && l.contains(package));
        assert!(error == "SKIPPED" || error.contains(&want) && install, "{error}");
    }
}
