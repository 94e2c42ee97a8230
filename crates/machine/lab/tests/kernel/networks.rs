//! Whole networks on the kernel: customers with overlapping addresses, and strongSwan, BIRD and vsftpd
//! between hosts. Runs in real time, as root; otherwise, or if a daemon is not installed, prints that it is
//! skipped.

use lab::{LabError, LabOptions};
use result::Outcome;
use scenario::{Experiment, Scenario};

fn parse(text: &str) -> Scenario {
    Experiment::parse("t.toml", text, &[])
        .unwrap_or_else(|e| panic!("{}", e.render()))
        .variants
        .remove(0)
        .scenario
}

/// Returns the outcome and the hosts' show output; `None` if it cannot run here.
fn run(text: &str) -> Option<(Outcome, String)> {
    let scenario = parse(text);
    let missing_needs = lab::missing(&[&scenario]).remove(0);
    if !missing_needs.is_empty() {
        eprintln!("SKIPPED: {missing_needs:?}");
        return None;
    }
    let mut answers = String::new();
    let mut shown = |text: &str| answers += text;
    // Notices explain failures, such as a full disk or a device that is not writable.
    let mut notice = |text: &str| eprintln!("{text}");
    let options =
        LabOptions { seed: 1, shown: Some(&mut shown), notice: Some(&mut notice), ..LabOptions::default() };
    match lab::run("test", &scenario, options) {
        Ok(outcome) => Some((outcome, answers)),
        Err(e @ LabError::Permission { .. }) => {
            eprintln!("SKIPPED: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

fn goodput(outcome: &Outcome, flow: &str) -> f64 {
    outcome.variant.flows.iter().find(|f| f.name == flow).expect("a flow of that name").goodput_mbps
}

/// Two customers with the same addresses behind two shared hosts: each flow uses its own customer's link.
#[test]
fn customers_with_the_same_addresses_are_separated() {
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
        blue = { between = ["gw", "pe"], customer = "blue", forward = [{ kind = "link", rate = "2Mbit/s", delay = "5ms" }] }
        a2 = { between = ["pe", "a2"] }
        b2 = { between = ["pe", "b2"] }
        [flows]
        red = { from = "a1", to = "a2" }
        blue = { from = "b1", to = "b2" }
    "#;
    let Some((o, _)) = run(text) else { return };
    let (red, blue) = (goodput(&o, "red"), goodput(&o, "blue"));
    assert!((4.0..5.0).contains(&red) && (1.5..2.0).contains(&blue), "{red}, {blue}");
}

/// A tunnel with BGP inside and an FTP download through it, next to another customer with the same addresses.
/// Then the session fails for a second, and its route with it.
#[test]
fn tunnels_sessions_and_ftp_work_and_follow_faults() {
    let text = r#"
        duration = "10s"
        [hosts.pc]
        customer = "red"
        addresses = ["192.168.30.1/24"]
        [hosts.box]
        customer = "red"
        services = [{ kind = "ipsec", link = "access" }, { kind = "bgp", as = 65001, hold = "3s" }]
        [hosts.gw]
        services = [{ kind = "ipsec", link = "access" }, { kind = "ipsec", link = "blue" }, { kind = "bgp", as = 65000, hold = "3s" }]
        [hosts.server]
        customer = "red"
        addresses = ["172.16.0.10/24"]
        services = [{ kind = "ftp" }]
        [hosts.other]
        customer = "blue"
        addresses = ["192.168.30.1/24"]
        services = [{ kind = "ipsec", link = "blue" }, { kind = "bgp", as = 65002, hold = "3s" }]
        [links]
        lan = { between = ["pc", "box"] }
        access = { between = ["box", "gw"], forward = [{ kind = "link", rate = "10Mbit/s", delay = "5ms", queue = { kind = "fifo", packets = 50 } }], backward = [{ kind = "link", rate = "10Mbit/s", delay = "5ms", queue = { kind = "fifo", packets = 50 } }] }
        blue = { between = ["other", "gw"], forward = [{ kind = "delay", delay = "5ms" }], backward = [{ kind = "delay", delay = "5ms" }] }
        pop = { between = ["gw", "server"] }
        [flows.up]
        from = "pc"
        to = "server"
        [flows.down]
        from = "pc"
        to = "server"
        app = { kind = "request", request = "1kB", response = "1GB", count = 1 }
        tool = "curl -sS ftp://{to}/big"
        [faults.lost]
        kind = "bgp"
        link = "access"
        at = "4s"
        lasts = "1s"
    "#;
    let Some((o, answers)) = run(text) else { return };
    // 10 Mbit/s for some 5 of 10 s at least, less headers: 60 ms of queue keep retransmission timeouts short:
    // even doubled for a second without a route, they end before the run does.
    for flow in ["up", "down"] {
        let mbps = goodput(&o, flow);
        assert!((3.5..9.3).contains(&mbps), "{flow}: {mbps} Mbit/s\n{answers}");
    }
    for wanted in [
        "box# show ipsec sa tunnel access",
        "ESTABLISHED, IKEv2",
        "INSTALLED, TUNNEL-in-UDP, ESP:AES_GCM_16-128",
        "gw# show bgp summary",
        "Established",
        "gw# show ip route customer red",
        "192.168.30.0/24 via 100.96.0.2 dev ipsec0 proto bird",
        "gw# show ip route customer blue",
        "192.168.30.0/24 via 100.96.0.4 dev ipsec1 proto bird",
    ] {
        assert!(answers.contains(wanted), "no `{wanted}` in\n{answers}");
    }
    let series = o.flow_series.iter().find(|s| s.name == "up").expect("a series");
    let at = |t: f64| {
        series.delivered_bytes[series.time_s.partition_point(|&x| x < t).min(series.time_s.len() - 1)]
    };
    assert_eq!(at(4.5), at(4.9), "without the session there is no route");
    assert!(at(9.9) > at(4.9), "and with it there is one again");
}

/// A gateway loses power: its daemons are killed, its neighbours notice, the other gateway takes over; then
/// it returns, with a new tunnel and new sessions. Losses inside tunnels are assigned to the flows inside.
#[test]
fn a_gateway_fails_and_recovers() {
    let text = r#"
        duration = "11s"
        hosts.box.services = [{ kind = "ipsec", link = "one" }, { kind = "ipsec", link = "two" }, { kind = "bgp", as = 65001, hold = "3s" }]
        hosts.gw1.services = [{ kind = "ipsec", link = "one" }, { kind = "bgp", as = 65002, hold = "3s" }]
        hosts.gw2.services = [{ kind = "ipsec", link = "two" }, { kind = "bgp", as = 65003, hold = "3s" }]
        hosts.core.services = [{ kind = "bgp", as = 65004, hold = "3s" }]
        [links]
        lan = { between = ["pc", "box"] }
        one = { between = ["box", "gw1"], forward = [{ kind = "delay", delay = "5ms" }], backward = [{ kind = "delay", delay = "5ms" }] }
        two = { between = ["box", "gw2"], forward = [{ kind = "delay", delay = "5ms" }], backward = [{ kind = "delay", delay = "5ms" }] }
        one-core = { between = ["gw1", "core"] }
        two-core = { between = ["gw2", "core"] }
        pop = { between = ["core", "far"] }
        [flows.voice]
        from = "pc"
        to = "far"
        app = { kind = "voice", codec = "g711" }
        [flows.probe]
        from = "pc"
        to = "far"
        app = { kind = "probe", interval = "50ms" }
        [faults.power]
        kind = "host"
        host = "gw1"
        at = "2s"
        lasts = "4s"
    "#;
    let Some((o, answers)) = run(text) else { return };
    let flow = |name: &str| o.variant.flows.iter().find(|f| f.name == name).expect("a flow of that name");
    let voice = &flow("voice").outages[0];
    // Until BGP notices, which takes 2 to 3 s, longer on a busy machine.
    let silence = voice.silence_ms.expect("a silence in ms");
    assert!(silence > 1800.0 && voice.recovery_ms.is_some(), "{voice:?}\n{answers}");
    assert!(voice.lost_packets.expect("the number of lost datagrams") > 85, "{voice:?}");
    // The path dropped ESP packets between box and gateway: the missing datagrams are assigned to the flow.
    for name in ["voice", "probe"] {
        let f = flow(name);
        let missing = f.real_time.as_ref().expect("datagrams").lost * f.sent_packets as f64;
        let lost = f.lost_packets.expect("datagrams") as f64;
        assert!(
            lost >= 0.7 * missing && lost <= missing + 3.0,
            "{name}: {lost} assigned, {missing} missing\n{answers}"
        );
    }
    assert!(o.variant.trust.as_ref().is_some_and(|t| t.dead_components.is_empty()), "{:?}", o.variant.trust);
    for wanted in ["gw1# show ipsec sa tunnel one", "gw1# show bgp summary"] {
        let output = answers.split(wanted).nth(1).unwrap_or_default();
        let output = output.split("\n\n").next().unwrap_or_default();
        assert!(output.contains("ESTABLISHED") || output.contains("Established"), "{wanted}:{output}");
    }
}

/// Two customers with the same IPv6 addresses behind a link of 1400 bytes: the router reports the MTU, and
/// the rate is the link's less headers of 40 bytes. `crates/engine/sim/tests/sim/networks.rs` tests the same
/// in the simulator.
#[test]
fn ipv6_routers_report_the_mtu_instead_of_fragmenting() {
    let Some((o, _)) = run(include_str!("../../../../../scenarios/ipv6.toml")) else { return };
    let flow = |name: &str| o.variant.flows.iter().find(|f| f.name == name).expect("a flow of that name");
    // IPv6 header 40 bytes, TCP 20, timestamps 12.
    assert_eq!((flow("red").mss_bytes, flow("blue").mss_bytes), (Some(1328), Some(1328)));
    let link = o.variant.elements.iter().find(|e| e.name == "red-wan.forward.link").expect("an element");
    assert!(link.too_big.is_some_and(|t| t.icmp_sent && t.mtu_bytes == 1400), "{link:?}");
    let (red, blue) = (goodput(&o, "red"), goodput(&o, "blue"));
    assert!((10.0..=20.0 * 1328.0 / 1400.0).contains(&red), "{red}");
    assert!((2.5..=5.0 * 1328.0 / 1400.0).contains(&blue), "{blue}");
    let voice = flow("voice").real_time.expect("a real-time summary");
    assert!(voice.lost < 0.1, "{voice:?}");
}

/// IPv4 and IPv6 over one link, in one tunnel, as in the simulator (`both_versions_share_a_link_and_a_tunnel`
/// in `crates/engine/sim/tests/sim/networks.rs`).
#[test]
fn both_versions_share_a_link_and_a_tunnel() {
    let text = r#"
        duration = "4s"
        hosts.c.addresses = ["2001:db8::1/64"]
        hosts.d.addresses = ["2001:db8::2/64"]
        [links]
        ag = { between = ["a", "g"] }
        cg = { between = ["c", "g"] }
        hb = { between = ["h", "b"] }
        hd = { between = ["h", "d"] }
        [links.gh]
        between = ["g", "h"]
        forward = [{ kind = "tunnel", overhead = 60, mtu = 1460 }, { kind = "link", rate = "20Mbit/s", delay = "5ms" }]
        backward = [{ kind = "delay", delay = "5ms" }]
        [flows]
        four = { from = "a", to = "b" }
        six = { from = "c", to = "d" }
        udp = { from = "c", to = "d", app = { kind = "udp", rate = "2Mbit/s", size = 1000 } }
    "#;
    let Some((o, _)) = run(text) else { return };
    let flow = |name: &str| o.variant.flows.iter().find(|f| f.name == name).expect("a flow of that name");
    assert_eq!((flow("four").mss_bytes, flow("six").mss_bytes), (Some(1348), Some(1328)));
    let (four, six, udp) = (goodput(&o, "four"), goodput(&o, "six"), goodput(&o, "udp"));
    let wire = four * 1460.0 / 1348.0 + six * 1460.0 / 1328.0 + udp * 1060.0 / 952.0;
    assert!(
        (13.0..=20.2).contains(&wire) && four > 1.0 && six > 1.0,
        "{four} + {six} + {udp}: {wire} Mbit/s"
    );
    let link = o.variant.elements.iter().find(|e| e.name == "gh.forward.tunnel").expect("an element");
    assert!(link.too_big.is_some_and(|t| t.icmp_sent && t.mtu_bytes == 1400), "{link:?}");
}

/// Programs and relays of every kind; the datagrams of programs are counted by packet sockets.
#[test]
fn programs_and_relays_work_over_ipv6() {
    let text = r#"
        duration = "3s"
        hosts.a.addresses = ["2001:db8::1/64"]
        hosts.r.addresses = ["2001:db8::2/64"]
        hosts.b.addresses = ["2001:db8::3/64"]
        [links.ar]
        between = ["a", "r"]
        forward = [{ kind = "link", rate = "40Mbit/s", delay = "2ms" }]
        [links.rb]
        between = ["r", "b"]
        forward = [{ kind = "link", rate = "40Mbit/s", delay = "2ms" }]
        [relays]
        own = { host = "r", tool = "longfat" }
        nginx = { host = "r", tool = "nginx" }
        haproxy = { host = "r", tool = "haproxy" }
        [flows]
        own = { from = "a", to = "b", via = ["own"], max_pacing_rate = "4Mbit/s" }
        nginx = { from = "a", to = "b", via = ["nginx"], max_pacing_rate = "4Mbit/s" }
        haproxy = { from = "a", to = "b", via = ["haproxy"], max_pacing_rate = "4Mbit/s" }
        iperf = { from = "a", to = "b", tool = "iperf3", max_pacing_rate = "4Mbit/s" }
        datagrams = { from = "a", to = "b", tool = "iperf3", app = { kind = "udp", rate = "2Mbit/s", size = 1000 } }
        probe = { from = "b", to = "a", app = { kind = "probe", interval = "20ms" } }
    "#;
    let Some((o, _)) = run(text) else { return };
    for name in ["own", "nginx", "haproxy", "iperf"] {
        let rate = goodput(&o, name);
        assert!((1.5..=4.2).contains(&rate), "{name}: {rate} Mbit/s");
    }
    // 952 bytes in a packet of 1000.
    let udp = goodput(&o, "datagrams");
    assert!((1.2..=2.0 * 0.96).contains(&udp), "{udp}");
    let probe = o.variant.flows.iter().find(|f| f.name == "probe").expect("a flow");
    assert!(probe.real_time.as_ref().expect("answers").lost < 0.1, "{probe:?}");
}
