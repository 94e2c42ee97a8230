use crate::{Assumed, ImportFormat, ImportSource, Imported, import};
use congestion::Control;
use path::{Meter, QueueConfig, Refill, Stage};
use units::{Bytes, Rate};

fn ios(text: &str) -> Imported {
    let beside = |_: &str| Err("none".to_string());
    let source = ImportSource { name: "router.cfg", text, own_name: None, values: &[], beside: &beside };
    let assumed = Assumed { rtt: None, line: None, duration: None, cc: Control::default() };
    assert_eq!(ImportFormat::of(text), Some(ImportFormat::Ios), "{text}");
    import(&source, None, &assumed).unwrap_or_else(|e| panic!("{e}"))
}

fn rules(imported: &Imported) -> Vec<(usize, &str)> {
    imported.lint.iter().map(|l| (l.line, l.rule)).collect()
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
    let link = &imported.experiment.variants[0].scenario.links[0];
    assert_eq!(link.name, "GigabitEthernet0-1-out");
    let Stage::Htb(htb) = &link.forward[0].stage else { panic!("{}", imported.toml) };
    let told: Vec<_> = htb.classes.iter().map(|c| (c.rate.as_bps() / 1000, c.prio, c.dscp.clone())).collect();
    // Of the 19 Mbit/s that voice leaves, 40 % and the rest.
    assert_eq!(told, [(20_000, 0, vec![]), (1000, 0, vec![46]), (7600, 1, vec![1]), (11_400, 1, vec![])]);
    assert_eq!(htb.classes[0].burst, Some(Bytes::new(10_000)));
    assert_eq!(htb.classes[1].ceil, Some(Rate::from_bps(1_000_000)));
    assert!(matches!(&htb.classes[2].queue, Some(QueueConfig::Fifo(f)) if f.packets == Some(100)));
    assert!(matches!(htb.classes[3].queue, Some(QueueConfig::Wfq(_))));
    let missed: Vec<usize> = imported.not_understood.iter().map(|n| n.line).collect();
    assert_eq!(missed, [18]);
    assert_eq!(rules(&imported), []);
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
    let links = &imported.experiment.variants[0].scenario.links;
    assert_eq!(links.len(), 3);
    let policer = |i: usize| match &links[i].backward[0].stage {
        Stage::Policer(p) => p.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((policer(0).meter, policer(0).burst), (Meter::Single, Some(Bytes::new(9600))));
    assert_eq!((policer(1).meter, policer(1).excess_burst), (Meter::Srtcm, Some(Bytes::new(500_000))));
    assert_eq!((policer(2).meter, policer(2).peak_rate), (Meter::Trtcm, Some(Rate::from_bps(2_000_000))));
    assert_eq!(rules(&imported), [(3, "policer-burst")]);
    assert_eq!(imported.not_understood, []);
}

#[test]
fn what_show_prints_is_read() {
    let imported = ios("\
Router#show policy-map interface
 GigabitEthernet0/1

  Service-policy output: PARENT

    Class-map: class-default (match-any)
      100 packets, 9000 bytes
      5 minute offered rate 0000 bps, drop rate 0000 bps
      Match: any
      Queueing
      queue limit 64 packets
      (queue depth/total drops/no-buffer drops) 0/0/0
      (pkts output/bytes output) 0/0
      shape (average) cir 5000000, bc 20000, be 20000
      target shape rate 5000000

  Service-policy input: LIMIT

    Class-map: class-default (match-any)
      0 packets, 0 bytes
      Match: any
      police:
          cir 2000000 bps, bc 62500 bytes
        conformed 0 packets, 0 bytes; actions:
          transmit
        exceeded 0 packets, 0 bytes; actions:
          drop
        conformed 0000 bps, exceeded 0000 bps
");
    let links = &imported.experiment.variants[0].scenario.links;
    let Stage::Shaper(s) = &links[0].forward[0].stage else { panic!("{}", imported.toml) };
    assert_eq!(
        (s.refill, s.rate, s.burst),
        (Refill::Interval, Rate::from_bps(5_000_000), Some(Bytes::new(2500)))
    );
    let Stage::Policer(p) = &links[1].backward[0].stage else { panic!("{}", imported.toml) };
    assert_eq!(p.burst, Some(Bytes::new(62_500)));
    assert_eq!(imported.not_understood, []);
}

#[test]
fn shape_peak_and_long_intervals() {
    let imported = ios("policy-map P\n class class-default\n  shape peak 1000000 200000 100000\n");
    let link = &imported.experiment.variants[0].scenario.links[0];
    let Stage::Shaper(s) = &link.forward[0].stage else { panic!("{}", imported.toml) };
    // 1 Mbit/s (1 + 100000 / 200000).
    assert_eq!((s.rate, s.burst), (Rate::from_bps(1_500_000), Some(Bytes::new(37_500))));
    assert_eq!(rules(&imported), [(3, "shape-interval")]);
}
