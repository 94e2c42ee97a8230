use crate::{ImportError, ImportFormat, Imported, sample};
use path::queue::{CoDel, FqCoDel, Pie, Red};
use path::{Htb, Link, Loss, LossModel, QueueConfig, Shaper, Stage};
use scenario::{DuplexLink, NamedStage, Scenario};
use units::{Rate, Span};

fn read(text: &str) -> Result<Imported, ImportError> {
    sample::read("ipfw.rules", text, ImportFormat::Ipfw)
}

fn ok(text: &str) -> Imported {
    read(text).unwrap_or_else(|e| panic!("{e}"))
}

fn scenario(imported: &Imported) -> &Scenario {
    &imported.experiment.variants[0].scenario
}

/// The only link.
fn link(imported: &Imported) -> &DuplexLink {
    let [link] = scenario(imported).links.as_slice() else { panic!("{:?}", scenario(imported).links) };
    link
}

fn pipe(stages: &[NamedStage]) -> &Link {
    let found = stages.iter().find_map(|s| if let Stage::Link(link) = &s.stage { Some(link) } else { None });
    found.unwrap_or_else(|| panic!("{stages:?}"))
}

fn bps(link: &Link) -> u64 {
    link.rate.map_or(0, Rate::as_bps)
}

fn rules(imported: &Imported) -> Vec<(usize, &str)> {
    imported.lint.iter().map(|l| (l.line, l.rule)).collect()
}

/// A pipe with `config` for outbound packets of em0.
fn out(config: &str) -> String {
    format!("ipfw pipe 1 config {config}\nipfw add pipe 1 ip from any to any out via em0\n")
}

#[test]
fn every_unit_of_a_rate_is_read() {
    for (text, right) in [
        ("300Kbit/s", 300_000),
        ("300kbit/s", 300_000),
        ("20Mbit/s", 20_000_000),
        ("2Gbit/s", 2_000_000_000),
        ("1000000", 1_000_000),
        ("500KByte/s", 4_000_000),
        ("2MBytes/s", 16_000_000),
        ("125000Bytes/s", 1_000_000),
        ("1000bytes/s", 8_000),
        ("10Mb/s", 10_000_000),
        ("10MB/s", 80_000_000),
        ("64K", 64_000),
    ] {
        assert_eq!(bps(pipe(&link(&ok(&out(&format!("bw {text}")))).forward)), right, "{text}");
    }
}

#[test]
fn a_pipe_with_a_value_unknown_to_ipfw_is_left_out_and_reported() {
    for (config, says) in [
        ("bw 20Mbots/s", "`Mbots/s`"),
        ("bw 1.5Mbit/s", "as 1 bit/s"),
        ("bw 10 Mbit/s", "without a space"),
        ("bw tun0", "the device `tun0`"),
        ("bw 10MBIT/s", "`MBIT/s`"),
        ("bw 1Mbit/s delay 1s", "`s` of `1s`"),
        ("bw 1Mbit/s delay 20000", "at most 10000"),
        ("bw 1Mbit/s queue 2MBytes", "`MBytes`"),
        ("bw 1Mbit/s burst 10furlongs", "furlongs"),
        ("bw 1Mbit/s plr 1%", "not a fraction"),
        ("bw 1Mbit/s red 0.002/15/5/0.1", "min_th below max_th"),
        ("bw 1Mbit/s type htb", "unknown scheduler `htb`"),
        ("bw 1Mbit/s codel target 5min", "`min`"),
        ("bw 1Mbit/s rate 5", "`rate` is not an option"),
    ] {
        let error = read(&out(config)).err().unwrap_or_else(|| panic!("{config}")).to_string();
        assert!(error.contains(says), "{config}: {error}");
    }
    let script = read(&out("bw ${RATE}")).unwrap_err().to_string();
    assert!(script.contains("RATE"), "{script}");
}

#[test]
fn a_pipe_is_a_link_with_its_queue_delay_and_loss() {
    let imported = ok(&out("bw 20Mbit/s delay 15 queue 30KBytes plr 0.01"));
    let stages = &link(&imported).forward;
    let found = pipe(stages);
    assert_eq!((bps(found), found.delay), (20_000_000, Span::from_millis(15)));
    // One packet more than configured is queued: the kernel checks before it adds (`dn_enqueue`).
    assert_eq!(found.queue.limits().bytes, 30 * 1024 + 1500);
    assert!(matches!(&stages[0].stage, Stage::Loss(Loss { probability: Some(p), .. }) if *p == 0.01));
    let usual = ok(&out("bw 20Mbit/s"));
    assert_eq!(pipe(&link(&usual).forward).queue.limits().packets, 50);
    let gilbert = ok(&out("bw 20Mbit/s plr 0.001,0.01,0.5,0.2"));
    let Stage::Loss(loss) = &link(&gilbert).forward[0].stage else { panic!() };
    let right = (LossModel::GilbertElliott, Some(0.001), Some(0.01), Some(0.5), Some(0.2));
    assert_eq!((loss.model, loss.loss_good, loss.p, loss.loss_bad, loss.r), right);
}

#[test]
fn a_burst_is_a_bucket_and_a_delay_alone_has_no_limit() {
    let imported = ok(&out("bw 10Mbit/s burst 64K delay 20"));
    let found = link(&imported).forward.iter().find_map(|s| match &s.stage {
        Stage::Shaper(s) => Some(s.clone()),
        _ => None,
    });
    let Some(Shaper { rate, burst: Some(burst), .. }) = found else { panic!("{found:?}") };
    assert_eq!((rate.as_bps(), burst.get()), (10_000_000, 65_536 + 1514));
    assert!(
        link(&imported)
            .forward
            .iter()
            .any(|s| matches!(&s.stage, Stage::Delay(d) if d.delay == Span::from_millis(20)))
    );
    // dnctl of macOS, without a rate.
    let late = ok("dnctl pipe 1 config delay 100\ndnctl -q pipe 2 config delay 50 bw 0\n");
    assert_eq!(scenario(&late).links.len(), 2);
    assert!(
        late.assumed.iter().any(|a| a.contains("direction of each pipe is unknown")),
        "{:?}",
        late.assumed
    );
}

#[test]
fn rules_put_pipes_into_directions_of_one_path() {
    // OPNsense's pair with two interfaces, as `ipfw show` prints it; the second never matched.
    let text = "10000: 50.000 Mbit/s    0 ms burst 0\n10001:  10.000 Mbit/s    5 ms burst 0\n\
                60001 48 7501 pipe 10000 ip from any to any recv igb0 xmit igb1 // wan -> lan\n\
                60002 0 0 pipe 10001 ip from any to any recv igb1 xmit igb0 // lan -> wan\n";
    let imported = ok(text);
    let path = link(&imported);
    let mut rates = [bps(pipe(&path.forward)), bps(pipe(&path.backward))];
    rates.sort_unstable();
    assert_eq!(rates, [10_000_000, 50_000_000]);
    assert!(imported.facts.iter().any(|f| f.line == 4 && f.text.contains("no packet has matched")));
    assert!(imported.not_understood.is_empty() && imported.lint.is_empty(), "{imported:?}");
    // One interface, in and out, with variables.
    let script = "cmd=\"/sbin/ipfw -q\"\npif=em0\n$cmd pipe 1 config bw 8Mbit/s\n$cmd pipe 2 config bw 1Mbit/s\n\
                  $cmd add 200 pipe 1 ip from any to any in via $pif\n$cmd add 100 pipe 2 ip from any to any out via $pif\n";
    let imported = ok(script);
    let path = link(&imported);
    assert_eq!((bps(pipe(&path.forward)), bps(pipe(&path.backward))), (1_000_000, 8_000_000));
    // Two users are two paths.
    let users = "ipfw pipe 1 config bw 1Mbit/s\nipfw pipe 2 config bw 2Mbit/s\nipfw pipe 3 config bw 3Mbit/s\n\
                 ipfw add pipe 1 ip from 192.0.2.5 to any in\nipfw add pipe 2 ip from any to 192.0.2.5 out\n\
                 ipfw add pipe 3 ip from any to 192.0.2.6 out\n";
    let imported = ok(users);
    assert_eq!(scenario(&imported).links.len(), 2);
    let first = &scenario(&imported).links[0];
    assert_eq!((bps(pipe(&first.forward)), bps(pipe(&first.backward))), (2_000_000, 1_000_000));
}

#[test]
fn parallel_pipes_are_separate_paths() {
    let text = "ipfw pipe 1 config bw 1Mbit/s\nipfw pipe 2 config bw 9Mbit/s\nipfw add 10 pipe 1 udp from any to any out via em0\n\
                ipfw add 20 pipe 2 ip from any to any out via em0\n";
    let imported = ok(text);
    let rates: Vec<u64> = scenario(&imported).links.iter().map(|l| bps(pipe(&l.forward))).collect();
    assert_eq!(rates, [1_000_000, 9_000_000]);
    assert_eq!(scenario(&imported).flows.len(), 2);
}

#[test]
fn queues_share_a_pipe_by_weight() {
    let text = "ipfw pipe 1 config bw 10Mbit/s\nipfw queue 1 config pipe 1 weight 30 queue 20\n\
                ipfw queue 2 config pipe 1 weight 10 codel target 8 interval 50ms ecn\n\
                ipfw add queue 1 udp from any to any out via em0\nipfw add queue 2 ip from any to any out via em0\n";
    let imported = ok(text);
    let Stage::Htb(Htb { classes }) = &link(&imported).forward[0].stage else { panic!() };
    let found: Vec<_> =
        classes.iter().map(|c| (c.rate.as_bps(), c.ceil.map(Rate::as_bps), c.quantum)).collect();
    let all = Some(10_000_000);
    assert_eq!(found, [(10_000_000, all, None), (7_500_000, all, Some(4542)), (2_500_000, all, Some(1514))]);
    assert_eq!(classes[1].queue.as_ref().map(|q| q.limits().packets), Some(20));
    let codel =
        CoDel { packets: 50, target: Span::from_millis(8), interval: Span::from_millis(50), ecn: true };
    assert_eq!(classes[2].queue, Some(QueueConfig::CoDel(codel)));
    assert_eq!(scenario(&imported).flows.len(), 2);
    // A rejected queue removes its class, not the pipe.
    let part = ok(&text.replace("queue 20", "queue 20furlongs"));
    assert_eq!(bps(pipe(&link(&part).forward)), 10_000_000);
    assert!(part.refused.iter().any(|r| r.line == 2 && r.why.contains("furlongs")), "{:?}", part.refused);
}

#[test]
fn the_scheduler_applies_to_queues_but_not_to_the_pipe() {
    let set = "ipfw pipe 1 config bw 20Mbit/s\nipfw sched 1 config pipe 1 type fq_codel target 6ms noecn limit 900 flows 64\n\
               ipfw queue 1 config sched 1\n";
    let right = QueueConfig::FqCoDel(FqCoDel {
        packets: 900,
        flows: 64,
        target: Span::from_millis(6),
        ecn: false,
        ..FqCoDel::default()
    });
    let by_queue = ok(&format!("{set}ipfw add queue 1 ip from any to any out via em0\n"));
    assert_eq!(pipe(&link(&by_queue).forward).queue, right);
    assert!(by_queue.lint.is_empty());
    let direct = ok(&format!("{set}ipfw add pipe 1 ip from any to any out via em0\n"));
    assert_eq!(pipe(&link(&direct).forward).queue.limits().packets, 50);
    assert_eq!(rules(&direct), [(1, "pipe-scheduler")]);
}

#[test]
fn algorithms_of_queues_are_read() {
    let queue = |config: &str| pipe(&link(&ok(&out(config))).forward).queue.clone();
    let red = Red {
        packets: 50,
        min: 5,
        max: 15,
        max_probability: 0.1,
        weight: 0.002,
        gentle: true,
        ..Red::default()
    };
    assert_eq!(queue("bw 10Mbit/s gred 0.002/5/15/0.1"), QueueConfig::Red(red));
    let pie = Pie { packets: 80, target: Span::from_millis(20), ecn: true, ..Pie::default() };
    assert_eq!(queue("bw 10Mbit/s queue 80 pie target 20ms ecn capdrop"), QueueConfig::Pie(pie));
}

#[test]
fn faults_of_rules_and_pipes_are_found() {
    let twice = ok("ipfw pipe 1 config bw 1Mbit/s\nipfw add pipe 1 ip from any to any\n");
    assert!(rules(&twice).contains(&(2, "pipe-twice")));
    assert!(twice.not_understood.iter().any(|n| n.line == 1 && n.why.contains("both directions share")));
    let long = "bw 100Mbit/s queue 1000";
    assert!(rules(&ok(&out(long))).contains(&(1, "pipe-limit")));
    let raised = format!("sysctl net.inet.ip.dummynet.pipe_slot_limit=1000\n{}", out(long));
    assert!(!rules(&ok(&raised)).iter().any(|(_, rule)| *rule == "pipe-limit"));
    assert!(rules(&ok(&out("bw 1Mbit/s plr 5"))).contains(&(1, "loss-percent")));
    let late = "ipfw add 10 allow ip from any to any\nipfw pipe 1 config bw 1Mbit/s\nipfw pipe 2 config bw 2Mbit/s\n\
                ipfw add 20 pipe 1 ip from any to any out via em0\nipfw add 5 pipe 2 ip from any to any out via em0\n";
    let late = ok(late);
    assert_eq!(rules(&late), [(2, "pipe-unused"), (4, "pipe-never-reached")]);
    assert_eq!(bps(pipe(&link(&late).forward)), 2_000_000);
    let missing = read("ipfw add 20 pipe 7 ip from any to any out via em0\n").unwrap_err().to_string();
    assert!(missing.contains("no `pipe 7 config`"), "{missing}");
}

#[test]
fn show_output_is_read_with_its_counters() {
    let text = "10000: 495.000 Mbit/s    3 ms burst 0\n\
                q75536  50 sl. 0 flows (1 buckets) sched 10000 weight 0 lmax 0 pri 0 droptail\n \
                sched 10000 type FQ_CODEL flags 0x0 0 buckets 1 active\n \
                FQ_CODEL target 12ms interval 100ms quantum 1500 limit 10240 flows 65535 ECN\n   \
                Children flowsets: 10000\n\
                BKT Prot ___Source IP/port____ ____Dest. IP/port____ Tot_pkt/bytes Pkt/Byte Drp\n  \
                0 ip           0.0.0.0/0             0.0.0.0/0      688  1030595  3 61875  12\n\
                q10000  50 sl. 1 flows (1 buckets) sched 10000 weight 100 lmax 0 pri 0 droptail\n";
    let imported = ok(text);
    let found = pipe(&link(&imported).forward);
    assert_eq!((bps(found), found.delay), (495_000_000, Span::from_millis(3)));
    let QueueConfig::FqCoDel(queue) = &found.queue else { panic!("{:?}", found.queue) };
    assert_eq!(
        (queue.target, queue.quantum, queue.flows, queue.ecn),
        (Span::from_millis(12), 1500, 65_535, true)
    );
    let facts: Vec<&str> = imported.facts.iter().map(|f| f.text.as_str()).collect();
    assert!(facts[0].contains("12 of 688 packets dropped (1.74 %)"), "{facts:?}");
    assert!(facts[1].contains("61.9 kB queued, 1.0 ms"), "{facts:?}");
    assert!(imported.not_understood.is_empty(), "{:?}", imported.not_understood);
    let old = ok("00001:  10.000 Mbit/s   20 ms   30 KB 1 queues (1 buckets) droptail\n");
    let found = pipe(&link(&old).forward);
    assert_eq!((bps(found), found.queue.limits().bytes), (10_000_000, 30 * 1024 + 1500));
    let lossy = ok("00001: unlimited         20 ms   50 sl.plr 0.010000 1 queues (1 buckets) droptail\n");
    assert!(
        link(&lossy)
            .forward
            .iter()
            .any(|s| matches!(&s.stage, Stage::Loss(l) if l.probability == Some(0.01)))
    );
}

#[test]
fn rules_of_pf_have_a_pipe_each_way() {
    let text = "pipe 1 config bw 50Mb droptail\npipe 2 config bw 10Mb droptail\n\
                match out on em0 inet from any to any dnpipe (2, 1)\n";
    let path = ok(text);
    assert_eq!((bps(pipe(&link(&path).forward)), bps(pipe(&link(&path).backward))), (10_000_000, 50_000_000));
}

const OPNSENSE: &str = include_str!("../../tests/inputs/opnsense-config.xml");

#[test]
fn a_shaper_of_opnsense_is_read() {
    let imported = ok(OPNSENSE);
    let path = link(&imported);
    let down = pipe(&path.backward);
    let QueueConfig::FqCoDel(queue) = &down.queue else { panic!("{:?}", down.queue) };
    assert_eq!(
        (bps(down), queue.target, queue.quantum, queue.ecn),
        (200_000_000, Span::from_millis(8), 1500, true)
    );
    let Stage::Htb(Htb { classes }) = &path.forward[0].stage else { panic!("{:?}", path.forward) };
    let rates: Vec<u64> = classes.iter().map(|c| c.rate.as_bps()).collect();
    assert_eq!(rates, [20_000_000, 18_000_000, 2_000_000]);
    assert!(
        path.forward.iter().any(|s| matches!(&s.stage, Stage::Delay(d) if d.delay == Span::from_millis(10)))
    );
    assert!(
        imported.toml.contains("Download") && imported.not_understood.is_empty(),
        "{:?}",
        imported.not_understood
    );
    assert!((imported.refused.len(), imported.lint.len()) == (0, 0), "{imported:?}");
    let off = OPNSENSE.replacen("<enabled>1</enabled>", "<enabled>0</enabled>", 1);
    assert_eq!(scenario(&ok(&off)).flows.len(), 2, "the pipe's queue is off with it");
}

#[test]
fn unknown_values_of_opnsense_are_errors_with_their_line() {
    let error = read(&OPNSENSE.replace("<bandwidthMetric>Mbit", "<bandwidthMetric>Mpkt")).err();
    let other = ok(&OPNSENSE.replace("<bandwidthMetric>Mbit", "<bandwidthMetric>Mpkt"));
    assert!(
        error.is_none() && other.refused[0].line == 10 && other.refused[0].why.contains("Mpkt"),
        "{other:?}"
    );
    let broken = read(&OPNSENSE.replace("</queues>", "")).unwrap_err().to_string();
    assert!(broken.starts_with("line ") && broken.contains("not valid XML"), "{broken}");
    let entities = format!("<!DOCTYPE x [<!ENTITY a \"b\">]>\n{}", OPNSENSE.split_once('\n').unwrap().1);
    assert!(read(&entities).unwrap_err().to_string().contains("not valid XML"));
}
