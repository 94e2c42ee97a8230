//! `longfat proxy` as users run it: flags, file, signals, log, exit codes.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// A proxy that runs, and its log.
struct Running {
    child: Child,
    log: BufReader<ChildStderr>,
}

impl Running {
    fn new(arguments: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longfat"));
        let mut child = command.arg("proxy").args(arguments).stderr(Stdio::piped()).spawn().expect("starts");
        let log = BufReader::new(child.stderr.take().expect("a pipe"));
        Running { child, log }
    }

    /// The next entry of this event.
    fn entry(&mut self, event: &str) -> serde_json::Value {
        loop {
            let mut line = String::new();
            assert!(self.log.read_line(&mut line).expect("reads") > 0, "the log ends before {event}");
            let value: serde_json::Value =
                serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
            assert!(value["time"].as_str().is_some_and(|t| t.ends_with('Z')), "{line}");
            if value["event"] == event {
                return value;
            }
        }
    }

    fn signal(&self, signal: &str) {
        let done = Command::new("kill").args([signal, &self.child.id().to_string()]).status().expect("kill");
        assert!(done.success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends back what it gets, for as long as the test runs.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut buffer = [0; 1000];
                while let Ok(n @ 1..) = stream.read(&mut buffer) {
                    let _ = stream.write_all(&buffer[..n]);
                }
            });
        }
    });
    address
}

fn talk(stream: &mut TcpStream) {
    stream.write_all(b"hello").expect("sends");
    let mut back = [0; 5];
    stream.read_exact(&mut back).expect("receives");
    assert_eq!(&back, b"hello");
}

fn connect(to: &serde_json::Value) -> TcpStream {
    let stream = TcpStream::connect(to.as_str().expect("an address")).expect("connects");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("an option");
    stream
}

#[test]
fn flags_make_a_proxy_that_ends_when_its_connections_have() {
    let server = echo().to_string();
    let mut proxy = Running::new(&["--listen", "127.0.0.1:0", "--upstream", &server, "--client-cc", "reno"]);
    let listens = proxy.entry("started")["listens"][0].clone();
    let mut stream = connect(&listens);
    talk(&mut stream);
    proxy.signal("-TERM");
    assert_eq!(proxy.entry("draining")["connections"], 1);
    talk(&mut stream);
    drop(stream);
    assert_eq!(proxy.child.wait().expect("ends").code(), Some(0));
}

#[test]
fn a_file_is_read_anew_and_a_wrong_one_changes_nothing() {
    let folder = std::env::temp_dir().join(format!("longfat-proxy-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("proxy.toml");
    let write = |more: &str| {
        let text = format!(
            "{more}\n[listeners.a]\nlisten = \"127.0.0.1:0\"\nupstream = \"u\"\n[upstreams.u]\nservers = \"{}\"\n",
            echo()
        );
        std::fs::write(&file, text).expect("writes");
    };
    write("drain_timeout = \"100ms\"\nlog_connections = true");
    let mut proxy = Running::new(&["--config", file.to_str().expect("a name")]);
    let listens = proxy.entry("started")["listens"][0].clone();
    let mut kept = connect(&listens);
    talk(&mut kept);
    write("drain_timeout = \"100ms\"\nlog_connections = true\nmax_connections = 50");
    proxy.signal("-HUP");
    assert_eq!(proxy.entry("reloaded")["listens"][0], listens);
    talk(&mut kept);
    write("max_conections = 50");
    proxy.signal("-HUP");
    let why = proxy.entry("reload-failed")["why"].to_string();
    assert!(why.contains("proxy.toml:1:1") && why.contains("did you mean `max_connections`?"), "{why}");
    talk(&mut connect(&listens));
    let ended = proxy.entry("connection");
    assert_eq!(
        (&ended["bytes_up"], &ended["bytes_down"], &ended["end"]),
        (&5.into(), &5.into(), &"finished".into())
    );
    // The one that is left does not end: it is reset when the time is over.
    proxy.signal("-TERM");
    assert_eq!(proxy.child.wait().expect("ends").code(), Some(0));
    assert!(kept.read(&mut [0]).is_err());
    std::fs::remove_dir_all(&folder).expect("removes");
}

#[test]
fn two_halves_make_a_pair() {
    let folder = std::env::temp_dir().join(format!("longfat-pair-test-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_string();
    let make_key = |name: &str| {
        let made =
            Command::new(env!("CARGO_BIN_EXE_longfat")).args(["proxy", "--make-key", &path(name)]).output();
        String::from_utf8(made.expect("runs").stdout).expect("UTF-8").trim().to_string()
    };
    let (near_key, far_key) = (make_key("near.key"), make_key("far.key"));
    let (near_path, far_path, server) = (path("near.key"), path("far.key"), echo().to_string());
    let far =
        ["--pair-listen", "127.0.0.1:0", "--upstream", &server, "--key", &far_path, "--peer-key", &near_key];
    let mut far = Running::new(&far);
    let quic = far.entry("pair-started")["quic"].as_str().expect("an address").to_string();
    let near = ["--listen", "127.0.0.1:0", "--pair", &quic, "--key", &near_path, "--peer-key", &far_key];
    let mut near = Running::new(&near);
    let at = near.entry("pair-started")["main"].clone();
    near.entry("pair-up");
    let mut stream = connect(&at);
    talk(&mut stream);
    // It ends when its connections have.
    near.signal("-TERM");
    talk(&mut stream);
    drop(stream);
    assert_eq!(near.child.wait().expect("ends").code(), Some(0));
    far.signal("-TERM");
    assert_eq!(far.child.wait().expect("ends").code(), Some(0));
    std::fs::remove_dir_all(&folder).expect("is removed");
}

#[test]
fn what_is_wrong_is_said_before_anything_runs() {
    let told = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longfat"));
        let done = command.arg("proxy").args(arguments).output().expect("runs");
        assert_eq!(done.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(done.stderr).expect("UTF-8")
    };
    let to = ["--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:1"];
    assert!(
        told(&["--listen", "nowhere", "--upstream", "127.0.0.1:1"]).contains("is no address to listen on")
    );
    assert!(told(&["--listen", ":1", "--upstream", "127.0.0.1"]).contains("is no host with a port"));
    assert!(told(&[&to[..], &["--client-cc", "nosuch"]].concat()).contains("this kernel has no `nosuch`"));
    assert!(told(&[&to[..], &["--status", "0.0.0.0:1"]].concat()).contains("a loopback address is wanted"));
    assert!(told(&[&to[..], &["--pace", "1bit/s"]].concat()).contains("out of range"));
    assert!(told(&["--config", "/nowhere/proxy.toml"]).contains("/nowhere/proxy.toml"));
    assert!(told(&[]).contains("--config"));
    let busy =
        TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").to_string();
    let _busy = TcpListener::bind(&busy).expect("free again");
    assert!(told(&["--listen", &busy, "--upstream", "127.0.0.1:1"]).contains("cannot listen on"));
}

/// The command line that `longfat plan` prints for a proxy is one that `longfat proxy` takes.
#[test]
fn what_a_plan_prints_is_a_command_line() {
    let text = "[links.a]\nbetween = [\"office\", \"node\"]\n[links.b]\nbetween = [\"node\", \"origin\"]\n[flows.f]\nfrom = \"origin\"\nto = \"office\"\n";
    let s = scenario::Experiment::parse("t.toml", text, &[]).expect("a scenario").variants.remove(0).scenario;
    for cure in ["proxy", "proxy-bbr"] {
        let cure = advise::named(cure).expect("a cure");
        let option = cure.options(&advise::Situation::new(std::slice::from_ref(&s))).remove(0);
        let own = option.commands.iter().find(|c| c.platform == advise::Platform::Longfat).expect("our own");
        let [line] = &own.apply[..] else { panic!("one line: {own:?}") };
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!((words[0], words[1]), ("longfat", "proxy"), "{line}");
        let done = Command::new(env!("CARGO_BIN_EXE_longfat")).args(&words[1..]).arg("--check").output();
        let done = done.expect("it runs");
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    }
}
