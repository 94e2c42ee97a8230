//! Programs inside a scenario, on the real kernel. Needs root (or user namespaces and an accessible
//! /dev/net/tun); otherwise prints that it is skipped. Commands report what they saw through a file.

use lab::{LabError, Serve, ShellOptions};
use scenario::{Experiment, Scenario};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

static ALONE: Mutex<()> = Mutex::new(());

/// Serialises the tests: namespaces of other tests would be counted, and packets of other runs would be late.
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|e| e.into_inner())
}

const PATH: &str = r#"
duration = "1s"
[links.path]
between = ["a", "b"]
forward = [{ kind = "delay", delay = "20ms" }]
backward = [{ kind = "delay", delay = "20ms" }]
[flows.f]
from = "a"
to = "b"
cc = "reno"
max_pacing_rate = "20Mbit/s"
"#;

fn scenario() -> Scenario {
    Experiment::parse("t.toml", PATH, &[]).expect("a valid scenario").variants.remove(0).scenario
}

fn sh(text: &str) -> Vec<OsString> {
    ["sh", "-c", text].map(OsString::from).to_vec()
}

/// Returns `None` and prints the reason if this machine lacks the privileges.
fn shell(options: ShellOptions) -> Option<Result<i32, LabError>> {
    match lab::shell(&scenario(), options) {
        Err(e @ LabError::Permission { .. }) => {
            eprintln!("SKIPPED, this needs root: {e}");
            None
        }
        done => Some(done),
    }
}

fn run(text: &str) -> Option<i32> {
    let _alone = alone();
    let options = ShellOptions { command: sh(text), ..ShellOptions::default() };
    Some(shell(options)?.expect("the command runs"))
}

/// A file that a command writes to; removed on drop.
struct OutputFile(PathBuf);

impl OutputFile {
    fn new(name: &str) -> OutputFile {
        let path = std::env::temp_dir().join(format!("longfat-shell-{name}-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        OutputFile(path)
    }
    fn path(&self) -> String {
        self.0.display().to_string()
    }
    fn text(&self) -> String {
        fs::read_to_string(&self.0).unwrap_or_default()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Waits for a condition; fails after ten seconds.
fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !done() {
        assert!(Instant::now() < until, "not within ten seconds: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the network namespaces of all processes and threads: each process or thread keeps its namespace
/// alive.
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

/// First processes of process-id namespaces below a process (proc(5), `NSpid`).
fn first_processes(ancestor: u32) -> Vec<u32> {
    let status = |pid: u32| fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |text: &str, key: &str| -> Vec<u32> {
        let line = text.lines().find_map(|l| l.strip_prefix(key)).unwrap_or("");
        line.split_whitespace().filter_map(|n| n.parse().ok()).collect()
    };
    let below = |mut pid: u32| loop {
        match field(&status(pid), "PPid:")[..] {
            [parent] if parent == ancestor => return true,
            [parent] if parent > 1 => pid = parent,
            _ => return false,
        }
    };
    let names = fs::read_dir("/proc").into_iter().flatten().flatten().map(|e| e.file_name());
    let pids = names.filter_map(|n| n.to_str()?.parse().ok());
    pids.filter(|&pid| {
        let inside = field(&status(pid), "NSpid:");
        inside.len() > 1 && inside.last() == Some(&1) && below(pid)
    })
    .collect()
}

#[test]
fn exit_codes_pass_through() {
    let Some(code) = run("exit 7") else { return };
    assert_eq!(code, 7);
    assert_eq!(run("kill -TERM $$"), Some(128 + 15));
    let _alone = alone();
    let start = |command: &str| {
        let options = ShellOptions { command: vec![command.into()], ..ShellOptions::default() };
        shell(options)
            .expect("this machine can run shells, as above")
            .expect_err("the command does not start")
    };
    let missing = start("no-such-command");
    assert_eq!((missing.command_code(), missing.to_string().contains("no-such-command")), (Some(127), true));
    assert_eq!(start("/etc/passwd").command_code(), Some(126));
}

/// 20 ms each way, and less than a millisecond of overhead.
#[test]
fn ping_sees_the_delay_and_resolves_host_names() {
    let output = OutputFile::new("ping");
    let text = format!("getent hosts b > {0} && ping -n -q -c 20 -i 0.02 b >> {0}", output.path());
    let Some(code) = run(&text) else { return };
    let text = output.text();
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("10.0.0.2 "), "{text}");
    let times = text.split("rtt min/avg/max/mdev = ").nth(1).expect("ping's summary");
    let min: f64 = times.split('/').next().and_then(|n| n.parse().ok()).expect("a number");
    assert!((40.0..41.0).contains(&min), "{text}");
}

#[test]
fn commands_cannot_regain_privileges_or_leave_the_namespace() {
    let output = OutputFile::new("caps");
    let inspect = "cat /proc/self/status; ls -l /proc/self/fd; ls /sys/class/net";
    let ours = fs::read_link("/proc/self/ns/net").expect("a namespace").display().to_string();
    let command = "nsenter --net=/proc/1/ns/net true && echo escaped; readlink /proc/self/ns/net";
    let Some(_) = run(&format!("exec > {} 2>/dev/null; {inspect}; {command}", output.path())) else { return };
    let text = output.text();
    let field = |key: &str| text.lines().find_map(|l| l.strip_prefix(key)).map(str::trim);
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
        assert_eq!(field(set), Some("0000000000000000"), "{set}");
    }
    assert_eq!(field("NoNewPrivs:"), Some("1"));
    assert!(!text.contains("escaped") && !text.contains(&ours), "{text}");
    // Descriptors 0, 1, 2 and the one that lists them.
    assert_eq!(
        text.lines().filter(|l| l.contains(" -> ") && l.contains("rwx") || l.contains("x------")).count(),
        4,
        "{text}"
    );
    assert!(text.lines().any(|l| l == "tun0"), "{text}");
}

/// Attempts to escape, one shell line each.
const ESCAPES: &str = include_str!("escapes.txt");
/// Prefix of attempts that only root must succeed in.
const ROOT_READS: &str = "root reads: ";

/// A file and a service that only root may use, in folders that programs may not write to.
struct Secrets {
    file: PathBuf,
    socket: PathBuf,
    _service: UnixListener,
}

impl Secrets {
    /// Returns `None` if this process may not create them.
    fn new() -> Option<Secrets> {
        let own = |folder: &str| PathBuf::from(format!("{folder}/longfat-test-{}", std::process::id()));
        let (file, socket) = (own("/var/lib"), own("/run"));
        let _ = (fs::remove_file(&file), fs::remove_file(&socket));
        fs::write(&file, "secret").ok()?;
        let service = UnixListener::bind(&socket).ok()?;
        for path in [&file, &socket] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).ok()?;
        }
        Some(Secrets { file, socket, _service: service })
    }
}

impl Drop for Secrets {
    fn drop(&mut self) {
        let _ = (fs::remove_file(&self.file), fs::remove_file(&self.socket));
    }
}

/// Tries all escapes. Returns those that worked, and the script's output.
fn try_escapes(
    user: Option<&str>,
    output: &OutputFile,
    secrets: [String; 3],
) -> Option<(Vec<String>, String)> {
    let lines = ESCAPES.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let tries = lines.map(|line| {
        let command = line.strip_prefix(ROOT_READS).unwrap_or(line);
        format!("( {command} ) > /dev/null 2>&1 && cat <<'EOF'\nescaped: {line}\nEOF\n")
    });
    let [secret, service, parent] = secrets;
    let given = format!("exec 2>&1; export SECRET={secret} SERVICE={service} PARENT={parent}\n");
    let allowed = "for at in . /tmp /var/tmp \"$HOME\" /dev/shm; do f=$at/longfat-writable-$$; \
                   echo x > $f && rm $f && echo \"writable: $at\"; done; echo x > /dev/null && head -c 1 /dev/urandom \
                   | wc -c; echo \"user $(id -u) home $HOME\"\n";
    let script: String = [given].into_iter().chain(tries).chain([allowed.to_string()]).collect();
    // A script read from a pipe needs no file that the program's user may read.
    let command = sh(&format!("{{ {script}\n}} > {}", output.path()));
    let options = ShellOptions { command, user: user.map(String::from), ..ShellOptions::default() };
    shell(options)?.expect("the command runs");
    let text = output.text();
    let escaped = text.lines().filter_map(|l| l.strip_prefix("escaped: ")).map(String::from).collect();
    Some((escaped, text))
}

/// Tests programs started by root as nobody, as root, and through sudo, and programs started by a user in a
/// user namespace.
#[test]
fn programs_cannot_harm_the_machine_under_any_user() {
    if let Some(path) = std::env::var_os("LAB_ESCAPES") {
        // This is the child process; it writes its result to the file.
        let output = OutputFile(PathBuf::from(path));
        let secrets = std::env::var("LAB_SECRETS").expect("set together with LAB_ESCAPES");
        let secrets: Vec<String> = secrets.split(':').map(String::from).collect();
        let found = try_escapes(None, &output, secrets.try_into().expect("three secrets"));
        if found.is_none() {
            fs::write(&output.0, "skipped\n").expect("a file");
        }
        std::mem::forget(output);
        return;
    }
    let _alone = alone();
    let Some(secrets) = Secrets::new() else { return eprintln!("SKIPPED, this needs root") };
    let parent = std::process::id().to_string();
    let paths = [secrets.file.display().to_string(), secrets.socket.display().to_string(), parent];
    let tried = ESCAPES.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).count();
    let assert_confined = |who: &str, escaped: &[String], text: &str, user: &str| {
        eprintln!("{who}: {tried} escapes tried, {} worked", escaped.len());
        assert!(escaped.is_empty(), "{who}: {escaped:#?}");
        assert!(text.contains(&format!("\nuser {user} home ")), "{who}: {text}");
        for at in ["/tmp", "/var/tmp", "/dev/shm"] {
            assert!(text.lines().any(|l| l == format!("writable: {at}")), "{who}: {at}: {text}");
        }
    };
    if std::env::var_os("SUDO_UID").is_none() {
        let output = OutputFile::new("escapes");
        let Some((escaped, text)) = try_escapes(None, &output, paths.clone()) else { return };
        assert_confined("as nobody", &escaped, &text, "65534");
        assert!(
            text.lines().any(|l| l == "writable: .") && text.matches("writable: ").count() == 5,
            "{text}"
        );
    }
    let output = OutputFile::new("escapes-root");
    let Some((escaped, text)) = try_escapes(Some("root"), &output, paths.clone()) else { return };
    // With --user root, programs may read what root may read.
    let escaped: Vec<String> = escaped.into_iter().filter(|l| !l.starts_with(ROOT_READS)).collect();
    assert_confined("as root", &escaped, &text, "0");
    // Neither uid exists here, so both users have no home; the second has none of this user's rights, but its
    // own /dev/net/tun.
    let sudo = "SUDO_UID=4000123 SUDO_GID=4000123 exec \"$0\" \"$@\"";
    let unprivileged = "mount -t tmpfs none /mnt && mknod -m 666 /mnt/tun c 10 200 && mount --bind /mnt/tun /dev/net/tun \
                        && exec setpriv --reuid 4000123 --regid 4000123 --clear-groups \"$0\" \"$@\"";
    let test = "shell::programs_cannot_harm_the_machine_under_any_user";
    for (who, script) in [("with sudo", sudo), ("in a user namespace", unprivileged)] {
        // In a folder that every user can read.
        let exe = std::env::temp_dir().join(format!("longfat-escapes-{}", std::process::id()));
        fs::copy(std::env::current_exe().expect("the test executable's path"), &exe).expect("a copy");
        let output = OutputFile::new("escapes-apart");
        let status = Command::new("unshare")
            .args(["-m", "sh", "-c", script])
            .arg(&exe)
            .args([test, "--exact", "--nocapture"])
            .current_dir("/tmp")
            .env("LAB_ESCAPES", output.path())
            .env("LAB_SECRETS", paths.join(":"))
            .status();
        let _ = fs::remove_file(&exe);
        assert!(status.expect("unshare").success(), "{who}: {}", output.text());
        let text = output.text();
        if text == "skipped\n" {
            eprintln!("SKIPPED, {who}: this machine does not let us");
            continue;
        }
        let escaped: Vec<String> =
            text.lines().filter_map(|l| l.strip_prefix("escaped: ")).map(String::from).collect();
        assert_confined(who, &escaped, &text, "4000123");
    }
}

/// A root shell's output in the current folder belongs to root, whichever user wrote it; existing files there
/// can be read; files in root's other folders cannot, although the folder is inside one.
#[test]
fn a_program_can_use_the_current_folder_of_root() {
    if fs::metadata("/proc/self").is_ok_and(|m| m.uid() != 0) || std::env::var_os("SUDO_UID").is_some() {
        return eprintln!("SKIPPED, this needs root without sudo");
    }
    let _alone = alone();
    let private = std::env::temp_dir().join(format!("longfat-own-{}", std::process::id()));
    let (secret, named) = (private.join("beside"), private.join("named/deep"));
    fs::create_dir_all(&named).expect("a folder");
    fs::write(&secret, "secret").expect("a file");
    fs::write(named.join("mine"), "mine").expect("a file");
    for (path, mode) in [(&private, 0o700), (&named, 0o700), (&named.join("mine"), 0o600)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set the file mode");
    }
    let text = "cd $0 && cat mine > out && echo $(id -u) $(stat -c %u mine out) >> out && ! cat $1 && ! ls $HOME/* \
                && touch $HOME/x";
    let mut command = sh(text);
    command.extend([named.clone(), secret].map(PathBuf::into_os_string));
    let done = shell(ShellOptions { command, writable: vec![named.clone()], ..ShellOptions::default() });
    if let Some(done) = done {
        assert_eq!(done.expect("the shell starts"), 0);
        let out = named.join("out");
        assert_eq!(
            fs::read_to_string(&out).expect("the file that the command wrote"),
            "mine65534 65534 65534\n"
        );
        assert_eq!(fs::metadata(&out).expect("the file exists").uid(), 0, "root's, outside");
    }
    fs::remove_dir_all(&private).expect("remove the private folder");
}

#[test]
fn background_processes_end_with_their_command() {
    let _alone = alone();
    let before = namespaces();
    let text = "setsid sh -c 'sleep 1000 & sleep 1000' & (setsid sleep 1000 &); exit 3";
    let Some(done) = shell(ShellOptions { command: sh(text), ..ShellOptions::default() }) else { return };
    assert_eq!(done.expect("the shell starts"), 3);
    // The processes are gone when `shell` returns; only the engine's own descriptors close later.
    let left: Vec<_> = namespaces().difference(&before).cloned().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The engine keeps forwarding while the command is stopped.
#[test]
fn a_stopped_command_does_not_stall_the_engine() {
    let output = OutputFile::new("stop");
    let text = format!(
        "me=$$; (while ! grep -q 'State:.T' /proc/$me/status; do sleep 0.01; done; \
         ping -n -q -c 3 -i 0.1 b > {}; kill -CONT $me) & kill -STOP $me; exit 6",
        output.path()
    );
    let Some(code) = run(&text) else { return };
    assert_eq!(code, 6);
    assert!(output.text().contains("3 received"), "{}", output.text());
}

#[test]
fn servers_listen_before_the_command_starts_and_failures_are_reported() {
    let _alone = alone();
    let output = OutputFile::new("serve");
    let get = "import urllib.request as u; u.urlopen('http://b/').read()";
    let mut notices = Vec::new();
    let mut notice = |text: &str| notices.push(text.to_string());
    let options = ShellOptions {
        command: sh(&format!("python3 -c \"{get}\" 2> {}", output.path())),
        serve: vec![
            Serve { host: 1, command: sh("exec python3 -m http.server 80") },
            Serve { host: 0, command: sh("echo out of paper; exit 3") },
        ],
        notice: Some(&mut notice),
        ..ShellOptions::default()
    };
    let Some(done) = shell(options) else { return };
    assert_eq!(done.expect("the shell starts"), 0, "{}", output.text());
    let [failed] = &notices[..] else { panic!("one notice: {notices:?}") };
    assert!(failed.contains("code 3") && failed.contains("out of paper"), "{failed}");
}

/// A control that only privileged programs may choose (CUBIC, where BBR is the machine's default) comes from
/// the routes; others are the namespace's default.
#[test]
fn programs_start_with_the_control_of_the_flow() {
    let _alone = alone();
    for cc in ["cubic", "reno"] {
        let output = OutputFile::new(cc);
        let text = PATH.replace("\"reno\"", &format!("\"{cc}\""));
        let scenario = Experiment::parse("t.toml", &text, &[]).expect("valid").variants.remove(0).scenario;
        let ask = "import socket as s; \
                   print(s.create_connection(('b', 80)).getsockopt(s.IPPROTO_TCP, s.TCP_CONGESTION, 16))";
        let mut notices = Vec::new();
        let mut notice = |text: &str| notices.push(text.to_string());
        let options = ShellOptions {
            command: sh(&format!("python3 -c \"{ask}\" > {}", output.path())),
            serve: vec![Serve { host: 1, command: sh("exec python3 -m http.server 80") }],
            notice: Some(&mut notice),
            ..ShellOptions::default()
        };
        match lab::shell(&scenario, options) {
            Err(e @ LabError::Permission { .. }) => return eprintln!("SKIPPED, this needs root: {e}"),
            done => assert_eq!(done.expect("the shell starts"), 0),
        }
        assert!(output.text().starts_with(&format!("b'{cc}")), "{}: {notices:?}", output.text());
        let allowed =
            fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").expect("a list");
        let is_restricted = !allowed.split_whitespace().any(|name| name == cc);
        assert_eq!(notices.iter().any(|n| n.contains("by their routes")), is_restricted, "{notices:?}");
    }
}

/// A background flow of 20 Mbit/s for a second.
#[test]
fn the_scenarios_flows_run_next_to_the_command() {
    let _alone = alone();
    let output = OutputFile::new("flows");
    let command = sh(&format!("sleep 1.5; cat /proc/net/dev > {}", output.path()));
    let options = ShellOptions { command, host: 1, flows: true, ..ShellOptions::default() };
    let Some(done) = shell(options) else { return };
    assert_eq!(done.expect("the shell starts"), 0);
    let text = output.text();
    let received = text.lines().find_map(|l| l.trim().strip_prefix("tun0:")).expect("the device");
    let bytes: f64 = received.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number");
    assert!((1.8e6..2.8e6).contains(&bytes), "{text}");
}

/// Runs this test in a child process, controlled by environment variables.
fn spawn_test(test: &str, output: &OutputFile) -> Child {
    // Under nohup, all descendants would inherit an ignored SIGHUP.
    Command::new("env")
        .arg("--default-signal=HUP")
        .arg(std::env::current_exe().expect("the test executable's path"))
        .args([test, "--exact", "--nocapture"])
        .env("LAB_SHELL_SAID", output.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child")
}

/// No process remains, whichever process is killed with whichever signal.
#[test]
fn nothing_outlives_a_kill() {
    if let Some(path) = std::env::var_os("LAB_SHELL_SAID") {
        let path = path.into_string().expect("a path in UTF-8");
        let serve = vec![Serve { host: 1, command: sh("setsid sleep 1000 & sleep 1000") }];
        let command = sh(&format!("(setsid sleep 1000 &); echo ready > {path}; sleep 1000"));
        let _ = lab::shell(&scenario(), ShellOptions { command, serve, ..ShellOptions::default() });
        return;
    }
    if run("true").is_none() {
        return;
    }
    let _alone = alone();
    let before = namespaces();
    for signal in ["KILL", "TERM", "HUP", "first processes"] {
        let output = OutputFile::new("kill");
        let mut child = spawn_test("shell::nothing_outlives_a_kill", &output);
        wait_for("the command runs", || output.text() == "ready\n");
        let first = first_processes(child.id());
        assert_eq!(first.len(), 2, "the command's and the server's");
        let (signal, targets) = match signal {
            "first processes" => ("KILL", first),
            _ => (signal, vec![child.id()]),
        };
        for pid in targets {
            let sent = Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status();
            assert!(sent.is_ok_and(|s| s.success()));
        }
        child.wait().expect("the child's exit status");
        wait_for("all namespaces are gone", || namespaces().is_subset(&before));
    }
    assert!(!fs::read_to_string("/proc/mounts").unwrap_or_default().contains("/etc/hosts"), "our own mounts");
}
