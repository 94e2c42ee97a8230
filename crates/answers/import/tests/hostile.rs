//! Samples of each format, spoilt at random from a seed: no panic, lines that exist, scenarios that read back.
//! `LONGFAT_CASES` says how many of each format (default 1500), `LONGFAT_SEED` which.

mod common;

use import::ImportFormat;
use units::Stream;

const TC: &str = include_str!("../../../../docs/import/wan.sh");
const SHOWN: &str = "\
qdisc htb 1: dev eth0 root refcnt 2 r2q 10 default 0x30 direct_packets_stat 0 direct_qlen 1000
class htb 1:1 dev eth0 root rate 20Mbit ceil 20Mbit burst 15Kb cburst 1600b
class htb 1:10 dev eth0 parent 1:1 leaf 10: prio 0 rate 5Mbit ceil 20Mbit burst 15Kb cburst 1600b
qdisc netem 10: dev eth0 parent 1:10 limit 1000 delay 10ms  2ms loss 1%
qdisc red 2: dev eth1 root limit 60Kb min 10Kb max 30Kb ecn
qdisc tbf 3: dev eth2 root rate 1Mbit burst 10Kb lat 70ms peakrate 2Mbit mtu 1540
qdisc cake 4: dev eth3 root bandwidth 10Mbit diffserv3
qdisc ingress ffff: dev eth0 parent ffff:fff1 ----------------
filter parent ffff: protocol ip pref 50 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 flowid :1
  match 00000000/00000000 at 12
 police 0x1 rate 33Mbit burst 9Kb mtu 2Kb action drop overhead 0b
";
const IOS: &str = include_str!("../../../../docs/import/router.cfg");
const SHOWN_IOS: &str = "\
 GigabitEthernet0/1
  Service-policy output: PARENT
    Class-map: class-default (match-any)
      Match: any
      shape (average) cir 5000000, bc 20000, be 20000
      Service-policy : CHILD
        Class-map: VOICE (match-all)
          Match: dscp ef (46)
          Priority: 1000 kbps, burst bytes 25000
          police:
              cir 1000000 bps, bc 31250 bytes, be 62500 bytes
            conformed 0 packets, 0 bytes; actions:
              transmit
            exceeded 0 packets, 0 bytes; actions:
              drop
        Class-map: class-default (match-any)
          bandwidth remaining 30%
          queue limit 64 packets
          Fair-queue: per-flow queue limit 16 packets
";
const MAHIMAHI: &str = "\
mm-delay 20 mm-loss uplink 0.01 mm-link a b --uplink-queue=codel --uplink-queue-args=\"packets=100,target=5\" -- sh
mm-link a b --downlink-queue=pie --downlink-queue-args=bytes=30000 mm-delay 5 mm-onoff uplink 1 1
";
const TRACE: &str = "0\n1\n1\n5\n9\n12\n";
const LAB: &str = "\
name: wan
topology:
  nodes:
    r1: { kind: linux, exec: [\"tc qdisc add dev eth1 root netem delay 10ms\"] }
    r2:
      exec:
        - containerlab tools netem set -n r2 -i eth1 --delay 30ms --rate 5000
        - sh -c \"tc qdisc add dev eth2 root tbf rate 5mbit burst 32kb latency 50ms\"
  links:
    - endpoints: [\"r1:eth1\", \"r2:eth1\"]
      impairments: { delay: 5ms, loss: 1, rate: 2000 }
    - endpoints: [{ node: r1, interface: eth2 }, { node: r2, interface: eth2 }]
";
const IBOX: &str = r#"{ "measurement_node": "a", "peer_cloud_server": "b", "data_flow_direction": "upload",
 "config": { "uplink": { "bottleneck_bandwidth": 6000, "buffer_size_bytes": 30000, "propagation_delay": 24,
  "cross_traffic_pattern": [500, 0, 700] }, "downlink": { "bottleneck_bandwidth": 100000, "buffer_size_packets": 10 } } }"#;

/// Pieces that mean something somewhere.
const PIECES: [&str; 24] = [
    "0",
    "1",
    "18446744073709551615",
    "-1",
    "1e308",
    "99999999999mbit",
    "1:1",
    "ffff:",
    "parent 1:1",
    "$(",
    "${A",
    "`",
    "\"",
    "\\\n",
    "tc class add dev eth1 parent 1:10 classid 1:1 htb rate 1",
    "root",
    "netem",
    "police",
    "0%",
    "100%",
    "\u{1b}",
    "[",
    "{",
    "\0",
];

fn spoil(stream: &mut Stream, text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..1 + stream.below(6) {
        let at = stream.below(chars.len() as u64 + 1) as usize;
        let end = (at + stream.below(12) as usize).min(chars.len());
        match stream.below(5) {
            0 => drop(chars.drain(at..end)),
            1 => {
                let copy: Vec<char> = chars[at..end].to_vec();
                chars.splice(at..at, copy);
            }
            2 => {
                let piece = PIECES[stream.below(PIECES.len() as u64) as usize];
                chars.splice(at..end, piece.chars());
            }
            3 => {
                // A line to another place.
                let lines: Vec<&str> = text.lines().collect();
                let line = lines[stream.below(lines.len() as u64) as usize];
                let line: Vec<char> = format!("\n{line}\n").chars().collect();
                chars.splice(at..at, line);
            }
            _ => {
                if let Some(c) = chars.get_mut(at) {
                    *c = char::from_u32(32 + stream.below(96) as u32).unwrap_or(' ');
                }
            }
        }
    }
    chars.into_iter().collect()
}

fn play(format: ImportFormat, samples: &[&str]) {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let mut stream = Stream::new(number("LONGFAT_SEED", 1), format.name());
    for sample in samples {
        common::check(format, sample);
    }
    for i in 0..number("LONGFAT_CASES", 1500) {
        let sample = samples[i as usize % samples.len()];
        common::check(format, &spoil(&mut stream, sample));
    }
}

#[test]
fn spoilt_tc() {
    play(ImportFormat::Tc, &[TC, SHOWN]);
}

#[test]
fn spoilt_ios() {
    play(ImportFormat::Ios, &[IOS, SHOWN_IOS]);
}

#[test]
fn spoilt_mahimahi() {
    play(ImportFormat::MahimahiFiles, &[MAHIMAHI, TRACE]);
}

#[test]
fn spoilt_containerlab() {
    play(ImportFormat::Containerlab, &[LAB]);
}

#[test]
fn spoilt_ibox() {
    play(ImportFormat::Ibox, &[IBOX]);
}
