//! Whole networks: tunnels made by services, customers with separate routes, faults and the route changes
//! that they cause.

use crate::common::*;

const NET: &str = r#"
duration = "14s"
hosts.pc.customer = "red"
hosts.box.customer = "red"
hosts.far.customer = "red"
hosts.box.services = [{ kind = "ipsec", link = "radio" }, { kind = "ipsec", link = "wired" }, { kind = "bgp", as = 1, hold = "3s" }]
hosts.gw.services = [{ kind = "ipsec", link = "radio" }, { kind = "ipsec", link = "wired" }, { kind = "bgp", as = 2, hold = "3s" }]
[links]
lan = { between = ["pc", "box"], forward = [{ kind = "link", rate = "1Gbit/s" }] }
radio = { between = ["box", "gw"], forward = [{ kind = "link", rate = "20Mbit/s", delay = "10ms" }], backward = [{ kind = "delay", delay = "10ms" }] }
wired = { between = ["box", "gw"], forward = [{ kind = "link", rate = "10Mbit/s", delay = "10ms" }], backward = [{ kind = "delay", delay = "10ms" }] }
pop = { between = ["gw", "far"] }
[flows.bulk]
from = "pc"
to = "far"
[flows.voice]
from = "pc"
to = "far"
app = { kind = "udp", rate = "80kbit/s", size = 200 }
"#;

/// ESP in UDP adds 62 bytes to a packet of 1398 bytes, of which 52 are TCP and IP headers; the path reports
/// the MTU to the sender.
#[test]
fn a_tunnel_costs_its_headers() {
    let o = run(&NET.replace("[flows.voice]", "[flows.voice]\nenabled = false"));
    let f = flow(&o, "bulk");
    close("goodput of the tunnel", f.goodput_mbps, 20.0 * 1346.0 / 1460.0, 2.0);
    let entry = element(&o, "radio.forward.ipsec");
    assert!(
        entry.too_big_packets > 0 && entry.too_big.as_ref().is_some_and(|t| t.mtu_bytes == 1398),
        "{entry:?}"
    );
    assert_eq!(element(&o, "wired.forward.ipsec").passed_packets, 0);
    let stage = &o.variant.path.as_ref().expect("a topology").links[1].forward[0];
    assert!(stage.assumed && stage.kind == "tunnel", "the simulator added the stage");
}

/// Longest time without an arrival, s.
fn gap(o: &result::Outcome, name: &str) -> f64 {
    let s = series(o, name);
    let (mut last, mut longest) = (0.0, 0.0f64);
    for i in 1..s.time_s.len() {
        if s.delivered_bytes[i] > s.delivered_bytes[i - 1] {
            if s.delivered_bytes[i - 1] > 0 {
                longest = longest.max(s.time_s[i] - last);
            }
            last = s.time_s[i];
        }
    }
    longest
}

/// Hold time 3 s, of which half a second has passed on average: the wired link takes over after 2.5 s.
#[test]
fn traffic_moves_to_the_other_uplink_after_the_hold_time() {
    let fault = "[faults.cut]\nkind = \"link\"\nlink = \"radio\"\nat = \"4s\"\nlasts = \"5s\"\n";
    let o = run(&format!("{NET}{fault}"));
    let voice = gap(&o, "voice");
    assert!((2.48..2.56).contains(&voice), "{voice}");
    // The retransmission timeout doubles, so the bulk flow resumes later.
    assert!(gap(&o, "bulk") >= voice - 0.03);
    assert!(element(&o, "wired.forward.ipsec").passed_packets > 500);
    let rate = goodput(series(&o, "bulk"), 8.0, 9.0);
    assert!((6.0..9.3).contains(&rate), "{rate} Mbit/s over the wired link");
    let rate = goodput(series(&o, "bulk"), 12.0, 14.0);
    assert!(rate > 12.0, "{rate} Mbit/s back on the radio");
}

#[test]
fn short_faults_and_announced_withdrawals_interrupt_less() {
    let fault = |kind: &str, lasts: &str| {
        let fault =
            format!("[faults.cut]\nkind = \"{kind}\"\nlink = \"radio\"\nat = \"4s\"\nlasts = \"{lasts}\"\n");
        let o = run(&format!("{NET}{fault}"));
        (gap(&o, "voice"), element(&o, "wired.forward.ipsec").passed_packets)
    };
    let (short, passed) = fault("tunnel", "1s");
    assert!((0.98..1.06).contains(&short) && passed == 0, "{short}, {passed}");
    let (ceased, passed) = fault("bgp", "3s");
    assert!(ceased < 0.3 && passed > 500, "{ceased}, {passed}");
}

/// Two customers with the same address, over separate links.
#[test]
fn customers_take_their_own_links() {
    let text = r#"
        duration = "2s"
        [hosts]
        a1 = { customer = "red", addresses = ["192.168.0.1/24"] }
        b1 = { customer = "blue", addresses = ["192.168.0.1/24"] }
        a2 = { customer = "red", addresses = ["192.168.1.1/24"] }
        b2 = { customer = "blue", addresses = ["192.168.1.1/24"] }
        [links]
        a1 = { between = ["a1", "gw"] }
        b1 = { between = ["b1", "gw"] }
        red = { between = ["gw", "pe"], customer = "red", forward = [{ kind = "link", rate = "5Mbit/s", delay = "5ms" }] }
        blue = { between = ["gw", "pe"], customer = "blue", forward = [{ kind = "link", rate = "3Mbit/s", delay = "5ms" }] }
        a2 = { between = ["pe", "a2"] }
        b2 = { between = ["pe", "b2"] }
        [flows]
        red = { from = "a1", to = "a2" }
        blue = { from = "b1", to = "b2" }
    "#;
    let o = run(text);
    close("red", flow(&o, "red").goodput_mbps, 5.0 * 1448.0 / 1500.0, 5.0);
    close("blue", flow(&o, "blue").goodput_mbps, 3.0 * 1448.0 / 1500.0, 5.0);
}

/// Two gateways between a box and a core; the first carries all traffic.
const GATEWAYS: &str = r#"
duration = "16s"
hosts.box.services = [{ kind = "ipsec", link = "one" }, { kind = "ipsec", link = "two" }, { kind = "bgp", as = 1, hold = "3s" }]
hosts.gw1.services = [{ kind = "ipsec", link = "one" }, { kind = "bgp", as = 2, hold = "3s" }]
hosts.gw2.services = [{ kind = "ipsec", link = "two" }, { kind = "bgp", as = 3, hold = "3s" }]
hosts.core.services = [{ kind = "bgp", as = 4, hold = "3s" }]
[links]
lan = { between = ["pc", "box"], forward = [{ kind = "link", rate = "1Gbit/s" }] }
one = { between = ["box", "gw1"], forward = [{ kind = "link", rate = "20Mbit/s", delay = "10ms" }], backward = [{ kind = "delay", delay = "10ms" }] }
two = { between = ["box", "gw2"], forward = [{ kind = "link", rate = "10Mbit/s", delay = "10ms" }], backward = [{ kind = "delay", delay = "10ms" }] }
one-core = { between = ["gw1", "core"] }
two-core = { between = ["gw2", "core"] }
pop = { between = ["core", "far"] }
[flows.bulk]
from = "pc"
to = "far"
[flows.voice]
from = "far"
to = "pc"
app = { kind = "voice", codec = "g711" }
"#;

fn gateway(host: &str, lasts: &str) -> result::Outcome {
    let fault =
        format!("[faults.power]\nkind = \"host\"\nhost = \"{host}\"\nat = \"4s\"\nlasts = \"{lasts}\"\n");
    run(&format!("{GATEWAYS}{fault}"))
}

fn outage<'a>(o: &'a result::Outcome, name: &str) -> &'a result::FlowOutage {
    &flow(o, name).outages[0]
}

/// Both sides notice the fault half a second before the hold time has passed, on average; the other gateway
/// takes over.
#[test]
fn traffic_moves_to_the_other_gateway() {
    let o = gateway("gw1", "6s");
    let fault = &o.variant.faults[0];
    assert_eq!(
        (fault.kind.as_str(), fault.of.as_str(), fault.at_s, fault.duration_s),
        ("host", "gw1", 4.0, 6.0)
    );
    let voice = outage(&o, "voice");
    let silence = voice.silence_ms.expect("a silence in ms");
    assert!((2480.0..2560.0).contains(&silence), "{silence}");
    // 50 packets/s.
    let lost = voice.lost_packets.expect("the number of lost datagrams");
    assert!((silence / 20.0 - lost as f64).abs() < 4.0, "{lost} of {silence} ms");
    assert!(
        outage(&o, "bulk").recovery_ms.expect("the flow recovers")
            >= voice.recovery_ms.expect("the flow recovers") - 30.0
    );
    assert!(element(&o, "two.forward.ipsec").passed_packets > 500);
    let rate = goodput(series(&o, "bulk"), 14.0, 16.0);
    assert!(rate > 12.0, "{rate} Mbit/s back over the first");
}

/// The gateway is back before its neighbours notice, and its tunnel 0.3 s later. But its sessions are gone:
/// at their next keepalives, 0.5 s later on average, the neighbours use the other route.
#[test]
fn traffic_leaves_a_gateway_after_its_restart() {
    let o = gateway("gw1", "1s");
    let silence = outage(&o, "voice").silence_ms.expect("a silence in ms");
    assert!((1300.0..1360.0).contains(&silence), "{silence}");
    assert!(element(&o, "two.forward.ipsec").passed_packets > 100);
}

#[test]
fn flows_over_the_other_gateway_are_not_affected() {
    let o = gateway("gw2", "6s");
    let voice = outage(&o, "voice");
    assert!(voice.silence_ms.expect("a silence in ms") <= 40.0 && voice.lost_packets == Some(0), "{voice:?}");
}

/// IPv6 has 40 bytes of header instead of 20 in every packet, whether data, ACK or datagram; the MTU is the
/// same.
#[test]
fn an_ipv6_packet_has_20_bytes_more() {
    let text = |a: &str, b: &str| {
        format!(
            "duration = \"5s\"\nhosts.a.addresses = [\"{a}\"]\nhosts.b.addresses = [\"{b}\"]\n[links.l]\nbetween = [\"a\", \"b\"]\n\
             forward = [{{ kind = \"link\", rate = \"10Mbit/s\", delay = \"5ms\" }}]\nbackward = [{{ kind = \"delay\", delay = \"5ms\" }}]\n\
             [flows.f]\nfrom = \"a\"\nto = \"b\"\n"
        )
    };
    for (a, b, mss) in
        [("2001:db8::1/64", "2001:db8::2/64", 1428), ("192.168.0.1/24", "192.168.0.2/24", 1448)]
    {
        let o = run(&text(a, b));
        assert_eq!(flow(&o, "f").mss_bytes, Some(mss));
        let busy = goodput(series(&o, "f"), 2.0, 5.0);
        close("goodput", busy, 10.0 * f64::from(mss) / 1500.0, 0.5);
    }
}

/// The same file as in the test on the kernel (`crates/machine/lab/tests/kernel/networks.rs`).
#[test]
fn path_mtu_discovery_works_for_ipv6_of_two_customers() {
    let o = run(include_str!("../../../../../scenarios/ipv6.toml"));
    assert_eq!((flow(&o, "red").mss_bytes, flow(&o, "blue").mss_bytes), (Some(1328), Some(1328)));
    let link = element(&o, "red-wan.forward.link");
    assert!(link.too_big.is_some_and(|t| t.icmp_sent && t.mtu_bytes == 1400), "{link:?}");
    close("red", goodput(series(&o, "red"), 2.0, 5.0), 20.0 * 1328.0 / 1400.0, 2.0);
    close("blue", goodput(series(&o, "blue"), 2.0, 5.0), 5.0 * 1328.0 / 1400.0, 2.0);
    // As many packets as a call with 200 bytes of IPv4, each 20 bytes longer.
    assert!(flow(&o, "voice").real_time.expect("a real-time summary").lost < 0.05);
}

/// The headers of both IP versions are on the wire, also in a tunnel. A datagram flow's size and rate are
/// those of its packets; a codec's are fixed.
#[test]
fn both_versions_share_a_link_and_a_tunnel() {
    let text = "duration = \"8s\"\nhosts.c.addresses = [\"2001:db8::1/64\"]\nhosts.d.addresses = [\"2001:db8::2/64\"]\n\
         [links]\nag = { between = [\"a\", \"g\"] }\ncg = { between = [\"c\", \"g\"] }\n\
         hb = { between = [\"h\", \"b\"] }\nhd = { between = [\"h\", \"d\"] }\n\
         [links.gh]\nbetween = [\"g\", \"h\"]\n\
         forward = [{ kind = \"tunnel\", overhead = 60, mtu = 1460 }, { kind = \"link\", rate = \"20Mbit/s\", delay = \"5ms\" }]\n\
         backward = [{ kind = \"delay\", delay = \"5ms\" }]\n[flows]\n\
         four = { from = \"a\", to = \"b\" }\nsix = { from = \"c\", to = \"d\" }\n\
         udp = { from = \"c\", to = \"d\", app = { kind = \"udp\", rate = \"2Mbit/s\", size = 1000 } }\n";
    let o = run(text);
    // 1400 bytes fit into the tunnel: minus 52 for IPv4 and TCP with timestamps, minus 72 for IPv6.
    let mss_and_goodput = |name: &str| (flow(&o, name).mss_bytes, goodput(series(&o, name), 3.0, 8.0));
    let ((four_mss, four), (six_mss, six), (_, udp)) =
        (mss_and_goodput("four"), mss_and_goodput("six"), mss_and_goodput("udp"));
    assert_eq!((four_mss, six_mss), (Some(1348), Some(1328)));
    // 952 bytes in a packet of 1000; the queue in front of the link grows and shrinks.
    close("datagrams", udp, 2.0 * 0.952, 15.0);
    // The tunnel adds 60 bytes to each packet; the link is full.
    let wire = four * 1460.0 / 1348.0 + six * 1460.0 / 1328.0 + udp * 1060.0 / 952.0;
    close("on the wire", wire, 20.0, 3.0);
    assert!(four > 2.0 && six > 2.0, "{four} {six}");
}
