//! `longfat cc` on the real kernel (`make netns`). Needs root; without it the test prints that it is skipped.

use crate::common::within;
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// The kernel releases a dead process's programs a moment after its death.
const DEADLINE: Duration = Duration::from_secs(20);

fn longfat(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_longfat")).args(args).output().expect("the program starts")
}

fn available() -> String {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("Linux")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether this process has CAP_NET_ADMIN (12) and CAP_SYS_ADMIN (21); if not, prints that the test is
/// skipped.
fn root() -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let set = status.lines().find_map(|l| l.strip_prefix("CapEff:")).expect("its capabilities");
    let set = u64::from_str_radix(set.trim(), 16).expect("hexadecimal digits");
    let root = [12, 21].iter().all(|bit| set >> bit & 1 == 1);
    if !root {
        eprintln!("SKIPPED, this needs root");
    }
    root
}

/// One test, so that its parts do not run in parallel.
#[test]
fn controls() {
    if !root() {
        return;
    }
    load_list_unload();
    missing_capabilities_are_named();
    a_killed_shell_leaves_nothing();
}

fn load_list_unload() {
    let mounted = fs::read_to_string("/proc/mounts").expect("Linux").contains(" /sys/fs/bpf bpf ");
    let _ = longfat(&["cc", "unload", "bbr-hsr"]); // of an interrupted test
    let out = longfat(&["cc", "load", "bbr-hsr", "--set", "T=60ms"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert_eq!(text(&out.stdout).contains("mounted a bpf file system"), !mounted, "{}", text(&out.stdout));
    assert!(available().contains(" bbr_hsr"));
    let list = text(&longfat(&["cc", "list"]).stdout);
    assert!(list.contains("loaded for all processes as bbr_hsr, with hsr_T_us=60000"), "{list}");
    let again = text(&longfat(&["cc", "load", "bbr-hsr", "--set", "T=60ms"]).stdout);
    assert!(again.contains("nothing changed"), "{again}");
    let other = text(&longfat(&["cc", "load", "bbr-hsr"]).stdout);
    assert!(other.contains("with other parameters") && other.contains("hsr_T_us = 50000"), "{other}");
    let out = longfat(&["cc", "unload", "--all"]);
    assert!(text(&out.stdout).contains("unloaded bbr_hsr"), "{}", text(&out.stdout));
    assert!(within(DEADLINE, || !available().contains("bbr_hsr")), "{}", available());
    assert!(text(&longfat(&["cc", "unload", "--all"]).stdout).contains("no congestion control"));
    if !mounted {
        assert!(Command::new("umount").arg("/sys/fs/bpf").status().expect("umount").success());
    }
}

fn missing_capabilities_are_named() {
    let less = ["--bounding-set=-bpf,-sys_admin", "--inh-caps=-bpf,-sys_admin"];
    let mut command = Command::new("setpriv");
    command.args(less).arg(env!("CARGO_BIN_EXE_longfat")).args(["cc", "load", "bbr-hsr"]);
    let out = command.output().expect("setpriv (util-linux)");
    assert_eq!(out.status.code(), Some(2));
    let error = text(&out.stderr);
    assert!(error.contains("missing CAP_BPF:"), "{error}");
}

const SCENARIO: &str = r#"
duration = "2s"
[links.path]
between = ["a", "b"]
forward = [{ kind = "link", rate = "20Mbit/s", delay = "10ms" }]
backward = [{ kind = "delay", delay = "10ms" }]
[flows.f]
from = "a"
to = "b"
cc = "bbr-hsr"
"#;

/// A shell loads its own instance of the congestion control, its programs use it by default, and `kill -9`
/// unloads it.
fn a_killed_shell_leaves_nothing() {
    let file = std::env::temp_dir().join(format!("longfat-cc-{}.toml", std::process::id()));
    fs::File::create(&file).and_then(|mut f| f.write_all(SCENARIO.as_bytes())).expect("a file");
    let mut shell = Command::new(env!("CARGO_BIN_EXE_longfat"))
        .arg("shell")
        .arg(&file)
        .args(["--", "sh", "-c", "cat /proc/sys/net/ipv4/tcp_congestion_control; exec sleep 600"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let name = kernel_cc::private_name("bbr-hsr", shell.id(), 0);
    let mut printed = String::new();
    let out = shell.stdout.take().expect("a pipe");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut printed).expect("a line");
    assert_eq!(printed.trim(), name);
    let list = text(&longfat(&["cc", "list"]).stdout);
    assert!(list.contains(&format!("private to process {} (longfat)", shell.id())), "{list}");
    shell.kill().expect("SIGKILL");
    shell.wait().expect("its end");
    assert!(within(DEADLINE, || !available().contains(&name)), "{}", available());
    let _ = fs::remove_file(&file);
}
