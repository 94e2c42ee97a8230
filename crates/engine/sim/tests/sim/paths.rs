//! Topologies and adverse paths through the whole simulator: relays, tunnels, outages, applications.

use crate::common::*;
use result::TooBigPackets;

/// Two relays in a row with small buffers and data in both directions: no deadlock, and no rate above that of
/// the slowest leg.
#[test]
fn two_relays_with_small_buffers() {
    for buffer in ["1kB", "10kB", "200kB"] {
        for app in [
            "{ kind = \"bulk\", bytes = \"2MB\" }",
            "{ kind = \"request\", request = \"50kB\", response = \"100kB\", count = 10 }",
        ] {
            let text = format!(
                r#"duration = "600s"
sample = "0s"
[links]
one = {{ between = ["a", "r"], forward = [{{ kind = "link", rate = "50Mbit/s", delay = "5ms" }}], backward = [{{ kind = "delay", delay = "5ms" }}] }}
two = {{ between = ["r", "s"], forward = [{{ kind = "link", rate = "5Mbit/s", delay = "10ms" }}], backward = [{{ kind = "delay", delay = "10ms" }}] }}
three = {{ between = ["s", "b"], forward = [{{ kind = "link", rate = "20Mbit/s", delay = "20ms" }}], backward = [{{ kind = "delay", delay = "20ms" }}] }}
[relays]
x = {{ host = "r", buffer = "{buffer}" }}
y = {{ host = "s", buffer = "{buffer}", cc = "reno" }}
[flows.f]
from = "a"
to = "b"
via = ["x", "y"]
app = {app}
"#
            );
            let o = run(&text);
            let f = flow(&o, "f");
            let bytes = if app.contains("bulk") { 2_000_000 } else { 1_000_000 };
            assert_eq!(f.delivered_bytes, bytes, "buffer {buffer}, {app}");
            assert_eq!(f.completed, app.contains("request").then_some(10));
            assert!(f.goodput_mbps < if bytes == 2_000_000 { 5.0 } else { 20.0 }, "{}", f.goodput_mbps);
            assert_eq!(f.timeouts, 0);
            if buffer == "200kB" && bytes == 2_000_000 {
                assert!(f.goodput_mbps > 4.0, "{}", f.goodput_mbps);
            }
        }
    }
}

/// A transfer completes when its last byte is delivered to the receiver, not to a relay: 2 MB over a slow
/// second leg are not faster than that leg.
#[test]
fn a_transfer_ends_with_its_last_byte() {
    let text = |app: &str| {
        format!(
            r#"duration = "60s"
sample = "0s"
[links]
fast = {{ between = ["a", "r"], forward = [{{ kind = "link", rate = "100Mbit/s" }}] }}
slow = {{ between = ["r", "b"], forward = [{{ kind = "link", rate = "2Mbit/s", delay = "10ms" }}] }}
[relays.x]
host = "r"
[flows.f]
from = "a"
to = "b"
via = ["x"]
app = {app}
"#
        )
    };
    for app in ["{ kind = \"bulk\", bytes = \"2MB\" }", "{ kind = \"bulk\", duration = \"2s\" }"] {
        let o = run(&text(app));
        let rate = flow(&o, "f").own_goodput_mbps();
        assert!(rate > 1.8 && rate < 2.0, "{app}: {rate}");
    }
    // 1 MB at 10 Mbit/s: 1000 kB / 1448 B * 1500 B take 0.829 s, plus slow start.
    let link = "{ kind = \"link\", rate = \"10Mbit/s\" }";
    let flows = "[flows.f]\nfrom = \"a\"\nto = \"b\"\napp = { kind = \"bulk\", bytes = \"1MB\" }\n";
    let o = run(&path("duration = \"20s\"", link, 10.0, flows));
    let seconds = 8.0 / flow(&o, "f").own_goodput_mbps();
    assert!(seconds > 0.829 && seconds < 0.829 + 0.06, "{seconds}");
}

/// A thousand requests of one byte: each takes an RTT, without waiting for a delayed ACK.
#[test]
fn exchanges_take_a_round_trip_each() {
    let app = |think: &str| {
        format!(
            "[flows.f]\nfrom = \"a\"\nto = \"b\"\napp = {{ kind = \"request\", request = \"1B\", response = \"100B\", {think}count = 1000 }}\n"
        )
    };
    let o = run(&path("duration = \"100s\"", "", 20.0, &app("")));
    let f = flow(&o, "f");
    assert_eq!((f.completed, f.delivered_bytes, f.retransmitted_packets), (Some(1000), 100_000, 0));
    close("seconds for 1000 exchanges", 100_000.0 * 8e-6 / f.own_goodput_mbps(), 20.0, 0.5);
    let o = run(&path("duration = \"100s\"", "", 20.0, &app("think = \"30ms\", ")));
    close("with a pause", 100_000.0 * 8e-6 / flow(&o, "f").own_goodput_mbps(), 50.0 - 0.03, 0.5);
}

/// An on-off application with a rate: everything written is delivered, in bursts.
#[test]
fn bursts_at_a_rate() {
    let flows = "[flows.f]\nfrom = \"a\"\nto = \"b\"\napp = { kind = \"onoff\", on = \"1s\", off = \"3s\", rate = \"2Mbit/s\" }\n";
    let o = run(&path("duration = \"40s\"", "{ kind = \"link\", rate = \"10Mbit/s\" }", 30.0, flows));
    let f = flow(&o, "f");
    assert_eq!((f.delivered_bytes, f.retransmitted_packets, f.timeouts), (10 * 250_000, 0, 0));
    let s = series(&o, "f");
    assert!(goodput(s, 4.2, 5.0) > 1.9 && goodput(s, 5.2, 7.9) == 0.0);
    // Without a rate: each burst is a second at the link's rate.
    let flows = flows.replace(", rate = \"2Mbit/s\"", "");
    let o = run(&path("duration = \"40s\"", "{ kind = \"link\", rate = \"10Mbit/s\" }", 30.0, &flows));
    let most = 10.0 * 10.0 / 40.0;
    let rate = flow(&o, "f").goodput_mbps;
    assert!(rate > 0.75 * most && rate < 1.6 * most, "{rate} of {most}");
}

/// Flows with a count and a stagger start in sequence and share the link.
#[test]
fn staggered_flows_start_in_sequence_and_share() {
    let flows = "[flows.f]\nfrom = \"a\"\nto = \"b\"\ncount = 3\nstart = \"1s\"\nstagger = \"2s\"\n";
    let o = run(&path("duration = \"30s\"", "{ kind = \"link\", rate = \"10Mbit/s\" }", 20.0, flows));
    for (name, start) in [("f-1", 1.0), ("f-2", 3.0), ("f-3", 5.0)] {
        let s = series(&o, name);
        let first = s.time_s.iter().zip(&s.delivered_bytes).find(|(_, d)| **d > 0).map(|(t, _)| *t);
        assert!(first.is_some_and(|t| t > start && t < start + 1.5), "{name}: {first:?}");
    }
    assert!(o.variant.total_goodput_mbps > 9.0);
}

/// A tunnel in the middle of the path carries 1400 bytes and reports that: path MTU discovery, no packet
/// counted as lost.
#[test]
fn a_tunnel_that_reports_its_mtu() {
    let stages = "{ kind = \"tunnel\", overhead = 60, mtu = 1400 }, { kind = \"link\", rate = \"20Mbit/s\" }, { kind = \"tunnel-end\" }";
    for profile in ["linux", "rfc"] {
        let head = format!("duration = \"10s\"\n[hosts.a]\nstack = {{ profile = \"{profile}\" }}");
        let o = run(&path(&head, stages, 30.0, &bulk("cubic")));
        let f = flow(&o, "f");
        assert_eq!(f.timeouts, 0);
        assert!(f.goodput_mbps > 17.0, "{profile}: {}", f.goodput_mbps);
        let tunnel = element(&o, "tunnel");
        let first = TooBigPackets { mtu_bytes: 1340, largest_bytes: 1500, icmp_sent: true };
        assert_eq!((tunnel.dropped_packets, tunnel.too_big), (0, Some(first)));
        // The initial window was in flight when the first report arrived.
        assert!((1..=10).contains(&tunnel.too_big_packets), "{tunnel:?}");
        assert_eq!(f.lost_packets, Some(0));
    }
}

/// The MTU of a link inside the tunnel is too small: its message states the MTU for the outer packet, and the
/// tunnel's entry reports to the sender the MTU for the inner one.
#[test]
fn a_narrow_link_inside_a_tunnel() {
    for (overhead, mss) in [("60", 1388), ("\"esp-aes-gcm\"", 1392)] {
        let stages = format!(
            "{{ kind = \"tunnel\", overhead = {overhead} }}, {{ kind = \"link\", rate = \"20Mbit/s\", mtu = 1500 }}, {{ kind = \"tunnel-end\" }}"
        );
        let o = run(&path("duration = \"10s\"", &stages, 30.0, &bulk("cubic")));
        let f = flow(&o, "f");
        assert!(f.goodput_mbps > 17.0 && f.timeouts == 0, "{f:?}");
        assert_eq!(f.mss_bytes, Some(mss), "{overhead}");
    }
}

/// The same tunnel without ICMP: no full-sized segment ever passes. With `tcp_mtu_probing` the sender
/// discovers the MTU after three seconds of timeouts.
#[test]
fn mtu_probing_ends_a_black_hole() {
    let stages = "{ kind = \"tunnel\", overhead = 60, mtu = 1400, icmp = false }, { kind = \"link\", rate = \"20Mbit/s\" }, { kind = \"tunnel-end\" }";
    let run_with = |probing: &str| {
        let head = format!("duration = \"10s\"\n[hosts.a]\nstack = {{ mtu_probing = \"{probing}\" }}");
        run(&path(&head, stages, 30.0, &bulk("cubic")))
    };
    let (off, on, always) = (run_with("off"), run_with("on-blackhole"), run_with("always"));
    for o in [&off, &on] {
        let tunnel = element(o, "tunnel");
        let vanished = TooBigPackets { mtu_bytes: 1340, largest_bytes: 1500, icmp_sent: false };
        assert_eq!((tunnel.dropped_packets, tunnel.too_big), (0, Some(vanished)));
        assert_eq!(flow(o, "f").lost_packets, Some(tunnel.too_big_packets));
    }
    // Probing starts at 1024 bytes and then searches upwards; 1288 bytes pass.
    let found = flow(&on, "f").mss_bytes;
    assert_eq!(flow(&off, "f").delivered_bytes, 0);
    assert!(found.is_some_and(|mss| (1024..=1288).contains(&mss)), "{found:?}");
    assert!(flow(&off, "f").timeouts >= 5);
    let s = series(&on, "f");
    assert_eq!(goodput(s, 0.0, 3.0), 0.0);
    // The first probe that is too big ends slow start (`tcp_simple_retransmit`).
    assert!(goodput(s, 5.0, 10.0) > 15.0, "{}", goodput(s, 5.0, 10.0));
    // A few probes are too big: 1342, and some of 1314, 1300, 1293, or others if a queue was full.
    let tried = element(&always, "tunnel").too_big_packets;
    assert!(flow(&always, "f").timeouts == 0 && (1..=6).contains(&tried), "{tried}");
}

/// Fragments are reassembled by the end of the tunnel, or by the receiving host where there is none.
/// Duplicates of fragments complete nothing, and a lost fragment is a lost packet.
#[test]
fn fragments_with_and_without_a_tunnel_end() {
    let tunnel = "{ kind = \"tunnel\", overhead = 60, mtu = 1500, fragment = true }, { kind = \"link\", rate = \"20Mbit/s\" }";
    let runs =
        |stages: &str| run(&path("duration = \"10s\"", &format!("{tunnel}{stages}"), 30.0, &bulk("cubic")));
    let (with, without) = (runs(", { kind = \"tunnel-end\" }"), runs(""));
    for o in [&with, &without] {
        assert!(flow(o, "f").goodput_mbps > 16.0, "{}", flow(o, "f").goodput_mbps);
        assert_eq!(flow(o, "f").timeouts, 0);
        let tunnel = element(o, "tunnel");
        assert_eq!((tunnel.dropped_packets, tunnel.too_big_packets), (0, 0));
        assert!(tunnel.fragmented_packets * 2 <= tunnel.passed_packets && tunnel.fragmented_packets > 10_000);
    }
    // Reassembled fragments do not count as lost.
    let end = element(&with, "tunnel-end");
    assert_eq!(end.dropped_packets, 0);
    assert!(element(&with, "tunnel").fragmented_packets - end.joined_packets <= 1000, "{end:?}");
    let lossy =
        runs(", { kind = \"duplicate\", probability = 0.3 }, { kind = \"loss\", probability = 0.01 }");
    let f = flow(&lossy, "f");
    assert!(f.lost_packets.unwrap() > 50 && f.goodput_mbps > 0.5, "{f:?}");
}

/// 30 % loss in both directions: connections make progress with any stack.
#[test]
fn heavy_loss() {
    let text = r#"duration = "120s"
sample = "0s"
[links.path]
between = ["a", "b"]
forward = [{ kind = "loss", probability = 0.3 }, { kind = "delay", delay = "5ms" }]
backward = [{ kind = "loss", probability = 0.3 }, { kind = "delay", delay = "5ms" }]
[flows]
reno = { from = "a", to = "b", cc = "reno" }
cubic = { from = "a", to = "b", cc = "cubic" }
bbr = { from = "a", to = "b", cc = "bbr" }
ask = { from = "a", to = "b", app = { kind = "request", request = "1kB", response = "1kB" } }
"#;
    let o = run(text);
    for f in &o.variant.flows {
        assert!(f.delivered_bytes > 20_000, "{}: {}", f.name, f.delivered_bytes);
    }
}

/// Five seconds of outage: within the doubled timeout after it, everything flows again.
#[test]
fn an_outage_of_five_seconds() {
    for cc in ["reno", "cubic", "bbr"] {
        let stages =
            "{ kind = \"link\", rate = \"20Mbit/s\" }, { kind = \"outage\", at = [\"5s\"], lasts = \"5s\" }";
        let o = run(&path("duration = \"30s\"", stages, 40.0, &bulk(cc)));
        let s = series(&o, "f");
        assert_eq!(goodput(s, 5.2, 9.9), 0.0);
        assert!(goodput(s, 20.0, 30.0) > 15.0, "{cc}: {}", goodput(s, 20.0, 30.0));
        assert!(flow(&o, "f").timeouts >= 4);
    }
}

/// A queue of one packet, a window of gigabytes, a rate of kilobits: nothing fails.
#[test]
fn extremes() {
    let small = "{ kind = \"link\", rate = \"5Mbit/s\", queue = { kind = \"fifo\", packets = 1 } }";
    for cc in ["reno", "cubic", "bbr"] {
        let o = run(&path("duration = \"30s\"", small, 20.0, &bulk(cc)));
        assert!(flow(&o, "f").goodput_mbps > 0.5, "{cc}: {}", flow(&o, "f").goodput_mbps);
    }
    let head = "duration = \"6s\"\n[hosts.a]\nstack = { send_buffer = \"1GB\" }\n[hosts.b]\nstack = { receive_buffer = \"1GB\" }";
    let fat = "{ kind = \"link\", rate = \"10Gbit/s\", queue = { kind = \"fifo\", packets = 200000 } }";
    let o = run(&path(head, fat, 200.0, &bulk("cubic")));
    let rate = goodput(series(&o, "f"), 4.0, 6.0);
    assert!(rate > 9000.0, "10 Gbit/s times 200 ms: {rate}");
    let slow = "{ kind = \"link\", rate = \"20kbit/s\" }";
    let o = run(&path("duration = \"60s\"", slow, 200.0, &bulk("cubic")));
    assert!(flow(&o, "f").goodput_mbps > 0.014, "{}", flow(&o, "f").goodput_mbps);
}

/// Reordering: RACK waits for late packets, the duplicate ACKs of the RFCs do not.
#[test]
fn rack_tolerates_reordering_and_duplicate_acks_do_not() {
    let rate = |profile: &str| {
        let head =
            format!("duration = \"30s\"\nsample = \"0s\"\n[hosts.a]\nstack = {{ profile = \"{profile}\" }}");
        let stages = "{ kind = \"link\", rate = \"20Mbit/s\" }, { kind = \"reorder\", probability = 0.02, delay = \"8ms\" }";
        let o = run(&path(&head, stages, 40.0, &bulk("cubic")));
        flow(&o, "f").goodput_mbps
    };
    let (linux, rfc) = (rate("linux"), rate("rfc"));
    println!("2 % held back by 8 ms: linux {linux:.1}, rfc {rfc:.1} Mbit/s");
    assert!(linux > 18.0 && rfc < 0.7 * linux, "{linux} {rfc}");
}

/// A path that duplicates packets causes D-SACKs, which must not undo any reduction.
#[test]
fn duplicates_do_not_change_the_window() {
    let stages = "{ kind = \"link\", rate = \"20Mbit/s\" }, { kind = \"duplicate\", probability = 0.1 }";
    let o = run(&path("duration = \"20s\"", stages, 40.0, &bulk("cubic")));
    assert!(flow(&o, "f").goodput_mbps > 18.0);
}

/// Flows in both directions at once: each direction gets its full rate.
#[test]
fn both_directions_at_once() {
    let text = r#"duration = "20s"
sample = "0s"
[links.path]
between = ["a", "b"]
forward = [{ kind = "link", rate = "10Mbit/s", delay = "10ms" }]
backward = [{ kind = "link", rate = "10Mbit/s", delay = "10ms" }]
[flows]
there = { from = "a", to = "b" }
back = { from = "b", to = "a" }
"#;
    let o = run(text);
    for f in &o.variant.flows {
        assert!(f.goodput_mbps > 8.0, "{}: {}", f.name, f.goodput_mbps);
    }
}
