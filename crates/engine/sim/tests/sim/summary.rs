//! Flow summaries: lost packets, and rate limits.

use crate::common::*;

/// Losses count for the flow that they affect: data packets, not ACKs.
#[test]
fn losses_count_for_the_flow_that_they_affect() {
    let text = r#"duration = "20s"
sample = "0s"
[links.path]
between = ["a", "b"]
forward = [{ kind = "loss", probability = 0.01 }, { kind = "link", rate = "20Mbit/s", delay = "10ms", queue = { kind = "fifo", packets = 20 } }]
backward = [{ kind = "loss", probability = 0.05 }, { kind = "delay", delay = "10ms" }]
[flows]
tcp = { from = "a", to = "b" }
udp = { from = "a", to = "b", app = { kind = "udp", rate = "5Mbit/s" } }
"#;
    let o = run(text);
    let lost = |name| flow(&o, name).lost_packets.unwrap();
    let dropped: u64 = ["forward.loss", "forward.link"].iter().map(|e| element(&o, e).dropped_packets).sum();
    println!("lost: tcp {}, udp {}, dropped {dropped}", lost("tcp"), lost("udp"));
    assert!(lost("tcp") > 50 && lost("udp") > 50);
    // A SYN may be among the dropped packets.
    assert!(dropped - (lost("tcp") + lost("udp")) <= 1);
    // Each lost packet is retransmitted, some unnecessarily for a second time.
    let tcp = flow(&o, "tcp");
    assert!(tcp.retransmitted_packets >= lost("tcp") - 20, "{} {}", tcp.retransmitted_packets, lost("tcp"));
    let udp = flow(&o, "udp");
    let under_way = udp.sent_packets - udp.delivered_bytes / 1472 - lost("udp");
    assert!(under_way < 20 + 6, "{under_way}");
}

fn limits(stages: &str, flows: &str) -> (Option<f64>, Vec<Option<f64>>) {
    let o = run(&path("duration = \"100ms\"\nsample = \"0s\"", stages, 10.0, flows));
    (o.variant.limit_mbps, o.variant.flows.iter().map(|f| f.limit_mbps).collect())
}

#[test]
fn the_tightest_limit() {
    let one = bulk("cubic");
    let link = "{ kind = \"link\", rate = \"100Mbit/s\" }";
    let with = |more: &str| limits(&format!("{link}, {more}"), &one);
    let all = |x: f64| (Some(x), vec![Some(x)]);
    assert_eq!(limits("", &one), (None, vec![None]));
    assert_eq!(limits(link, &one), all(100.0));
    assert_eq!(with("{ kind = \"shaper\", rate = \"20Mbit/s\" }"), all(20.0));
    assert_eq!(with("{ kind = \"policer\", rate = \"30Mbit/s\" }"), all(30.0));
    // A policer that only marks is not a limit; a two-rate policer drops above its peak rate.
    assert_eq!(with("{ kind = \"policer\", rate = \"30Mbit/s\", red = { dscp = 8 } }"), all(100.0));
    let two = "{ kind = \"policer\", meter = \"trtcm\", rate = \"30Mbit/s\", peak_rate = \"40Mbit/s\" }";
    assert_eq!(with(two), all(40.0));
    let htb = "{ kind = \"htb\", classes = [{ name = \"root\", rate = \"25Mbit/s\" }, { name = \"x\", parent = \"root\", rate = \"5Mbit/s\", ceil = \"25Mbit/s\" }] }";
    assert_eq!(with(htb), all(25.0));
    // A limit that varies is not reported.
    let trace = "{ kind = \"rate-trace\", steps = [{ at = \"0s\", rate = \"10Mbit/s\" }, { at = \"1s\", rate = \"50Mbit/s\" }] }";
    assert_eq!(with(trace), (None, vec![None]));
    // Each flow has its own bucket: the limit of all together is a multiple.
    let each = "{ kind = \"policer\", rate = \"5Mbit/s\", per_flow = true }";
    assert_eq!(with(each), all(5.0));
    let thirty = format!("{}\ncount = 30", bulk("cubic"));
    assert_eq!(limits(&format!("{link}, {each}"), &thirty).0, Some(100.0));
    let three = format!("{}\ncount = 3", bulk("cubic"));
    assert_eq!(limits(&format!("{link}, {each}"), &three).0, Some(15.0));
}

/// Limits that not all flows meet belong to single flows; the direction that carries more counts.
#[test]
fn limits_belong_to_the_direction_that_carries_more() {
    let text = r#"duration = "100ms"
sample = "0s"
[links.access]
between = ["a", "r"]
forward = [{ kind = "link", rate = "10Mbit/s" }]
backward = [{ kind = "link", rate = "80Mbit/s" }]
[links.wan]
between = ["r", "b"]
forward = [{ kind = "link", rate = "50Mbit/s" }]
backward = [{ kind = "link", rate = "60Mbit/s" }]
[flows]
up = { from = "a", to = "b" }
middle = { from = "r", to = "b" }
"#;
    let o = run(text);
    assert_eq!(o.variant.limit_mbps, Some(50.0));
    assert_eq!((flow(&o, "up").limit_mbps, flow(&o, "middle").limit_mbps), (Some(10.0), Some(50.0)));
    let down = "down = { from = \"a\", to = \"b\", app = { kind = \"request\", request = \"1kB\", response = \"1MB\" } }\n";
    let o = run(&(text.to_string() + down));
    assert_eq!((flow(&o, "down").limit_mbps, o.variant.limit_mbps), (Some(60.0), None));
}

/// Every retransmission is reported with its bytes: as many as were counted, in order, and only of bytes sent
/// before.
#[test]
fn every_retransmission_is_reported() {
    let text = r#"duration = "60s"
sample = "10ms"
[hosts]
a = { stack = { ecn = true } }
b = { stack = { ecn = true } }
[links.path]
between = ["a", "b"]
forward = [{ kind = "loss", probability = 0.005 }, { kind = "link", rate = "5Mbit/s", delay = "10ms", queue = { kind = "red", packets = 100, min = 2, max = 6, ecn = true } }]
backward = [{ kind = "loss", probability = 0.005 }, { kind = "delay", delay = "10ms" }]
[flows]
bulk = { from = "a", to = "b" }
udp = { from = "a", to = "b", app = { kind = "udp", rate = "1Mbit/s" } }
"#;
    let o = run(text);
    let (s, f) = (series(&o, "bulk"), flow(&o, "bulk"));
    // The server sends no data, so all retransmissions are the client's.
    assert_eq!(s.resent.len() as u64, f.retransmitted_packets);
    assert!(s.resent.len() > 50, "{}", s.resent.len());
    assert!(s.resent.is_sorted_by(|a, b| a.time_s <= b.time_s));
    for r in &s.resent {
        // All of it was sent by the next sample, and unacknowledged at the previous one.
        let next = s.time_s.partition_point(|&t| t < r.time_s);
        let sent = s.sent_bytes.get(next).or(s.sent_bytes.last()).unwrap();
        assert!(r.byte + r.len as u64 <= *sent && (1..=1448).contains(&r.len), "{r:?}");
        assert!(s.acked_bytes[next - 1] <= r.byte, "{r:?}");
        // No byte is retransmitted at the time at which it was first sent.
        let before = s.time_s.partition_point(|&t| t < r.time_s - 0.02);
        assert!(r.byte < s.sent_bytes[before], "{r:?}");
    }
    for i in 1..s.time_s.len() {
        assert!(s.sent_bytes[i - 1] <= s.sent_bytes[i] && s.acked_bytes[i - 1] <= s.acked_bytes[i]);
        assert!(s.acked_bytes[i] <= s.delivered_bytes[i] && s.delivered_bytes[i] <= s.sent_bytes[i]);
    }
    assert_eq!(f.mss_bytes, Some(1448));
    assert_eq!((flow(&o, "udp").mss_bytes, series(&o, "udp").resent.len()), (None, 0));
    let e = element_series(&o, "forward.link");
    assert!(e.marked.len() == e.time_s.len() && e.marked.is_sorted());
    let marked = element(&o, "forward.link").marked_packets;
    let link = &o.variant.path.as_ref().unwrap().links[0];
    assert_eq!((link.name.as_str(), link.forward[1].settings["rate"].as_str()), ("path", "5Mbit/s"));
    assert!(marked > 20 && marked - e.marked.last().unwrap() <= 1, "{marked}");
}

/// With relays the columns are those of the first leg; retransmissions are those of all legs, each with its
/// sender.
#[test]
fn series_of_relayed_flows_show_the_first_leg() {
    let lossy = "{ kind = \"loss\", probability = 0.01 }, { kind = \"link\", rate = \"20Mbit/s\", delay = \"5ms\", mtu = 1300 }";
    let text = format!(
        r#"duration = "5s"
[links.one]
between = ["a", "r"]
forward = [{lossy}]
[links.two]
between = ["r", "b"]
forward = [{lossy}]
[relays.r]
host = "r"
[flows.f]
from = "a"
to = "b"
via = ["r"]
"#
    );
    let o = run(&text);
    let (s, f) = (series(&o, "f"), flow(&o, "f"));
    assert_eq!(s.resent.len() as u64, f.retransmitted_packets);
    assert!(s.resent.is_sorted_by(|a, b| a.time_s <= b.time_s));
    let first = s.resent.iter().filter(|r| r.sender == 0);
    let counted = first.filter(|r| r.time_s <= *s.time_s.last().unwrap()).count() as u64;
    assert_eq!(counted, *s.retransmitted.last().unwrap());
    assert!(counted > 0 && s.resent.iter().any(|r| r.sender == 2), "the relay's own leg");
    assert_eq!(f.mss_bytes, Some(1248));
}
