use crate::{Assumed, ImportFormat, ImportSource, Imported, import};
use congestion::Control;
use path::{QueueConfig, Stage};
use units::{Bytes, Rate, Span};

fn assumed() -> Assumed {
    Assumed { rtt: Span::from_millis(20), duration: None, cc: Control::default() }
}

fn tc(text: &str) -> Imported {
    let beside = |_: &str| Err("no such file".to_string());
    let source = ImportSource { name: "setup.sh", text, own_name: None, values: &[], beside: &beside };
    assert_eq!(ImportFormat::of(text), Some(ImportFormat::Tc), "{text}");
    import(&source, None, &assumed()).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn rules(imported: &Imported) -> Vec<(usize, &str)> {
    imported.lint.iter().map(|l| (l.line, l.rule)).collect()
}

fn forward(imported: &Imported) -> Vec<&Stage> {
    let link = &imported.experiment.variants[0].scenario.links[0];
    link.forward.iter().map(|s| &s.stage).collect()
}

#[test]
fn a_tbf_is_a_shaper_from_a_command_and_from_what_tc_prints() {
    let command = tc("tc qdisc add dev eth0 root tbf rate 20mbit burst 32kb latency 50ms\n");
    let shown = tc(
        "qdisc tbf 8001: dev eth0 root refcnt 2 rate 20Mbit burst 32Kb lat 50ms \n Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n backlog 0b 0p requeues 0\n",
    );
    for imported in [command, shown] {
        let Stage::Shaper(s) = forward(&imported)[0] else { panic!("{}", imported.toml) };
        assert_eq!((s.rate, s.burst), (Rate::from_bps(20_000_000), Some(Bytes::new(32 << 10))));
        assert_eq!(s.latency, Some(Span::from_millis(50)));
        assert_eq!(imported.not_understood, []);
        assert_eq!(rules(&imported), []);
        assert_eq!(imported.lines, imported.understood);
    }
}

#[test]
fn faults_of_a_tbf_are_said_by_line() {
    let bad = tc("#!/bin/sh\ntc qdisc add dev eth0 root tbf rate 1mbit burst 1000 limit 1200\n");
    assert_eq!(rules(&bad), [(2, "burst-below-packet"), (2, "limit-below-packet")]);
    let fast = tc("tc qdisc add dev eth0 root tbf rate 1gbit burst 15kb limit 1mb\n");
    assert_eq!(rules(&fast), [(1, "burst-small")]);
    assert!(fast.lint[0].text.contains("123 us"), "{}", fast.lint[0].text);
    let units = tc("tc qdisc add dev eth0 root tbf rate 2mbps burst 32kb latency 3s\n");
    assert_eq!(rules(&units), [(1, "bytes-per-second"), (1, "queue-long")]);
    assert!(units.lint[0].text.contains("16 Mbit/s"), "{}", units.lint[0].text);
}

const HTB: &str = "\
DEV=eth1
UP=20000
tc qdisc del dev $DEV root 2>/dev/null
tc qdisc add dev $DEV root handle 1: htb default 30 r2q 10
tc class add dev $DEV parent 1: classid 1:1 htb rate ${UP}kbit burst 15k
tc class add dev $DEV parent 1:1 classid 1:10 htb rate $((UP*3/4))kbit ceil ${UP}kbit prio 0
tc class add dev $DEV parent 1:1 classid 1:30 htb rate 5mbit ceil ${UP}kbit prio 1
tc qdisc add dev $DEV parent 1:10 handle 10: fq_codel
tc filter add dev $DEV parent 1: protocol ip prio 1 u32 match ip tos 0xb8 0xfc flowid 1:10
iptables -t mangle -A POSTROUTING -j MARK --set-mark 1
";

#[test]
fn an_htb_script_is_a_tree_with_a_flow_for_each_leaf() {
    let imported = tc(HTB);
    let Stage::Htb(htb) = forward(&imported)[0] else { panic!("{}", imported.toml) };
    let told: Vec<_> =
        htb.classes.iter().map(|c| (c.name.as_str(), c.rate.as_bps() / 1000, c.dscp.clone())).collect();
    assert_eq!(told, [("1:1", 20_000, vec![]), ("1:10", 15_000, vec![46]), ("1:30", 5000, vec![])]);
    assert!(matches!(htb.classes[1].queue, Some(QueueConfig::FqCoDel(_))));
    let flows = &imported.experiment.variants[0].scenario.flows;
    let flows: Vec<_> = flows.iter().map(|f| (f.name.as_str(), f.dscp)).collect();
    assert_eq!(flows, [("eth1-out-1-10", 46), ("eth1-out-1-30", 0)]);
    // Only the iptables line is none of tc's.
    let missed: Vec<usize> = imported.not_understood.iter().map(|n| n.line).collect();
    assert_eq!(missed, [10]);
    // A rate of 15 Mbit/s by r2q 10 is 187500 bytes.
    assert_eq!(rules(&imported), []);
}

#[test]
fn what_the_brief_names_is_found() {
    let fast = "\
qdisc htb 1: root refcnt 2 r2q 10 default 0x10 direct_packets_stat 0 direct_qlen 1000
class htb 1:1 root rate 1Gbit ceil 1Gbit burst 15Kb cburst 15Kb
class htb 1:10 parent 1:1 prio 0 rate 1Gbit ceil 1Gbit burst 1Mb cburst 125Mb
class htb 1:20 parent 1:1 prio 0 quantum 200000 rate 8Kbit ceil 1Gbit burst 500Kb cburst 1Mb
";
    let found = tc(fast);
    let lines = rules(&found);
    for expected in [
        (2, "htb-burst-small"),
        (2, "htb-cburst-small"),
        (3, "htb-cburst-large"),
        (3, "htb-quantum"),
        (4, "htb-burst-large"),
    ] {
        assert!(lines.contains(&expected), "{expected:?} in {lines:?}");
    }
    let small = tc(
        "tc qdisc add dev a root handle 1: htb default 1\ntc class add dev a parent 1: classid 1:1 htb rate 50kbit\n",
    );
    assert_eq!(rules(&small), [(2, "htb-quantum")]);
}

#[test]
fn police_at_the_ingress_is_a_policer_on_the_way_in() {
    let text = "\
tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: protocol ip prio 50 u32 match ip src 0.0.0.0/0 police rate 33mbit burst 9k drop flowid :1
";
    let imported = tc(text);
    let link = &imported.experiment.variants[0].scenario.links[0];
    let Stage::Policer(p) = &link.backward[0].stage else { panic!("{}", imported.toml) };
    assert_eq!((p.rate, p.burst), (Rate::from_bps(33_000_000), Some(Bytes::new(9216))));
    assert_eq!(rules(&imported), [(2, "policer-burst")]);
    assert_eq!(imported.experiment.variants[0].scenario.flows[0].name, "eth0-in");
    let shown = tc(
        "qdisc ingress ffff: dev eth0 parent ffff:fff1 ---------------- \nfilter parent ffff: protocol ip pref 50 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 flowid :1 not_in_hw \n  match 00000000/00000000 at 12\n police 0x1 rate 33Mbit burst 9Kb mtu 2Kb action drop overhead 0b \n\tref 1 bind 1 \n",
    );
    let link = &shown.experiment.variants[0].scenario.links[0];
    assert_eq!(link.backward[0].stage, imported.experiment.variants[0].scenario.links[0].backward[0].stage);
    assert_eq!(shown.not_understood, []);
}

#[test]
fn an_ifb_shapes_what_comes_in() {
    let imported = tc("\
tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: protocol ip u32 match u32 0 0 action mirred egress redirect dev ifb0
tc qdisc add dev ifb0 root tbf rate 10mbit burst 20k latency 100ms
");
    let links = &imported.experiment.variants[0].scenario.links;
    assert_eq!(links.len(), 1);
    assert!(matches!(links[0].backward[0].stage, Stage::Shaper(_)), "{}", imported.toml);
}

#[test]
fn netem_is_loss_rate_and_delay() {
    let imported = tc(
        "tc qdisc add dev eth0 root netem delay 100ms 10ms 25% distribution normal loss 1% rate 5mbit limit 20\n",
    );
    let kinds: Vec<&str> = forward(&imported).iter().map(|s| s.kind()).collect();
    assert_eq!(kinds, ["loss", "link", "jitter", "delay"]);
    assert_eq!(imported.not_understood.len(), 1, "{:?}", imported.not_understood);
    assert!(imported.not_understood[0].why.contains("correlation"));
    assert_eq!(rules(&imported), [(1, "netem-limit")]);
    let bare = tc("tc qdisc add dev eth0 root netem delay 100\n");
    assert_eq!(rules(&bare), [(1, "bare-time")]);
}

#[test]
fn what_is_not_understood_is_named_by_line() {
    let imported = tc("\
tc qdisc add dev eth0 root tbf rate 5mbit burst 15k latency 50ms frobnicate
tc class add dev eth0 parent 1: classid 1:1 hfsc sc rate 1mbit
tc qdisc change dev eth1 root tbf rate ${RATE} burst 15k latency 50ms
");
    let missed: Vec<(usize, &str)> =
        imported.not_understood.iter().map(|n| (n.line, n.why.as_str())).collect();
    assert_eq!(missed.len(), 3, "{missed:?}");
    assert!(
        missed[0].1.contains("frobnicate") && missed[1].1.contains("hfsc") && missed[2].1.contains("${RATE}")
    );
}

#[test]
fn circles_and_orphans_do_no_harm() {
    let imported = tc("\
tc qdisc add dev a root handle 1: htb default 3
tc class add dev a parent 1:2 classid 1:1 htb rate 1mbit
tc class add dev a parent 1:1 classid 1:2 htb rate 1mbit
tc class add dev a parent 1:2 classid 1:4 htb rate 1mbit
tc class add dev a parent 1:9 classid 1:3 htb rate 1mbit
");
    assert!(
        imported.not_understood.iter().any(|n| n.why.contains("circle")),
        "{:?}",
        imported.not_understood
    );
    assert!(imported.not_understood.iter().any(|n| n.why.contains("no class 1:9")));
}
