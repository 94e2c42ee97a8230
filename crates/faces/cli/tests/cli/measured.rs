//! `longfat fit` and `longfat plan` on output of iperf3 and ss, and inputs that they refuse.
//!
//! `measured/` was recorded on Linux 6.18 with iperf3 3.12 and iproute2 6.1, in `longfat shell` (with Reno,
//! which every machine has):
//!
//! - `iperf3-policed.json`, `iperf3-two.json`, `ss-policed.log`: `iperf3 -c server -t 10 -J` with `-i 0.5`,
//!   with `-P 2`, and while `date +%s.%N; ss -tinO dst 10.0.0.2` ran every 0.4 s, through [`POLICED`];
//! - `ss-window.log`: while `date; ss -tin` ran, with an RTT of 80 ms, a line of 50 Mbit/s and a receive
//!   buffer of 200 kB;
//! - `iperf3-reversed.json`: with `-R`, so that the server sends.

use crate::place::{Place, json, stderr, stdout};
use serde_json::Value;

const ONE: &str = include_str!("measured/iperf3-policed.json");
const TWO: &str = include_str!("measured/iperf3-two.json");
const REVERSED: &str = include_str!("measured/iperf3-reversed.json");
const SS: &str = include_str!("measured/ss-policed.log");
const WINDOW: &str = include_str!("measured/ss-window.log");

/// The path of the recordings.
const POLICED: &str = r#"
name = "policed"
duration = "10s"
[links.wan]
between = ["client", "server"]
forward = [{ kind = "policer", rate = "10Mbit/s", burst = "40kB" }, { kind = "delay", delay = "20ms" }]
backward = [{ kind = "delay", delay = "20ms" }]
[flows.f]
from = "client"
to = "server"
cc = "reno"
count = 2
"#;

fn fitted(name: &str, text: &str) -> Value {
    let place = Place::new(&format!("measured-{name}"));
    let done = place.file(name, text).longfat(&["fit", name, "-o", "path.toml", "--json"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let run = place.longfat(&["run", "path.toml"]);
    assert!(run.status.success(), "{}", stderr(&run));
    json(&stdout(&done))
}

/// Returns a number of the fit and the range that fits nearly as well.
fn value(fit: &Value, name: &str) -> [f64; 3] {
    let found = fit["values"].as_array().unwrap().iter().find(|v| v["name"] == name);
    let found = found.unwrap_or_else(|| panic!("{name}: {fit:#}"));
    [&found["value"], &found["range"][0], &found["range"][1]].map(|v| v.as_f64().unwrap())
}

/// The relative error of a number.
fn off(number: f64, truth: f64) -> f64 {
    (number / truth - 1.0).abs()
}

#[test]
fn two_flows_of_iperf3_give_the_policer_and_a_cure() {
    let fit = fitted("two.json", TWO);
    assert_eq!(fit["limiter"], "policer");
    let [rate, low, high] = value(&fit, "rate");
    assert!(off(rate, 10.0) < 0.1 && low < 10.0 && high > 10.0, "{rate} {low} {high}");
    assert!(off(value(&fit, "bucket")[0], 40.0) < 0.2, "{:?}", value(&fit, "bucket"));
    assert!(off(value(&fit, "base RTT")[0], 40.0) < 0.02, "{:?}", value(&fit, "base RTT"));
    // iperf3 reports 8.21 Mbit/s for both receivers, and 79 retransmissions of 2841 packets.
    assert!(off(fit["compared"]["captured"]["goodput_mbps"].as_f64().unwrap(), 8.21) < 0.01);
    assert!(off(fit["compared"]["fitted"]["goodput_mbps"].as_f64().unwrap(), 8.21) < 0.05);

    let place = Place::new("measured-plan-two");
    place.file("two.json", TWO).file("true.toml", POLICED);
    let planned = place.longfat(&["plan", "two.json", "--only", "sender", "--repeat", "3", "--json"]);
    assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
    let plan = json(&stdout(&planned));
    let cure = plan["cures"].as_array().unwrap().iter().find(|c| c["name"] == "bbr").unwrap().clone();
    assert_eq!((&cure["effect"], &cure["changes"][0]), (&"gains".into(), &"flows.f1.cc=\"bbr\"".into()));
    let run = place.longfat(&["run", "true.toml", "--set", "flows.f.cc=bbr", "--json"]);
    let truth = json(&stdout(&run))["variants"][0]["total_goodput_mbps"].as_f64().unwrap();
    let predicted = cure["figures"]["goodput_mbps"]["mean"].as_f64().unwrap();
    assert!(off(predicted, truth) < 0.08, "{predicted} for {truth}");
}

#[test]
fn one_flow_of_iperf3_gives_a_policer_but_not_its_rate() {
    let fit = fitted("one.json", ONE);
    assert_eq!(fit["limiter"], "policer");
    // Reno through a bucket below the bandwidth-delay product comes nowhere near the rate, 10 Mbit/s.
    let [rate, low, high] = value(&fit, "rate");
    assert!(off(rate, 10.0) < 0.5 && low < 11.0 && high > 1.5 * low, "{rate} {low} {high}");
    let unknown = fit["not_shown"].as_array().unwrap();
    assert!(unknown.iter().any(|t| t.as_str().unwrap().starts_with("rate: anything from")), "{unknown:?}");
    assert!(off(fit["compared"]["fitted"]["goodput_mbps"].as_f64().unwrap(), 5.86) < 0.1);
}

#[test]
fn a_log_of_ss_gives_the_policer_and_the_senders_congestion_control() {
    let fit = fitted("ss.log", SS);
    assert_eq!(fit["limiter"], "policer");
    let [rate, low, high] = value(&fit, "rate");
    assert!(off(rate, 10.0) < 0.2 && low < 10.0 && high > 10.0, "{rate} {low} {high}");
    assert!(off(value(&fit, "base RTT")[0], 40.0) < 0.02, "{:?}", value(&fit, "base RTT"));
    let scenario = fit["scenario"].as_str().unwrap();
    assert!(scenario.contains("cc = \"reno\"") && !scenario.contains("sack = false"), "{scenario}");
    let place = Place::new("measured-plan-ss");
    let planned = place.file("ss.log", SS);
    let planned =
        planned.longfat(&["plan", "ss.log", "--only", "sender", "--repeat", "3", "--commands", "bbr"]);
    assert_eq!(planned.status.code(), Some(0), "{}", stderr(&planned));
    let text = stdout(&planned);
    assert!(text.contains("sysctl -w net.ipv4.tcp_congestion_control=bbr"), "{text}");
    assert!(text.starts_with("Do this (sender)"), "{text}");
}

#[test]
fn a_receive_window_limit_is_cured_by_a_larger_receive_buffer() {
    let fit = fitted("window.log", WINDOW);
    // Without loss no policer is found; the window is goodput × RTT.
    assert_eq!(fit["limiter"], "none");
    assert!(off(value(&fit, "receive window")[0], 11.8e3 / 8.0 * 0.0802) < 0.05);
    let kinds = fit["other_kinds"].as_array().unwrap();
    assert!(kinds.iter().all(|k| k["limiter"] != "policer"), "{kinds:?}");
    let place = Place::new("measured-plan-window");
    place.file("window.log", WINDOW);
    let planned = place.longfat(&["plan", "window.log", "--only", "receiver", "--repeat", "3"]);
    let text = stdout(&planned);
    assert_eq!(planned.status.code(), Some(0), "{text}{}", stderr(&planned));
    assert!(text.starts_with("Do this (receiver): receive buffer of "), "{text}");
    assert!(
        text.contains("sysctl -w net.ipv4.tcp_rmem=\"$(sysctl -n net.ipv4.tcp_rmem | cut -f 1,2) "),
        "{text}"
    );
}

/// Returns the number of the last line that contains `what`.
fn line(text: &str, what: &str) -> usize {
    text.lines().enumerate().filter(|(_, l)| l.contains(what)).last().unwrap().0 + 1
}

#[test]
fn an_incomplete_input_is_refused_with_file_line_and_key() {
    let place = Place::new("measured-bad");
    let refused = |name: &str, text: &str, line: usize, key: &str, why: &str| {
        place.file(name, text);
        for command in ["fit", "plan"] {
            let done = place.longfat(&[command, name]);
            let error = stderr(&done);
            assert_eq!(done.status.code(), Some(2), "{command} {name}: {error}");
            assert!(
                error.starts_with(&format!("error: {name}:{line}: `{key}`: ")),
                "{command} {name}: {error}"
            );
            assert!(error.contains(why), "{command} {name}: {error}");
        }
    };
    // iperf3 was killed, or its output is truncated.
    let at = TWO.find("\"bits_per_second\"").unwrap();
    let cut = &TWO[..at + 20];
    refused(
        "cut.json",
        cut,
        cut.lines().count(),
        "bits_per_second",
        "iperf3 -J prints one when the test is finished",
    );
    let comma = TWO.replacen("\"end\":", "\"end\"", 1);
    let first = comma.lines().position(|l| l.contains("\"end\"\t")).unwrap() + 1;
    refused("comma.json", &comma, first, "end", "not JSON");
    let failed = "{\n\t\"start\":\t{},\n\t\"intervals\":\t[],\n\t\"end\":\t{},\n\t\"error\":\t\"unable to connect to server\"\n}\n";
    refused("failed.json", failed, 5, "error", "unable to connect to server");
    refused("none.json", "{\n\t\"end\":\t{}\n}\n", 2, "end.streams", "when a test finishes");
    // `ss -tn` lists connections without their statistics.
    let bare =
        "State Recv-Q Send-Q Local Address:Port Peer Address:Port\nESTAB 0 12 10.0.0.1:40000 10.0.0.2:5201\n";
    refused("bare.log", bare, 2, "rtt", "`ss` without `-i`");
    let acked = SS.replace(" bytes_acked:", " bytes_aced:");
    refused("acked.log", &acked, line(&acked, " rtt:"), "bytes_acked", "at the sender");
    // Without dates the log needs the kernel's own clock, `busy`.
    let whole: Vec<&str> = SS.lines().filter(|l| !l.starts_with(|c: char| c.is_ascii_digit())).collect();
    let clockless = whole.join("\n").replace(" busy:", " bsy:");
    let first = clockless.lines().position(|l| l.contains(" rtt:")).unwrap() + 1;
    refused("clock.log", &clockless, first, "busy", "date +%s.%N");
    let damaged = SS.replacen(" minrtt:", " minrtt:x", 1);
    refused(
        "damaged.log",
        &damaged,
        damaged.lines().position(|l| l.contains(":x")).unwrap() + 1,
        "minrtt",
        "damaged",
    );
}

#[test]
fn an_input_without_a_scenario_gives_a_verdict_and_the_command_to_measure_more() {
    let place = Place::new("measured-verdict");
    let without = |key: &str, text: &str| text.replace(&format!("\"{key}\""), "\"other\"");
    let udp = TWO.replace("\"protocol\":\t\"TCP\"", "\"protocol\":\t\"UDP\"");
    let one: String = SS
        .lines()
        .take_while(|l| !l.contains(" rtt:"))
        .chain(SS.lines().find(|l| l.contains(" rtt:")))
        .map(|l| format!("{l}\n"))
        .collect();
    for (name, text, enough) in [
        ("udp.json", udp, "iperf3 -c "),
        ("bsd.json", without("retransmits", &without("rtt", TWO)), "tcpdump -s 128 -w trace.pcap"),
        ("reversed.json", REVERSED.to_string(), "iperf3 -s -J > speed.json"),
        ("once.log", one, "ss -tinO -o dst"),
    ] {
        place.file(name, &text);
        for command in ["fit", "plan"] {
            let done = place.longfat(&[command, name]);
            assert_eq!(done.status.code(), Some(1), "{command} {name}: {}", stderr(&done));
            let verdict = stdout(&done);
            assert!(
                verdict.contains(enough) && verdict.contains("No scenario was written"),
                "{command} {name}: {verdict}"
            );
        }
        let done = place.longfat(&["fit", name, "--json"]);
        assert_eq!(json(&stdout(&done))["schema"], "longfat-fit-verdict/1", "{name}");
    }
}

#[test]
fn an_input_of_another_command_is_refused_with_that_command() {
    let place = Place::new("measured-other");
    place.file("speed.json", ONE).file("path.toml", POLICED);
    place.file("qdisc.sh", "tc qdisc add dev eth0 root tbf rate 10mbit burst 32kb latency 50ms\n");
    place.file(
        "dump.txt",
        "12:00:00.000001 IP 10.0.0.1.40000 > 192.0.2.7.443: Flags [S], seq 1, win 64240, length 0\n",
    );
    for (command, name, next) in [
        ("diagnose", "speed.json", "`longfat fit speed.json`"),
        ("diagnose", "path.toml", "`longfat run path.toml`"),
        ("fit", "path.toml", "`longfat run path.toml`"),
        ("diagnose", "qdisc.sh", "`longfat import qdisc.sh`"),
        ("fit", "qdisc.sh", "`longfat import qdisc.sh`"),
        (
            "diagnose",
            "dump.txt",
            "tcpdump -s 128 -w trace.pcap host 10.0.0.1 and host 192.0.2.7 and port 443",
        ),
        ("fit", "dump.txt", "tcpdump -s 128 -w trace.pcap host 10.0.0.1 and host 192.0.2.7 and port 443"),
    ] {
        let done = place.longfat(&[command, name]);
        assert_eq!(done.status.code(), Some(2), "{command} {name}");
        assert!(stderr(&done).contains(next), "{command} {name}: {}", stderr(&done));
    }
}

#[test]
fn a_log_with_a_truncated_last_line_is_read() {
    let end = SS.rfind(" bytes_acked:").unwrap();
    let fit = fitted("ended.log", &SS[..end + " bytes_acked:".len()]);
    assert_eq!(fit["limiter"], "policer");
}
