//! `longfat proxy` as a service: sockets passed by a service manager, names whose addresses change, the files
//! of `packaging/`. Tests that need root or a missing program print that they are skipped.

#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const LONGFAT: &str = env!("CARGO_BIN_EXE_longfat");

/// A temporary folder, removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("longfat-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A child process that is killed at the end of the test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server that sends `word` on each connection and closes it.
fn says(at: &str, word: &'static str) -> TcpListener {
    let listener = TcpListener::bind(at).expect("a port");
    let own = listener.try_clone().expect("the same");
    std::thread::spawn(move || {
        for mut stream in own.incoming().flatten() {
            let _ = stream.write_all(word.as_bytes());
        }
    });
    listener
}

fn heard(mut stream: TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("an option");
    let mut text = String::new();
    // A reset connection leaves the text incomplete.
    drop(stream.read_to_string(&mut text));
    text
}

/// Connects to the address until it sends `word`.
fn until_heard(address: &str, word: &str) {
    let end = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(address).map(heard).unwrap_or_default() != word {
        assert!(Instant::now() < end, "{word} is not heard from {address}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The service manager keeps the socket: connections wait in it while no proxy runs. The proxy notifies the
/// manager when it is ready, reloads and stops.
#[test]
fn connections_wait_in_the_managers_socket_while_no_proxy_runs() {
    let (folder, server) = (Folder::new("activated"), says("127.0.0.1:0", "hello"));
    let config = folder.write(
        "proxy.toml",
        &format!(
            "drain_timeout = \"1s\"\n[listeners.a]\nlisten = \"systemd:office\"\nupstream = \"b\"\n[upstreams.b]\nservers = \"{}\"\n",
            server.local_addr().expect("its address")
        ),
    );
    let notify = folder.0.join("notify");
    let manager = UnixDatagram::bind(&notify).expect("a socket");
    manager.set_read_timeout(Some(Duration::from_secs(20))).expect("an option");
    let next = || {
        let mut buffer = [0; 100];
        let n = manager.recv(&mut buffer).expect("a notification");
        String::from_utf8_lossy(&buffer[..n]).into_owned()
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    // Passed sockets begin at descriptor 3, and LISTEN_PID must be the proxy's process id.
    let line = "exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=office exec \"$0\" proxy --config \"$1\"";
    let start = || {
        let socket: std::os::fd::OwnedFd = listener.try_clone().expect("the same").into();
        let mut command = Command::new("sh");
        command.args(["-c", line, LONGFAT, &config]).env("NOTIFY_SOCKET", &notify);
        Started(command.stdin(socket).stderr(Stdio::null()).spawn().expect("it starts"))
    };
    let signal = |child: &Child, signal: &str| {
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|s| s.success()));
    };
    for _ in 0..2 {
        // Connect before the proxy runs.
        let waits = TcpStream::connect(&address).expect("the manager's socket takes it");
        let mut proxy = start();
        assert_eq!(next(), "READY=1");
        assert_eq!(heard(waits), "hello");
        assert_eq!(heard(TcpStream::connect(&address).expect("connects")), "hello");
        signal(&proxy.0, "-HUP");
        assert_eq!([next(), next()], ["RELOADING=1", "READY=1"]);
        signal(&proxy.0, "-TERM");
        assert_eq!(next(), "STOPPING=1");
        assert!(proxy.0.wait().expect("its end").success());
    }
    // Without a passed socket of that name the proxy fails.
    let done = Command::new(LONGFAT).args(["proxy", "--config", &config]).output().expect("it runs");
    let printed = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success() && printed.contains("systemd has passed no socket `office`"), "{printed}");
}

#[test]
fn systemd_socket_activate_starts_the_proxy() {
    const ACTIVATE: &str = "systemd-socket-activate";
    if Command::new(ACTIVATE).arg("--version").output().is_err() {
        return eprintln!("SKIPPED, this needs {ACTIVATE}");
    }
    let (folder, server) = (Folder::new("systemd"), says("127.0.0.1:0", "hello"));
    let server = server.local_addr().expect("its address");
    let config = format!(
        "[listeners.a]\nlisten = \"systemd:office\"\nupstream = \"b\"\n[upstreams.b]\nservers = \"{server}\"\n"
    );
    let config = folder.write("proxy.toml", &config);
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").to_string();
    let mut command = Command::new(ACTIVATE);
    command.args(["-l", &port, "--fdname=office", LONGFAT, "proxy", "--config", &config]);
    let _started = Started(command.stderr(Stdio::null()).spawn().expect("it starts"));
    until_heard(&port, "hello");
}

/// When a name gets another address while the proxy runs, new connections go to the new address.
#[test]
fn names_are_resolved_again() {
    let folder = Folder::new("names");
    let first = says("127.0.0.2:0", "first");
    let port = first.local_addr().expect("its address").port();
    let Ok(probe) = TcpListener::bind(("127.0.0.3", port)) else {
        return eprintln!("SKIPPED, a port is taken");
    };
    drop(probe);
    let _second = says(&format!("127.0.0.3:{port}"), "second");
    let hosts = folder.write("hosts", "127.0.0.2 moves.test\n");
    let listen =
        TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").to_string();
    let config = format!(
        "[listeners.a]\nlisten = \"{listen}\"\nupstream = \"b\"\n[upstreams.b]\nservers = \"moves.test:{port}\"\nresolve_every = \"1s\"\n"
    );
    let config = folder.write("proxy.toml", &config);
    let line = "mount --bind \"$0\" /etc/hosts && exec \"$1\" proxy --config \"$2\"";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", line, &hosts, LONGFAT, &config]);
    let mut started = Started(command.stderr(Stdio::null()).spawn().expect("unshare of util-linux"));
    std::thread::sleep(Duration::from_millis(300));
    if started.0.try_wait().expect("its state").is_some() {
        return eprintln!("SKIPPED, this needs root (a mount namespace of its own)");
    }
    until_heard(&listen, "first");
    std::fs::write(&hosts, "127.0.0.3 moves.test\n").expect("a file");
    until_heard(&listen, "second");
    // If the name disappears, the proxy keeps its last address.
    std::fs::write(&hosts, "127.0.0.1 localhost\n").expect("a file");
    std::thread::sleep(Duration::from_millis(1500));
    until_heard(&listen, "second");
}

fn packaged(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The command lines of the systemd unit and the container are valid, and the build profile exists.
#[test]
fn packaged_command_lines_are_accepted() {
    let (folder, unit) = (Folder::new("packaged"), packaged("longfat-proxy.service"));
    let config = "[listeners.a]\nlisten = \"127.0.0.1:0\"\nupstream = \"b\"\n[upstreams.b]\nservers = \"127.0.0.1:1\"\n";
    let config = folder.write("proxy.toml", config);
    let runs = |words: &[&str]| {
        let own: Vec<&str> =
            words.iter().map(|w| if *w == "/etc/longfat/proxy.toml" { &config } else { *w }).collect();
        let done = Command::new(LONGFAT).args(&own).arg("--check").output().expect("it runs");
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let values = |key: &str| -> Vec<&str> { unit.lines().filter_map(|l| l.strip_prefix(key)).collect() };
    for line in values("ExecStart=").into_iter().chain(values("ExecStartPre=")) {
        let words: Vec<&str> = line.split(' ').filter(|w| *w != "--check").collect();
        assert_eq!(words[0], "/usr/local/bin/longfat");
        runs(&words[1..]);
    }
    let name = packaged("longfat-proxy.socket");
    let name = name.lines().find_map(|l| l.strip_prefix("FileDescriptorName=")).expect("a name").to_string();
    assert!(unit.contains(&format!("`listen = \"systemd:{name}\"`")), "{name}");
    let image = packaged("Containerfile");
    let list = |key: &str| -> Vec<String> {
        let line = image.lines().find_map(|l| l.strip_prefix(key)).unwrap_or_else(|| panic!("no {key}"));
        serde_json::from_str(line.trim()).expect("a JSON list")
    };
    assert_eq!(list("ENTRYPOINT"), ["/usr/local/bin/longfat"]);
    let words = list("CMD");
    runs(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let built = image.lines().find(|l| l.starts_with("RUN cargo build")).expect("a build");
    assert!(built.contains("--profile dist") && image.contains("/src/target/dist/longfat"), "{built}");
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../Cargo.toml");
    assert!(std::fs::read_to_string(workspace).expect("a manifest").contains("[profile.dist]"));
}
