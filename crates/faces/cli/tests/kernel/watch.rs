//! `longfat watch` on a path of the lab: it finds the right cause or says that it cannot tell, keeps the
//! program's exit code, and leaves nothing behind. In real time; needs root, and prints that it is skipped
//! without.

use crate::common::within;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Exit code of the sender.
const CODE: i32 = 7;

/// A sender in Python. Arguments: host, port, duration in seconds, bytes per write, pause between writes in
/// seconds, send buffer in bytes (0: the kernel's default).
const SENDER: &str = "
import socket, sys, time
host, port, seconds, size, pause, buffer = sys.argv[1], int(sys.argv[2]), *map(float, sys.argv[3:7])
s = socket.socket()
if buffer: s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, int(buffer))
s.connect((host, port))
end = time.time() + seconds
data = bytes(int(size))
while time.time() < end:
    s.sendall(data)
    if pause: time.sleep(pause)
s.close()
print('sent')
sys.exit(7)
";

/// A receiver in Python. Argument: the receive buffer in bytes (0: the kernel's default).
const RECEIVER: &str = "
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if int(sys.argv[1]): s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(sys.argv[1]))
s.bind(('', 5201))
s.listen()
while True:
    c = s.accept()[0]
    while c.recv(1 << 16): pass
    c.close()
";

/// A temporary folder for the test's files.
struct Place(PathBuf);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A path of the lab with a receiver at its far end; it is removed on drop.
struct Lab {
    shell: Child,
    /// The id of a process in the near end's namespace.
    inside: u32,
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

impl Place {
    fn new() -> Place {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let own = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("longfat-watch-{}-{own}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder");
        fs::write(dir.join("send.py"), SENDER).expect("a file");
        fs::write(dir.join("receive.py"), RECEIVER).expect("a file");
        let _ = Command::new("chmod").arg("-R").arg("a+rX").arg(&dir).status();
        Place(dir)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Sets up a path; without root prints that the test is skipped and returns `None`.
    fn lab(&self, forward: &str, receive_buffer: u32) -> Option<Lab> {
        let path = format!(
            "duration = \"1s\"\n[links.path]\nbetween = [\"a\", \"b\"]\nforward = [{forward}]\n\
             backward = [{{ kind = \"delay\", delay = \"20ms\" }}]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\n"
        );
        fs::write(self.0.join("s.toml"), path).expect("a file");
        // The process is found by this argument.
        let mark = format!("120.{:06}{:03}", std::process::id() % 1_000_000, receive_buffer % 1000);
        let serve = format!("b=exec python3 {} {receive_buffer}", self.file("receive.py"));
        let mut shell = Command::new(env!("CARGO_BIN_EXE_longfat"))
            .args(["shell", "s.toml", "--host", "a", "--serve", &serve, "--", "sleep", &mark])
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("longfat starts");
        let mut inside = None;
        let found = within(Duration::from_secs(10), || {
            inside = process_with(&mark, "sleep");
            inside.is_some() || shell.try_wait().is_ok_and(|status| status.is_some())
        });
        if let Some(inside) = inside.filter(|_| found) {
            return Some(Lab { shell, inside });
        }
        let _ = shell.kill();
        let printed = shell.wait_with_output().map(|out| String::from_utf8_lossy(&out.stderr).into_owned());
        eprintln!("SKIPPED, this needs root: {}", printed.unwrap_or_default());
        None
    }
}

/// Finds the process that runs `program` with the argument `mark`.
fn process_with(mark: &str, program: &str) -> Option<u32> {
    let pids = fs::read_dir("/proc").ok()?.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    pids.into_iter().find(|pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|b| *b == 0).collect();
        words.first() == Some(&program.as_bytes()) && words.contains(&mark.as_bytes())
    })
}

impl Lab {
    /// Returns `longfat`, to be run at the near end.
    fn longfat(&self, args: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.inside)).arg(env!("CARGO_BIN_EXE_longfat"));
        command.args(args).stdin(Stdio::null());
        command
    }

    /// Watches the sender; returns the output and the diagnosis of its flow.
    fn watched(&self, place: &Place, more: &[&str], sender: &[&str]) -> (Output, Value) {
        let json = place.file("out");
        let send = place.file("send.py");
        let mut args = vec!["watch", "--out", &json];
        args.extend(more);
        args.extend(["--", "python3", &send, "10.0.0.2", "5201"]);
        args.extend(sender);
        let out = self.longfat(&args).output().expect("longfat runs");
        println!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        let text = fs::read_to_string(place.0.join("out/diagnosis.json")).expect("a diagnosis");
        let d: Value = serde_json::from_str(&text).expect("JSON");
        let flows = d["flows"].as_array().expect("flows");
        let sent: Vec<&Value> = flows.iter().filter(|f| f["to"] == "10.0.0.2:5201").collect();
        assert_eq!(sent.len(), 1, "the sender's one connection, and nothing else: {flows:?}");
        (out, sent[0].clone())
    }
}

fn share(flow: &Value, cause: &str) -> f64 {
    let causes = flow["causes"].as_array().expect("causes");
    causes.iter().find(|c| c["cause"] == cause).map_or(0.0, |c| c["share"].as_f64().expect("a share"))
}

/// Asserts that the cause is one of these, or that the confidence is low.
fn is_right(flow: &Value, right: &[&str]) {
    let (cause, sure) =
        (flow["cause"].as_str().expect("a cause"), flow["confidence"].as_f64().expect("a number"));
    assert!(right.contains(&cause) || sure < 0.5, "{cause} at {sure}: {}", flow["causes"]);
}

/// Returns the share of the busy time that was limited by the receive window, by the kernel's counters.
fn window_limited(flow: &Value) -> f64 {
    let number =
        |key: &str| flow["socket"][key].as_f64().unwrap_or_else(|| panic!("{key}: {}", flow["socket"]));
    number("window_limited_s") / number("busy_s")
}

#[test]
fn a_program_is_diagnosed_on_each_path_and_keeps_its_exit_code() {
    let place = Place::new();
    let delay = "{ kind = \"delay\", delay = \"20ms\" }";
    let Some(lab) =
        place.lab(&format!("{{ kind = \"policer\", rate = \"20Mbit/s\", burst = \"30kB\" }}, {delay}"), 0)
    else {
        return;
    };
    let (out, flow) = lab.watched(&place, &[], &["6", "65536", "0", "0"]);
    assert_eq!(out.status.code(), Some(CODE));
    assert_eq!(out.stdout, b"sent\n", "the program's output is its own");
    is_right(&flow, &["policed"]);
    assert!(flow["measures"]["lost_down"].as_u64() > Some(0), "{}", flow["measures"]);
    drop(lab);

    let Some(lab) = place.lab(delay, 65_536) else { return };
    let (_, flow) = lab.watched(&place, &[], &["5", "65536", "0", "0"]);
    assert!(window_limited(&flow) > 0.7, "{}", flow["socket"]);
    assert_eq!(flow["cause"], "receive-window", "{}", flow["causes"]);
    drop(lab);

    let Some(lab) = place.lab(delay, 0) else { return };
    let (_, flow) = lab.watched(&place, &[], &["5", "20000", "0.1", "0"]);
    assert_eq!(flow["cause"], "application", "{}", flow["causes"]);
    let (_, flow) = lab.watched(&place, &[], &["5", "65536", "0", "65536"]);
    // The kernel's counter misses most of it (`tcp_cwnd_validate`); the buffer's fill level shows it.
    is_right(&flow, &["send-buffer"]);
    assert!(share(&flow, "application") < share(&flow, "send-buffer"), "{}", flow["causes"]);
    let (_, flow) = lab.watched(&place, &[], &["4", "65536", "0", "0"]);
    for never in ["policed", "random-loss", "packet-too-big", "black-hole"] {
        assert!(share(&flow, never) < 0.05, "{never}: {}", flow["causes"]);
    }

    // Without CAP_NET_RAW only the kernel's counters are available.
    let unprivileged = |sender: &[&str]| {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", lab.inside)).args([
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
        ]);
        command.args([
            "--clear-groups",
            "--bounding-set=-all",
            env!("CARGO_BIN_EXE_longfat"),
            "watch",
            "--",
            "python3",
        ]);
        let out = command.arg(place.file("send.py")).args(["10.0.0.2", "5201"]).args(sender).output();
        let out = out.expect("longfat runs");
        assert_eq!(out.status.code(), Some(CODE), "{out:?}");
        String::from_utf8_lossy(&out.stderr).replace('\n', " ")
    };
    let printed = unprivileged(&["4", "20000", "0.1", "0"]);
    assert!(printed.starts_with("Only the kernel's counters are available"), "{printed}");
    assert!(printed.contains("application") || printed.contains("cannot tell"), "{printed}");
}

#[test]
fn a_process_in_another_namespace_and_a_device_are_watched_and_a_kill_leaves_nothing() {
    let place = Place::new();
    let Some(lab) = place.lab("{ kind = \"delay\", delay = \"20ms\" }", 65_537) else { return };
    let send = place.file("send.py");
    let start = |seconds: &str| {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", lab.inside));
        command
            .args(["python3", &send, "10.0.0.2", "5201", seconds, "65536", "0", "0"])
            .stdout(Stdio::null());
        command.spawn().expect("the sender starts")
    };
    let longfat = |args: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_longfat")).args(args).output().expect("longfat runs");
        serde_json::from_slice::<Value>(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"))
    };
    let mut sender = start("5");
    let pid = sender.id().to_string();
    let d = longfat(&["watch", "--pid", &pid, "--for", "3s", "--json"]);
    let flow = d["flows"].as_array().and_then(|flows| flows.first()).expect("a flow");
    assert_eq!(
        (&flow["to"], &flow["cause"]),
        (&"10.0.0.2:5201".into(), &"receive-window".into()),
        "{}",
        flow["causes"]
    );
    let _ = sender.wait();

    // Watching a device: the written capture has the same packets.
    let mut sender = start("4");
    let pcap = place.file("w.pcap");
    let args = ["diagnose", "-i", "any", "--port", "5201", "--for", "2s", "--write", &pcap, "--json"];
    let out = lab.longfat(&args).output().expect("longfat runs");
    let live: Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"));
    let read = longfat(&["diagnose", &pcap, "--json"]);
    assert_eq!(live["capture"]["tcp_packets"], read["capture"]["tcp_packets"]);
    assert!(live["capture"]["tcp_packets"].as_u64() > Some(100), "{}", live["capture"]);
    assert_eq!(live["capture"]["dropped"], 0);
    let _ = sender.wait();

    // After kill -9 of longfat no packet socket is left.
    let sockets =
        || fs::read_to_string(format!("/proc/{}/net/packet", lab.inside)).unwrap_or_default().lines().count();
    let before = sockets();
    let mut watch = lab
        .longfat(&["watch", "--for", "60s"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    assert!(within(Duration::from_secs(5), || sockets() > before), "a packet socket");
    // The thread that parses packets has a system call filter, CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH.
    let confined = || {
        let tasks = fs::read_dir(format!("/proc/{}/task", watch.id())).into_iter().flatten().flatten();
        let statuses = tasks.filter_map(|task| fs::read_to_string(task.path().join("status")).ok());
        let is_confined = |status: &String| {
            ["CapEff:\t0000000000080004\n", "Seccomp:\t2\n"].iter().all(|s| status.contains(s))
        };
        statuses.filter(is_confined).count() == 1
    };
    assert!(within(Duration::from_secs(5), confined), "one thread is confined");
    let begin = Instant::now();
    let _ = watch.kill();
    let _ = watch.wait();
    assert!(within(Duration::from_secs(5), || sockets() == before), "{:?}", begin.elapsed());
}

/// Returns the reports on standard output, among lines of the program.
fn reports(out: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&out.stdout);
    let all: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(all.iter().all(|report| report["schema"] == "longfat-watch/1"), "{text}");
    all
}

#[test]
fn each_second_shows_what_limits_the_sender() {
    let place = Place::new();
    let delay = "{ kind = \"delay\", delay = \"20ms\" }";
    let Some(lab) = place.lab(delay, 65_536) else { return };
    // The limit of most seconds in which the program's connection moved data.
    let limits = |sender: &[&str]| {
        let (out, flow) = lab.watched(&place, &["--live", "json"], sender);
        assert_eq!(out.status.code(), Some(CODE));
        let all = reports(&out);
        assert!(all.len() > 1, "more than one report in some seconds: {}", all.len());
        let connections = || all.iter().filter_map(|report| report["connections"].as_array()).flatten();
        let ours: Vec<&Value> = connections().filter(|c| c["remote"] == "10.0.0.2:5201").collect();
        assert!(ours.iter().any(|c| c["process"]["name"] == "python3"), "{ours:?}");
        assert!(ours.iter().any(|c| c["ended"] == true), "the last report has the end");
        // The seconds add up to the whole flow: no byte is missing or counted twice.
        let sent: u64 = ours.iter().filter_map(|c| c["last_second"]["sent_bytes"].as_u64()).sum();
        let whole = flow["measures"]["bytes"].as_u64().expect("a number");
        // The SYN and the FIN count as a byte each.
        assert!(sent.abs_diff(whole) <= 2, "{sent} of {whole}");
        let mut count = std::collections::BTreeMap::<String, u32>::new();
        for limit in ours.iter().filter(|c| c["ended"] == false).map(|c| &c["last_second"]["limit"]) {
            *count.entry(limit.as_str().expect("a limit").into()).or_default() += 1;
        }
        count.into_iter().max_by_key(|(_, n)| *n).expect("a limit").0
    };
    assert_eq!(limits(&["5", "65536", "0", "0"]), "receive-window");
    assert_eq!(limits(&["5", "20000", "0.1", "0"]), "application");
    drop(lab);
    let policer = format!("{{ kind = \"policer\", rate = \"20Mbit/s\", burst = \"30kB\" }}, {delay}");
    let Some(lab) = place.lab(&policer, 0) else { return };
    let send = place.file("send.py");
    let args =
        ["watch", "--live", "lines", "--", "python3", &send, "10.0.0.2", "5201", "4", "65536", "0", "0"];
    let out = lab.longfat(&args).output().expect("longfat runs");
    let printed = String::from_utf8_lossy(&out.stderr);
    let lines: Vec<&str> = printed.lines().filter(|l| l.contains(" | python3 -> 10.0.0.2:5201: ")).collect();
    assert!(lines.iter().filter(|line| line.contains("limit: network")).count() > 1, "{printed}");
}

/// A namespace is watched through one of its processes, without a command.
#[test]
fn metrics_of_a_namespace_count_what_was_sent() {
    let place = Place::new();
    let Some(lab) = place.lab("{ kind = \"delay\", delay = \"20ms\" }", 65_537) else { return };
    let mut exporter = lab
        .longfat(&["watch", "--prometheus", "127.0.0.1:0"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("longfat starts");
    let mut line = String::new();
    let stderr = exporter.stderr.take().expect("it is captured");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stderr), &mut line).expect("a line");
    let url = line.trim().strip_prefix("metrics: ").expect("an address").to_string();
    // The server listens in the lab's namespace.
    let metric = |name: &str| {
        let get = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())";
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", lab.inside)).args(["python3", "-c", get, &url]);
        let out = command.output().expect("python3 runs");
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok())
    };
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/proc/{}/ns/net", lab.inside)).args(["python3", &place.file("send.py")]);
    command.args(["10.0.0.2", "5201", "4", "65536", "0", "0"]).stdout(Stdio::null());
    let mut sender = command.spawn().expect("the sender starts");
    let window = "longfat_watch_limit_seconds_total{process=\"python3\",cause=\"receive-window\"}";
    let seen = within(Duration::from_secs(20), || metric(window) > Some(2.0));
    let _ = sender.wait();
    let sent = within(Duration::from_secs(5), || {
        metric("longfat_watch_sent_bytes_total{process=\"python3\"}") > Some(1e6)
    });
    let _ = exporter.kill();
    let _ = exporter.wait();
    assert!(seen && sent, "{seen} {sent}");
}

/// Runs a program on a terminal of its own. Arguments: the end (`q`, or a signal's name), the program and its
/// arguments. Presses `w` twice once the view is there, ends the program, and prints its exit status (or
/// minus the signal's number), whether the terminal's settings are as before, and whether the last changes of
/// the screen and the cursor are back to the main screen and a visible cursor.
const TERMINAL: &str = r#"
import fcntl, os, pty, signal, struct, subprocess, sys, termios, time
end, command = sys.argv[1], sys.argv[2:]
ours, theirs = pty.openpty()
fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 100, 0, 0))
before = termios.tcgetattr(theirs)
child = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                         env={**os.environ, 'TERM': 'xterm-256color'})
seen = b''
os.set_blocking(ours, False)
def until(done, limit=20):
    global seen
    last = time.monotonic() + limit
    while not done():
        if time.monotonic() > last:
            child.kill()
            sys.exit(f'too late: {seen[-2000:]!r}')
        try: seen += os.read(ours, 1 << 16)
        except (BlockingIOError, OSError): time.sleep(0.02)
def press(key): os.write(ours, key)
until(lambda: b'quit' in seen)
press(b'w')
# The file that is being written has a longer name.
until(lambda: any('longfat-watch-1.pcap' in name for name in os.listdir('.')))
press(b'w')
until(lambda: os.path.exists('longfat-watch-1.pcap'))
press(b'q') if end == 'q' else child.send_signal(getattr(signal, end))
until(lambda: child.poll() is not None)
# The process that restores the terminal of a killed one may be later than its end.
until(lambda: termios.tcgetattr(theirs) == before and seen.rfind(b'?1049l') > seen.rfind(b'?1049h') >= 0
      and seen.rfind(b'?25h') > seen.rfind(b'?25l') >= 0)
print(child.returncode)
"#;

#[test]
fn the_terminal_is_as_before_however_the_view_ends() {
    let place = Place::new();
    fs::write(place.0.join("terminal.py"), TERMINAL).expect("a file");
    for (end, code) in
        [("q", ["0", "1"]), ("SIGTERM", ["0", "1"]), ("SIGKILL", ["-9"; 2]), ("SIGABRT", ["-6"; 2])]
    {
        let mut script = Command::new("python3");
        script.args(["terminal.py", end, env!("CARGO_BIN_EXE_longfat"), "watch", "--live", "view"]);
        let out = script.current_dir(&place.0).stdin(Stdio::null()).output().expect("python3 runs");
        let error = String::from_utf8_lossy(&out.stderr);
        if error.contains("CAP_NET_RAW") {
            eprintln!("SKIPPED, this needs root");
            return;
        }
        assert!(out.status.success(), "{end}: {error}");
        let shown = String::from_utf8_lossy(&out.stdout);
        assert!(code.contains(&shown.trim()), "{end}: {shown}");
        let written = fs::read(place.0.join("longfat-watch-1.pcap")).expect("a capture");
        assert!(written.len() >= 24, "{end}: {} bytes", written.len());
        fs::remove_file(place.0.join("longfat-watch-1.pcap")).expect("it was there");
    }
}
