//! `longfat watch` without root: connections over loopback, options that do not fit together, and the files
//! of `packaging/`.

#![cfg(target_os = "linux")]

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const LONGFAT: &str = env!("CARGO_BIN_EXE_longfat");

/// A connection over loopback on which this process sends and receives until the end of the test.
struct Transfer {
    port: u16,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Transfer {
    fn start() -> Transfer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let sending = thread::spawn(move || {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("connects");
            while !stopped.load(Ordering::Relaxed) && stream.write_all(&[7; 10_000]).is_ok() {
                thread::sleep(Duration::from_millis(5));
            }
        });
        let receiving = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accepts");
            while stream.read(&mut [0; 1 << 16]).is_ok_and(|n| n > 0) {}
        });
        Transfer { port, stop, threads: vec![sending, receiving] }
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
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

/// Sends a request and returns the whole answer.
fn get(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("connects");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("an option");
    stream.write_all(request.as_bytes()).expect("sends");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn metrics_are_served_until_the_service_is_stopped() {
    let transfer = Transfer::start();
    let mut command = Command::new(LONGFAT);
    command.args(["watch", "--prometheus", "127.0.0.1:0", "--filter", &format!("port {}", transfer.port)]);
    let mut longfat = Started(command.stderr(Stdio::piped()).spawn().expect("longfat starts"));
    let mut line = String::new();
    let stderr = longfat.0.stderr.take().expect("it is captured");
    BufReader::new(stderr).read_line(&mut line).expect("a line");
    let address = line.trim().strip_prefix("metrics: http://").and_then(|rest| rest.strip_suffix("/metrics"));
    let address = address.unwrap_or_else(|| panic!("{line}")).to_string();
    let name = std::fs::read_to_string("/proc/self/comm").expect("a name");
    let of_us = format!("{{process=\"{}\"}} ", name.trim());
    let end = Instant::now() + Duration::from_secs(30);
    let answer = loop {
        let answer = get(&address, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let bytes = |metric: &str| {
            let name = format!("longfat_watch_{metric}_total{of_us}");
            answer.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u64>().ok()).unwrap_or(0)
        };
        if bytes("sent_bytes") > 100_000 && bytes("received_bytes") > 100_000 {
            break answer;
        }
        assert!(Instant::now() < end, "{answer}");
        thread::sleep(Duration::from_millis(50));
    };
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"), "{answer}");
    assert!(answer.contains(&format!("longfat_watch_connections{of_us}2\n")), "{answer}");
    let seconds: f64 = answer
        .lines()
        .filter(|line| line.starts_with("longfat_watch_limit_seconds_total{"))
        .filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok())
        .sum();
    assert!(seconds > 0.0, "{answer}");
    assert!(!answer.contains(&transfer.port.to_string()), "no addresses: {answer}");
    assert!(get(&address, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(get(&address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    let stopped = Command::new("kill").args(["-TERM", &longfat.0.id().to_string()]).status();
    assert!(stopped.expect("kill runs").success());
    assert_eq!(longfat.0.wait().expect("it ends").code(), Some(0));
}

#[test]
fn each_second_is_a_json_line_or_a_line_of_text() {
    let transfer = Transfer::start();
    let filter = format!("port {}", transfer.port);
    let run = |mode: &str| {
        let args = ["watch", "--for", "2500ms", "--filter", &filter, "--live", mode];
        Command::new(LONGFAT).args(args).stdin(Stdio::null()).output().expect("longfat runs")
    };
    let out = run("json");
    let text = String::from_utf8_lossy(&out.stdout);
    let reports: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    // The last one may be of a time in which nothing was written.
    let whole = reports.iter().filter(|report| report["seconds"].as_f64() > Some(0.3));
    assert!(whole.clone().count() > 0, "{out:?}");
    for report in whole {
        assert_eq!(report["schema"], "longfat-watch/1");
        let connections = report["connections"].as_array().expect("a list");
        assert_eq!((connections.len(), &report["count"]), (2, &2.into()), "{report}");
        for c in connections {
            let limit = c["last_second"]["limit"].as_str().expect("a limit");
            let receives = c["local"].as_str().is_some_and(|end| end.ends_with(&transfer.port.to_string()));
            assert_eq!(limit == "other-end", receives, "{c}");
            assert_eq!(c["process"]["pid"], std::process::id(), "{c}");
        }
    }
    assert!(!out.stderr.is_empty(), "the diagnosis is not among the lines of JSON");
    let out = run("lines");
    let text = String::from_utf8_lossy(&out.stderr);
    assert!(text.lines().any(|line| line.contains(" s  2 connections: sent ")), "{text}");
    let out = run("off");
    assert!(!String::from_utf8_lossy(&out.stderr).contains(" connections: sent "), "{out:?}");
}

#[test]
fn options_that_do_not_fit_are_refused_by_name() {
    let refused = |args: &[&str], expected: &str| {
        let out = Command::new(LONGFAT).arg("watch").args(args).stdin(Stdio::null()).output().expect("runs");
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains(expected), "{args:?}: {text}");
    };
    refused(&["--live", "view"], "--live view: standard input and output are not a terminal");
    refused(&["--prometheus", "127.0.0.1:0", "--", "true"], "--prometheus");
    refused(&["--prometheus", "127.0.0.1:0", "--write", "x.pcap"], "--write");
    refused(&["--container", "longfat-has-none", "--for", "1s"], "--container `longfat-has-none`: no ");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    refused(&["--prometheus", &address], &format!("--prometheus {address}: cannot listen"));
}

/// systemd accepts the unit, and longfat its command line.
#[test]
fn the_service_is_valid() {
    let unit =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging/longfat-watch.service");
    let text = std::fs::read_to_string(&unit).expect("a unit");
    let line =
        text.lines().find_map(|l| l.strip_prefix("ExecStart=/usr/local/bin/longfat ")).expect("a command");
    let mut words: Vec<&str> = line.split(' ').collect();
    let address = words.iter_mut().find(|word| **word == "127.0.0.1:9417").expect("an address");
    *address = "127.0.0.1:0";
    let out = Command::new(LONGFAT).args(&words).args(["--for", "10ms"]).output().expect("longfat runs");
    assert_eq!(out.status.code(), Some(0), "{out:?}");
    assert!(String::from_utf8_lossy(&out.stderr).starts_with("metrics: http://127.0.0.1:"), "{out:?}");
    let Ok(out) = Command::new("systemd-analyze").arg("verify").arg(&unit).output() else {
        return eprintln!("SKIPPED in part, this needs systemd-analyze");
    };
    let text = String::from_utf8_lossy(&out.stderr);
    let faults: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("longfat-watch.service"))
        // The program and its manual page need not be installed.
        .filter(|line| !line.contains("is not executable") && !line.contains("Command 'man"))
        .collect();
    assert!(faults.is_empty(), "{text}");
}
