//! Flows with traffic from programs, on the real kernel. The results are compared with the reports of iperf3,
//! curl and Python's web server. Needs root; otherwise prints that it is skipped.

use lab::{LabError, LabOptions};
use result::Outcome;
use scenario::{Experiment, Scenario};
use std::path::PathBuf;
use std::sync::Mutex;
use std::{fs, process};

static ALONE: Mutex<()> = Mutex::new(());

fn scenario(text: &str) -> Scenario {
    let parsed = Experiment::parse("t.toml", text, &[]).unwrap_or_else(|e| panic!("{}", e.render()));
    parsed.variants.into_iter().next().expect("a variant").scenario
}

/// Returns the outcome and its notices; `None` if this machine lacks the privileges, with the reason printed.
fn try_run(text: &str) -> Option<Result<(Outcome, Vec<String>), LabError>> {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let mut notices = Vec::new();
    let mut notice = |text: &str| notices.push(text.to_string());
    let options = LabOptions { seed: 1, notice: Some(&mut notice), ..LabOptions::default() };
    let run = lab::run("test", &scenario(text), options);
    notices.iter().for_each(|n| eprintln!("  {n}"));
    match run {
        Err(e @ LabError::Permission { .. }) => {
            eprintln!("SKIPPED, this needs root: {e}");
            None
        }
        run => Some(run.map(|o| (o, notices))),
    }
}

fn run(text: &str) -> Option<(Outcome, Vec<String>)> {
    try_run(text).map(|run| run.unwrap_or_else(|e| panic!("{e}")))
}

fn near(got: f64, want: f64, within: f64) {
    assert!((got / want - 1.0).abs() <= within, "{got} is not within {within} of {want}");
}

/// A temporary file of this test, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("longfat-tools-{}-{name}", process::id())))
    }
    fn text(&self) -> &str {
        self.0.to_str().expect("a plain path")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Exactly four packets are lost: the queue never fills.
const PATH: &str = r#"
duration = "6s"
[links.path]
between = ["a", "b"]
forward = [
    { kind = "loss", name = "lost", model = "list", packets = [60, 700, 701, 1500] },
    { kind = "shaper", rate = "20Mbit/s", burst = "15kB", queue = { kind = "fifo", packets = 2000 } },
    { kind = "delay", delay = "10ms" },
]
backward = [{ kind = "delay", delay = "10ms" }]
"#;

fn json(file: &Scratch) -> serde_json::Value {
    let text = fs::read_to_string(&file.0).expect("iperf3's report");
    serde_json::from_str(&text).expect("JSON")
}

/// iperf3's report agrees with its sockets' counters: goodput within 1 %, and every retransmission.
#[test]
fn results_agree_with_iperf3s_report() {
    for count in [1, 4] {
        let report = Scratch::new("iperf3.json");
        let text = format!(
            r#"{PATH}
            [flows.f]
            from = "a"
            to = "b"
            count = {count}
            tool = "iperf3 -4 -c {{to}} -p {{port}} -t 4 -P {{count}} -J --logfile {}"
            server = "iperf3 -4 -s -1 -p {{port}}"
            "#,
            report.text()
        );
        let Some((o, notices)) = run(&text) else { return };
        assert_eq!(notices.len(), 1, "{notices:?}");
        let end = &json(&report)["end"];
        assert_eq!(o.variant.flows.len(), 1, "one flow, however many connections");
        let f = &o.variant.flows[0];
        let rate = end["sum_received"]["bits_per_second"].as_f64().unwrap() / 1e6;
        let reported = end["sum_sent"]["retransmits"].as_u64().unwrap();
        eprintln!("  {count}: {rate:.3} and {:.3} Mbit/s, retransmitted {reported}", f.own_goodput_mbps());
        near(f.own_goodput_mbps(), rate, 0.01);
        near(f.delivered_bytes as f64, end["sum_received"]["bytes"].as_f64().unwrap(), 0.001);
        assert_eq!(f.retransmitted_packets, reported);
        assert_eq!((reported, f.lost_packets, f.timeouts), (4, Some(4), 0));
        assert_eq!(end["sender_tcp_congestion"].as_str(), Some("cubic"));
        assert!(f.rtt_ms.min >= 20.0 && f.rtt_ms.min < 21.0, "{:?}", f.rtt_ms);
        let s = &o.flow_series[0];
        assert_eq!((s.time_s.len(), o.flow_series.len()), (601, 1));
        assert!(s.cwnd.iter().any(|&w| w > 60 / count), "the data connection's window, not the control's");
        assert_eq!(s.delivered_bytes.last(), Some(&f.delivered_bytes));
        assert_eq!(s.retransmitted.last(), Some(&4));
        assert_eq!(f.mss_bytes, Some(1448));
        // With one data connection the series contains all data, otherwise the connection with the most
        // bytes.
        let resent = s.resent.len();
        assert!(if count == 1 { resent == 4 } else { resent <= 4 }, "{resent}");
        let max_acked = s.acked_bytes.iter().max().copied().unwrap_or(0);
        assert!(max_acked * count > f.delivered_bytes * 9 / 10, "{max_acked} of {}", f.delivered_bytes);
    }
}

/// The flow's keys become iperf3's options; iperf3 is killed at the run's end without traces.
#[test]
fn keys_of_a_flow_apply_to_iperf3() {
    let text = format!(
        r#"{PATH}
        [flows.f]
        from = "a"
        to = "b"
        cc = "bbr"
        count = 2
        start = "1s"
        dscp = 10
        max_pacing_rate = "4Mbit/s"
        tool = "iperf3"
        [flows.ours]
        from = "b"
        to = "a"
        cc = "bbr"
        max_pacing_rate = "5Mbit/s"
        [flows.bytes]
        from = "a"
        to = "b"
        cc = "bbr"
        app = {{ kind = "bulk", bytes = "4MB" }}
        tool = "iperf3"
        "#
    );
    let Some((o, notices)) = run(&text) else { return };
    assert_eq!(notices.len(), 1, "{notices:?}");
    let names: Vec<&str> = o.variant.flows.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["f", "ours", "bytes"]);
    let [f, ours, bytes] = &o.variant.flows[..] else { panic!() };
    near(f.own_goodput_mbps(), 8.0, 0.06);
    near(ours.own_goodput_mbps(), 5.0, 0.06);
    // iperf3 writes whole blocks of 128 KiB; data in flight after the last one is discarded.
    assert!((3_000_000..4_140_000).contains(&bytes.delivered_bytes), "{}", bytes.delivered_bytes);
    let s = &o.flow_series[0];
    assert!(s.time_s.iter().zip(&s.delivered_bytes).all(|(&t, &n)| t > 1.0 || n == 0));
    assert!(s.states.iter().any(|s| s == "PROBE_BW"), "{:?}", s.states);
    assert!(s.pacing_mbps.iter().any(Option::is_some));
}

/// The datagrams that iperf3 sends and receives.
#[test]
fn datagrams_of_iperf3_are_counted() {
    let path = PATH.replace("6s", "4s");
    let text = format!(
        r#"{path}
        [flows.f]
        from = "a"
        to = "b"
        tool = "iperf3"
        app = {{ kind = "udp", rate = "10Mbit/s", size = 1250, duration = "3s" }}
        "#
    );
    let Some((o, notices)) = run(&text) else { return };
    assert_eq!(notices.len(), 1, "{notices:?}");
    let f = &o.variant.flows[0];
    // 1000 packets of 1250 B a second.
    near(f.sent_packets as f64, 3000.0, 0.01);
    assert_eq!(f.lost_packets, Some(4));
    assert_eq!(f.delivered_bytes, (f.sent_packets - 4) * 1222);
    assert_eq!((f.cc.as_str(), f.retransmitted_packets), ("udp", 0));
}

/// A command's datagrams are recognised by the flow's port: 50, of which the path loses one.
#[test]
fn datagrams_of_a_command_are_counted() {
    let text = r#"
        duration = "3s"
        [links.path]
        between = ["a", "b"]
        forward = [{ kind = "loss", model = "list", packets = [7] }, { kind = "delay", delay = "10ms" }]
        backward = [{ kind = "delay", delay = "10ms" }]
        [flows.f]
        from = "a"
        to = "b"
        app = { kind = "udp", rate = "1Mbit/s" }
        tool = "python3 -c 'import socket, sys, time; s = socket.socket(type=socket.SOCK_DGRAM); [(s.sendto(bytes(1000), (sys.argv[1], int(sys.argv[2]))), time.sleep(0.01)) for _ in range(50)]' {to} {port}"
        server = "python3 -c 'import socket, sys, time; s = socket.socket(type=socket.SOCK_DGRAM); s.bind((sys.argv[1], int(sys.argv[2]))); time.sleep(60)' {to} {port}"
        "#;
    let Some((o, notices)) = run(text) else { return };
    assert_eq!(notices.len(), 1, "{notices:?}");
    let f = &o.variant.flows[0];
    assert_eq!((f.sent_packets, f.lost_packets, f.delivered_bytes), (50, Some(1), 49_000));
    assert_eq!(f.cc, "udp");
}

/// A download: `to` sends the data, with the flow's congestion control.
#[test]
fn curl_fetches_a_file() {
    let folder = Scratch::new("www");
    fs::create_dir(&folder.0).unwrap();
    fs::write(folder.0.join("big"), vec![7; 3_000_000]).unwrap();
    let text = format!(
        r#"
        duration = "3s"
        [links.path]
        between = ["a", "b"]
        forward = [{{ kind = "delay", delay = "10ms" }}]
        backward = [{{ kind = "shaper", rate = "20Mbit/s", queue = {{ kind = "fifo", packets = 2000 }} }}, {{ kind = "delay", delay = "10ms" }}]
        [flows.web]
        from = "a"
        to = "b"
        start = "500ms"
        tool = "curl -sS http://b:8000/big"
        server = "python3 -m http.server 8000 --directory {}"
        "#,
        folder.text()
    );
    let Some((o, notices)) = run(&text) else { return };
    assert_eq!(notices.len(), 1, "{notices:?}");
    let f = &o.variant.flows[0];
    assert!((3_000_000..3_001_000).contains(&f.delivered_bytes), "{}", f.delivered_bytes);
    // 3 MB at 19.3 Mbit/s of payload, after a round trip or two of handshake and slow start.
    assert!(f.own_goodput_mbps() > 16.5 && f.own_goodput_mbps() < 19.3, "{}", f.own_goodput_mbps());
    assert_eq!((f.lost_packets, f.retransmitted_packets), (None, 0));
    assert!(f.sent_packets >= 2072, "{}", f.sent_packets);
}

/// Connections that exist only between two dumps of the sockets are known by their final report.
#[test]
fn short_connections_are_counted() {
    let folder = Scratch::new("short");
    fs::create_dir(&folder.0).unwrap();
    fs::write(folder.0.join("f"), vec![7; 10_000]).unwrap();
    let text = format!(
        r#"
        duration = "4s"
        [links.path]
        between = ["a", "b"]
        [flows.web]
        from = "a"
        to = "b"
        tool = "curl -sS http://b:{{port}}/f?[1-200]"
        server = "python3 -m http.server {{port}} --directory {}"
        "#,
        folder.text()
    );
    let Some((o, notices)) = run(&text) else { return };
    assert_eq!(notices.len(), 1, "{notices:?}");
    // Python's server closes after each answer: 200 times the file and some 200 bytes of header.
    let datagrams = o.variant.flows[0].delivered_bytes as f64 / 200.0;
    assert!(datagrams > 10_150.0 && datagrams < 10_300.0 && datagrams.fract() == 0.0, "{datagrams}");
}

#[test]
fn missing_programs_are_named_before_anything_starts() {
    let with = |keys: &str| format!("{PATH}\n[flows.f]\nfrom = \"a\"\nto = \"b\"\n{keys}");
    let Some(missing) = try_run(&with("tool = \"iperf4 -c {to}\"")) else { return };
    let missing = missing.unwrap_err().to_string();
    let expected = "nothing was started: the scenario needs programs that are not installed\n  \
                  flows.f.tool: program `iperf4` is not installed";
    assert_eq!(missing, expected);
    let failing = "tool = \"curl {to}\"\nserver = \"sh -c 'echo out; echo no such day >&2; exit 3'\"";
    let failing = try_run(&with(failing)).unwrap().unwrap_err().to_string();
    assert_eq!(failing, "flow f: sh ended before it listened: exit code 3: no such day");
    let two = "tool = \"curl {to}\"\n[flows.g]\nfrom = \"a\"\nto = \"b\"\ntool = \"curl {to}\"";
    let two = try_run(&with(two)).unwrap().unwrap_err().to_string();
    assert!(two.contains("neither it nor flow f uses {port}"), "{two}");
}

/// A program that fails is reported; one that does not end is killed with its descendants.
#[test]
fn programs_end_with_the_run() {
    let seconds = format!("{}.5", 100_000 + process::id());
    let text = format!(
        r#"
        duration = "1s"
        [links.path]
        between = ["a", "b"]
        [flows.long]
        from = "a"
        to = "b"
        tool = "sh -c '{{{{ sleep {seconds}; }}}} & setsid sleep {seconds} & sleep {seconds}; : {{port}}'"
        [flows.bad]
        from = "a"
        to = "b"
        tool = "sh -c 'echo first >&2; echo {{to}}:{{port}} is gone >&2; exit 7'"
        "#
    );
    let Some((o, notices)) = run(&text) else { return };
    assert_eq!(o.variant.flows.len(), 2);
    assert!(
        notices.iter().any(|n| n == "flow bad: sh ended with exit code 7: first / 10.0.0.2:5202 is gone")
    );
    assert!(notices.iter().any(|n| n == "flow long: `sh` made no connection"));
    let left = fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let line = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        line.contains(&seconds) && entry.file_name() != *process::id().to_string()
    });
    assert_eq!(left.count(), 0);
}
