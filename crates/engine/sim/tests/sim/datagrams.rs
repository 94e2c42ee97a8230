//! Datagram flows: simulated delay, jitter and loss compared with calculated values.

use crate::common::*;

const CALL: &str = "[flows.f]\nfrom = \"a\"\nto = \"b\"\napp = { kind = \"voice\", codec = \"g711\" }\n";

/// On an empty path every packet takes exactly propagation and serialisation: 15 ms, and 0.8 ms for 200 bytes
/// at 2 Mbit/s.
#[test]
fn an_empty_path_delays_by_propagation_and_serialisation() {
    let link = r#"{ kind = "link", rate = "2Mbit/s" }"#;
    let o = run(&path("duration = \"2s\"\nsample = \"10ms\"", link, 30.0, CALL));
    let f = flow(&o, "f");
    let real_time = f.real_time.expect("a real-time summary");
    let d = real_time.delay_ms;
    assert_eq!((d.min, d.mean, d.max), (15.8, 15.8, 15.8));
    assert_eq!((d.p50, d.p95, d.p99, real_time.jitter_ms), (15.8, 15.8, 15.8, 0.0));
    assert!(f.rtt_ms.is_empty(), "a one-way delay is not a round trip");
    // Sent at 0, 20 … 2000 ms; the last one is still in flight.
    assert_eq!((f.sent_packets, f.delivered_bytes, f.cc.as_str()), (101, 100 * 172, "udp"));
    assert_eq!((real_time.lost, real_time.loss_bursts, real_time.late), (0.0, 0, Some(0.0)));
    // 20.125 ms of packetisation, 15.8 ms of path and 60 ms of jitter buffer: below 100 ms only echo impairs
    // the call.
    let codec = transport::Codec::G711.rated().unwrap();
    let r = chains::r_factor(codec, units::Span::from_micros(95_925), chains::SpeechLoss::default());
    assert_eq!((real_time.r_factor, real_time.mos), (Some(r), Some(chains::mos(r))));
    assert!((90.6..90.9).contains(&r), "{r}");
    let s = series(&o, "f");
    assert_eq!((s.delay_ms[0], s.delay_ms[1], s.delay_ms[2]), (None, None, Some(15.8)));
}

/// A probe of 100 bytes: 0.4 ms at 2 Mbit/s, 0.1 ms at 8 Mbit/s, and 30 ms of propagation.
#[test]
fn a_probe_measures_the_round_trip() {
    let text = r#"duration = "1050ms"
[links.path]
between = ["a", "b"]
forward = [{ kind = "link", rate = "2Mbit/s", delay = "20ms" }]
backward = [{ kind = "link", rate = "8Mbit/s", delay = "10ms" }, { kind = "loss", model = "every", every = 5 }]
[flows.f]
from = "a"
to = "b"
app = { kind = "probe", size = 100 }
"#;
    let o = run(text);
    let f = flow(&o, "f");
    let real_time = f.real_time.unwrap();
    assert_eq!((real_time.delay_ms.min, real_time.delay_ms.mean, real_time.delay_ms.max), (30.5, 30.5, 30.5));
    // All eleven probes reached b; every fifth answer is lost.
    assert_eq!((f.sent_packets, f.delivered_bytes, f.lost_packets), (11, 11 * 72, Some(2)));
    assert_eq!((real_time.lost, real_time.loss_bursts, real_time.loss_burst_max), (2.0 / 11.0, 2, 1));
    assert_eq!((real_time.mos, real_time.late), (None, None));
}

/// Packets dropped by a full queue are lost, packets still queued at the end of the run are not: 4 Mbit/s
/// into 1 Mbit/s.
#[test]
fn losses_are_those_of_the_queue() {
    let link = r#"{ kind = "link", rate = "1Mbit/s", queue = { kind = "fifo", packets = 20 } }"#;
    let udp =
        "[flows.f]\nfrom = \"a\"\nto = \"b\"\napp = { kind = \"udp\", rate = \"4Mbit/s\", size = 1000 }\n";
    let o = run(&path("duration = \"3s\"", link, 20.0, udp));
    let f = flow(&o, "f");
    let real_time = f.real_time.unwrap();
    let lost = f.lost_packets.unwrap();
    let arrived = f.delivered_bytes / 972;
    assert_eq!(real_time.lost, lost as f64 / (arrived + lost) as f64);
    assert!(
        f.sent_packets > arrived + lost,
        "{} were sent, {arrived} arrived, {lost} were lost",
        f.sent_packets
    );
    // Three of four packets, in runs of three, until the last packet.
    assert!((0.70..0.76).contains(&real_time.lost), "{}", real_time.lost);
    assert!((2.5..=3.1).contains(&real_time.loss_burst_mean), "{}", real_time.loss_burst_mean);
}

/// The packets of a call that shares a deep queue with an upload arrive too late to be played; alone, the
/// call is good.
#[test]
fn a_deep_queue_ends_a_call() {
    let link = r#"{ kind = "link", rate = "2Mbit/s", queue = { kind = "fifo", packets = 200 } }"#;
    let upload = format!("{CALL}[flows.up]\nfrom = \"a\"\nto = \"b\"\nstart = \"1s\"\n");
    let o = run(&path("duration = \"10s\"", link, 30.0, &upload));
    let real_time = flow(&o, "f").real_time.unwrap();
    assert!(real_time.late.unwrap() > 0.5 && real_time.mos.unwrap() < 1.5, "{real_time:?}");
    assert!(real_time.delay_ms.p95 > 300.0, "{real_time:?}");
    assert!(flow(&o, "up").real_time.is_none());
}
