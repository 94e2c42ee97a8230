use crate::{ImportError, ImportFormat, Imported, sample};
use path::{Class, Htb, Meter, Policer, QueueConfig, Refill, Stage};
use scenario::{DuplexLink, NamedStage};
use units::{Bytes, Rate};

fn read(text: &str) -> Result<Imported, ImportError> {
    sample::read("router.cfg", text, ImportFormat::Ios)
}

fn ios(text: &str) -> Imported {
    read(text).unwrap_or_else(|e| panic!("{e}"))
}

fn only_link(imported: &Imported) -> &DuplexLink {
    let [link] = imported.experiment.variants[0].scenario.links.as_slice() else {
        panic!("{}", imported.toml)
    };
    link
}

fn tree(stages: &[NamedStage]) -> &Htb {
    let found = stages.iter().find_map(|s| if let Stage::Htb(htb) = &s.stage { Some(htb) } else { None });
    found.unwrap_or_else(|| panic!("{stages:?}"))
}

fn class<'a>(htb: &'a Htb, name: &str) -> &'a Class {
    htb.classes.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("{name}: {htb:?}"))
}

/// A class's ceiling, bit/s.
fn ceil(htb: &Htb, name: &str) -> u64 {
    let c = class(htb, name);
    c.ceil.unwrap_or(c.rate).as_bps()
}

fn policers(stages: &[NamedStage]) -> Vec<&Policer> {
    stages.iter().filter_map(|s| if let Stage::Policer(p) = &s.stage { Some(p) } else { None }).collect()
}

fn rules(imported: &Imported) -> Vec<(usize, &str)> {
    imported.lint.iter().map(|l| (l.line, l.rule)).collect()
}

fn facts(imported: &Imported) -> Vec<&str> {
    imported.facts.iter().map(|f| f.text.as_str()).collect()
}

const NESTED: &str = "\
class-map match-any VOICE
 match dscp ef
policy-map CHILD
 class VOICE
  priority 1000
 class BULK
  bandwidth remaining percent 40
  queue-limit 100 packets
 class class-default
  fair-queue
!
policy-map PARENT
 class class-default
  shape average 20000000 80000 0
  service-policy CHILD
!
interface GigabitEthernet0/1
 ip address 192.0.2.1 255.255.255.0
 service-policy output PARENT
";

#[test]
fn a_shaper_with_classes_is_a_tree() {
    let imported = ios(NESTED);
    let link = only_link(&imported);
    assert_eq!(link.name, "GigabitEthernet0-1");
    let htb = tree(&link.forward);
    let found: Vec<_> =
        htb.classes.iter().map(|c| (c.rate.as_bps() / 1000, c.prio, c.dscp.clone())).collect();
    // 40 % of the 19 Mbit/s left by voice, and the rest.
    assert_eq!(found, [(20_000, 0, vec![]), (1000, 0, vec![46]), (7600, 1, vec![1]), (11_400, 1, vec![])]);
    assert_eq!(htb.classes[0].burst, Some(Bytes::new(10_000)));
    // A priority with a rate is policed: the default burst is 200 ms.
    let [voice] = policers(&link.forward).try_into().unwrap();
    assert_eq!(
        (voice.rate, voice.burst, &voice.dscp[..]),
        (Rate::from_bps(1_000_000), Some(Bytes::new(25_000)), &[46][..])
    );
    assert!(matches!(&htb.classes[2].queue, Some(QueueConfig::Fifo(f)) if f.packets == Some(100)));
    assert!(matches!(htb.classes[3].queue, Some(QueueConfig::Wfq(_))));
    let missed: Vec<usize> = imported.not_understood.iter().map(|n| n.line).collect();
    assert_eq!(missed, [18]);
    assert_eq!(rules(&imported), []);
}

/// A shape is the ceiling of its class, also with `priority` and `queue-limit`; long queues are reported.
#[test]
fn guest_classes_keep_their_shapes() {
    let imported = ios(include_str!("../../tests/inputs/09-ios-guest.cfg"));
    let link = only_link(&imported);
    let htb = tree(&link.forward);
    for (name, bps, packets) in [
        ("net-a-download", 6_500_000, 8192),
        ("guest-download", 5_250_000, 2048),
        ("byod-download", 3_000_000, 512),
    ] {
        assert_eq!(ceil(htb, name), bps, "{name}");
        assert_eq!(class(htb, name).queue.as_ref().unwrap().limits().packets, packets, "{name}");
    }
    assert_eq!(ceil(htb, "port"), 1_000_000_000);
    // 15 s, 4.7 s and 2 s of queue.
    let long: Vec<&str> =
        imported.lint.iter().filter(|l| l.rule == "queue-long").map(|l| l.text.as_str()).collect();
    assert_eq!(long.len(), 3);
    for (text, seconds) in long.iter().zip(["is 15.3 s", "is 4.7 s", "is 2.1 s"]) {
        assert!(text.contains(seconds), "{text}");
    }
    // `priority 6000 1000`: a burst smaller than a packet stops no packet.
    let video = policers(&link.forward).into_iter().find(|p| p.dscp == [34]).unwrap();
    assert_eq!((video.rate, video.burst), (Rate::from_bps(6_000_000), Some(Bytes::new(1514))));
    assert!(
        imported.lint.iter().all(|l| matches!(l.rule, "queue-long" | "policer-burst")),
        "{:?}",
        imported.lint
    );
    // The other direction of the same link: one class is policed, the rest has the line rate.
    let [policed] = policers(&link.backward).try_into().unwrap();
    assert_eq!((policed.rate, policed.burst), (Rate::from_bps(750_000), Some(Bytes::new(100_000))));
    assert!(!policed.dscp.is_empty());
    assert_eq!(imported.experiment.variants[0].scenario.links.len(), 1);
}

#[test]
fn units_of_xr_are_read() {
    let imported = ios(include_str!("../../tests/inputs/25-ios-xr.cfg"));
    let link = only_link(&imported);
    let [into] = policers(&link.backward).try_into().unwrap();
    assert_eq!((into.rate, into.burst), (Rate::from_bps(100_000_000), Some(Bytes::new(125_000))));
    assert!(into.dscp.is_empty(), "class-default alone takes all");
    // 10 % of the interface's gigabit.
    let [voice] = policers(&link.forward).try_into().unwrap();
    assert_eq!((voice.rate.as_bps(), voice.dscp.len()), (100_000_000, 1));
    let htb = tree(&link.forward);
    assert_eq!(ceil(htb, "class-default"), 100_000_000);
    assert_eq!(class(htb, "class-default").queue.as_ref().unwrap().limits().bytes, 625_000);
    assert!(imported.refused.is_empty() && imported.not_understood.is_empty());
}

#[test]
fn children_share_the_rate_of_a_parent_shaper() {
    let imported = ios(include_str!("../../tests/inputs/36-ios-hqos.cfg"));
    let htb = tree(&only_link(&imported).forward);
    let kbps = |name: &str| class(htb, name).rate.as_bps() / 1000;
    // 50 Mbit/s: 10 % priority, 40 % of the remaining 45, and the rest.
    assert_eq!([kbps("VOICE"), kbps("VIDEO")], [5000, 18_000]);
    assert_eq!(htb.classes[3].rate.as_bps() / 1000, 27_000);
    let imported = ios(include_str!("../../tests/inputs/36-ios-hqos-shape.cfg"));
    let htb = tree(&only_link(&imported).forward);
    assert_eq!((htb.classes[0].rate.as_bps(), ceil(htb, "A")), (20_000_000, 6_500_000));
    // Rate that the class may not use goes to the other one.
    assert_eq!(htb.classes[2].rate.as_bps(), 13_500_000);
}

#[test]
fn three_levels_keep_their_ceilings() {
    let imported = ios("\
policy-map GRAND
 class VOICE
  priority percent 20
 class class-default
  shape average percent 50
policy-map CHILD
 class SITE-A
  shape average 8000000
  service-policy GRAND
 class class-default
  bandwidth remaining ratio 3
policy-map PARENT
 class class-default
  shape average 20000000
  service-policy CHILD
interface GigabitEthernet0/0/0
 service-policy output PARENT
");
    let link = only_link(&imported);
    let htb = tree(&link.forward);
    assert_eq!(ceil(htb, "SITE-A"), 8_000_000);
    let below: Vec<(&str, u64)> = (htb.classes.iter())
        .filter(|c| c.parent.as_deref() == Some("SITE-A"))
        .map(|c| (c.name.as_str(), c.ceil.unwrap().as_bps()))
        .collect();
    // Half of the parent's 8 Mbit/s.
    assert_eq!(below, [("VOICE", 8_000_000), ("class-default-2", 4_000_000)]);
    assert_eq!(policers(&link.forward)[0].rate.as_bps(), 1_600_000);
    assert!(
        htb.classes.iter().filter(|c| c.queue.is_some() && c.dscp.is_empty()).count() == 1,
        "one class takes the rest"
    );
}

#[test]
fn policers_have_cisco_buckets() {
    let imported = ios("\
policy-map IN
 class GOLD
  police cir 33200000 bc 9600 conform-action transmit exceed-action drop
 class SILVER
  police 8000000 250000 500000 conform-action transmit exceed-action set-dscp-transmit 0 violate-action drop
 class class-default
  police cir 1000000 bc 31250 pir 2000000 be 62500
   conform-action transmit
   exceed-action transmit
   violate-action drop
interface Gi0/0
 service-policy input IN
");
    let p = policers(&only_link(&imported).backward);
    assert_eq!((p[0].meter, p[0].burst), (Meter::Single, Some(Bytes::new(9600))));
    assert_eq!((p[1].meter, p[1].excess_burst), (Meter::Srtcm, Some(Bytes::new(500_000))));
    assert_eq!((p[2].meter, p[2].peak_rate), (Meter::Trtcm, Some(Rate::from_bps(2_000_000))));
    // One path, with a separate codepoint for each class.
    assert_eq!(p.iter().map(|p| p.dscp.clone()).collect::<Vec<_>>(), [vec![1], vec![2], vec![0]]);
    assert_eq!(rules(&imported), [(3, "policer-burst")]);
    assert_eq!(imported.not_understood, []);
}

#[test]
fn policers_of_an_asa_have_their_own_directions() {
    let imported = ios("\
class-map CM
 match access-list ALL
policy-map PM
 class CM
  police output 20000000 10000 conform-action transmit exceed-action drop
  police input 50000000 20000
service-policy PM interface outside
");
    let rate_and_burst = |stages: &[NamedStage]| {
        let all = policers(stages);
        all.iter().map(|p| (p.rate.as_bps(), p.burst.map(|b| b.get()))).collect::<Vec<_>>()
    };
    let link = only_link(&imported);
    assert_eq!(rate_and_burst(&link.forward), [(20_000_000, Some(10_000))]);
    assert_eq!(rate_and_burst(&link.backward), [(50_000_000, Some(20_000))]);
    assert_eq!(imported.not_understood, []);
}

#[test]
fn a_bucket_below_a_packet_passes_packets() {
    let imported = ios("\
policy-map IN
 class class-default
  police cir 2000000 bc 1000
interface Gi0/0
 service-policy input IN
");
    let p = policers(&only_link(&imported).backward);
    assert_eq!(p[0].burst, Some(Bytes::new(1500)));
    assert_eq!(rules(&imported), [(3, "policer-burst")]);
    assert!(
        imported.assumed.iter().any(|a| a.contains("1000 B passes a full packet once")),
        "{:?}",
        imported.assumed
    );
}

#[test]
fn a_class_with_an_unread_line_is_left_out() {
    let one = "policy-map P\n class class-default\n  police rate 100 mbps burst 125 barrels\ninterface Gi0/0\n service-policy input P\n";
    assert!(matches!(read(one), Err(ImportError::Nothing { .. })));
    let imported = ios(
        "policy-map P\n class A\n  shape average 10 furlongs\n class B\n  shape average 5 mbps\n  queue-limit 9 cells\n \
                        class C\n  shape average 2000000\ninterface Gi0/0\n service-policy output P\n",
    );
    assert_eq!(imported.refused.iter().map(|r| r.line).collect::<Vec<_>>(), [3, 6]);
    assert!(imported.refused[0].why.contains("`10 furlongs`") && imported.refused[0].why.contains("class A"));
    let htb = tree(&only_link(&imported).forward);
    let names: Vec<&str> = htb.classes.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["port", "C", "class-default"]);
}

#[test]
fn missing_parts_are_reported() {
    let imported = ios(
        "policy-map P\n class class-default\n  shape average 10000000\n  service-policy GONE\ninterface Gi0/0\n \
                        service-policy output P\n service-policy input NOWHERE\n",
    );
    let said: Vec<&str> = imported.not_understood.iter().map(|n| n.text.as_str()).collect();
    assert_eq!(said, ["GONE", "NOWHERE"]);
    let Stage::Shaper(s) = &only_link(&imported).forward[0].stage else { panic!("{}", imported.toml) };
    assert_eq!(s.rate, Rate::from_bps(10_000_000));
}

/// A shaper pays for a packet larger than its bucket from later intervals: the packet passes, and there is no
/// finding.
#[test]
fn a_bucket_below_a_packet_carries_over() {
    let imported = ios(
        "policy-map P\n class class-default\n  shape average 64000 8000 0\ninterface Gi0/0\n service-policy output P\n",
    );
    let Stage::Shaper(s) = &only_link(&imported).forward[0].stage else { panic!("{}", imported.toml) };
    assert_eq!((s.burst, s.largest()), (Some(Bytes::new(1000)), Bytes::new(1514)));
    assert!(!rules(&imported).iter().any(|(_, rule)| *rule == "burst-below-packet"));
}

#[test]
fn show_output_is_read() {
    let imported = ios("\
Router#show policy-map interface
 GigabitEthernet0/1

  Service-policy output: PARENT

    Class-map: class-default (match-any)
      1234567 packets, 900000000 bytes
      5 minute offered rate 9700000 bps, drop rate 300000 bps
      Match: any
      Queueing
      queue limit 64 packets
      (queue depth/total drops/no-buffer drops) 64/12345/0
      (pkts output/bytes output) 0/0
      shape (average) cir 5000000, bc 20000, be 20000
      target shape rate 5000000

  Service-policy input: LIMIT

    Class-map: class-default (match-any)
      0 packets, 0 bytes
      Match: any
      police:
          cir 2000000 bps, bc 62500 bytes
        conformed 900 packets, 900000 bytes; actions:
          transmit
        exceeded 100 packets, 100000 bytes; actions:
          drop
        conformed 0000 bps, exceeded 30000 bps
");
    let link = only_link(&imported);
    let Stage::Shaper(s) = &link.forward[0].stage else { panic!("{}", imported.toml) };
    assert_eq!(
        (s.refill, s.rate, s.burst),
        (Refill::Interval, Rate::from_bps(5_000_000), Some(Bytes::new(2500)))
    );
    assert_eq!(policers(&link.backward)[0].burst, Some(Bytes::new(62_500)));
    assert_eq!(imported.not_understood, []);
    assert_eq!(
        facts(&imported),
        [
            "class class-default: 9.7 Mbit/s offered against a shape of 5 Mbit/s, 300 kbit/s dropped",
            "class class-default: 12,345 of 1,234,567 packets (1.0 %) dropped at its queue",
            "class class-default: 64 packets (limit 64) are queued now",
            "police of class class-default: 100 of 1,000 packets (10 %, 100 kB) exceeded it (action: drop)",
            "police of class class-default: 30 kbit/s exceeds it now",
        ]
    );
}

#[test]
fn switches_and_old_commands_are_read() {
    let eos = ios(
        "interface Ethernet1\n   speed 10g\n   shape rate 100 mbps\n   tx-queue 3\n      shape rate 5000\n   tx-queue 1\n      \
                   bandwidth percent 40\n",
    );
    let htb = tree(&only_link(&eos).forward);
    // EOS uses kbit/s without a unit.
    assert_eq!((htb.classes[0].rate.as_bps(), ceil(htb, "tx-queue-3")), (100_000_000, 5_000_000));
    assert!(class(htb, "tx-queue-1").rate.as_bps() >= 40_000_000);
    let nx = ios(
        "policy-map type qos P\n  class type qos A\n    police cir 10 mbps conform transmit violate drop\ninterface Ethernet1/1\n  \
                  service-policy type qos input P\n",
    );
    let p = policers(&only_link(&nx).backward)[0];
    assert_eq!((p.rate, p.burst), (Rate::from_bps(10_000_000), Some(Bytes::new(250_000))));
    let old = ios(
        "interface FastEthernet0/0\n rate-limit input 8000000 1500000 3000000 conform-action transmit exceed-action drop\n \
                   traffic-shape rate 4000000 80000 0\n class-map A\n",
    );
    let link = only_link(&old);
    assert_eq!(policers(&link.backward)[0].burst, Some(Bytes::new(1_500_000)));
    assert!(
        link.forward
            .iter()
            .any(|s| matches!(&s.stage, Stage::Shaper(s) if s.rate == Rate::from_bps(4_000_000)))
    );
}

#[test]
fn shape_peak_and_long_intervals() {
    let imported = ios("policy-map P\n class class-default\n  shape peak 1000000 200000 100000\n");
    let link = only_link(&imported);
    let Stage::Shaper(s) = &link.forward[0].stage else { panic!("{}", imported.toml) };
    // 1 Mbit/s (1 + 100000 / 200000).
    assert_eq!((s.rate, s.burst), (Rate::from_bps(1_500_000), Some(Bytes::new(37_500))));
    assert_eq!(rules(&imported), [(3, "shape-interval")]);
}

#[test]
fn a_configuration_and_its_show_output_are_one_policy() {
    let imported = ios("\
policy-map WAN
 class class-default
  shape average 5000000
interface Gi0/1
 service-policy output WAN
Router#show policy-map interface
 GigabitEthernet0/1
  Service-policy output: WAN
    Class-map: class-default (match-any)
      900 packets, 900000 bytes
      (queue depth/total drops/no-buffer drops) 0/9/0
      shape (average) cir 5000000, bc 20000, be 20000
");
    let shapers = only_link(&imported).forward.iter().filter(|s| matches!(s.stage, Stage::Shaper(_))).count();
    assert_eq!(shapers, 1);
    assert_eq!(facts(&imported), ["class class-default: 9 of 900 packets (1.0 %) dropped at its queue"]);
}

#[test]
fn counters_of_xr_and_nx_os_are_facts() {
    let xr = ios("\
policy-map OUT
 class VOICE
  priority level 1
  police rate 10 mbps burst 100 kbytes
 end-policy-map
interface TenGigE0/0/0/1
 service-policy output OUT
RP/0/RP0/CPU0:r#show policy-map interface TenGigE0/0/0/1
TenGigE0/0/0/1 output: OUT
Class VOICE
  Classification statistics          (packets/bytes)     (rate - kbps)
    Matched             :              10000/1000000           900
  Policing statistics                (packets/bytes)     (rate - kbps)
    Policed(conform)    :               9000/900000            800
    Policed(exceed)     :               1000/100000            100
    Policed and dropped :               1000/100000
  Queueing statistics
    Taildropped(packets/bytes)           : 20/2000
");
    assert_eq!(
        facts(&xr),
        [
            "police of class VOICE: 1,000 of 10,000 packets (10 %, 100 kB) exceeded it",
            "class VOICE: 20 of 10,000 packets (0.2 %) dropped at its queue",
        ]
    );
    assert_eq!(xr.not_understood, []);
    let nx = ios("\
Ethernet1/1
  Service-policy (qos) input:   policy1
    Class-map (qos):   class1 (match-any)
      Match: dscp 10
      police cir 100 mbps bc 200 ms
        conformed 9000000 bytes, 350 bps action: transmit
        violated 1000000 bytes, 20 bps action: drop
");
    assert_eq!(facts(&nx), ["police of class class1: 1.0 MB of 10.0 MB (10 %) violated it (action: drop)"]);
    let p = policers(&only_link(&nx).backward)[0];
    assert_eq!((p.rate, p.burst), (Rate::from_bps(100_000_000), Some(Bytes::new(2_500_000))));
}
