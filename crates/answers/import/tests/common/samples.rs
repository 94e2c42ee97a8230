//! Texts of each format, the seeds of the test of hostile texts and of the fuzzer.

use import::ImportFormat;

const TC: &str = include_str!("../../../../../docs/import/wan.sh");
const TC_SHOWN: &str = "\
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
const IOS: &str = include_str!("../../../../../docs/import/router.cfg");
const IOS_SHOWN: &str = "\
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
const MAHIMAHI_TRACE: &str = "0\n1\n1\n5\n9\n12\n";
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
const IOS_XR: &str = include_str!("../inputs/25-ios-xr.cfg");
const IOS_HQOS: &str = include_str!("../inputs/36-ios-hqos-shape.cfg");
const JUNOS: &str = include_str!("../inputs/20-junos.conf");
const JUNOS_SET: &str = "\
set firewall policer web if-exceeding bandwidth-percent 5
set firewall policer web if-exceeding burst-size-limit 15k
set firewall policer web then loss-priority high
set firewall family inet filter IN term all from dscp ef
set firewall family inet filter IN term all then policer web
set interfaces ge-0/0/1 unit 0 family inet filter input IN
set class-of-service interfaces ge-0/0/1 unit 0 shaping-rate 10m burst-size 2k
set class-of-service interfaces ge-0/0/1 scheduler-map M
set class-of-service scheduler-maps M forwarding-class best-effort scheduler S
set class-of-service schedulers S transmit-rate percent 30
set class-of-service schedulers S buffer-size temporal 200k
";
const CNI: &str = include_str!("../inputs/03b-cni-bandwidth.json");
const KUBERNETES: &str = "apiVersion: v1
kind: Pod
metadata:
  name: slow
  annotations:
    kubernetes.io/ingress-bandwidth: 10M
    kubernetes.io/egress-bandwidth: \"5Mi\"
    qos.projectcalico.org/egressBurst: 200M
    qos.projectcalico.org/egressPeakrate: 1G
";
const KUBECTL: &str = "Name:         slow\nLabels:       <none>\nAnnotations:  kubernetes.io/egress-bandwidth: 2M\n              \
                       kubernetes.io/ingress-bandwidth: 1Mi\n";
const ROUTEROS: &str = include_str!("../inputs/21-mikrotik.rsc");
const ROUTEROS_TREE: &str = "/queue tree\nadd name=down parent=bridge1 packet-mark=no-mark max-limit=50M queue=default\nadd name=up parent=ether1 \
                             packet-mark=no-mark max-limit=10M\n/queue simple\nadd name=all target=192.0.2.0/24 max-limit=10M/50M\n\
                             add name=voice parent=all target=192.0.2.1 limit-at=1M/1M max-limit=2M/2M priority=1/1\n";
const SQM: &str = include_str!("../inputs/22-sqm.conf");
const IPFW: &str = "\
fwcmd=\"/sbin/ipfw -q\"
sysctl net.inet.ip.dummynet.pipe_slot_limit=1000
$fwcmd pipe 1 config bw 20Mbit/s queue 200 delay 15 plr 0.001 mask dst-ip 0xffffffff
$fwcmd pipe 2 config bw 500KByte/s queue 30KBytes burst 64K gred 0.002/5/15/0.1
$fwcmd sched 1 config pipe 1 type fq_codel target 6ms interval 100 noecn limit 1000
$fwcmd queue 1 config sched 1 weight 10 codel target 5 interval 100ms ecn
$fwcmd queue 2 config pipe 1 weight 1 pie tupdate 15ms
$fwcmd add 100 queue 1 udp from any to any dst-port 53 out via em0
$fwcmd add 200 queue 2 ip from any to any out xmit em0 // the rest
$fwcmd add 300 prob 0.5 pipe 2 ip from any to 192.0.2.0/24 in recv em0
match in on em1 inet from any to any dnpipe (1, 2)
";
const IPFW_SHOWN: &str = "\
10000: 180.000 Mbit/s    0 ms burst 0
q75536  50 sl.plr 0.010000 0 flows (1 buckets) sched 10000 weight 0 lmax 0 pri 0 droptail
 sched 10000 type FQ_CODEL flags 0x0 0 buckets 1 active
 FQ_CODEL target 12ms interval 100ms quantum 1500 limit 10240 flows 65535 ECN
   Children flowsets: 10000
BKT Prot ___Source IP/port____ ____Dest. IP/port____ Tot_pkt/bytes Pkt/Byte Drp
  0 ip           0.0.0.0/0             0.0.0.0/0      688  1030595  3 4500  12
q10000  50 sl. 1 flows (1 buckets) sched 10000 weight 100 lmax 0 pri 0  AQM CoDel target 5ms interval 100ms NoECN
00001:  10.000 Mbit/s   20 ms   50 sl. 1 queues (1 buckets) droptail
60001 13 2833 queue 10000 ip from any to any recv igb0 xmit igb1 // wan -> lan: Down
";
const OPNSENSE: &str = include_str!("../inputs/opnsense-config.xml");

/// The samples of a format.
pub fn of(format: ImportFormat) -> &'static [&'static str] {
    match format {
        ImportFormat::Tc => &[TC, TC_SHOWN],
        ImportFormat::Ios => &[IOS, IOS_SHOWN, IOS_XR, IOS_HQOS],
        ImportFormat::Junos => &[JUNOS, JUNOS_SET],
        ImportFormat::MahimahiFiles => &[MAHIMAHI, MAHIMAHI_TRACE],
        ImportFormat::Containerlab => &[LAB],
        ImportFormat::Ibox => &[IBOX],
        ImportFormat::CniBandwidth => &[CNI],
        ImportFormat::Kubernetes => &[KUBERNETES, KUBECTL],
        ImportFormat::RouterOs => &[ROUTEROS, ROUTEROS_TREE],
        ImportFormat::Sqm => &[SQM],
        ImportFormat::Ipfw => &[IPFW, IPFW_SHOWN, OPNSENSE],
    }
}
