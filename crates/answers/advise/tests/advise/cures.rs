//! Each cure changes what it describes, and has no option where it would make no sense.

use advise::{CURES, CureOption, Situation, named};
use result::{ChangePlace, CommandSet, Platform};
use scenario::{Experiment, Scenario};
use std::collections::BTreeSet;

fn scenario(text: &str) -> Scenario {
    Experiment::parse("t.toml", text, &[]).unwrap_or_else(|e| panic!("{e}")).variants.remove(0).scenario
}

/// Returns a client behind a router and a server, with the stages `forward` between the routers.
fn path(forward: &str, flow: &str) -> Scenario {
    scenario(&format!(
        r#"
        duration = "2s"
        [links.lan]
        between = ["client", "router"]
        forward = [{{ kind = "link", rate = "1Gbit/s" }}]
        backward = [{{ kind = "link", rate = "1Gbit/s" }}]
        [links.wan]
        between = ["router", "server"]
        forward = [{forward}]
        backward = [{{ kind = "delay", delay = "15ms" }}]
        {flow}
        "#
    ))
}

const FLOW: &str = "[flows.f]\nfrom = \"client\"\nto = \"server\"";
const POLICER: &str =
    r#"{ kind = "policer", rate = "20Mbit/s", burst = "9kB" }, { kind = "delay", delay = "15ms" }"#;
const QUEUE: &str = r#"{ kind = "link", rate = "20Mbit/s", delay = "15ms" }"#;

fn policed() -> Scenario {
    path(POLICER, FLOW)
}

fn queued() -> Scenario {
    path(QUEUE, FLOW)
}

fn flow(more: &str) -> String {
    format!("{FLOW}\n{more}")
}

fn options(name: &str, s: &Scenario) -> Vec<CureOption> {
    named(name).unwrap().options(&Situation::new(std::slice::from_ref(s)))
}

/// Returns what an option changes, line by line.
fn changes(option: &CureOption, s: &Scenario) -> String {
    let changed = option.applied(s);
    // The changed scenario can be written and read back.
    let text = changed.to_toml();
    let read = Experiment::parse("t.toml", &text, &[]).unwrap_or_else(|e| panic!("{}: {e}", option.name));
    assert_eq!(read.variants[0].scenario, changed, "{}", option.name);
    changed.overrides_of(s).join("\n")
}

/// Checks that the cure has these options, with these changes.
fn offers(name: &str, s: &Scenario, expected: &[(&str, &str)]) {
    let options = options(name, s);
    let found: Vec<(&str, String)> = options.iter().map(|o| (o.name.as_str(), changes(o, s))).collect();
    let expected: Vec<(&str, String)> = expected.iter().map(|(n, c)| (*n, c.to_string())).collect();
    assert_eq!(found, expected, "{name}");
    for option in &options {
        assert!(!option.by.is_empty() && !option.title.is_empty(), "{name}");
        assert!(option.commands().next().is_some(), "{name}: no commands");
        for set in option.commands() {
            assert!(
                !set.apply.is_empty() && !set.undo.is_empty() && !set.needs.is_empty(),
                "{name}: {set:?}"
            );
        }
    }
}

fn offers_nothing(name: &str, s: &Scenario) {
    assert!(options(name, s).is_empty(), "{name}: {:?}", options(name, s));
}

#[test]
fn bbr_is_for_linux_senders_with_another_congestion_control() {
    offers("bbr", &policed(), &[("bbr", "flows.f.cc=\"bbr\"")]);
    offers_nothing("bbr", &path(POLICER, &flow("cc = \"bbr\"")));
    offers_nothing("bbr", &path(POLICER, &flow("[hosts.client]\nstack = { profile = \"windows\" }")));
}

#[test]
fn each_of_two_senders_has_its_own_option() {
    let s = path(POLICER, &flow("[flows.g]\nfrom = \"server\"\nto = \"client\""));
    let both = "flows.f.cc=\"bbr\"\nflows.g.cc=\"bbr\"";
    let alone = [("bbr-client", "flows.f.cc=\"bbr\""), ("bbr-server", "flows.g.cc=\"bbr\"")];
    offers("bbr", &s, &[("bbr", both), alone[0], alone[1]]);
}

#[test]
fn bbr3_is_for_senders_with_another_congestion_control() {
    offers("bbr3", &policed(), &[("bbr3", "flows.f.cc=\"bbr3\"")]);
    offers_nothing("bbr3", &path(POLICER, &flow("cc = \"bbr3\"")));
}

#[test]
fn cubic_is_for_senders_with_another_congestion_control() {
    offers("cubic", &path(QUEUE, &flow("cc = \"bbr\"")), &[("cubic", "flows.f.cc=\"cubic\"")]);
    offers_nothing("cubic", &policed());
}

#[test]
fn pacing_is_for_unpaced_senders() {
    let changed = "hosts.client.stack={ pacing = true }";
    offers("pace-fq", &policed(), &[("pace-fq", changed)]);
    // Without fq, the program needs a call: BBR as the default does not pace a program that selects its
    // congestion control before it connects.
    let in_program = |c: &&CommandSet| c.platform == Platform::Application;
    let option = options("pace-fq", &policed()).remove(0);
    let calls: Vec<&str> = option.commands().filter(in_program).map(|c| c.apply[0].as_str()).collect();
    assert!(
        calls.len() == 2 && calls[0].contains("1ULL << 40") && calls[1].contains("after connect()"),
        "{calls:?}"
    );
    for paced in
        ["cc = \"bbr\"", "max_pacing_rate = \"1Mbit/s\"", "[hosts.client]\nstack = { pacing = true }"]
    {
        offers_nothing("pace-fq", &path(POLICER, &flow(paced)));
    }
}

#[test]
fn the_pacing_rate_is_a_connections_share_of_the_policed_rate() {
    // 0.97 * 20 Mbit/s * 1448 / 1500, over two connections.
    let two = path(POLICER, &flow("count = 2"));
    offers("max-pacing-rate", &two, &[("max-pacing-rate", "flows.f.max_pacing_rate=\"9.363Mbit/s\"")]);
    // A bucket per flow is not shared.
    let own = POLICER.replace("burst", "per_flow = true, burst");
    let each = [("max-pacing-rate", "flows.f.max_pacing_rate=\"18.727Mbit/s\"")];
    offers("max-pacing-rate", &path(&own, &flow("count = 2")), &each);
    offers_nothing("max-pacing-rate", &queued());
    offers_nothing("max-pacing-rate", &path(POLICER, &flow("max_pacing_rate = \"1Mbit/s\"")));
}

#[test]
fn a_shaper_replaces_the_policer_at_its_rate() {
    let s = policed();
    let names: Vec<String> = options("shaper", &s).iter().map(|o| o.name.clone()).collect();
    // The bucket holds six packets; the short queue has ten, the minimum.
    assert_eq!(names, ["shaper-fifo-short", "shaper-fifo", "shaper-wfq", "shaper-fq-codel"]);
    let all = &options("shaper", &s)[..];
    assert!(changes(&all[0], &s).contains("packets = 10 }") && all[0].title.contains("of 10 packets"));
    let all = &all[1..];
    let fifo = "links.wan.forward.policer={ kind = \"shaper\", rate = \"20Mbit/s\", \
                queue = { kind = \"fifo\", packets = 200 } }";
    assert_eq!(changes(&all[0], &s), fifo);
    assert!(changes(&all[1], &s).contains("\"wfq\"") && changes(&all[2], &s).contains("\"fq-codel\""));
    assert!(all.iter().all(|o| o.touches.contains(&"policer".to_string()) && o.by == [ChangePlace::Limiter]));
    offers_nothing("shaper", &queued());
}

#[test]
fn a_shaper_in_front_has_less_rate_and_bucket_than_the_policer() {
    let s = policed();
    let all = options("shaper-front", &s);
    assert_eq!(all.len(), 2);
    let change = changes(&all[0], &s);
    assert!(
        change.contains("edge-shaper") && change.contains("rate = \"19.6Mbit/s\", burst = \"4500B\""),
        "{change}"
    );
    assert!(change.contains("\"policer\", rate = \"20Mbit/s\""), "the policer stays: {change}");
    offers_nothing("shaper-front", &queued());
    // No full packet passes the policer, so no shaper helps.
    let tiny = POLICER.replace("9kB", "1kB");
    offers_nothing("shaper-front", &path(&tiny, FLOW));
}

#[test]
fn a_shaper_on_the_port_allows_for_the_overhead_of_tunnels() {
    let tunnel = format!("{{ kind = \"tunnel\", overhead = 100 }}, {POLICER}, {{ kind = \"tunnel-end\" }}");
    let s = path(&tunnel, FLOW);
    // 0.98 * 20 Mbit/s * 1500 / 1600.
    let all = options("shaper-port", &s);
    let change = changes(&all[0], &s);
    assert!(change.starts_with("links.lan.forward=") && change.contains("18.375Mbit/s"), "{change}");
    offers_nothing("shaper-port", &queued());
    // Another sender through the same policer does not use the port.
    let more = flow(
        "[links.other]\nbetween = [\"other\", \"router\"]\n[flows.g]\nfrom = \"other\"\nto = \"server\"",
    );
    offers_nothing("shaper-port", &path(POLICER, &more));
}

#[test]
fn a_policers_bucket_grows_to_hold_a_windows_burst() {
    let bdp = ("policer-bucket-bdp", "links.wan.forward.policer.burst=\"75kB\"");
    let long = ("policer-bucket-250ms", "links.wan.forward.policer.burst=\"625kB\"");
    offers("policer-bucket", &policed(), &[bdp, long]);
    offers_nothing("policer-bucket", &path(&POLICER.replace("9kB", "625kB"), FLOW));
    offers_nothing("policer-bucket", &queued());
}

#[test]
fn queueing_disciplines_replace_any_other_at_the_slowest_link() {
    for name in ["codel", "fq-codel", "wfq"] {
        for before in ["fifo", "pie", "drr"] {
            let other = QUEUE.replace(" }", &format!(", queue = {{ kind = \"{before}\", packets = 70 }} }}"));
            let s = path(&other, FLOW);
            let all = options(name, &s);
            assert_eq!(all.len(), 1, "{name} for {before}");
            let change = changes(&all[0], &s);
            assert!(change.starts_with("links.wan.forward.link.queue={ kind = \""), "{change}");
            assert!(change.contains(name) && change.contains("packets = 70"), "the same depth: {change}");
            assert!(all[0].title.contains("of 70 packets"), "{}", all[0].title);
        }
        let own = QUEUE.replace(" }", &format!(", queue = {{ kind = \"{name}\" }} }}"));
        offers_nothing(name, &path(&own, FLOW));
        offers_nothing(name, &policed());
    }
}

#[test]
fn a_shallow_queue_is_replaced_at_its_depth_and_at_the_default_depth() {
    // 50 packets are the bandwidth-delay product.
    let shallow = path(&QUEUE.replace(" }", ", queue = { kind = \"fifo\", packets = 30 } }"), FLOW);
    let all = options("fq-codel", &shallow);
    let names: Vec<&str> = all.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["fq-codel", "fq-codel-deep"]);
    assert!(all[0].title.contains("of 30 packets") && all[1].title.contains("of 10240 packets"));
    assert!(changes(&all[0], &shallow).contains("packets = 30"));
}

/// A queue is the sender's only where it is the sender's own port. Most scenarios have just two hosts, so the
/// limiter between them is on a link that begins at the sender, too.
#[test]
fn the_queue_of_a_limiter_belongs_to_the_limiter() {
    let direct = |stages: &str| {
        scenario(&format!(
            "duration = \"2s\"\n[links.wan]\nbetween = [\"client\", \"server\"]\nforward = [{stages}]\n{FLOW}"
        ))
    };
    let by = |stages: &str| options("fq-codel", &direct(stages))[0].by.clone();
    let line = r#"{ kind = "link", rate = "20Mbit/s", delay = "15ms" }"#;
    assert_eq!(by(line), [ChangePlace::Sender]);
    let limiter = line.replace("kind = \"link\"", "kind = \"link\", name = \"limiter\"");
    assert_eq!(by(&limiter), [ChangePlace::Limiter]);
    let port = r#"{ kind = "link", name = "port", rate = "1Gbit/s" }"#;
    assert_eq!(by(&format!("{port}, {line}")), [ChangePlace::Limiter], "behind the sender's port");
}

#[test]
fn queues_of_both_directions_are_options_together_and_alone() {
    let both = scenario(
        r#"
        [links.line]
        between = ["home", "net"]
        forward = [{ kind = "link", name = "up", rate = "1Mbit/s" }]
        backward = [{ kind = "link", name = "down", rate = "16Mbit/s" }]
        [flows.fetch]
        from = "net"
        to = "home"
        [flows.game]
        from = "home"
        to = "net"
        app = { kind = "udp", rate = "100kbit/s", size = 200 }
        "#,
    );
    let all = options("fq-codel", &both);
    let names: Vec<&str> = all.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["fq-codel", "fq-codel-down", "fq-codel-up"]);
    assert_eq!(all[0].hosts(), ["home", "net"]);
    assert!(changes(&all[2], &both).starts_with("links.line.forward.up.queue="));
    // Acknowledgements alone fill a link with a fiftieth of the rate, but not one with a tenth.
    let acks = |rate: &str| {
        let text = both.to_toml().replace("\"1Mbit/s\"", &format!("\"{rate}\""));
        let mut s = scenario(&text);
        s.flows.retain(|f| f.name == "fetch");
        options("fq-codel", &s).len()
    };
    assert_eq!([acks("320kbit/s"), acks("1600kbit/s")], [3, 1]);
}

#[test]
fn queues_of_varying_rates_count_as_bottlenecks() {
    let trace = r#"{ kind = "rate-trace", steps = [{ at = "0s", rate = "5Mbit/s" }, { at = "1s", rate = "9Mbit/s" }], delay = "15ms" }"#;
    let handover = r#"{ kind = "handover", at = ["1s"], lasts = "100ms", rate = "9Mbit/s", delay = "15ms" }"#;
    for stage in [trace, handover] {
        let s = path(stage, FLOW);
        let all = options("fq-codel", &s);
        let radio = all.iter().find(|o| o.commands().all(|c| c.at == "router"));
        let radio = radio.unwrap_or_else(|| panic!("{stage}"));
        assert!(changes(radio, &s).starts_with("links.wan.forward."), "{stage}");
        // The rate is not known in advance, so the discipline is set on the device itself.
        assert!(
            radio.commands().next().unwrap().apply[0].starts_with("tc qdisc replace dev $DEV root fq_codel")
        );
    }
}

#[test]
fn the_port_that_servers_share_is_the_bottleneck() {
    let server = |n: u32| {
        format!(
            "[links.own{n}]\nbetween = [\"server{n}\", \"switch\"]\nforward = [{{ kind = \"link\", rate = \"10Gbit/s\" }}]\n\
             [flows.f{n}]\nfrom = \"server{n}\"\nto = \"client\"\ncount = 16\napp = {{ kind = \"bulk\", bytes = \"256kB\" }}\n"
        )
    };
    let port = "[links.port]\nbetween = [\"switch\", \"client\"]\nforward = [{ kind = \"link\", name = \"shared\", \
                rate = \"10Gbit/s\", delay = \"10us\", queue = { kind = \"fifo\", packets = 100 } }]\n";
    let both = scenario(&(server(1) + &server(2) + port));
    // Two links feed one of the same rate, so packets wait there, although each link alone is no faster.
    let [depth] = &options("queue-depth", &both)[..] else { panic!("one place") };
    // 32 initial windows do not fit.
    let changed = "links.port.forward.shared.queue={ kind = \"fifo\", packets = 320 }";
    assert_eq!(changes(depth, &both), changed);
    // A single server's own link holds the packets, and the port behind it never does.
    let one = scenario(&(server(1) + port));
    let [depth] = &options("queue-depth", &one)[..] else { panic!("one place") };
    assert!(changes(depth, &one).starts_with("links.own1.forward.link"), "{}", changes(depth, &one));
}

#[test]
fn a_pacing_cap_is_for_short_queues_only() {
    // 0.97 * 20 Mbit/s * 1448 / 1500.
    let short = path(&QUEUE.replace(" }", ", queue = { kind = \"fifo\", packets = 30 } }"), FLOW);
    offers("max-pacing-rate", &short, &[("max-pacing-rate", "flows.f.max_pacing_rate=\"18.727Mbit/s\"")]);
    let option = options("max-pacing-rate", &short).remove(0);
    let typed: Vec<&str> = option.commands().map(|c| c.apply[0].as_str()).collect();
    let fq = "tc qdisc replace dev $DEV root fq maxrate 18727kbit";
    let trial = "longfat apply pid:$PID --pacing 18.727Mbit/s --for 10min";
    assert_eq!(typed[1..], ["iperf3 -c HOST --fq-rate 18727000", trial, fq], "{typed:?}");
    // The rate that datagrams take is not available to the connection.
    let game = "[flows.g]\nfrom = \"client\"\nto = \"server\"\napp = { kind = \"udp\", rate = \"10Mbit/s\" }";
    let shared = path(&QUEUE.replace(" }", ", queue = { kind = \"fifo\", packets = 30 } }"), &flow(game));
    offers("max-pacing-rate", &shared, &[("max-pacing-rate", "flows.f.max_pacing_rate=\"9.363Mbit/s\"")]);
    offers_nothing("max-pacing-rate", &queued());
}

#[test]
fn mtu_probing_is_for_black_holes_only() {
    let hole = r#"{ kind = "tunnel", overhead = 60, mtu = 1500, icmp = false }, { kind = "tunnel-end" }"#;
    let s = path(hole, FLOW);
    offers("mtu-probing", &s, &[("mtu-probing", "hosts.client.stack={ mtu_probing = \"on-blackhole\" }")]);
    let probing = flow("[hosts.client]\nstack = { mtu_probing = \"always\" }");
    offers_nothing("mtu-probing", &path(hole, &probing));
    offers_nothing("mtu-probing", &path(&hole.replace(", icmp = false", ""), FLOW));
    assert!(!options("mss", &s).is_empty());
}

#[test]
fn the_minimum_timeout_shrinks_on_short_paths_only() {
    let near = QUEUE.replace("15ms", "1ms");
    let s = scenario(&path(&near, FLOW).to_toml().replace("15ms", "1ms"));
    offers("rto-min", &s, &[("rto-min", "hosts.client.stack={ rto_min = \"8ms\" }")]);
    offers_nothing("rto-min", &queued());
}

/// Sysctls for sending apply to the host that sends the data: for requests, the server.
#[test]
fn commands_are_for_the_hosts_that_send() {
    let asks = "app = { kind = \"request\", request = \"1kB\", response = \"1MB\" }";
    let s = scenario(&path(QUEUE, &flow(asks)).to_toml().replace("[flows.f]", "[flows.f]\nstart = \"1ms\""));
    for name in ["bbr", "pace-fq"] {
        let all = options(name, &s);
        assert!(all[0].commands().all(|c| c.at == "server"), "{name}: {:?}", all[0].remedies);
        assert_eq!(all[0].by, [ChangePlace::Sender]);
    }
    // Several connections: the sender's program where it opens them, or a client at the receiver.
    let [many] = &options("connections", &queued())[..] else { panic!("one option") };
    let at = |word: &str| many.commands().find(|c| c.apply[0].contains(word)).map(|c| c.at.as_str());
    assert_eq!([at("rclone"), at("aria2c")], [Some("client"), Some("server")]);
    assert_eq!(many.hosts().len(), 1, "one of the two is enough");
    let [proxy] = &options("proxy", &queued())[..] else { panic!("one option") };
    let own = proxy.commands().find(|c| c.platform == Platform::Longfat).unwrap();
    assert!(own.apply[0].contains("--upstream client:8080"), "{own:?}");
    assert!(own.needs.contains("server connects to client"), "{own:?}");
}

/// The reason why a cure has no option is true: in each of these scenarios, the cure has an option or its
/// reason names what is missing.
#[test]
fn a_reason_for_leaving_out_is_true() {
    let policers_of_flows = path(&POLICER.replace("burst", "per_flow = true, burst"), FLOW);
    for name in ["shaper", "shaper-front", "shaper-port"] {
        offers_nothing(name, &policers_of_flows);
        assert!(named(name).unwrap().applies().contains("one bucket for all flows"), "{name}");
    }
    for name in ["policer-bucket", "max-pacing-rate"] {
        assert!(!options(name, &policers_of_flows).is_empty(), "{name}");
    }
    for cure in CURES {
        assert!(cure.applies().starts_with("where "), "{}", cure.name());
    }
}

#[test]
fn a_queue_is_set_to_one_bandwidth_delay_product() {
    // 20 Mbit/s for 30 ms are 50 packets.
    let changed = "links.wan.forward.link.queue={ kind = \"fifo\", packets = 50 }";
    offers("queue-depth", &queued(), &[("queue-depth", changed)]);
    let right = QUEUE.replace(" }", ", queue = { kind = \"fifo\", packets = 60 } }");
    offers_nothing("queue-depth", &path(&right, FLOW));
    offers_nothing("queue-depth", &policed());
}

#[test]
fn buffers_hold_the_data_in_flight_during_loss_recovery() {
    // 1 Gbit/s for 30 ms are 3.75 MB: twice that for sending, three times for receiving, and twice that for
    // the kernel's overhead.
    let fast = QUEUE.replace("20Mbit/s", "1Gbit/s");
    let s = path(&fast, FLOW);
    let receive = "hosts.server.stack={ receive_buffer = \"23068672B\" }";
    offers("receive-buffer", &s, &[("receive-buffer", receive)]);
    let send = "hosts.client.stack={ send_buffer = \"15728640B\" }";
    offers("send-buffer", &s, &[("send-buffer", send), ("send-buffer-both", &format!("{send}\n{receive}"))]);
    offers_nothing("receive-buffer", &queued());
    offers_nothing("send-buffer", &queued());
    let fixed = path(QUEUE, &flow("[hosts.server]\nstack = { receive_window = \"64512B\" }"));
    offers(
        "receive-buffer",
        &fixed,
        &[("receive-buffer", "hosts.server.stack={ receive_buffer = \"1048576B\" }")],
    );
}

#[test]
fn segments_shrink_to_fit_a_tunnel() {
    let tunnel = r#"{ kind = "tunnel", overhead = 60, mtu = 1500 }, { kind = "tunnel-end" }"#;
    let s = path(tunnel, FLOW);
    let changed = "hosts.client.stack={ mss = 1400 }\nhosts.server.stack={ mss = 1400 }";
    let found = options("mss", &s);
    let mut lines: Vec<String> = changes(&found[0], &s).lines().map(String::from).collect();
    lines.sort();
    assert_eq!(lines.join("\n"), changed);
    offers_nothing("mss", &path(tunnel, &flow("[hosts.server]\nstack = { mss = 1300 }")));
    offers_nothing("mss", &queued());
}

#[test]
fn bursts_shrink_at_shallow_buckets_and_queues() {
    offers("small-bursts", &policed(), &[("small-bursts", "hosts.client.stack={ tso = false }")]);
    offers_nothing("small-bursts", &path(POLICER, &flow("[hosts.client]\nstack = { tso = false }")));
    let deep = "{ kind = \"delay\", delay = \"1ms\" }";
    offers_nothing("small-bursts", &path(deep, FLOW));
}

#[test]
fn more_connections_share_the_bytes() {
    let s = path(QUEUE, &flow("app = { kind = \"bulk\", bytes = \"10MB\" }"));
    let changed = "flows.f.count=4\nflows.f.app={ kind = \"bulk\", bytes = \"2500kB\" }";
    let found = options("connections", &s);
    let mut lines: Vec<String> = changes(&found[0], &s).lines().map(String::from).collect();
    lines.sort_by_key(|l| !l.contains("count"));
    assert_eq!(lines.join("\n"), changed);
    offers_nothing("connections", &path(QUEUE, &flow("count = 9")));
    let asks = "app = { kind = \"request\", request = \"1kB\", response = \"1MB\" }";
    offers_nothing("connections", &path(QUEUE, &flow(asks)));
}

#[test]
fn a_proxy_is_placed_between_the_ends() {
    let s = queued();
    let whole = "relays.proxy={ host = \"router\" }\nflows.f.via=[\"proxy\"]";
    offers("proxy", &s, &[("proxy-router", whole)]);
    let bbr = whole.replace("\"router\" }", "\"router\", cc = \"bbr\" }");
    offers("proxy-bbr", &s, &[("proxy-bbr-router", &bbr)]);
    let direct = scenario("[links.l]\nbetween = [\"a\", \"b\"]\n[flows.f]\nfrom = \"a\"\nto = \"b\"");
    let there = path(QUEUE, &flow("via = [\"p\"]\n[relays.p]\nhost = \"router\""));
    for name in ["proxy", "proxy-bbr"] {
        offers_nothing(name, &direct);
        offers_nothing(name, &there);
    }
    offers_nothing("proxy-bbr", &path(QUEUE, &flow("cc = \"bbr\"")));
}

#[test]
fn cures_have_unique_names_and_only_some_apply_to_datagrams() {
    let names: BTreeSet<&str> = CURES.iter().map(|c| c.name()).collect();
    assert_eq!(names.len(), CURES.len());
    let datagrams = path(POLICER, &flow("app = { kind = \"udp\", rate = \"1Mbit/s\" }"));
    for cure in CURES {
        assert!(cure.about().ends_with('.') && cure.hurts().ends_with('.'), "{}", cure.name());
        let of_path = ["shaper", "shaper-front", "policer-bucket"].contains(&cure.name());
        assert_eq!(!options(cure.name(), &datagrams).is_empty(), of_path, "{}", cure.name());
    }
}

/// An uncertain value counts as the smallest that it may be.
#[test]
fn a_shaper_fits_the_smallest_policer_of_several_scenarios() {
    let (likely, slower) =
        (policed(), path(&POLICER.replace("20Mbit/s", "18Mbit/s").replace("9kB", "6kB"), FLOW));
    let both = [likely.clone(), slower];
    let option = named("shaper-front").unwrap().options(&Situation::new(&both)).remove(0);
    let change = changes(&option, &likely);
    assert!(change.contains("rate = \"17.64Mbit/s\", burst = \"3kB\""), "{change}");
}

#[test]
fn a_shapers_bucket_limits_bursts_and_is_a_part_of_its_queue() {
    let shaped = |burst: &str, behind: &str| {
        let shaper = format!(
            "{{ kind = \"shaper\", name = \"tbf\", rate = \"100Mbit/s\", burst = \"{burst}\", latency = \"25ms\" }}, \
             {{ kind = \"delay\", delay = \"85ms\" }}{behind}"
        );
        path(&shaper, FLOW)
    };
    let policer = ", { kind = \"policer\", rate = \"100Mbit/s\", burst = \"40kB\" }";
    // 5 ms at 100 Mbit/s are 62.5 kB, less than a host's burst.
    let small = |bytes: &str| format!("links.wan.forward.tbf.burst=\"{bytes}\"");
    offers("shaper-burst", &shaped("268MB", ""), &[("shaper-burst-small", &small("65536B"))]);
    // Half of the policer's bucket.
    offers("shaper-burst", &shaped("1MB", policer), &[("shaper-burst-small", &small("20kB"))]);
    // 100 ms are 1.25 MB: 833 packets, minus 312.5 kB for 25 ms.
    offers("shaper-burst", &shaped("100kB", ""), &[("shaper-burst-deep", &small("937kB"))]);
    offers_nothing("shaper-burst", &shaped("1MB", ""));
    offers_nothing("shaper-burst", &queued());
    // The CNI plugin counts bits, and the undo restores the current values. For a pod that receives, ingress
    // is limited.
    let option = options("shaper-burst", &shaped("268MB", "")).remove(0);
    let cni = option.commands().find(|c| c.platform == Platform::Cni).expect("an entry for the plugin");
    assert!(cni.at == "server" && cni.apply[0].contains("\"ingressBurst\": 524288 "), "{cni:?}");
    let pod = scenario(
        "duration = \"2s\"\n[links.veth]\nbetween = [\"pod\", \"far\"]\nforward = [{ kind = \"shaper\", rate = \"10Mbit/s\", \
         burst = \"268435456B\", latency = \"25ms\" }]\n[flows.f]\nfrom = \"pod\"\nto = \"far\"\n",
    );
    let option = options("shaper-burst", &pod).remove(0);
    let cni = option.commands().find(|c| c.platform == Platform::Cni).expect("an entry for the plugin");
    let entry = |burst: u64| {
        format!("{{ \"type\": \"bandwidth\", \"egressRate\": 10000000, \"egressBurst\": {burst} }}")
    };
    assert_eq!((&cni.apply[..], &cni.undo[..]), (&[entry(524_288)][..], &[entry(2_147_483_648)][..]));
    let tbf = option.commands().next().unwrap();
    assert_eq!(tbf.apply, ["tc qdisc replace dev $DEV root tbf rate 10000kbit burst 65536 latency 25000us"]);
    assert_eq!(
        tbf.undo,
        ["tc qdisc replace dev $DEV root tbf rate 10000kbit burst 268435456 latency 25000us"]
    );
}
