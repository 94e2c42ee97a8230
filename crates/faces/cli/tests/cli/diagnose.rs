//! `longfat diagnose` on captures that `longfat run` made of known paths.

use crate::place::{Place, json, native, on_terminal, stderr, stdout};
use crate::validate::validate;
use serde_json::Value;
use std::fs::{self, File};
use std::process::{Command, Output, Stdio};

/// A policer of 20 Mbit/s IP bytes before 30 ms of path.
const POLICED: &str = r#"
name = "policed"
duration = "8s"
seed = 7

[links.wan]
between = ["office", "dc"]
forward = [
    { kind = "link", rate = "1Gbit/s" },
    { kind = "policer", rate = "20Mbit/s", burst = "60kB" },
    { kind = "delay", delay = "15ms" },
]
backward = [{ kind = "delay", delay = "15ms" }]

[flows.bulk]
from = "office"
to = "dc"
cc = "cubic"

[variants.policer]
"#;

const RATE: f64 = 20.0;

/// Makes `office.pcap`, captured at the sender, and `dc.pcap`, captured at the receiver.
fn captured(name: &str) -> Place {
    let place = Place::new(name);
    let out = place.file("policed.toml", POLICED).longfat(&["run", "policed.toml", "--pcap", "pcap"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    for host in ["office", "dc"] {
        let name = format!("{host}.pcap");
        fs::rename(place.0.join("pcap/policer").join(&name), place.0.join(&name)).unwrap();
    }
    place
}

fn done(out: &Output) -> Value {
    assert_eq!(out.status.code(), Some(0), "{}", stderr(out));
    json(&stdout(out))
}

/// Returns the flow with most bytes.
fn bulk(diagnosis: &Value) -> &Value {
    let flows = diagnosis["flows"].as_array().unwrap();
    flows.iter().max_by_key(|f| f["measures"]["bytes"].as_u64()).unwrap()
}

#[test]
fn a_policer_is_found_from_either_end() {
    let place = captured("ends");
    for (host, before, end) in [("office", false, "sender"), ("dc", true, "receiver")] {
        let d = done(&place.longfat(&["diagnose", &format!("{host}.pcap"), "--json"]));
        let flow = bulk(&d);
        assert_eq!(
            (&flow["cause"], &flow["vantage"]["place"]),
            (&"policed".into(), &end.into()),
            "{host}: {flow:#}"
        );
        let limiter = &d["limiters"][flow["limiter"].as_u64().unwrap() as usize];
        assert_eq!(
            (&limiter["kind"], &limiter["before_capture"]),
            (&"policer".into(), &before.into()),
            "{host}"
        );
        let rate = limiter["rate_mbps"].as_f64().unwrap();
        assert!((rate / RATE - 1.0).abs() < 0.03, "{host}: {rate} Mbit/s");
        let shares: f64 =
            flow["causes"].as_array().unwrap().iter().map(|c| c["share"].as_f64().unwrap()).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{host}: {shares}");
    }
}

#[test]
fn captures_of_both_ends_show_exactly_what_was_lost() {
    let place = captured("both-ends");
    let schema = json(&stdout(&place.longfat(&["schema", "diagnosis"])));
    for (here, there) in [("office", "dc"), ("dc", "office")] {
        let files = [here, there].map(|host| format!("{host}.pcap"));
        let d = done(&place.longfat(&["diagnose", &files[0], &files[1], "--both-ends", "--json"]));
        validate(&schema, &d).unwrap();
        let flow = bulk(&d);
        let between = &flow["between_ends"];
        assert_eq!(between["lost_packets"], flow["measures"]["lost_down"], "{here}");
        assert_eq!(
            between["lost"].as_array().unwrap().len() as u64,
            between["lost_packets"].as_u64().unwrap()
        );
        assert_eq!((&flow["cause"], &flow["vantage"]["place"]), (&"policed".into(), &"sender".into()));
        let both = &d["capture"]["both_ends"];
        assert_eq!(
            (&both["paired_connections"], &both["other_file"]),
            (&1.into(), &files[1].as_str().into())
        );
        let limiter = &d["limiters"][flow["limiter"].as_u64().unwrap() as usize];
        let [rate, burst] = ["rate_mbps", "burst_bytes"].map(|key| limiter[key].as_f64().unwrap());
        assert!((rate / RATE - 1.0).abs() < 0.003 && (burst / 60e3 - 1.0).abs() < 0.005, "{rate} {burst}");
        // A policer has no queue: packets wait only in bursts on the sender's own line.
        assert!(between["delay_variation_ms"]["p95"].as_f64().unwrap() < 0.5, "{between}");
    }
    let text = stdout(&place.longfat(&["diagnose", "office.pcap", "dc.pcap", "--both-ends"]));
    assert!(text.contains("lost between the captures") && text.contains("connections in both: 1"), "{text}");
    for (args, printed) in [
        (&["office.pcap", "dc.pcap"][..], "--both-ends"),
        (&["office.pcap", "--both-ends"], "OTHER"),
        (&["office.pcap", ".", "--both-ends"], "takes two capture files"),
        (&["office.pcap", "none.pcap", "--both-ends"], "none.pcap"),
    ] {
        let out = place.longfat(&[&["diagnose"], args].concat());
        assert!(out.status.code() == Some(2) && stderr(&out).contains(printed), "{args:?}: {}", stderr(&out));
    }
}

/// The ACKs queue behind a download, the data does not: a single capture shows long RTTs, two show the
/// direction.
#[test]
fn captures_of_both_ends_show_the_direction_of_the_queue() {
    let place = Place::new("both-ways");
    let text = r#"
name = "ways"
duration = "10s"
[links.wan]
between = ["office", "dc"]
forward = [{ kind = "link", rate = "50Mbit/s" }, { kind = "loss", model = "bernoulli", probability = 0.002 }, { kind = "delay", delay = "10ms" }]
backward = [{ kind = "link", rate = "10Mbit/s", queue = { kind = "fifo", packets = 100 } }, { kind = "delay", delay = "10ms" }]
[flows.up]
from = "office"
to = "dc"
cc = "cubic"
[flows.down]
from = "dc"
to = "office"
cc = "cubic"
[variants.one]
"#;
    let out = place.file("ways.toml", text).longfat(&["run", "ways.toml", "--pcap", "pcap"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let files = ["office", "dc"].map(|host| format!("pcap/one/{host}.pcap"));
    let d = done(&place.longfat(&["diagnose", &files[0], &files[1], "--both-ends", "--json"]));
    let flows = d["flows"].as_array().unwrap();
    let flow = |from: &str| flows.iter().find(|f| f["from"].as_str().unwrap().starts_with(from)).unwrap();
    let late = |f: &Value| f["between_ends"]["delay_variation_ms"]["p50"].as_f64().unwrap();
    let (up, down) = (flow("10.0.0.1:"), flow("10.0.0.2:"));
    assert!(late(up) < 2.0 && late(down) > 30.0, "{} {}", late(up), late(down));
    assert_eq!(up["vantage"]["place"], down["vantage"]["place"]);
    let lost = |f: &Value| f["between_ends"]["lost_packets"].as_u64().unwrap();
    assert!(lost(up) > 5 && lost(down) > 5, "{} {}", lost(up), lost(down));
    assert_eq!(up["causes"].as_array().unwrap().iter().find(|c| c["cause"] == "policed"), None);
    println!("{:#} {:#}", up["causes"], down["causes"]);
}

/// The advice is about QUIC's flow control, not about the kernel's TCP, and has no Wireshark filter: a log
/// has no packets.
#[test]
fn a_qlog_limited_by_flow_control_advises_more_credit() {
    let place = Place::new("qlog-credit");
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/http3.sqlog");
    let d = done(&place.longfat(&["diagnose", "--qlog", log, "--json"]));
    let flow = bulk(&d);
    assert_eq!((&flow["cause"], &flow["notes"]), (&"receive-window".into(), &serde_json::json!(["qlog"])));
    assert_eq!(flow["remedies"][0]["kind"], "flow-control");
    let text = stdout(&place.longfat(&["diagnose", "--qlog", log]));
    assert!(text.contains("initial_max_data") && !text.contains("tcp_rmem"), "{text}");
    assert!(!text.contains("Wireshark") && !text.contains("tcp.len"), "{text}");
    // A truncated log is diagnosed, with a note.
    let whole = std::fs::read_to_string(log).unwrap();
    place.file("cut.sqlog", &whole[..whole.len() / 2]);
    let d = done(&place.longfat(&["diagnose", "--qlog", "cut.sqlog", "--json"]));
    assert_eq!(bulk(&d)["notes"], serde_json::json!(["qlog", "qlog-cut"]));
    place.file("bad.sqlog", whole.replacen("\"time\":0,", "\"time\":\"noon\",", 1));
    let out = place.longfat(&["diagnose", "--qlog", "bad.sqlog"]);
    let printed = "bad.sqlog: line 2, event `transport:packet_received`: its time is";
    assert!(out.status.code() == Some(2) && stderr(&out).contains(printed), "{}", stderr(&out));
}

/// The capture has a client's Initial, the server's 30 ms later, and 1-RTT packets; only the client's log
/// shows losses.
#[test]
fn a_capture_lists_quic_flows_and_a_qlog_adds_their_losses() {
    let place = Place::new("qlog");
    let mut file = capture::PcapWriter::new(Vec::new()).unwrap();
    let mut log = String::from(
        "\u{1e}{\"trace\":{\"vantage_point\":{\"type\":\"client\"},\"common_fields\":{\"ODCID\":\"0102030405060708\"}}}\n",
    );
    let mut packet = |ms: u64, out: bool, head: &[u8], len: u32| {
        let [src, dst] =
            if out { [1, 2] } else { [2, 1] }.map(|n| std::net::Ipv4Addr::new(10, 0, 0, n).into());
        let (sport, dport) = if out { (40_000, 443) } else { (443, 40_000) };
        let payload = capture::Payload::Udp(capture::UdpFrame { sport, dport, payload_len: len });
        let time = units::Time::ZERO + units::Span::from_millis(1_700_000_000_000 + ms);
        let frame = capture::Frame { time, src, dst, id: 0, dscp: 0, ecn: 0, ttl: 64, payload };
        let mut bytes = frame.headers().unwrap().0;
        bytes.extend(head);
        bytes.resize(28 + len as usize, 0);
        file.write_packet(time, &bytes).unwrap();
    };
    let initial = [&[0xc0, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0][..], &[0xc0, 0, 0, 0, 1, 0, 2, 9, 9]];
    let mut say = |ms: u64, name: &str, kind: &str, rest: &str| {
        log += &format!(
            "\u{1e}{{\"time\":{ms},\"name\":\"quic:{name}\",\"data\":{{\"header\":{{\"packet_type\":\"{kind}\",{rest}}}}}\n"
        );
    };
    let stream = "\"raw\":{\"length\":1200},\"frames\":[{\"frame_type\":\"stream\"}]";
    packet(0, true, initial[0], 1200);
    packet(30, false, initial[1], 1200);
    say(0, "packet_sent", "initial", &format!("\"packet_number\":0}},{stream}"));
    say(
        30,
        "packet_received",
        "initial",
        "\"packet_number\":0},\"frames\":[{\"frame_type\":\"ack\",\"acked_ranges\":[[0,0]]}]",
    );
    for i in 0..200u64 {
        packet(40 + 10 * i, true, &[0x40, 1, 2, 3], 1200);
        say(40 + 10 * i, "packet_sent", "1RTT", &format!("\"packet_number\":{i}}},{stream}"));
        let earlier = i.checked_sub(5);
        match earlier {
            Some(n) if n % 20 == 3 => {
                say(41 + 10 * i, "packet_lost", "1RTT", &format!("\"packet_number\":{n}}}"))
            }
            Some(n) => say(
                41 + 10 * i,
                "packet_received",
                "1RTT",
                &format!(
                    "\"packet_number\":{n}}},\"frames\":[{{\"frame_type\":\"ack\",\"acked_ranges\":[[{n},{n}]]}}]"
                ),
            ),
            None => {}
        }
    }
    // The client's congestion window: 60 kB, halved at the first loss.
    for (ms, cwnd) in [(40, 60_000), (300, 30_000)] {
        log += &format!(
            "\u{1e}{{\"time\":{ms},\"name\":\"recovery:metrics_updated\",\"data\":{{\"congestion_window\":{cwnd},\"bytes_in_flight\":6000}}}}\n"
        );
    }
    place.file("quic.pcap", file.finish().unwrap()).file("client.sqlog", &log);
    let d = done(&place.longfat(&["diagnose", "quic.pcap", "--json"]));
    let up = |d: &Value| {
        d["udp_flows"].as_array().unwrap().iter().find(|f| f["to"] == "10.0.0.2:443").unwrap().clone()
    };
    let flow = up(&d);
    assert_eq!((&flow["protocol"], &flow["packets"]), (&"quic".into(), &201.into()));
    assert_eq!((&flow["loss"], flow.get("lost_packets")), (&"not-visible".into(), None));
    assert_eq!(d["flows"], Value::Array(vec![]));
    let text = stdout(&place.longfat(&["diagnose", "quic.pcap"]));
    assert!(
        text.contains("not visible") && text.contains("QUIC 1") && text.contains("QLOGDIR=DIR"),
        "{text}"
    );
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    let schema = json(&stdout(&place.longfat(&["schema", "diagnosis"])));
    let d = done(&place.longfat(&["diagnose", "quic.pcap", "--qlog", "client.sqlog", "--json"]));
    validate(&schema, &d).unwrap();
    assert_eq!((&up(&d)["loss"], &up(&d)["lost_packets"]), (&"qlog".into(), &10.into()));
    for d in [d, done(&place.longfat(&["diagnose", "--qlog", "client.sqlog", "--json"]))] {
        let flow = bulk(&d);
        let m = &flow["measures"];
        assert_eq!(
            (&m["lost_down"], &m["data_packets"], &flow["notes"]),
            (&10.into(), &200.into(), &serde_json::json!(["qlog", "qlog-no-flow-control"]))
        );
        assert!((m["rtt_ms"]["p50"].as_f64().unwrap() - 51.0).abs() < 1.0, "{m}");
        let q = &flow["qlog"];
        let windows = (&q["max_cwnd_bytes"], &q["p50_cwnd_bytes"], &q["max_inflight_bytes"], &q["cuts"]);
        assert_eq!(windows, (&60_000.into(), &30_000.into(), &6_000.into(), &1.into()));
    }
    done(&place.longfat(&["diagnose", "--qlog", "client.sqlog", "--report", "qlog.html", "--json"]));
    assert!(String::from_utf8_lossy(&place.read("qlog.html")).contains("longfat-diagnosis/4"));
    place.file("bad.qlog", "{}");
    for (args, printed) in [
        (&["--qlog", "bad.qlog"][..], "bad.qlog: not a qlog: line 1"),
        (&["--qlog", "client.sqlog", "--port", "443"], "--qlog alone has none"),
        (&[], "<CAPTURE>"),
    ] {
        let out = place.longfat(&[&["diagnose"], args].concat());
        assert!(out.status.code() == Some(2) && stderr(&out).contains(printed), "{args:?}: {}", stderr(&out));
    }
}

#[test]
fn the_text_begins_with_the_cause_and_what_to_do_and_fits_the_terminal() {
    let place = captured("text");
    let out = place.longfat(&["diagnose", "office.pcap"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let text = stdout(&out);
    assert!(text.starts_with("10.0.0.") && text.contains("was policed for "), "{text}");
    assert!(text.contains("Shape to ") && text.contains("main cause"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 80) && !text.contains('\x1b'), "{text}");
    let zh = place.longfat(&["diagnose", "office.pcap", "--lang", "zh"]);
    assert!(stdout(&zh).contains("流量监管"), "{}", stdout(&zh));

    let Some(text) = on_terminal(&place, 80, "", "diagnose office.pcap") else { return };
    assert!(text.contains("\x1b[1m"), "heads are bold on a terminal");
    for columns in [60, 80, 120] {
        let text = on_terminal(&place, columns, "1", "diagnose office.pcap").unwrap();
        assert!(!text.contains("\x1b["), "{text:?}");
        assert!(text.lines().all(|l| l.trim_end().chars().count() <= columns as usize), "{columns}: {text}");
    }
}

#[test]
fn json_is_what_its_schema_says_and_broken_json_is_not() {
    let place = captured("schema");
    let schema = json(&stdout(&place.longfat(&["schema", "diagnosis"])));
    let good = done(&place.longfat(&["diagnose", "dc.pcap", "--json"]));
    validate(&schema, &good).unwrap();
    for (at, bad) in [
        ("/schema", 2.into()),
        ("/capture/packets", Value::from(-1)),
        ("/flows/0/cause", "sunspots".into()),
        ("/flows/0/causes/0/share", "most".into()),
        ("/flows/0/measures/rtt_ms/p50", Value::Null),
        ("/limiters/0/kind", "router".into()),
    ] {
        let mut broken = good.clone();
        *broken.pointer_mut(at).unwrap_or_else(|| panic!("{at}")) = bad;
        assert!(validate(&schema, &broken).is_err(), "{at}");
    }
}

#[test]
fn compressed_or_piped_captures_give_the_same_diagnosis() {
    let place = captured("packed");
    let without_name = |mut d: Value| {
        let capture = d["capture"].as_object_mut().unwrap();
        let name = capture.remove("file").unwrap();
        (name, capture.remove("format").unwrap(), d)
    };
    let plain = without_name(done(&place.longfat(&["diagnose", "office.pcap", "--json"])));
    assert_eq!((&plain.0, &plain.1), (&"office.pcap".into(), &"pcap".into()));
    let mut tried = 0;
    for (program, ending) in [("gzip", "gz"), ("xz", "xz"), ("zstd", "zst")] {
        let file = format!("office.pcap.{ending}");
        let to = File::create(place.0.join(&file)).unwrap();
        let packed =
            Command::new(program).args(["-q", "-c", "office.pcap"]).current_dir(&place.0).stdout(to).status();
        if !packed.is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: no `{program}` to compress with");
            continue;
        }
        let (name, format, d) = without_name(done(&place.longfat(&["diagnose", &file, "--json"])));
        assert_eq!((name, d == plain.2), (Value::from(file.as_str()), true), "{file}");
        assert!(format.as_str().unwrap().starts_with("pcap ("), "{format}");
        // The content decides, not the file's name.
        let piped = piped(&place, &file);
        assert_eq!(without_name(done(&piped)), (Value::from("-"), format, plain.2.clone()), "{file}");
        tried += 1;
    }
    eprintln!("{tried} compression formats");
    assert_eq!(without_name(done(&piped(&place, "office.pcap"))).2, plain.2);
}

fn piped(place: &Place, file: &str) -> Output {
    let from = File::open(place.0.join(file)).unwrap();
    place.command().args(["diagnose", "-", "--json"]).stdin(Stdio::from(from)).output().unwrap()
}

/// Returns the offset of each record of a little-endian pcap, and the end of the last.
fn records(pcap: &[u8]) -> Vec<usize> {
    let mut at = vec![24];
    while let Some(head) = pcap.get(at[at.len() - 1]..).filter(|rest| rest.len() >= 16) {
        let bytes = u32::from_le_bytes(head[8..12].try_into().unwrap());
        at.push(at[at.len() - 1] + 16 + bytes as usize);
    }
    at
}

#[test]
fn a_truncated_capture_is_read_up_to_the_damage_whose_offset_is_reported() {
    let place = captured("cut");
    let whole = place.read("office.pcap");
    let at = records(&whole);
    assert_eq!(
        (whole[..4] == [0x4d, 0x3c, 0xb2, 0xa1] || whole[..4] == [0xd4, 0xc3, 0xb2, 0xa1], at.last()),
        (true, Some(&whole.len()))
    );
    let half = at.len() / 2;
    // The cut is inside a record.
    place.file("cut.pcap", &whole[..at[half] + 20]);
    place.file("short.pcap", &whole[..at[half]]);
    let out = place.longfat(&["diagnose", "cut.pcap", "--json"]);
    assert_eq!(out.status.code(), Some(1), "{}", stderr(&out));
    let mut cut = json(&stdout(&out));
    assert_eq!(cut["capture"]["packets"], half);
    let damage = cut["capture"].as_object_mut().unwrap().remove("damage").unwrap();
    assert_eq!(damage["offset"], at[half], "{damage}");
    // The diagnosis is that of a capture which ends before that record.
    let mut short = done(&place.longfat(&["diagnose", "short.pcap", "--json"]));
    short["capture"]["file"] = "cut.pcap".into();
    assert_eq!(cut, short);
    let text = stdout(&place.longfat(&["diagnose", "cut.pcap"]));
    assert!(text.contains(&format!("damaged at byte {}", at[half])), "{text}");
}

#[test]
fn a_file_that_is_not_a_capture_has_exit_code_2() {
    let place = Place::new("no-capture");
    place.file("policed.toml", POLICED).file("empty.pcap", "");
    for (file, why) in [
        ("policed.toml", "a scenario, which `longfat diagnose` does not read; `longfat run policed.toml`"),
        ("empty.pcap", "the file is empty"),
        ("none.pcap", ""),
    ] {
        let out = place.longfat(&["diagnose", file]);
        assert_eq!((out.status.code(), stdout(&out).as_str()), (Some(2), ""), "{file}");
        let error = stderr(&out);
        assert!(error.starts_with(&format!("error: {file}: ")) && error.contains(why), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    // A capture without packets is valid but has no flow.
    place.file(
        "header.pcap",
        [&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0][..], &[0; 8], &[0, 0, 4, 0, 1, 0, 0, 0]].concat(),
    );
    let out = place.longfat(&["diagnose", "header.pcap"]);
    assert_eq!(out.status.code(), Some(1), "{}", stderr(&out));
    assert!(stdout(&out).contains("No TCP flow"), "{}", stdout(&out));
}

#[test]
fn flows_are_selected_by_number() {
    let place = captured("flows");
    let all = done(&place.longfat(&["diagnose", "office.pcap", "--json"]));
    let id = bulk(&all)["id"].to_string();
    let one = done(&place.longfat(&["diagnose", "office.pcap", "--json", "--flow", &id]));
    assert_eq!(one["flows"].as_array().unwrap(), &[bulk(&all).clone()]);
    let out = place.longfat(&["diagnose", "office.pcap", "--flow", "99"]);
    assert_eq!((out.status.code(), stdout(&out).as_str()), (Some(2), ""));
    assert!(stderr(&out).starts_with("error: --flow 99: no such flow; there are: "), "{}", stderr(&out));
}

#[test]
fn the_page_and_the_folder_are_written_and_reproducible() {
    let place = captured("files");
    let run = |n: u8| {
        let (dir, page) = (format!("out-{n}"), format!("page-{n}.html"));
        let out = place.longfat(&["diagnose", "dc.pcap", "--json", "--out", &dir, "--report", &page]);
        let d = done(&out);
        let files = ["flows.parquet", "diagnosis.json", "packets.parquet"].map(|f| format!("{dir}/{f}"));
        for file in files.iter().chain([&page]) {
            assert!(stderr(&out).lines().any(|l| l == native(file)), "{file}: {}", stderr(&out));
        }
        assert_eq!(place.read(&files[1]), out.stdout);
        for parquet in [&files[0], &files[2]] {
            let bytes = place.read(parquet);
            assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{parquet}");
        }
        let html = String::from_utf8(place.read(&page)).unwrap();
        let blob = format!("id=\"series-{}\"", bulk(&d)["id"]);
        assert!(html.starts_with("<!doctype html>") && html.contains(&blob), "{blob}");
        files.map(|f| place.read(&f)).into_iter().chain([html.into_bytes()]).collect::<Vec<_>>()
    };
    assert!(run(1) == run(2), "the same capture gave other files");
    let out = place.longfat(&["diagnose", "dc.pcap", "--report", "dc.pcap/page.html"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(stderr(&out).starts_with("error: dc.pcap/page.html: "), "{}", stderr(&out));
}

/// Makes a capture of raw IP: at each of these times, in microseconds, a data packet of one byte on a new
/// connection.
fn raw(times: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut file =
        [&0xa1b2_c3d4_u32.to_le_bytes()[..], &[2, 0, 4, 0], &[0; 8], &[255, 255, 0, 0, 101, 0, 0, 0]]
            .concat();
    for (i, time) in times.enumerate() {
        let [seconds, micros] = [time / 1_000_000, time % 1_000_000].map(|n| (n as u32).to_le_bytes());
        let port = ((i % 60_000) as u16 + 1024).to_be_bytes();
        file.extend([seconds, micros, 41u32.to_le_bytes(), 41u32.to_le_bytes()].concat());
        file.extend([0x45, 0, 0, 41, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        file.extend(
            [&port[..], &[0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0, b'x']].concat(),
        );
    }
    file
}

/// Only the flows with most bytes are kept.
#[test]
fn flows_that_are_not_kept_are_counted() {
    let place = Place::new("forgotten");
    place.file("many.pcap", raw((0..20_300).map(|i| 1_000_000 + i)));
    let d = done(&place.longfat(&["diagnose", "many.pcap", "--json"]));
    let kept = d["flows"].as_array().unwrap().len();
    assert_eq!((kept, &d["capture"]["omitted_flows"]), (20_000, &300.into()));
    let text = stdout(&place.longfat(&["diagnose", "many.pcap", "--report", "page.html"]));
    assert!(text.replace('\n', " ").contains("Flows not reported: 300."), "{text}");
    let page = String::from_utf8(place.read("page.html")).unwrap();
    assert!(page.contains("\"omitted_flows\":300"));
}

#[test]
fn a_clock_that_runs_backwards_is_reported() {
    let place = Place::new("backwards");
    place.file("back.pcap", raw([5_000_000, 6_000_000, 2_000_000, 3_000_000].into_iter()));
    let d = done(&place.longfat(&["diagnose", "back.pcap", "--json"]));
    assert_eq!((&d["capture"]["backward_times"], &d["capture"]["max_backward_s"]), (&1.into(), &4.0.into()));
    let text = stdout(&place.longfat(&["diagnose", "back.pcap"]));
    assert!(text.contains("Timestamps ran backwards"), "{text}");
    place.file("on.pcap", raw([5_000_000, 6_000_000].into_iter()));
    let d = done(&place.longfat(&["diagnose", "on.pcap", "--json"]));
    assert!(d["capture"].get("backward_times").is_none() && d["capture"].get("omitted_flows").is_none());
}

/// Makes a capture with a packet per second, from ports 1024, 1025, ….
fn seconds(from: u64, n: u64) -> Vec<u8> {
    raw((0..n).map(|i| (from + i) * 1_000_000))
}

#[test]
fn a_filter_keeps_matching_packets_and_counts_the_others() {
    let place = Place::new("filter");
    place.file("a.pcap", seconds(1_000, 10));
    let all = ["diagnose", "a.pcap", "--json"];
    for (filter, kept) in [
        (&["--port", "1024", "--port", "1026"][..], 2),
        (&["--port", "80"], 10),
        (&["--host", "10.0.0.0/8", "--port", "1025"], 1),
        (&["--host", "10.0.0.2"], 10),
        (&["--from", "2", "--to", "4.5"], 3),
        (&["--from", "1970-01-01T00:16:48Z"], 2),
        (&["--to", "1970-01-01T01:16:40+01:00"], 1),
    ] {
        let d = done(&place.longfat(&[&all, filter].concat()));
        assert_eq!(
            (&d["capture"]["tcp_packets"], d["flows"].as_array().unwrap().len()),
            (&kept.into(), kept)
        );
        let other = d["capture"]["other"].as_array().cloned().unwrap_or_default();
        let left: u64 = other.iter().map(|c| c["count"].as_u64().unwrap()).sum();
        assert_eq!(left, 10 - kept as u64, "{filter:?}");
    }
    let text = stdout(&place.longfat(&["diagnose", "a.pcap", "--port", "1024"]));
    assert!(text.replace('\n', " ").contains("tcp left out by the filter 9"), "{text}");
    for (args, printed) in [
        (&["--host", "192.0.2.1"][..], "matches none of the 10 TCP packets"),
        (&["--from", "11"], "matches none"),
        (&["--host", "10.0.0.0/40"], "0 to 32"),
        (&["--from", "noon"], "give seconds"),
        (&["--port", "70000"], "70000"),
        (&["--joined"], "--joined needs a folder"),
    ] {
        let out = place.longfat(&[&all, args].concat());
        assert_eq!((out.status.code(), stdout(&out).as_str()), (Some(2), ""), "{args:?}");
        assert!(stderr(&out).contains(printed), "{args:?}: {}", stderr(&out));
    }
}

#[test]
fn captures_of_a_folder_are_diagnosed_and_other_files_are_listed_as_skipped() {
    let place = Place::new("folder");
    fs::create_dir_all(place.0.join("caps/inner")).unwrap();
    let (early, late) = (seconds(1_000, 3), seconds(2_000, 2));
    place.file("caps/b.pcap", &late).file("caps/a.pcap", &early).file("caps/notes.txt", "hello world");
    let out = place.longfat(&["diagnose", "caps", "--json", "--out", "out"]);
    let d = done(&out);
    let captures: Vec<_> =
        d.as_array().unwrap().iter().map(|d| (&d["capture"]["file"], &d["capture"]["packets"])).collect();
    assert_eq!(
        captures,
        [(&native("caps/a.pcap").into(), &3.into()), (&native("caps/b.pcap").into(), &2.into())]
    );
    let schema = json(&stdout(&place.longfat(&["schema", "diagnosis"])));
    d.as_array().unwrap().iter().for_each(|d| validate(&schema, d).unwrap());
    for file in ["out/a.pcap/diagnosis.json", "out/b.pcap/flows.parquet", "out/b.pcap/packets.parquet"] {
        assert!(stderr(&out).lines().any(|l| l == native(file)) && !place.read(file).is_empty(), "{file}");
    }
    assert_eq!(json(&String::from_utf8(place.read("out/a.pcap/diagnosis.json")).unwrap()), d[0]);

    let out = place.longfat(&["diagnose", "caps"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let text = stdout(&out);
    assert!(
        text.starts_with(&native("caps/a.pcap\n3 flows had too few packets to judge the path")),
        "{text}"
    );
    assert!(text.contains("\nfile    flows  Mbit/s"), "{text}");
    let skipped = native(
        "\nSkipped: caps/inner: a folder; give its name to diagnose it\nSkipped: caps/notes.txt: not a",
    );
    assert!(text.contains(&skipped), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");

    // A damaged capture makes the exit code 1.
    place.file("caps/c.pcap", &early[..early.len() - 1]);
    assert_eq!(place.longfat(&["diagnose", "caps"]).status.code(), Some(1));
    for (args, printed) in [
        (&["caps", "--flow", "0"][..], "--flow needs a single capture"),
        (&["caps", "--report", "a.html"], "--report needs a single capture"),
        (&["caps", "--port", "9"], "matches none of the 7 TCP packets"),
        (&["caps/inner"], "caps/inner: no captures in this folder"),
        (&["caps/inner", "--joined"], "no captures in this folder"),
    ] {
        let out = place.longfat(&[&["diagnose"], args].concat());
        assert_eq!((out.status.code(), stdout(&out).as_str()), (Some(2), ""), "{args:?}");
        assert!(stderr(&out).contains(printed), "{args:?}: {}", stderr(&out));
    }
}

/// The files are named like those of dumpcap's ring buffer, whose names do not show the order.
#[test]
fn joined_files_give_the_diagnosis_of_the_whole_capture() {
    let place = captured("joined");
    let whole = place.read("office.pcap");
    let at = records(&whole);
    fs::create_dir(place.0.join("ring")).unwrap();
    let (third, last) = (at[at.len() / 3], at[at.len() * 2 / 3]);
    for (name, part) in [("b.pcap", 24..third), ("c.pcap", third..last), ("a.pcap", last..whole.len())] {
        place.file(&format!("ring/{name}"), [&whole[..24], &whole[part]].concat());
    }
    place.file("ring/notes.txt", "hello world");
    let mut one = done(&place.longfat(&["diagnose", "office.pcap", "--json"]));
    one["capture"]["file"] = "ring".into();
    let out = place.longfat(&["diagnose", "ring", "--joined", "--json"]);
    assert_eq!(done(&out), one);
    let skipped = native("Skipped: ring/notes.txt: not a pcap");
    assert!(stderr(&out).starts_with(&skipped), "{}", stderr(&out));
}
