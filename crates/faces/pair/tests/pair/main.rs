//! `longfat-pair` as users run it: keys, flags, configuration file, signals, log, exit codes.

#![cfg(target_os = "linux")]

#[path = "../kernel/common.rs"]
mod common;
#[path = "../../../../machine/proxy/tests/kernel/program.rs"]
mod program;

use common::{connect, echo};
use program::Running;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_longfat-pair");

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().expect("runs")
}

/// An empty folder for one test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("program-{test}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn make_key(path: &str) -> String {
    String::from_utf8(run(&["--make-key", path]).stdout).expect("UTF-8").trim().to_string()
}

fn talk(stream: &mut TcpStream) {
    stream.write_all(b"hello").expect("sends");
    let mut back = [0; 5];
    stream.read_exact(&mut back).expect("receives");
    assert_eq!(&back, b"hello");
}

#[test]
fn two_halves_make_a_working_pair() {
    let folder = folder("halves");
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_string();
    let (near_path, far_path, server) = (path("near.key"), path("far.key"), echo().to_string());
    let (near_key, far_key) = (make_key(&near_path), make_key(&far_path));
    let far =
        ["--pair-listen", "127.0.0.1:0", "--upstream", &server, "--key", &far_path, "--peer-key", &near_key];
    let mut far = Running::new(PROGRAM, &far);
    let quic = far.entry("pair-started")["quic"].as_str().expect("an address").to_string();
    let near = ["--listen", "127.0.0.1:0", "--pair", &quic, "--key", &near_path, "--peer-key", &far_key];
    let mut near = Running::new(PROGRAM, &near);
    let at = near.entry("pair-started")["main"].as_str().expect("an address").to_string();
    near.entry("pair-up");
    let mut stream = connect(at.parse().expect("an address"));
    talk(&mut stream);
    // It ends after its last connection.
    near.signal("-TERM");
    talk(&mut stream);
    drop(stream);
    assert_eq!(near.child.wait().expect("ends").code(), Some(0));
    far.signal("-TERM");
    assert_eq!(far.child.wait().expect("ends").code(), Some(0));
}

/// One file configures the end of a pair and a TCP proxy. A reload changes both and cannot remove either.
#[test]
fn a_file_may_configure_a_tcp_proxy_too() {
    let folder = folder("file");
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_string();
    let (file, key, server) = (path("pair.toml"), path("own.key"), echo());
    let peer_key = make_key(&path("peer.key"));
    make_key(&key);
    let pair =
        format!("[pair]\nkey = \"{key}\"\nlisten = \"127.0.0.1:0\"\n[pair.peers.p]\nkey = \"{peer_key}\"\n");
    let proxy = format!(
        "[listeners.a]\nlisten = \"127.0.0.1:0\"\nupstream = \"u\"\n[upstreams.u]\nservers = \"{server}\"\n"
    );
    let write = |text: &str| std::fs::write(&file, text).expect("writes");
    write(&format!("{proxy}{pair}"));
    assert!(run(&["--config", &file, "--check"]).status.success());
    let mut both = Running::new(PROGRAM, &["--config", &file]);
    let listens = both.entry("started")["listens"][0].as_str().expect("an address").to_string();
    talk(&mut connect(listens.parse().expect("an address")));
    both.signal("-HUP");
    assert_eq!(both.entry("reloaded")["listens"][0], listens.as_str());
    write(&proxy);
    both.signal("-HUP");
    let why = both.entry("reload-failed")["why"].to_string();
    assert!(why.contains("adding or removing `pair` needs a restart"), "{why}");
    talk(&mut connect(listens.parse().expect("an address")));
    both.signal("-TERM");
    assert_eq!(both.child.wait().expect("ends").code(), Some(0));
    // A file without a pair is one for `longfat proxy`.
    let refused = run(&["--config", &file, "--check"]);
    let text = String::from_utf8(refused.stderr).expect("UTF-8");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text.contains("the configuration has no [pair]"), "{text}");
}

#[test]
fn errors_are_reported_before_anything_runs() {
    let folder = folder("wrong");
    let file = folder.join("pair.toml");
    std::fs::write(&file, "[pair]\nkey = \"own.key\"\npeers = {}\n").expect("writes");
    let error_of = |arguments: &[&str]| {
        let done = run(arguments);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(done.stderr).expect("UTF-8")
    };
    let key = "00".repeat(32);
    let near = ["--listen", "127.0.0.1:0", "--pair", "127.0.0.1:1", "--peer-key", &key, "--key"];
    assert!(error_of(&[]).contains("--config"));
    assert!(error_of(&["--config", "/nowhere/pair.toml"]).contains("error: /nowhere/pair.toml: "));
    assert!(error_of(&["--config", file.to_str().expect("UTF-8")]).contains("pair.peers"));
    assert!(error_of(&[&near[..], &["/nowhere/own.key"]].concat()).contains("pair.key: /nowhere/own.key: "));
    let unknown = error_of(&[&near[..], &["own.key", "--pair-cc", "vegas"]].concat());
    assert!(unknown.contains("pair.peers.main.cc") && unknown.contains("`vegas`"), "{unknown}");
    assert!(error_of(&["--make-key", "/nowhere/own.key"]).contains("error: /nowhere/own.key: "));
}

#[test]
fn the_manual_page_and_completions_describe_this_program() {
    for arguments in [&["--man"][..], &["--completions", "bash"], &["--completions", "zsh"]] {
        let done = run(arguments);
        let text = String::from_utf8(done.stdout).expect("UTF-8");
        assert!(
            done.status.success()
                && text.contains("longfat-pair")
                && text.replace('\\', "").contains("make-key"),
            "{arguments:?}"
        );
    }
    let version = String::from_utf8(run(&["--version"]).stdout).expect("UTF-8");
    assert!(version.starts_with(concat!("longfat-pair ", env!("CARGO_PKG_VERSION"))), "{version}");
}
