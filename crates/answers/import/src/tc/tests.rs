use crate::{Assumed, ImportFormat, ImportSource, Imported, NotUnderstood, import, sample};
use congestion::Control;
use path::queue::{Drr, Fifo, FqCoDel};
use path::{QueueConfig, Stage};
use units::{Bytes, Rate, Span};

fn tc(text: &str) -> Imported {
    sample::read("setup.sh", text, ImportFormat::Tc).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn rules(imported: &Imported) -> Vec<(usize, &str)> {
    imported.lint.iter().map(|l| (l.line, l.rule)).collect()
}

fn forward(imported: &Imported) -> Vec<&Stage> {
    let link = &imported.experiment.variants[0].scenario.links[0];
    link.forward.iter().map(|s| &s.stage).collect()
}

#[test]
fn a_tbf_is_a_shaper_from_commands_and_from_output() {
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
fn faults_of_a_tbf_are_reported_by_line() {
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
    let classes: Vec<_> =
        htb.classes.iter().map(|c| (c.name.as_str(), c.rate.as_bps() / 1000, c.dscp.clone())).collect();
    assert_eq!(classes, [("1:1", 20_000, vec![]), ("1:10", 15_000, vec![46]), ("1:30", 5000, vec![])]);
    assert!(matches!(htb.classes[1].queue, Some(QueueConfig::FqCoDel(_))));
    let flows = &imported.experiment.variants[0].scenario.flows;
    let flows: Vec<_> = flows.iter().map(|f| (f.name.as_str(), f.dscp)).collect();
    assert_eq!(flows, [("eth1-out-1-10", 46), ("eth1-out-1-30", 0)]);
    // Only the iptables line does not belong to tc.
    let missed: Vec<usize> = imported.not_understood.iter().map(|n| n.line).collect();
    assert_eq!(missed, [10]);
    // A rate of 15 Mbit/s by r2q 10 is 187500 bytes.
    assert_eq!(rules(&imported), []);
}

#[test]
fn known_faults_are_found() {
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
fn police_at_the_ingress_is_an_inbound_policer() {
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
fn police_of_some_packets_stays_on_the_path_of_the_others() {
    let imported = tc("\
tc qdisc add dev eth0 root tbf rate 50mbit burst 20k latency 100ms
tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: protocol ip u32 match ip src 10.1.0.0/16 police rate 8mbit burst 200k drop
tc filter add dev eth0 parent ffff: protocol ip u32 match ip tos 0xb8 0xfc police rate 2mbit burst 100k drop
");
    let scenario = &imported.experiment.variants[0].scenario;
    let [link] = scenario.links.as_slice() else { panic!("{}", imported.toml) };
    let policers: Vec<(u64, &[u8])> = (link.backward.iter())
        .filter_map(|s| if let Stage::Policer(p) = &s.stage { Some(p) } else { None })
        .map(|p| (p.rate.as_bps() / 1_000_000, p.dscp.as_slice()))
        .collect();
    assert_eq!(policers, [(8, &[63][..]), (2, &[46])]);
    let flows: Vec<(&str, u8)> = scenario.flows.iter().map(|f| (f.name.as_str(), f.dscp)).collect();
    assert_eq!(flows, [("eth0-out", 0), ("eth0-in-police-3", 63), ("eth0-in-police-4", 46)]);
}

#[test]
fn police_of_a_class_applies_to_its_codepoint() {
    let imported = tc("\
tc qdisc add dev eth0 root handle 1: htb default 20
tc class add dev eth0 parent 1: classid 1:10 htb rate 40mbit burst 20k cburst 20k
tc class add dev eth0 parent 1: classid 1:20 htb rate 10mbit burst 20k cburst 20k
tc filter add dev eth0 parent 1: protocol ip u32 match ip dst 10.1.0.0/16 police rate 8mbit burst 200k drop flowid 1:10
");
    let scenario = &imported.experiment.variants[0].scenario;
    let Stage::Policer(policer) = forward(&imported)[0] else { panic!("{}", imported.toml) };
    let class = scenario.flows.iter().find(|f| f.name == "eth0-out-1-10").unwrap();
    assert_eq!((policer.dscp.as_slice(), scenario.flows.len()), (&[class.dscp][..], 2));
}

#[test]
fn one_match_policed_inbound_and_shaped_outbound_is_one_flow() {
    let imported = tc("\
tc qdisc add dev eth0 ingress handle ffff:
tc filter add dev eth0 parent ffff: protocol ip u32 match ip src 10.1.0.10/32 police rate 1mbit burst 100k drop
tc qdisc add dev eth1 root handle 1: htb default 3
tc class add dev eth1 parent 1: classid 1:2 htb rate 700kbit
tc class add dev eth1 parent 1: classid 1:3 htb rate 500kbit
tc filter add dev eth1 parent 1: protocol ip u32 match ip src 10.1.0.10 flowid 1:2
");
    let scenario = &imported.experiment.variants[0].scenario;
    let Stage::Policer(policer) = forward(&imported)[0] else { panic!("{}", imported.toml) };
    let Stage::Htb(htb) = forward(&imported)[1] else { panic!("{}", imported.toml) };
    assert_eq!(policer.dscp, htb.classes[0].dscp);
    assert_eq!((scenario.links.len(), scenario.flows.len()), (1, 2));
}

#[test]
fn an_ifb_shapes_inbound_traffic() {
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
    assert_eq!(kinds, ["loss", "link", "jitter"]);
    assert_eq!(imported.not_understood.len(), 1, "{:?}", imported.not_understood);
    assert!(imported.not_understood[0].why.contains("correlation"));
    assert_eq!(rules(&imported), [(1, "netem-limit")]);
    let bare = tc("tc qdisc add dev eth0 root netem delay 100\n");
    assert_eq!(rules(&bare), [(1, "bare-time")]);
}

#[test]
fn unread_lines_are_reported() {
    let imported = tc("\
tc qdisc add dev eth0 root tbf rate 5mbit burst 15k latency 50ms frobnicate
tc class add dev eth0 parent 1: classid 1:1 cbq rate 1mbit
tc qdisc change dev eth1 root tbf rate ${RATE} burst 15k latency 50ms
");
    let lines = |notes: &[NotUnderstood]| -> Vec<usize> { notes.iter().map(|n| n.line).collect() };
    assert_eq!((lines(&imported.not_understood), lines(&imported.refused)), (vec![1], vec![2, 3]));
    assert!(imported.not_understood[0].why.contains("frobnicate"));
    assert!(imported.refused[0].why.contains("cbq"), "{:?}", imported.refused);
    assert!(imported.refused[1].why.contains("--define RATE=VALUE"), "{:?}", imported.refused);
    // Rejected elements are not in the scenario, and nothing replaces them.
    assert_eq!(imported.experiment.variants[0].scenario.links.len(), 1);
}

#[test]
fn cycles_and_orphans_do_no_harm() {
    let imported = tc("\
tc qdisc add dev a root handle 1: htb default 3
tc class add dev a parent 1:2 classid 1:1 htb rate 1mbit
tc class add dev a parent 1:1 classid 1:2 htb rate 1mbit
tc class add dev a parent 1:2 classid 1:4 htb rate 1mbit
tc class add dev a parent 1:9 classid 1:3 htb rate 1mbit
");
    assert!(imported.not_understood.iter().any(|n| n.why.contains("cycle")), "{:?}", imported.not_understood);
    assert!(imported.not_understood.iter().any(|n| n.why.contains("no class 1:9")));
}

/// The output of `tc -s -d` (Linux 6.18, iproute2 6.1) for a tree with sfq, fq_codel and cake.
const LEAVES: &str = "\
qdisc htb 1: dev d0 root refcnt 3 r2q 10 default 0x40 direct_packets_stat 0 ver 3.17 direct_qlen 1000
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
qdisc sfq 10: dev d0 parent 1:10 limit 127p quantum 1514b depth 127 flows 128/1024 divisor 1024 perturb 10sec
qdisc fq_codel 20: dev d0 parent 1:20 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
  maxpacket 0 drop_overlimit 0 new_flow_count 0 ecn_mark 0
  new_flows_len 0 old_flows_len 0
qdisc pfifo 30: dev d0 parent 1:30 limit 50p
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
qdisc bfifo 40: dev d0 parent 1:40 limit 30000b
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
qdisc tbf 50: dev d0 parent 1:50 rate 1Mbit burst 3Kb/1 mpu 0b lat 50ms linklayer ethernet
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
qdisc tbf 60: dev d0 parent 1:60 rate 5Mbit burst 16Kb/1 mpu 0b limit 60Kb linklayer ethernet
qdisc sfq 61: dev d0 parent 60:1 limit 40p quantum 1514b depth 40 divisor 1024
qdisc cake 70: dev d0 parent 1:70 bandwidth unlimited diffserv3 triple-isolate nonat nowash no-ack-filter split-gso rtt 100ms raw overhead 0
class htb 1:1 root rate 24Mbit ceil 24Mbit linklayer ethernet burst 16Kb/1 mpu 0b cburst 16Kb/1 mpu 0b level 7
class htb 1:10 parent 1:1 leaf 10: prio 0 quantum 37500 rate 3Mbit ceil 24Mbit linklayer ethernet burst 1599b/1 mpu 0b cburst 1599b/1 mpu 0b level 0
class htb 1:20 parent 1:1 leaf 20: prio 0 quantum 37500 rate 3Mbit ceil 24Mbit linklayer ethernet burst 1599b/1 mpu 0b cburst 1599b/1 mpu 0b level 0
class htb 1:30 parent 1:1 leaf 30: prio 0 quantum 37500 rate 3Mbit ceil 24Mbit linklayer ethernet burst 1599b/1 mpu 0b cburst 1599b/1 mpu 0b level 0
class htb 1:40 parent 1:1 leaf 40: prio 0 quantum 37500 rate 3Mbit ceil 24Mbit linklayer ethernet burst 1599b/1 mpu 0b cburst 1599b/1 mpu 0b level 0
class htb 1:50 parent 1:1 leaf 50: prio 0 quantum 37500 rate 3Mbit ceil 24Mbit linklayer ethernet burst 1599b/1 mpu 0b cburst 1599b/1 mpu 0b level 0
class htb 1:60 parent 1:1 leaf 60: prio 0 quantum 37500 rate 3Mbit ceil 24Mbit linklayer ethernet burst 1599b/1 mpu 0b cburst 1599b/1 mpu 0b level 0
class htb 1:70 parent 1:1 leaf 70: prio 0 quantum 37500 rate 3Mbit ceil 24Mbit linklayer ethernet burst 1599b/1 mpu 0b cburst 1599b/1 mpu 0b level 0
class htb 1:80 parent 1:1 prio 0 quantum 37500 rate 3Mbit ceil 24Mbit linklayer ethernet burst 1599b/1 mpu 0b cburst 1599b/1 mpu 0b level 0
 lended: 0 borrowed: 0 giants: 0
 tokens: 66656 ctokens: 10000
class tbf 50:1 parent 50:
class tbf 60:1 parent 60:
";

#[test]
fn below_a_leaf_a_queue_is_the_class_s_and_a_limit_bounds_it() {
    let imported = tc(LEAVES);
    let Stage::Htb(htb) = forward(&imported)[0] else { panic!("{}", imported.toml) };
    let class = |name: &str| htb.classes.iter().find(|c| c.name == name).unwrap();
    let queue = |name: &str| class(name).queue.clone().unwrap();
    let fifo = |packets: Option<u64>, bytes: Option<u64>| {
        QueueConfig::Fifo(Fifo { packets, bytes: bytes.map(Bytes::new) })
    };
    assert_eq!(queue("1:10"), QueueConfig::Drr(Drr { packets: 127, quantum: 1514 }));
    let FqCoDel { packets, ecn, .. } = FqCoDel::default();
    let QueueConfig::FqCoDel(fq) = queue("1:20") else { panic!("{:?}", queue("1:20")) };
    assert_eq!((fq.packets, fq.flows, fq.quantum, fq.ecn), (packets, 1024, 1514, true));
    assert_eq!((fq.target, fq.interval), (Span::from_millis(5), Span::from_millis(100)));
    assert_eq!(queue("1:30"), fifo(Some(50), None));
    assert_eq!(queue("1:40"), fifo(None, Some(30_000)));
    let rates = |name: &str| (class(name).rate.as_bps(), class(name).ceil.map(Rate::as_bps));
    // A limit below the class's rate replaces the rate, and no borrowing is possible; 50 ms of it plus the
    // burst can queue.
    assert_eq!(rates("1:50"), (1_000_000, None));
    assert_eq!((class("1:50").burst, queue("1:50")), (Some(Bytes::new(3072)), fifo(None, Some(6250 + 3072))));
    // A limit between rate and ceiling is the ceiling; its own queue counts.
    assert_eq!(rates("1:60"), (3_000_000, Some(5_000_000)));
    assert_eq!(class("1:60").cburst, Some(Bytes::new(16 << 10)));
    assert_eq!(queue("1:60"), QueueConfig::Drr(Drr { packets: 40, quantum: 1514 }));
    // Neither changes the order of service.
    assert_eq!((class("1:50").quantum, class("1:60").quantum), (Some(37_500), Some(37_500)));
    assert_eq!(rates("1:70"), (3_000_000, Some(24_000_000)));
    assert!(matches!(queue("1:70"), QueueConfig::FqCoDel(f) if f.ecn == ecn));
    assert_eq!(class("1:80").queue, None);
    assert_eq!(imported.not_understood, [], "{:?}", imported.not_understood);
    assert!(imported.assumed.iter().any(|a| a.starts_with("cake under a class")), "{:?}", imported.assumed);
}

#[test]
fn a_limit_below_a_leaf_applies_while_the_others_borrow() {
    let imported = tc(LEAVES);
    let mut scenario = imported.experiment.variants[0].scenario.clone();
    scenario.duration = Span::from_secs(6);
    let outcome = sim::run("leaves", &scenario, sim::SimOptions { seed: 1, ..Default::default() });
    let flows = &outcome.variant.flows;
    let goodput = |class: &str| {
        let flow = flows.iter().find(|f| f.name == format!("d0-out-1-{class}"));
        flow.unwrap_or_else(|| panic!("{class}: {flows:?}")).goodput_mbps
    };
    assert!((0.8..1.0).contains(&goodput("50")), "{}", goodput("50"));
    assert!((2.0..5.0).contains(&goodput("60")), "{}", goodput("60"));
    let all: f64 = flows.iter().map(|f| f.goodput_mbps).sum();
    assert!((20.0..24.0).contains(&all), "{all}");
}

#[test]
fn disciplines_that_cannot_be_combined_are_reported() {
    let imported = tc("\
tc qdisc add dev a root handle 1: htb default 10
tc class add dev a parent 1: classid 1:1 htb rate 9mbit
tc class add dev a parent 1:1 classid 1:10 htb rate 4mbit
tc class add dev a parent 1:1 classid 1:20 htb rate 4mbit
tc qdisc add dev a parent 1:10 handle 10: prio
tc qdisc add dev a parent 10:2 bfifo limit 20000
tc qdisc add dev a parent 1:20 handle 20: htb default 1
tc qdisc add dev a parent 1:1 pfifo limit 9
tc qdisc add dev a parent 1:30 pfifo limit 9
");
    let Stage::Htb(htb) = forward(&imported)[0] else { panic!("{}", imported.toml) };
    let queue = |name: &str| htb.classes.iter().find(|c| c.name == name).unwrap().queue.clone();
    let bytes = Some(Bytes::new(20_000));
    assert_eq!(queue("1:10"), Some(QueueConfig::Fifo(Fifo { packets: None, bytes })));
    assert_eq!(queue("1:20"), None);
    let missed: Vec<usize> = imported.not_understood.iter().map(|n| n.line).collect();
    assert_eq!(missed, [7, 8, 9], "{:?}", imported.not_understood);
    assert!(imported.assumed.iter().any(|a| a.contains("second band")), "{:?}", imported.assumed);
}

#[test]
fn a_discipline_without_a_parent_is_reported() {
    let imported = tc("\
tc qdisc add dev a root handle 1: tbf rate 5mbit burst 15k latency 50ms
tc qdisc add dev b parent 1:10 handle 10: pfifo limit 9
");
    let missed: Vec<_> = imported.not_understood.iter().map(|n| (n.line, n.why.as_str())).collect();
    assert_eq!(missed, [(2, "its parent 1: is not in the text (b)")]);
}

/// Three flows of Reno between two namespaces on Linux 6.18 (veth without offload, `iperf3 -t 12 -O 3`), one
/// per class.
#[test]
fn limits_below_leaves_give_what_the_kernel_gave() {
    let script = "\
tc qdisc add dev wan root handle 1: htb default 30
tc class add dev wan parent 1: classid 1:1 htb rate 24mbit burst 16kb cburst 16kb
tc class add dev wan parent 1:1 classid 1:10 htb rate 6mbit ceil 24mbit burst 16kb cburst 16kb
tc class add dev wan parent 1:1 classid 1:20 htb rate 6mbit ceil 24mbit burst 16kb cburst 16kb
tc class add dev wan parent 1:1 classid 1:30 htb rate 6mbit ceil 24mbit burst 16kb cburst 16kb
tc qdisc add dev wan parent 1:10 handle 10: tbf rate 2mbit burst 10kb limit 40kb
tc qdisc add dev wan parent 1:20 handle 20: tbf rate 8mbit burst 16kb limit 60kb
tc qdisc add dev wan parent 1:30 handle 30: pfifo limit 60
tc filter add dev wan parent 1: protocol ip prio 1 u32 match ip dport 5011 0xffff flowid 1:10
tc filter add dev wan parent 1: protocol ip prio 1 u32 match ip dport 5012 0xffff flowid 1:20
";
    let read_file = |_: &str| Err("no such file".to_string());
    let source =
        ImportSource { name: "leaves.sh", text: script, own_name: None, values: &[], read_file: &read_file };
    let cc = Control::named("reno").unwrap();
    let imported =
        import(&source, None, &Assumed { rtt: Some(Span::from_millis(1)), line: None, duration: None, cc })
            .unwrap();
    let mut scenario = imported.experiment.variants[0].scenario.clone();
    scenario.duration = Span::from_secs(15);
    scenario.measure = Some([Span::from_secs(3), Span::from_secs(15)]);
    scenario.hosts.iter_mut().for_each(|h| h.stack.tso = Some(false));
    let outcome = sim::run("leaves", &scenario, sim::SimOptions { seed: 1, ..Default::default() });
    for (flow, kernel) in outcome.variant.flows.iter().zip([1.91, 7.64, 13.4]) {
        // 14 of 1514 bytes are Ethernet, which is not counted here.
        assert!((flow.goodput_mbps / kernel - 1.0).abs() < 0.03, "{}: {}", flow.name, flow.goodput_mbps);
    }
    assert_eq!(outcome.variant.flows.len(), 3);
}

fn facts(imported: &Imported) -> Vec<(usize, &str)> {
    imported.facts.iter().map(|f| (f.line, f.text.as_str())).collect()
}

/// Goodput of each flow of a short run, Mbit/s, by name.
fn carried(imported: &Imported, seconds: u64) -> Vec<(String, f64)> {
    let mut scenario = imported.experiment.variants[0].scenario.clone();
    scenario.duration = Span::from_secs(seconds);
    let outcome = sim::run("import", &scenario, sim::SimOptions { seed: 1, ..Default::default() });
    outcome.variant.flows.iter().map(|f| (f.name.clone(), f.goodput_mbps)).collect()
}

#[test]
fn counters_are_facts_of_their_leaf() {
    let shown = tc("\
qdisc htb 1: dev eth1 root refcnt 2 r2q 1 default 1 direct_packets_stat 1
 Sent 17475717 bytes 1334 pkt (dropped 0, overlimits 2782 requeues 0)
 rate 0bit 0pps backlog 0b 12p requeues 0
class htb 1:1 root rate 75000bit ceil 75000bit burst 1608b cburst 1608b
 Sent 14369397 bytes 1124 pkt (dropped 0, overlimits 0 requeues 0)
 rate 577896bit 5pps backlog 0b 0p requeues 0
 lended: 1 borrowed: 0 giants: 1938
class htb 1:10 parent 1:1 prio 0 rate 75000bit ceil 75000bit burst 1608b cburst 1608b
 Sent 14529077 bytes 1134 pkt (dropped 7, overlimits 0 requeues 0)
 rate 589888bit 5pps backlog 15000b 11p requeues 0
 lended: 1123 borrowed: 0 giants: 1938
 tokens: -205561 ctokens: -205561
");
    let facts = facts(&shown);
    let parts = [
        (1, "1 packet of eth1 matched no class"),
        (9, "class 1:10 sends 589.89 kbit/s, 7.9 times its ceiling of 75 kbit/s"),
        (9, "(average packet: 12.8 kB)"),
        (9, "dropped 7 of 1141 packets (0.61 %)"),
        (9, "11 packets are queued, 15 kB or 1.6 s at 75 kbit/s"),
    ];
    assert_eq!(facts.len(), parts.len(), "{facts:?}");
    for ((line, text), (expected, part)) in facts.iter().zip(parts) {
        assert!(*line == expected && text.contains(part), "{text}: {part}");
    }
    // The default is an inner class, which counts as none.
    assert_eq!(rules(&shown), [(1, "htb-default")]);
    assert!(shown.lint[0].text.contains("inner class"), "{}", shown.lint[0].text);
    assert_eq!((shown.lines, shown.understood), (12, 12));
}

#[test]
fn unmatched_traffic_is_a_flow_without_a_limit() {
    let hole = tc("\
tc qdisc add dev eth1 root handle 1: htb default 1 r2q 1
tc class add dev eth1 parent 1: classid 1:1 htb rate 75kbit
tc class add dev eth1 parent 1:1 classid 1:10 htb rate 75kbit
");
    let flows = carried(&hole, 3);
    assert!(flows.iter().any(|(name, mbps)| name == "eth1-out-1-10" && *mbps < 0.08), "{flows:?}");
    assert!(flows.iter().any(|(name, mbps)| name == "eth1-unmatched" && *mbps > 500.0), "{flows:?}");
    // Classes alone do not say where the rest goes: no finding, and no such flow.
    let classes = tc("class htb 1:10 dev eth1 root prio 0 rate 1Mbit ceil 1Mbit burst 1600b cburst 1600b\n");
    assert_eq!(classes.experiment.variants[0].scenario.flows.len(), 1);
    assert_eq!(rules(&classes), []);
    assert!(classes.not_understood[0].why.contains("missing from the text"), "{:?}", classes.not_understood);
}

#[test]
fn netem_passes_no_more_than_its_limit() {
    let under_htb = tc("\
tc qdisc add dev eth1 handle 10: root htb
tc class add dev eth1 parent 10: classid 10:1 htb rate 1000000kbit
tc class add dev eth1 parent 10:1 classid 10:10 htb rate 1000000kbit
tc qdisc add dev eth1 parent 10:10 handle 100: netem delay 200ms
");
    let alone = tc("tc qdisc add dev eth1 root netem delay 200ms\n");
    let rated = tc("tc qdisc add dev eth1 root netem delay 200ms rate 1gbit\n");
    for imported in [under_htb, alone, rated] {
        let finding = imported.lint.iter().find(|l| l.rule == "netem-limit").expect("a finding");
        assert!(finding.text.contains("60.56 Mbit/s"), "{}", finding.text);
        let mbps = carried(&imported, 12)[0].1;
        assert!((20.0..60.6).contains(&mbps), "{mbps}");
    }
    // With a rate and a short delay, the limit mostly bounds the queue.
    let slow = tc("tc qdisc add dev eth1 root netem delay 10ms rate 10mbit limit 100\n");
    let Stage::Link(link) = forward(&slow)[0] else { panic!("{}", slow.toml) };
    assert_eq!(link.queue, QueueConfig::Fifo(Fifo { packets: Some(92), bytes: None }));
}

#[test]
fn a_limit_is_read_as_tc_reads_it() {
    let big = tc("tc qdisc add dev eth0 root netem limit 1000mbit delay 300ms 15ms distribution normal\n");
    let Stage::Jitter(j) = forward(&big)[0] else { panic!("{}", big.toml) };
    assert_eq!((j.packets, j.reorder), (Some(131_072_000), true));
    assert_eq!(rules(&big), []);
    let fifo = tc(
        "tc qdisc add dev eth0 root handle 1: tbf rate 1mbit burst 10k latency 50ms\ntc qdisc add dev eth0 parent 1: pfifo limit 1k\n",
    );
    let Stage::Shaper(s) = forward(&fifo)[0] else { panic!("{}", fifo.toml) };
    assert_eq!(s.queue, Some(QueueConfig::Fifo(Fifo { packets: Some(1024), bytes: None })));
}

#[test]
fn an_element_with_a_rejected_value_is_left_out() {
    for (line, part) in [
        ("tc qdisc add dev a root tbf rate 5mbit burst 15furlongs latency 50ms", "15furlongs"),
        ("tc qdisc add dev a root tbf rate 50% burst 15k latency 50ms", "50%"),
        ("tc qdisc add dev a root netem delay 10parsec", "10parsec"),
        ("tc qdisc add dev a root netem delay 10ms limit many", "many"),
        ("tc qdisc add dev a root cake bandwidth 10Mbps2", "10Mbps2"),
    ] {
        let both = tc(&format!("{line}\ntc qdisc add dev b root tbf rate 1mbit burst 10k latency 50ms\n"));
        assert!(
            both.refused.iter().any(|r| r.line == 1 && r.why.contains(part)),
            "{line}: {:?}",
            both.refused
        );
        let links = &both.experiment.variants[0].scenario.links;
        assert_eq!((links.len(), links[0].name.as_str()), (1, "b"), "{line}: {}", both.toml);
        // If it is the only one, it is an error that shows the text.
        let error = sample::read("a.sh", line, ImportFormat::Tc).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("looked for"), "{error}");
    }
    // The flow of a class that is left out is left out too.
    let tree = tc("\
tc qdisc add dev a root handle 1: htb default 20
tc class add dev a parent 1: classid 1:1 htb rate 10mbit
tc class add dev a parent 1:1 classid 1:10 htb rate 5quux
tc class add dev a parent 1:1 classid 1:20 htb rate 5mbit
");
    let scenario = &tree.experiment.variants[0].scenario;
    assert_eq!(scenario.flows.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["a-out-1-20"]);
}

#[test]
fn both_directions_of_a_box_are_one_path() {
    let ends = |imported: &Imported| -> Vec<(usize, usize)> {
        let links = &imported.experiment.variants[0].scenario.links;
        links.iter().map(|l| (l.forward.len(), l.backward.len())).collect()
    };
    let satellite = tc("\
tc qdisc add dev enp2s0 root handle 1:0 netem limit 1000mbit delay 300ms 15ms distribution normal
tc qdisc add dev enp2s0 parent 1:1 handle 10: tbf rate 144mbit buffer 1mbit limit 1000mbit
tc qdisc add dev eno1 root handle 1:0 netem limit 1000mbit delay 300ms 15ms distribution normal
tc qdisc add dev eno1 parent 1:1 handle 10: tbf rate 144mbit buffer 1mbit limit 1000mbit
");
    assert_eq!(ends(&satellite), [(2, 2)], "{}", satellite.toml);
    // The text states the delay, and a run lasts sixty round trips.
    assert!(satellite.assumed.iter().all(|a| !a.contains("round-trip")), "{:?}", satellite.assumed);
    assert_eq!(satellite.experiment.variants[0].scenario.duration, Span::from_secs(36));
    assert_eq!(rules(&satellite), [(2, "queue-long"), (4, "queue-long")]);
    assert!(satellite.lint[0].text.contains("131.1 MB at 144 Mbit/s is 7.3 s"));
    for ifb in ["ifb0", "ifb4eth0"] {
        let cake = tc(&format!("\
qdisc noqueue 0: dev lo root refcnt 2
qdisc cake 801a: dev eth0 root refcnt 2 bandwidth 200Mbit besteffort triple-isolate nonat nowash no-ack-filter split-gso rtt 100ms noatm overhead 44
 Sent 1561537129 bytes 1363170 pkt (dropped 313, overlimits 1215665 requeues 0)
 memory used: 1797884b of 10000000b
 min/max network layer size:           28 /    1500

                  Tin 0
  thresh        200Mbit
qdisc ingress ffff: dev eth0 parent ffff:fff1 ----------------
qdisc cake 801b: dev {ifb} root refcnt 2 bandwidth 900Mbit besteffort triple-isolate nonat wash no-ack-filter split-gso rtt 100ms noatm overhead 44
"));
        let link = &cake.experiment.variants[0].scenario.links[0];
        let rate = |stages: &[scenario::NamedStage]| match &stages[0].stage {
            Stage::Shaper(s) => s.rate.as_bps() / 1_000_000,
            _ => 0,
        };
        assert_eq!((rate(&link.forward), rate(&link.backward)), (200, 900), "{}", cake.toml);
        assert_eq!(rules(&cake), [], "cake has no bucket");
        assert_eq!(facts(&cake), [(3, "cake of eth0 dropped 313 of 1363483 packets (0.02 %)")]);
        assert_eq!((cake.lines, cake.understood), (9, 9), "{:?}", cake.not_understood);
        assert!(
            cake.assumed.iter().any(|a| a.contains("44 bytes") && a.contains("97.2 %")),
            "{:?}",
            cake.assumed
        );
    }
}

#[test]
fn a_discipline_with_a_missing_parent_still_limits() {
    let alone = tc("tc qdisc add dev eth0 parent 1:1 handle 10: tbf rate 5mbit burst 15k latency 50ms\n");
    assert!(matches!(forward(&alone)[0], Stage::Shaper(_)), "{}", alone.toml);
    assert_eq!(alone.not_understood.len(), 1);
}

#[test]
fn a_burst_leaves_at_the_ceiling_and_a_cburst_at_line_rate() {
    let tree = tc("\
tc qdisc add dev a root handle 1: htb default 10
tc class add dev a parent 1: classid 1:10 htb rate 1mbit ceil 4mbit burst 1mb cburst 1mb
");
    let texts: Vec<&str> = tree.lint.iter().map(|l| l.text.as_str()).collect();
    assert_eq!(rules(&tree), [(2, "htb-burst-large"), (2, "htb-cburst-large")], "{texts:?}");
    assert!(texts[0].ends_with("which leaves at its ceil of 4 Mbit/s after every pause"), "{}", texts[0]);
    assert!(texts[1].ends_with("which leaves at line rate after every pause"), "{}", texts[1]);
}

#[test]
fn an_hfsc_is_a_tree_with_inherited_ceilings() {
    let tree = tc("\
tc qdisc add dev a root handle 1: hfsc default 20
tc class add dev a parent 1: classid 1:1 hfsc sc rate 1500kbit ul rate 1500kbit
tc class add dev a parent 1:1 classid 1:20 hfsc rt rate 400kbit ls rate 500kbit
tc class add dev a parent 1:1 classid 1:10 hfsc rt umax 16kbit dmax 50ms rate 200kbit ls rate 1500kbit
tc class add dev a parent 1:1 classid 1:30 hfsc rt rate 20kbit
");
    let Stage::Htb(htb) = forward(&tree)[0] else { panic!("{}", tree.toml) };
    let kbits = |name: &str| {
        let class = htb.classes.iter().find(|c| c.name == name).unwrap();
        (class.rate.as_bps() / 1000, class.ceil.unwrap().as_bps() / 1000)
    };
    // Link shares of 500, 1500 and 20 of a parent of 1500.
    assert_eq!([kbits("1:1"), kbits("1:20"), kbits("1:10")], [(1500, 1500), (371, 1500), (1113, 1500)]);
    assert_eq!(kbits("1:30"), (14, 20), "no link share: no more than its real-time rate");
    assert_eq!(rules(&tree), []);
    let missed: Vec<_> = tree.not_understood.iter().map(|n| (n.line, n.text.as_str())).collect();
    assert_eq!(missed, [(4, "umax 16kbit"), (4, "dmax 50ms")]);
    let total: f64 = carried(&tree, 20).iter().map(|f| f.1).sum();
    assert!((1.2..1.5).contains(&total), "{total}");
    // As printed by tc, and without a default.
    let shown = tc("\
qdisc hfsc 1: dev a root refcnt 2
class hfsc 1:10 dev a root sc m1 0bit d 0us m2 100Kbit ul m1 0bit d 0us m2 1Mbit
");
    let Stage::Htb(htb) = forward(&shown)[0] else { panic!("{}", shown.toml) };
    assert_eq!(htb.classes[0].ceil, Some(Rate::from_bps(1_000_000)));
    assert_eq!(rules(&shown), [(1, "hfsc-default")]);
    assert_eq!(shown.not_understood, []);
}
