//! Written captures read back, with an independent parser, and with tshark where it is installed.

use capture::{
    Batch, BatchPart, CaptureReader, Frame, IcmpMessage, IcmpReport, Payload, PcapWriter, TcpFlags, TcpFrame,
    TcpOptions, TcpPacket, UdpFrame,
};
use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TransportSlice};
use std::io::Cursor;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::Command;
use units::Time;

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

fn tcp(
    ms: u64,
    up: bool,
    seq: u32,
    ack: u32,
    flags: TcpFlags,
    options: TcpOptions,
    payload_len: u32,
) -> Frame {
    let (src, dst, sport, dport) =
        if up { (CLIENT, SERVER, 40_000, 5_201) } else { (SERVER, CLIENT, 5_201, 40_000) };
    let segment = TcpFrame { sport, dport, seq, ack, flags, window: 502, options, payload_len };
    Frame {
        time: Time::from_nanos(ms * 1_000_000 + 7),
        src,
        dst,
        id: ms as u16,
        dscp: 46,
        ecn: 2,
        ttl: 64,
        payload: Payload::Tcp(segment),
    }
}

/// A connection with a hole, reported by SACK and filled, and a datagram at the end.
fn story() -> Vec<Frame> {
    let syn = TcpOptions {
        mss: Some(1460),
        wscale: Some(7),
        sack_ok: true,
        timestamps: Some((1000, 0)),
        sack: vec![],
    };
    let ts = |value, echo| TcpOptions { timestamps: Some((value, echo)), ..Default::default() };
    let data =
        |ms, seq| tcp(ms, true, seq, 1, TcpFlags::ACK | TcpFlags::PSH, ts(1000 + ms as u32, 2000), 1448);
    let hole = TcpOptions { sack: vec![(2897, 4345)], ..ts(2100, 1100) };
    let mut frames = vec![
        tcp(0, true, 0, 0, TcpFlags::SYN, syn.clone(), 0),
        tcp(
            30,
            false,
            0,
            1,
            TcpFlags::SYN | TcpFlags::ACK,
            TcpOptions { timestamps: Some((2000, 1000)), ..syn },
            0,
        ),
        tcp(60, true, 1, 1, TcpFlags::ACK, ts(1060, 2000), 0),
        data(61, 1),
        data(62, 2897),
        tcp(91, false, 1, 1449, TcpFlags::ACK, ts(2090, 1061), 0),
        tcp(92, false, 1, 1449, TcpFlags::ACK, hole, 0),
        data(95, 1449),
        tcp(125, false, 1, 4345, TcpFlags::ACK | TcpFlags::ECE, ts(2120, 1095), 0),
    ];
    let mut datagram = frames[3].clone();
    datagram.time = Time::from_nanos(4_200_000_000);
    datagram.payload = Payload::Udp(UdpFrame { sport: 9, dport: 9999, payload_len: 1472 });
    frames.push(datagram);
    frames
}

/// The same frames over IPv6, which has no identification.
fn story_v6() -> Vec<Frame> {
    let v6 = |address| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, if address == CLIENT { 1 } else { 2 });
    let over_v6 = |f: Frame| Frame { src: v6(f.src).into(), dst: v6(f.dst).into(), id: 0, ..f };
    story().into_iter().map(over_v6).collect()
}

fn pcap(frames: &[Frame]) -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new()).unwrap();
    for frame in frames {
        writer.write(frame).unwrap();
    }
    writer.finish().unwrap()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The fields of an IP header as the other parser reads them.
struct Network {
    header: usize,
    src: IpAddr,
    dst: IpAddr,
    id: u16,
    dscp: u8,
    ecn: u8,
    ttl: u8,
}

/// Reads the IP header of a packet of this length.
fn network(net: &NetSlice<'_>, length: usize) -> Network {
    match net {
        NetSlice::Ipv4(ip) => {
            let ip = ip.header();
            assert_eq!(ip.total_len() as usize, length);
            assert_eq!(ip.header_checksum(), ip.to_header().calc_header_checksum());
            let (dscp, ecn) = (ip.dcp().value(), ip.ecn().value());
            let [src, dst] = [ip.source_addr(), ip.destination_addr()].map(IpAddr::V4);
            Network { header: 20, src, dst, id: ip.identification(), dscp, ecn, ttl: ip.ttl() }
        }
        NetSlice::Ipv6(ip) => {
            let ip = ip.header();
            assert_eq!(ip.payload_length() as usize + 40, length);
            let (dscp, ecn) = (ip.traffic_class() >> 2, ip.traffic_class() & 3);
            let [src, dst] = [ip.source_addr(), ip.destination_addr()].map(IpAddr::V6);
            Network { header: 40, src, dst, id: 0, dscp, ecn, ttl: ip.hop_limit() }
        }
        other => panic!("{other:?}"),
    }
}

/// An address of either version; the other is zeros.
fn octets(address: IpAddr) -> ([u8; 4], [u8; 16]) {
    match address {
        IpAddr::V4(a) => (a.octets(), [0; 16]),
        IpAddr::V6(a) => ([0; 4], a.octets()),
    }
}

/// Reads one record: the frame that it describes, and the bytes after it.
fn read(bytes: &[u8]) -> (Frame, &[u8]) {
    let (captured, length) = (word(bytes, 8) as usize, word(bytes, 12) as usize);
    let time = Time::from_nanos(word(bytes, 0) as u64 * 1_000_000_000 + word(bytes, 4) as u64);
    let (headers, rest) = bytes[16..].split_at(captured);
    let mut whole = headers.to_vec();
    whole.resize(length, 0);
    let packet = SlicedPacket::from_ip(&whole).unwrap();
    let ip = network(packet.net.as_ref().unwrap(), length);
    let value_of = |v4: Result<u16, _>, v6: Result<u16, _>| if ip.src.is_ipv4() { v4 } else { v6 }.unwrap();
    let (payload, header_len) = match packet.transport.unwrap() {
        TransportSlice::Tcp(tcp) => {
            let [a, b] = [ip.src, ip.dst].map(octets);
            let sum = value_of(tcp.calc_checksum_ipv4(a.0, b.0), tcp.calc_checksum_ipv6(a.1, b.1));
            assert_eq!(tcp.checksum(), sum);
            let header = ip.header + tcp.header_slice().len();
            (Payload::Tcp(read_tcp(&tcp)), header)
        }
        TransportSlice::Udp(udp) => {
            let (header, [a, b]) = (udp.to_header(), [ip.src, ip.dst].map(octets));
            let sum = value_of(
                header.calc_checksum_ipv4_raw(a.0, b.0, udp.payload()),
                header.calc_checksum_ipv6_raw(a.1, b.1, udp.payload()),
            );
            assert_eq!(udp.checksum(), sum);
            let payload_len = udp.payload().len() as u32;
            let datagram = UdpFrame { sport: udp.source_port(), dport: udp.destination_port(), payload_len };
            (Payload::Udp(datagram), ip.header + 8)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(header_len, captured, "headers and nothing else are kept");
    let frame =
        Frame { time, src: ip.src, dst: ip.dst, id: ip.id, dscp: ip.dscp, ecn: ip.ecn, ttl: ip.ttl, payload };
    (frame, rest)
}

/// [`Frame::seen`] gives the packet that the reader parses from the frame's bytes.
#[test]
fn seen_gives_what_the_reader_parses_for_ipv6() {
    let frames = story_v6();
    let input = Box::new(Cursor::new(pcap(&frames)));
    let (mut reader, mut batch) = (CaptureReader::from_reader(input, "x").unwrap(), Batch::default());
    while reader.fill(&mut batch) {}
    let read: Vec<_> = batch.packets.iter().map(|p| TcpPacket { number: 0, ..*p }).collect();
    assert_eq!(read, frames.iter().filter_map(Frame::seen).collect::<Vec<_>>());
    assert_eq!((read.len(), read[3].header, read[3].len), (9, 72, 1448));
    for (packet, frame) in read.iter().zip(&frames) {
        assert_eq!(Frame { dscp: frame.dscp, ..Frame::of(packet) }.headers(), frame.headers());
    }
}

#[test]
fn seen_gives_what_the_reader_parses() {
    let blocks = vec![(1, 2), (3, 4), (5, 6), (7, 8), (9, 10)];
    let many = |timestamps| TcpOptions { timestamps, sack: blocks.clone(), ..Default::default() };
    let mut frames = story();
    frames.extend([
        tcp(130, false, 1, 4345, TcpFlags::ACK, many(None), 0),
        tcp(131, false, 1, 4345, TcpFlags::ACK, many(Some((1, 2))), 0),
    ]);
    let input = Box::new(Cursor::new(pcap(&frames)));
    let (mut reader, mut batch) = (CaptureReader::from_reader(input, "x").unwrap(), Batch::default());
    while reader.fill(&mut batch) {}
    let seen: Vec<_> = frames.iter().filter_map(Frame::seen).collect();
    assert_eq!((batch.packets.len(), frames.len()), (11, 12), "the datagram is no segment");
    let read: Vec<_> = batch.packets.iter().map(|p| TcpPacket { number: 0, ..*p }).collect();
    assert_eq!(read, seen);
    let numbers: Vec<u32> = batch.packets.iter().map(|p| p.number).collect();
    let counted = (1..).zip(&frames).filter(|(_, f)| f.seen().is_some()).map(|(i, _)| i);
    assert_eq!(numbers, counted.collect::<Vec<u32>>(), "all records are counted");
    assert_eq!(seen.iter().map(|p| p.options.sacks).collect::<Vec<_>>()[9..], [4, 3]);
    for (packet, frame) in seen.iter().zip(frames.iter().filter(|f| f.seen().is_some())) {
        let again = Frame { dscp: frame.dscp, ..Frame::of(packet) };
        assert_eq!(again.headers(), frame.headers());
    }
}

fn read_tcp(tcp: &etherparse::TcpSlice) -> TcpFrame {
    let mut options = TcpOptions::default();
    for option in tcp.options_iterator() {
        match option.unwrap() {
            TcpOptionElement::MaximumSegmentSize(mss) => options.mss = Some(mss),
            TcpOptionElement::WindowScale(shift) => options.wscale = Some(shift),
            TcpOptionElement::SelectiveAcknowledgementPermitted => options.sack_ok = true,
            TcpOptionElement::Timestamp(value, echo) => options.timestamps = Some((value, echo)),
            TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                options.sack.push(first);
                options.sack.extend(rest.iter().flatten());
            }
            TcpOptionElement::Noop => {}
        }
    }
    TcpFrame {
        sport: tcp.source_port(),
        dport: tcp.destination_port(),
        seq: tcp.sequence_number(),
        ack: tcp.acknowledgment_number(),
        flags: TcpFlags(tcp.slice()[13]),
        window: tcp.window_size(),
        options,
        payload_len: tcp.payload().len() as u32,
    }
}

#[test]
fn written_captures_read_back() {
    let frames = [story(), story_v6()].concat();
    let bytes = pcap(&frames);
    assert_eq!((word(&bytes, 0), word(&bytes, 16), word(&bytes, 20)), (0xa1b2_3c4d, capture::SNAPLEN, 101));
    let mut rest = &bytes[24..];
    for want in &frames {
        let (got, after) = read(rest);
        assert_eq!(&got, want);
        rest = after;
    }
    assert!(rest.is_empty());
}

#[test]
fn tshark_reports_no_errors() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("SKIPPED tshark_finds_nothing_wrong: tshark is not installed");
        return;
    }
    let path = std::env::temp_dir().join(format!("longfat-capture-{}.pcap", std::process::id()));
    std::fs::write(&path, pcap(&story())).unwrap();
    let tshark = |args: &[&str]| {
        let out = Command::new("tshark").arg("-r").arg(&path).args(args).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    };
    let checks =
        ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"];
    let wrong = "_ws.malformed or ip.checksum.status == \"Bad\" or tcp.checksum.status == \"Bad\" \
                 or udp.checksum.status == \"Bad\" or _ws.expert.severity >= 8388608";
    let bad = tshark(&[&checks[..], &["-Y", wrong]].concat());
    assert_eq!(bad, "", "tshark calls these malformed");
    let fields = ["-T", "fields", "-E", "separator=,"];
    let pick = ["-e", "frame.time_epoch", "-e", "frame.len", "-e", "tcp.len", "-e", "tcp.options.sack.count"];
    let rows = tshark(&[&fields[..], &pick[..]].concat());
    std::fs::remove_file(&path).unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    assert_eq!(rows[3], "0.061000007,1500,1448,");
    assert_eq!(rows[6], "0.092000007,64,0,1");
    assert_eq!(rows[9], "4.200000000,1500,,");
}

/// The ICMP error about a packet as written equals that read, at its position between the packets.
#[test]
fn icmp_errors_are_read_at_their_position() {
    let frames = story();
    let router = Ipv4Addr::new(10, 0, 0, 9).into();
    let refuse = |of: usize, mtu| frames[of].refused(router, mtu).unwrap();
    let written: Vec<Frame> =
        [&frames[..4], &[refuse(3, 1400)], &frames[4..9], &[refuse(9, 1400), refuse(5, 70_000)]].concat();
    let input = Box::new(Cursor::new(pcap(&written)));
    let (mut reader, mut batch) = (CaptureReader::from_reader(input, "x").unwrap(), Batch::default());
    while reader.fill(&mut batch) {}
    let said: Vec<_> = written.iter().filter_map(Frame::too_big).collect();
    assert_eq!(
        (said.len(), said[0].says, said[1].says),
        (2, IcmpMessage::TooBig(Some(1400)), IcmpMessage::TooBig(Some(65_535))),
        "not about the datagram"
    );
    assert_eq!(batch.reports.iter().map(|t| t.behind).collect::<Vec<_>>(), [4, 9]);
    let read: Vec<_> = batch.reports.iter().map(|t| IcmpReport { behind: 0, number: 0, ..*t }).collect();
    assert_eq!(read, said);
    assert_eq!(batch.reports.iter().map(|r| r.number).collect::<Vec<_>>(), [5, 12]);
    let order: Vec<usize> = batch
        .in_order()
        .map(|next| if let BatchPart::Packets(packets) = next { packets.len() } else { 0 })
        .collect();
    assert_eq!(order, [4, 0, 5, 0]);
    assert!(frames.iter().all(|f| f.too_big().is_none()));
}

/// ICMPv6 "packet too big": its checksum covers the pseudo-header and the quoted packet, of which 1280 bytes
/// hold as much as fits.
#[test]
fn icmpv6_packet_too_big_is_read_at_its_position() {
    let frames = story_v6();
    let router = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9);
    let error = frames[3].refused(router.into(), 70_000).unwrap();
    let (bytes, length) = error.headers().unwrap();
    assert_eq!((bytes.len(), length), (1280, 1280));
    let packet = SlicedPacket::from_ip(&bytes).unwrap();
    let Some(TransportSlice::Icmpv6(icmp)) = packet.transport else { panic!("{:?}", packet.transport) };
    assert!(icmp.is_checksum_valid(octets(error.src).1, octets(error.dst).1));
    assert_eq!(octets(error.dst), octets(frames[3].src));
    let written = [&frames[..4], std::slice::from_ref(&error), &frames[4..]].concat();
    let input = Box::new(Cursor::new(pcap(&written)));
    let (mut reader, mut batch) = (CaptureReader::from_reader(input, "x").unwrap(), Batch::default());
    while reader.fill(&mut batch) {}
    let read: Vec<_> = batch.reports.iter().map(|t| IcmpReport { behind: 0, number: 0, ..*t }).collect();
    assert_eq!(read, [error.too_big().unwrap()]);
    assert_eq!((read[0].says, batch.reports[0].behind), (IcmpMessage::TooBig(Some(70_000)), 4));
}
