//! `longfat explore`: the page as it is served and as it is written are the same, and only this machine gets it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::{env, fs};

const LONGFAT: &str = env!("CARGO_BIN_EXE_longfat");

/// Ends with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the server answers.
fn ask(port: u16, head: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

#[test]
fn the_page_is_served_to_this_machine_and_written_whole() {
    let dir = env::temp_dir().join(format!("longfat-explore-{}", std::process::id()));
    let written = Command::new(LONGFAT).args(["explore", "--write"]).arg(&dir).output().expect("runs");
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let page = fs::read_to_string(dir.join("index.html")).expect("it is written");
    fs::remove_dir_all(&dir).expect("it is there");
    assert!(page.len() <= 3_000_000, "{} bytes", page.len());
    assert!(!page.contains("{{engine}}") && page.contains("'wasm-unsafe-eval'"));

    let mut served =
        Served(Command::new(LONGFAT).arg("explore").stdout(Stdio::piped()).spawn().expect("runs"));
    let mut told = String::new();
    BufReader::new(served.0.stdout.take().expect("a pipe")).read_line(&mut told).expect("its address");
    let port = told.strip_prefix("http://127.0.0.1:").and_then(|t| t.split('/').next());
    let port: u16 = port.and_then(|p| p.parse().ok()).unwrap_or_else(|| panic!("{told}"));
    let answer = ask(port, &format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"));
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("nosniff"), "{head}");
    assert!(body == page, "what is served is what is written");
    let elsewhere = ask(port, &format!("GET / HTTP/1.1\r\nHost: elsewhere.example:{port}\r\n\r\n"));
    assert!(elsewhere.starts_with("HTTP/1.1 421"), "{elsewhere}");
}
