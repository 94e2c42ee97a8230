//! Captures of simulated connections, read by tshark: each header field is as the simulator sent it.
//!
//! Expected values come from the simulated packets themselves, not from the encoder.

use capture::PcapWriter;
use path::Packet;
use scenario::{Experiment, Scenario};
use sim::wire::Encoder;
use std::fs;
use std::io::Cursor;
use std::net::Ipv4Addr;
use std::process::Command;
use transport::{Flags, Segment};
use units::Time;

/// A packet that the first host saw, with source and destination host.
struct Shown {
    now: Time,
    packet: Packet<Segment>,
    ends: [usize; 2],
}

/// Writes the packets that the first host sees to a capture, and keeps them.
struct Tap {
    encoder: Encoder,
    out: PcapWriter<Cursor<Vec<u8>>>,
    shown: Vec<Shown>,
}

impl sim::Tap for Tap {
    fn packet(&mut self, now: Time, host: usize, _: bool, packet: &Packet<Segment>, from: usize, to: usize) {
        if host != 0 {
            return;
        }
        let frame = self.encoder.frame(now, packet, from, to);
        let first = packet.fragment.is_none_or(|f| f.index == 0);
        assert_eq!(frame.is_some(), first);
        if let Some(frame) = frame {
            self.out.write(&frame).unwrap();
            self.shown.push(Shown { now, packet: packet.clone(), ends: [from, to] });
        }
    }
}

const FIELDS: &[&str] = &[
    "frame.time_epoch",
    "ip.src",
    "ip.dst",
    "ip.len",
    "ip.id",
    "ip.dsfield.dscp",
    "ip.dsfield.ecn",
    "ip.checksum.status",
    "ipv6.src",
    "ipv6.dst",
    "ipv6.plen",
    "ipv6.tclass.dscp",
    "ipv6.tclass.ecn",
    "tcp.checksum.status",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq",
    "tcp.ack",
    "tcp.flags",
    "tcp.len",
    "tcp.window_size_value",
    "tcp.window_size",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.sack_perm",
    "tcp.options.timestamp.tsval",
    "tcp.options.timestamp.tsecr",
    "tcp.options.sack_le",
    "tcp.options.sack_re",
    "_ws.malformed",
];

/// The fields of a packet as tshark reads them.
struct Read<'a>(Vec<&'a str>);

impl Read<'_> {
    fn text(&self, field: &str) -> &str {
        self.0[FIELDS.iter().position(|f| *f == field).unwrap()]
    }

    fn number(&self, field: &str) -> Option<u64> {
        let text = self.text(field);
        let hex = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16).unwrap());
        hex.or_else(|| (!text.is_empty()).then(|| text.parse().unwrap()))
    }

    /// One edge of each SACK block.
    fn edges(&self, field: &str) -> Vec<u32> {
        self.text(field).split(',').filter(|t| !t.is_empty()).map(|t| t.parse().unwrap()).collect()
    }
}

fn scenario(stacks: [&str; 2], link: &str, flow: &str) -> Scenario {
    let [a, b] = stacks;
    // Slow enough for a queue where the test needs one.
    let rate = if link.starts_with("queue") { 4 } else { 20 };
    let text = format!(
        r#"
duration = "3s"
sample = "0s"
[hosts.a]
stack = {{ {a} }}
[hosts.b]
stack = {{ {b} }}
[links.l]
between = ["a", "b"]
forward = [{{ kind = "link", rate = "{rate}Mbit/s", delay = "20ms", {link} }}, {{ kind = "loss", model = "list", packets = [30, 31, 33, 60, 200] }}]
backward = [{{ kind = "delay", delay = "20ms" }}]
[flows.f]
from = "a"
to = "b"
{flow}
"#
    );
    Experiment::parse("t.toml", &text, &[])
        .unwrap_or_else(|e| panic!("{}", e.render()))
        .variants
        .remove(0)
        .scenario
}

/// Simulated packets, and tshark's output for their capture; `None` without tshark.
fn captured(name: &str, scenario: &Scenario) -> Option<(Vec<Shown>, String)> {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("SKIPPED {name}: tshark is not installed");
        return None;
    }
    let out = PcapWriter::new(Cursor::new(Vec::new())).unwrap();
    let mut tap = Tap { encoder: Encoder::new(scenario), out, shown: Vec::new() };
    sim::run("t", scenario, sim::SimOptions { seed: 1, tap: Some(&mut tap), ..Default::default() });
    let file = std::env::temp_dir().join(format!("longfat-wire-{}-{name}.pcap", std::process::id()));
    fs::write(&file, tap.out.finish().unwrap().into_inner()).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&file).args(["-T", "fields", "-E", "separator=;"]);
    for option in ["tcp.relative_sequence_numbers:FALSE", "tcp.check_checksum:TRUE", "ip.check_checksum:TRUE"]
    {
        command.args(["-o", option]);
    }
    FIELDS.iter().for_each(|field| _ = command.args(["-e", field]));
    let read = command.output().unwrap();
    let _ = fs::remove_file(&file);
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    Some((tap.shown, String::from_utf8(read.stdout).unwrap()))
}

/// Compares every packet of a run; returns what SYN and SYN/ACK announced: MSS, scale, SACK, timestamps.
fn compared(name: &str, scenario: &Scenario) -> Option<[(u64, u64, bool, bool); 2]> {
    let (shown, text) = captured(name, scenario)?;
    let lines: Vec<Read> = text.lines().map(|line| Read(line.split(';').collect())).collect();
    assert_eq!(lines.len(), shown.len());
    assert!(shown.len() > 500, "{name}: {}", shown.len());
    let mut scale = [0; 2];
    let mut announced = [(0, 0, false, false); 2];
    let mut sacks = 0;
    for (read, shown) in lines.iter().zip(&shown) {
        let (s, [from, _]) = (&shown.packet.body, shown.ends);
        let syn = s.flags.has(Flags::SYN);
        if syn {
            let n = |field| read.number(field).unwrap();
            scale[from] = n("tcp.options.wscale.shift");
            let sack = !read.text("tcp.options.sack_perm").is_empty();
            let stamped = read.number("tcp.options.timestamp.tsval").is_some();
            announced[from] = (n("tcp.options.mss_val"), scale[from], sack, stamped);
            assert_eq!(sack, s.sack_ok);
        }
        network(read, shown);
        header(read, s);
        window(name, read, s, scale[from]);
        sacks += u32::from(s.sacks);
        assert_eq!(read.text("_ws.malformed"), "");
        // The checksum is not verified where there is payload: captures hold only headers.
        assert_eq!(read.number("tcp.checksum.status"), Some(if s.len == 0 { 1 } else { 2 }));
        if !syn {
            for field in ["tcp.options.mss_val", "tcp.options.wscale.shift", "tcp.options.sack_perm"] {
                assert_eq!(read.text(field), "", "{name}: {field} of a segment that is not a SYN");
            }
        }
    }
    // Both ends offered SACK, and packets were lost.
    assert_eq!(sacks > 0, announced[0].2 && announced[1].2, "{name}: {sacks} SACK blocks");
    Some(announced)
}

fn network(read: &Read, shown: &Shown) {
    let (p, ns) = (&shown.packet, shown.now.as_nanos());
    let time = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    assert_eq!(read.text("frame.time_epoch"), time);
    if !read.text("ipv6.src").is_empty() {
        return network_v6(read, shown);
    }
    let host = |i: usize| Ipv4Addr::new(10, 0, 0, 1 + i as u8).to_string();
    assert_eq!(
        (read.text("ip.src"), read.text("ip.dst")),
        (&host(shown.ends[0])[..], &host(shown.ends[1])[..])
    );
    assert_eq!(read.number("ip.len"), Some(u64::from(p.size - p.overhead)));
    assert_eq!(read.number("ip.id"), Some(p.id & 0xffff));
    assert_eq!(read.number("ip.dsfield.dscp"), Some(p.dscp.into()));
    assert_eq!(read.number("ip.dsfield.ecn"), Some(p.ecn as u64));
    assert_eq!(read.number("ip.checksum.status"), Some(1), "good");
}

/// RFC 8200 section 3: the length excludes the header, and there is no checksum.
fn network_v6(read: &Read, shown: &Shown) {
    let (p, host) = (&shown.packet, |i: usize| format!("2001:db8::{}", i + 1));
    assert_eq!(
        (read.text("ipv6.src"), read.text("ipv6.dst"), read.text("ip.src")),
        (&host(shown.ends[0])[..], &host(shown.ends[1])[..], "")
    );
    assert_eq!(read.number("ipv6.plen"), Some(u64::from(p.size - p.overhead - 40)));
    assert_eq!(read.number("ipv6.tclass.dscp"), Some(p.dscp.into()));
    assert_eq!(read.number("ipv6.tclass.ecn"), Some(p.ecn as u64));
}

/// The scenario over IPv6, with hosts 2001:db8::1 and so on.
fn over_ipv6(mut scenario: Scenario) -> Scenario {
    for (i, host) in scenario.hosts.iter_mut().enumerate() {
        host.addresses = vec![format!("2001:db8::{}/64", i + 1).parse().unwrap()];
    }
    scenario
}

fn header(read: &Read, s: &Segment) {
    let opens = read.number("tcp.dstport") == Some(5201);
    let ports = (read.number("tcp.srcport").unwrap(), read.number("tcp.dstport").unwrap());
    assert_eq!(if opens { ports } else { (ports.1, ports.0) }, (40_000, 5201));
    let (syn, ack) = (s.flags.has(Flags::SYN), s.flags.has(Flags::ACK));
    // The SYN takes a sequence number (RFC 9293 section 3.4).
    let number = |offset: u64| (offset + 1) & 0xffff_ffff;
    assert_eq!(read.number("tcp.seq"), Some(if syn { 0 } else { number(s.seq) }));
    assert_eq!(read.number("tcp.ack"), Some(if ack { number(s.ack) } else { 0 }));
    assert_eq!(read.number("tcp.flags"), Some(s.flags.0.into()));
    assert_eq!(read.number("tcp.len"), Some(s.len.into()));
    let stamps = (s.ts_val != 0).then_some((s.ts_val, s.ts_ecr));
    let tsval = read.number("tcp.options.timestamp.tsval");
    let read_stamps = tsval.zip(read.number("tcp.options.timestamp.tsecr"));
    assert_eq!(read_stamps, stamps.map(|(value, echo)| (value.into(), echo.into())));
    let (left, right): (Vec<u32>, Vec<u32>) =
        s.sack_ranges().map(|(start, end)| (start as u32 + 1, end as u32 + 1)).unzip();
    assert_eq!((read.edges("tcp.options.sack_le"), read.edges("tcp.options.sack_re")), (left, right));
}

/// A SYN's window is not scaled; other windows are exact to less than one step of the scale.
fn window(name: &str, read: &Read, s: &Segment, scale: u64) {
    let sent = u64::from(s.window);
    let field = read.number("tcp.window_size_value").unwrap();
    if s.flags.has(Flags::SYN) {
        assert_eq!(field, sent.min(65_535));
        return;
    }
    let meant = field << scale;
    assert_eq!(read.number("tcp.window_size"), Some(meant));
    assert!(meant <= sent && sent - meant < 1 << scale, "{name}: {sent} is shown as {meant}");
}

#[test]
fn default_hosts_announce_the_default_options() {
    let both = compared("default", &scenario(["", ""], "", ""));
    let Some(both) = both else { return };
    assert_eq!(both, [(1460, 7, true, true); 2]);
}

/// IPv6 headers have 40 bytes: 20 bytes less payload in a packet of the same size, with all marks and
/// options.
#[test]
fn ipv6_is_shown_as_ipv6() {
    for (name, stack, link, flow, mss) in [
        ("v6", "", "", "", 1440),
        ("v6-mtu", "", "mtu = 1400", "", 1340),
        (
            "v6-marks",
            "ecn = true",
            "queue = { kind = \"codel\", target = \"1ms\", interval = \"20ms\", ecn = true }",
            "dscp = 46",
            1440,
        ),
    ] {
        let s = over_ipv6(scenario([stack, stack], link, flow));
        let Some(both) = compared(name, &s) else { return };
        assert_eq!(both.map(|b| b.0), [mss; 2], "{name}");
        let (shown, read) = captured(name, &s).unwrap();
        assert!(read.lines().all(|line| line.contains("2001:db8::")));
        let largest = shown.iter().map(|p| (p.packet.size, p.packet.body.len)).max().unwrap();
        assert_eq!((u64::from(largest.0), u64::from(largest.1)), (mss + 60, mss - 12), "{name}");
    }
}

#[test]
fn a_host_without_sack_offers_none_and_gets_none() {
    let s = scenario(["", "sack = false"], "", "");
    let Some([a, b]) = compared("no-sack", &s) else { return };
    assert_eq!((a, b), ((1460, 7, true, true), (1460, 7, false, true)));
}

#[test]
fn windows_above_eight_mebibytes_are_exact() {
    let s = scenario(["", "receive_window = \"16MiB\""], "", "");
    let Some([_, b]) = compared("large-window", &s) else { return };
    assert_eq!(b.1, 9);
    let s = scenario(["profile = \"windows\"", "profile = \"windows\""], "", "");
    let Some(both) = compared("windows", &s) else { return };
    assert_eq!(both, [(1460, 9, true, false); 2]);
    // Small windows are exact to the byte, or nearly.
    let s = scenario(["", "receive_window = \"30001B\""], "", "");
    let Some([_, b]) = compared("small-window", &s) else { return };
    assert_eq!(b.1, 7, "the buffer has its default size");
}

#[test]
fn without_timestamps_there_are_none() {
    let s = scenario(["timestamps = false", ""], "", "");
    let Some([a, b]) = compared("no-timestamps", &s) else { return };
    assert_eq!((a.3, b.3), (false, false), "a SYN/ACK has the negotiated options");
    let s = scenario(["", "timestamps = false"], "", "");
    let Some([a, b]) = compared("half-timestamps", &s) else { return };
    assert_eq!((a.3, b.3), (true, false));
}

#[test]
fn marks_are_shown() {
    let queue = "queue = { kind = \"codel\", target = \"1ms\", interval = \"20ms\", ecn = true }";
    let s = scenario(["ecn = true", "ecn = true"], queue, "dscp = 46");
    if compared("ecn", &s).is_none() {
        return;
    }
    let (shown, _) = captured("ecn-again", &s).unwrap();
    let has = |flag| shown.iter().any(|p| p.packet.body.flags.has(flag));
    assert!(has(Flags::ECE) && has(Flags::CWR), "the queue marked packets");
    assert!(shown.iter().all(|p| p.packet.dscp == 46));
}

#[test]
fn segments_are_as_large_as_announced() {
    for (name, stack, link, mss) in [
        ("jumbo", "mss = 8960", "", 1460),
        ("small-mss", "mss = 536", "", 536),
        ("small-mtu", "", "mtu = 1400", 1360),
    ] {
        let s = scenario([stack, stack], link, "");
        let Some(both) = compared(name, &s) else { return };
        assert_eq!(both.map(|b| b.0), [mss; 2], "{name}");
        let (shown, _) = captured(name, &s).unwrap();
        let largest = shown.iter().map(|p| p.packet.body.len).max().unwrap();
        // Timestamps reduce the payload of a segment (RFC 6691 section 2).
        assert_eq!(u64::from(largest), mss - 12, "{name}");
    }
}

/// Sent packets: time, IP bytes, and stream offset of the first byte.
type SentPackets = Vec<(Time, u32, u64)>;

/// Collects the ICMP messages that each host of a path sees: source, destination, MTU, and the quoted
/// packet's size, ports and sequence number.
struct Refused {
    encoder: Encoder,
    out: Vec<PcapWriter<Cursor<Vec<u8>>>>,
    /// Packets that the sender sent, with their times.
    sent: SentPackets,
}

impl sim::Tap for Refused {
    fn packet(&mut self, now: Time, host: usize, _: bool, packet: &Packet<Segment>, from: usize, to: usize) {
        if let Some(frame) = self.encoder.frame(now, packet, from, to) {
            self.out[host].write(&frame).unwrap();
        }
        if host == 0 && from == 0 {
            self.sent.push((now, packet.size, packet.body.seq));
        }
    }

    fn too_big(&mut self, now: Time, host: usize, r: &sim::SizeRefusal<'_>) {
        let frame = self.encoder.too_big(now, r.packet, (r.router, r.mtu), r.from, r.to).unwrap();
        self.out[host].write(&frame).unwrap();
    }
}

/// ICMP messages that tshark reads in the captures of hosts a, m and b, and the packets that a sent.
fn refused(icmp: bool, near: &str, far: &str, v6: bool) -> Option<(Vec<Vec<String>>, SentPackets)> {
    let text = format!(
        r#"
duration = "1s"
sample = "0s"
[hosts.a]
[hosts.m]
[hosts.b]
[links.near]
between = ["a", "m"]
forward = [{near}{{ kind = "delay", delay = "5ms" }}]
backward = [{{ kind = "delay", delay = "5ms" }}]
[links.far]
between = ["m", "b"]
forward = [{far}{{ kind = "link", rate = "20Mbit/s", delay = "20ms" }}]
backward = [{{ kind = "delay", delay = "20ms" }}]
[flows.f]
from = "a"
to = "b"
app = {{ kind = "bulk", bytes = "200kB" }}
"#
    );
    let text = text.replace("ICMP", &icmp.to_string());
    let file = Experiment::parse("t.toml", &text, &[]).unwrap_or_else(|e| panic!("{}", e.render()));
    let scenario = &file.variants[0].scenario;
    let scenario = &if v6 { over_ipv6(scenario.clone()) } else { scenario.clone() };
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("SKIPPED refused: tshark is not installed");
        return None;
    }
    let writer = || PcapWriter::new(Cursor::new(Vec::new())).unwrap();
    let out = (0..3).map(|_| writer()).collect();
    let mut tap = Refused { encoder: Encoder::new(scenario), out, sent: Vec::new() };
    sim::run("t", scenario, sim::SimOptions { seed: 1, tap: Some(&mut tap), ..Default::default() });
    let read = |(host, out): (usize, PcapWriter<Cursor<Vec<u8>>>)| {
        let name = format!("longfat-icmp-{}-{icmp}-{v6}-{}-{host}.pcap", std::process::id(), near.len());
        let file = std::env::temp_dir().join(name);
        fs::write(&file, out.finish().unwrap().into_inner()).unwrap();
        let mut command = Command::new("tshark");
        command.arg("-r").arg(&file).args([
            "-Y",
            if v6 { "icmpv6" } else { "icmp" },
            "-T",
            "fields",
            "-E",
            "separator=;",
        ]);
        for option in ["ip.check_checksum:TRUE", "tcp.relative_sequence_numbers:FALSE"] {
            command.args(["-o", option]);
        }
        let v4 = ["icmp.type", "icmp.code", "icmp.checksum.status", "icmp.mtu", "ip.src", "ip.dst", "ip.len"];
        // The capture holds fewer bytes than the checksum covers.
        let v6 =
            ["icmpv6.type", "icmpv6.code", "icmpv6.mtu", "ipv6.src", "ipv6.dst", "ipv6.plen", "frame.len"]
                .map(|field| v6.then_some(field));
        let own = v4.into_iter().zip(v6).map(|(v4, v6)| v6.unwrap_or(v4));
        let tcp = ["tcp.srcport", "tcp.dstport", "tcp.seq", "_ws.malformed"];
        for field in ["frame.time_epoch"].into_iter().chain(own).chain(tcp) {
            command.args(["-e", field]);
        }
        let read = command.output().unwrap();
        let _ = fs::remove_file(&file);
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
        String::from_utf8(read.stdout).unwrap().lines().map(str::to_string).collect::<Vec<_>>()
    };
    Some((tap.out.into_iter().enumerate().map(read).collect(), tap.sent))
}

const NARROW: &str = r#"{ kind = "tunnel", overhead = 24, mtu = 1500, icmp = ICMP }, "#;

#[test]
fn a_router_reports_to_the_sender_that_a_packet_was_too_big() {
    let Some((read, sent)) = refused(true, "", NARROW, false) else { return };
    assert_eq!(
        (read[0].len(), &read[1], read[2].len()),
        (10, &read[0], 0),
        "the first window, behind a and m"
    );
    // The first packet of a reaches m after 5 ms; the message takes no time.
    let large: Vec<_> = sent.iter().filter(|s| s.1 == 1500).collect();
    for (line, (at, size, seq)) in read[0].iter().zip(large) {
        let ns = at.as_nanos() + 5_000_000;
        let time = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
        let lengths = format!("56,{size}");
        let (ends, seq) = ("10.0.0.2,10.0.0.1;10.0.0.1,10.0.0.3", seq + 1);
        assert_eq!(*line, format!("{time};3;4;1;1476;{ends};{lengths};40000;5201;{seq};"));
    }
}

/// "Packet too big" (RFC 4443 section 3.2), of 1280 bytes, quoting as much of the packet as fits.
#[test]
fn a_router_reports_to_the_sender_of_ipv6_packets() {
    let Some((read, sent)) = refused(true, "", NARROW, true) else { return };
    assert_eq!((read[0].len(), &read[1], read[2].len()), (10, &read[0], 0));
    let large: Vec<_> = sent.iter().filter(|s| s.1 == 1500).collect();
    for (line, (at, _, seq)) in read[0].iter().zip(large) {
        let ns = at.as_nanos() + 5_000_000;
        let time = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
        let ends = "2001:db8::2,2001:db8::1;2001:db8::1,2001:db8::3";
        assert_eq!(*line, format!("{time};2;0;1476;{ends};1240,1460;1280;40000;5201;{};", seq + 1));
    }
    // Then 1476 bytes fit, with headers of 40 and 32 bytes.
    assert_eq!(sent.iter().filter(|s| s.1 < 1500).map(|s| s.1).max(), Some(1476));
}

#[test]
fn no_message_without_icmp_or_where_everything_fits() {
    for (icmp, far) in [(false, NARROW), (true, "")] {
        let Some((read, _)) = refused(icmp, "", far, false) else { return };
        assert_eq!(read, [[""; 0]; 3], "icmp = {icmp}");
    }
}

#[test]
fn without_a_router_the_message_comes_from_the_far_end() {
    let Some((read, _)) = refused(true, NARROW, "", false) else { return };
    assert_eq!((read[0].is_empty(), read[1].len(), read[2].len()), (false, 0, 0));
    assert!(read[0].iter().all(|line| line.contains(";10.0.0.3,10.0.0.1;")), "{:?}", read[0]);
}
