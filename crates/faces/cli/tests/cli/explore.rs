//! `longfat explore`: it answers only its own page, its numbers are those of `longfat run`, and a run whose
//! page has gone is cancelled.

use crate::place::Place;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

const LONGFAT: &str = env!("CARGO_BIN_EXE_longfat");

/// A list of scenarios, variants and overrides that covers every algorithm, limiter and queue. The test of
/// the engine as WebAssembly (web/test/wasm/) uses it too.
const NUMBERS: &str = include_str!("../../../explore/tests/numbers.json");

/// A server that is stopped at the end of the test.
struct Served {
    longfat: Child,
    port: u16,
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.longfat.kill();
        let _ = self.longfat.wait();
    }
}

impl Served {
    fn start() -> Served {
        let mut longfat = Command::new(LONGFAT).arg("explore").stdout(Stdio::piped()).spawn().expect("runs");
        let mut line = String::new();
        BufReader::new(longfat.stdout.take().expect("a pipe")).read_line(&mut line).expect("its address");
        let port = line.strip_prefix("http://127.0.0.1:").and_then(|t| t.split('/').next());
        let port = port.and_then(|p| p.parse().ok()).unwrap_or_else(|| panic!("{line}"));
        Served { longfat, port }
    }

    /// Sends a request and returns the connection for its answer.
    fn send(&self, head: &str, body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.write_all(format!("{head}\r\n\r\n").as_bytes()).expect("it reads");
        stream.write_all(body).expect("it reads on");
        stream
    }

    /// Sends a request without a body and returns the answer's head and body.
    fn get(&self, head: &str) -> (String, Vec<u8>) {
        split(self.send(head, b""))
    }

    fn host(&self) -> String {
        format!("Host: 127.0.0.1:{}", self.port)
    }

    /// Sends a question as the page does.
    fn question(&self, number: u64, question: &Value) -> TcpStream {
        let body = format!("{question}\n");
        let (host, port, length) = (self.host(), self.port, body.len());
        let origin = format!("Origin: http://127.0.0.1:{port}");
        let head = format!("POST /ask?{number} HTTP/1.1\r\n{host}\r\n{origin}\r\nContent-Length: {length}");
        self.send(&head, body.as_bytes())
    }

    /// Returns the progress of a question as (done, total); `None` if it is not being answered.
    fn progress(&self, number: u64) -> Option<(f64, f64)> {
        let (head, body) = self.get(&format!("GET /progress?{number} HTTP/1.1\r\n{}", self.host()));
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        let progress: Option<(f64, f64, bool)> = serde_json::from_slice(&body).expect("JSON");
        progress.map(|(now, all, _)| (now, all))
    }
}

fn split(mut stream: TcpStream) -> (String, Vec<u8>) {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    let end = answer.windows(4).position(|w| w == b"\r\n\r\n").expect("a head");
    let body = answer.split_off(end + 4);
    (String::from_utf8(answer).expect("a head is text"), body)
}

/// Splits the answer to a question into its pieces.
fn pieces(stream: TcpStream) -> Vec<Vec<u8>> {
    let (head, body) = split(stream);
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("Server-Timing: answer;dur="), "{head}");
    let number = |i: usize| u32::from_le_bytes(body[4 * i..4 * i + 4].try_into().unwrap()) as usize;
    let count = number(0);
    let mut from = 4 + 4 * count;
    let mut piece = |i: usize| {
        let piece = body[from..from + number(i)].to_vec();
        from += number(i);
        piece
    };
    let pieces = (1..=count).map(&mut piece).collect();
    assert_eq!(from, body.len());
    pieces
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

#[test]
fn only_the_servers_own_page_on_this_machine_is_answered() {
    let served = Served::start();
    let (host, port) = (served.host(), served.port);
    let (head, page) = served.get(&format!("GET / HTTP/1.1\r\nHost: localhost:{port}"));
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("nosniff"), "{head}");
    let page = String::from_utf8(page).expect("text");
    assert!(page.contains("; connect-src 'self';") && page.contains("id=\"engine\"></script>"));
    assert!(page.len() < 400_000, "{} bytes", page.len());
    let (elsewhere, _) = served.get(&format!("GET / HTTP/1.1\r\nHost: elsewhere.example:{port}"));
    assert!(elsewhere.starts_with("HTTP/1.1 421"), "{elsewhere}");
    let (foreign, _) = served.get(&format!(
        "POST /ask?1 HTTP/1.1\r\n{host}\r\nOrigin: https://elsewhere.example\r\nContent-Length: 0"
    ));
    assert!(foreign.starts_with("HTTP/1.1 403"), "{foreign}");
    let answer = pieces(served.question(1, &json!({ "do": "nothing" })));
    let refused: Value = serde_json::from_slice(&answer[0]).expect("JSON");
    assert!(refused["refused"]["message"].as_str().is_some_and(|m| m.contains("nothing")), "{refused}");
}

#[test]
fn numbers_are_those_of_longfat_run_to_the_last_bit() {
    let served = Served::start();
    let place = Place::new("explore-numbers");
    let all: Vec<(String, Option<String>, Vec<String>)> = serde_json::from_str(NUMBERS).expect("the list");
    for (i, (name, variant, sets)) in all.iter().enumerate() {
        let seed = (i % 2 == 1).then_some(20_261_126);
        let file = format!("scenarios/{name}.toml");
        let mut run = Command::new(LONGFAT);
        run.args(["run", &file, "--repeat", "1", "--json", "--no-progress", "--force", "--out"])
            .arg(&place.0);
        run.args(variant.iter().flat_map(|v| ["--variant", v]));
        run.args(sets.iter().flat_map(|set| ["--set", set]));
        run.args(seed.iter().flat_map(|seed| ["--seed".into(), seed.to_string()])).current_dir(root());
        let output = run.output().expect("runs");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let by_run: Value = serde_json::from_slice(&output.stdout).expect("JSON");

        let text = fs::read_to_string(root().join(&file)).expect("a scenario");
        let scenario =
            json!({ "file": format!("{name}.toml"), "text": text, "sets": sets, "variant": variant });
        let answer =
            pieces(served.question(i as u64, &json!({ "do": "run", "scenario": scenario, "seed": seed })));
        let page: Value = serde_json::from_slice(&answer[1]).expect("the page's data");
        let explored = &page["results"][0]["run"]["variants"][0];
        let of_variant = |v: &&Value| v["name"] == explored["name"];
        let expected = by_run["variants"].as_array().expect("variants").iter().find(of_variant);
        let mut expected = expected.expect("the variant").clone();
        // The explorer does not search for the flows' limiter, to answer while a slider moves.
        for key in ["limited_by", "limitation_search"] {
            expected.as_object_mut().expect("a variant").remove(key);
        }
        // JSON prints a double in the shortest form that reads back to the same bits.
        assert_eq!(*explored, expected, "{name} {variant:?} {sets:?} {seed:?}");
    }
}

#[test]
fn a_run_reports_progress_and_ends_when_its_connection_is_closed() {
    let served = Served::start();
    let text = fs::read_to_string(root().join("scenarios/policer-or-shaper.toml")).expect("a scenario");
    let sets = ["duration=20000s", "sample=10s"];
    let scenario = json!({ "file": "long.toml", "text": text, "sets": sets, "variant": "shaper-fifo" });
    let stream = served.question(5, &json!({ "do": "run", "scenario": scenario }));
    let within = |what: &str, holds: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < Duration::from_secs(60), "{what}");
            thread::sleep(Duration::from_millis(20));
        }
    };
    within("it reports", &|| served.progress(5).is_some_and(|(now, all)| now > 0.0 && all == 20_000.0));
    let (before, _) = served.progress(5).expect("it is running");
    within("it continues", &|| served.progress(5).is_some_and(|(now, _)| now > before));
    drop(stream);
    within("it ends", &|| served.progress(5).is_none());
}

#[test]
fn writing_a_page_without_a_server_needs_the_sources() {
    let output = Place::new("explore-write").longfat(&["explore", "--write", "page"]);
    assert_eq!(output.status.code(), Some(2));
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(why.contains("run it in a clone"), "{why}");
}
