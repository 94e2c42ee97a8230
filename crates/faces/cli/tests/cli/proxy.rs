//! `longfat proxy`: options, file, signals, log, exit codes.

#![cfg(target_os = "linux")]

#[path = "../../../../machine/proxy/tests/kernel/program.rs"]
mod program;

use program::Running;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn start(arguments: &[&str]) -> Running {
    Running::new(env!("CARGO_BIN_EXE_longfat"), &[&["proxy"], arguments].concat())
}

/// Starts an echo server that runs until the test ends.
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
fn sigterm_ends_the_proxy_when_its_connections_have_ended() {
    let server = echo().to_string();
    let mut proxy = start(&["--listen", "127.0.0.1:0", "--upstream", &server, "--client-cc", "reno"]);
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
fn sighup_reloads_the_file_and_a_wrong_file_changes_nothing() {
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
    let mut proxy = start(&["--config", file.to_str().expect("a name")]);
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
    // The remaining connection is reset after the drain timeout.
    proxy.signal("-TERM");
    assert_eq!(proxy.child.wait().expect("ends").code(), Some(0));
    assert!(kept.read(&mut [0]).is_err());
    std::fs::remove_dir_all(&folder).expect("removes");
}

/// The error shows the command line of `longfat-pair`, whether that program is installed or not.
#[test]
fn options_of_a_pair_are_refused_with_the_command_line_of_longfat_pair() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proxy-pair");
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("pair.toml");
    let key = "00".repeat(32);
    let peer = format!("[pair.peers.p]\nkey = \"{key}\"\naddress = \"127.0.0.1:1\"\n");
    fs::write(&file, format!("[pair]\nkey = \"own.key\"\n{peer}")).expect("writes");
    let stderr_of = |path: &Path, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longfat"));
        let done = command.arg("proxy").args(arguments).env("PATH", path).output().expect("runs");
        assert_eq!(done.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(done.stderr).expect("UTF-8")
    };
    let (with, without) = (folder.join("with"), folder.join("without"));
    fs::create_dir_all(&with).expect("a folder");
    fs::write(with.join("longfat-pair"), "").expect("writes");
    let near = ["--listen", ":8443", "--pair", "a:4433", "--key", "my key", "--peer-key", &key];
    let line = format!("longfat-pair --listen :8443 --pair a:4433 --key 'my key' --peer-key {key}\n");
    let text = stderr_of(&with, &near);
    assert!(text.contains("longfat-pair: run\n") && text.ends_with(&format!("  {line}")), "{text}");
    let text = stderr_of(&without, &near);
    assert!(text.contains("longfat-pair") && text.ends_with(&line), "{text}");
    assert!(stderr_of(&with, &["--make-key", "near.key"]).ends_with("  longfat-pair --make-key near.key\n"));
    let text = stderr_of(&with, &["--config", file.to_str().expect("UTF-8"), "--check"]);
    assert!(
        text.contains("[pair]") && text.ends_with(&format!("longfat-pair --config {}\n", file.display())),
        "{text}"
    );
}

#[test]
fn invalid_configurations_are_refused() {
    let error = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longfat"));
        let done = command.arg("proxy").args(arguments).output().expect("runs");
        assert_eq!(done.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(done.stderr).expect("UTF-8")
    };
    let to = ["--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:1"];
    assert!(
        error(&["--listen", "nowhere", "--upstream", "127.0.0.1:1"])
            .contains("is not an address to listen on")
    );
    assert!(error(&["--listen", ":1", "--upstream", "127.0.0.1"]).contains("is not a host with a port"));
    assert!(error(&[&to[..], &["--client-cc", "nosuch"]].concat()).contains("this kernel has no `nosuch`"));
    assert!(error(&[&to[..], &["--status", "0.0.0.0:1"]].concat()).contains("need a loopback address"));
    assert!(error(&[&to[..], &["--pace", "1bit/s"]].concat()).contains("out of range"));
    assert!(error(&["--config", "/nowhere/proxy.toml"]).contains("/nowhere/proxy.toml"));
    assert!(error(&[]).contains("--config"));
    let busy =
        TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").to_string();
    let _busy = TcpListener::bind(&busy).expect("free again");
    assert!(error(&["--listen", &busy, "--upstream", "127.0.0.1:1"]).contains("cannot listen on"));
}

#[test]
fn the_command_line_that_a_plan_prints_is_accepted() {
    let text = "[links.a]\nbetween = [\"office\", \"node\"]\n[links.b]\nbetween = [\"node\", \"origin\"]\n[flows.f]\nfrom = \"origin\"\nto = \"office\"\n";
    let s = scenario::Experiment::parse("t.toml", text, &[]).expect("a scenario").variants.remove(0).scenario;
    for cure in ["proxy", "proxy-bbr"] {
        let cure = advise::named(cure).expect("a cure");
        let option = cure.options(&advise::Situation::new(std::slice::from_ref(&s))).remove(0);
        let own = option.commands().find(|c| c.platform == result::Platform::Longfat).expect("our own");
        let [line] = &own.apply[..] else { panic!("one line: {own:?}") };
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!((words[0], words[1]), ("longfat", "proxy"), "{line}");
        let done = Command::new(env!("CARGO_BIN_EXE_longfat")).args(&words[1..]).arg("--check").output();
        let done = done.expect("it runs");
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    }
}
