//! UDP flows built byte by byte: QUIC recognised by its long header and spin bit, RTP by its sequence
//! numbers, and limits of what is reported of them.

use capture::{CaptureReader, Frame, Payload, PcapWriter, UdpFrame};
use diagnosis::{capture_info, diagnose_udp};
use result::diagnosis::{LimiterKind, SpinBit, UdpFlowDiagnosis, UdpLoss};
use std::io::Cursor;
use std::net::Ipv4Addr;
use track::{TrackerOptions, track_capture_with_udp};
use units::{Stream, Time};

const CLIENT: usize = 0;
const SERVER: usize = 1;
/// 2023-11-14, ns.
const TODAY: u64 = 1_700_000_000_000_000_000;

/// A datagram: time in ns, sending end, first bytes of the payload, length of the payload.
type Datagram = (u64, usize, Vec<u8>, u32);

/// Writes the datagrams as pcap and diagnoses them.
fn diagnose(mut datagrams: Vec<Datagram>) -> Vec<UdpFlowDiagnosis> {
    datagrams.sort_by_key(|d| d.0);
    let mut file = PcapWriter::new(Vec::new()).unwrap();
    for (i, (at, from, head, len)) in datagrams.into_iter().enumerate() {
        let hosts = if from == CLIENT { [1, 2] } else { [2, 1] };
        let [src, dst] = hosts.map(|n| Ipv4Addr::new(10, 0, 0, n).into());
        let (sport, dport) = if from == CLIENT { (40_000, 4433) } else { (4433, 40_000) };
        let payload = Payload::Udp(UdpFrame { sport, dport, payload_len: len });
        let time = Time::from_nanos(TODAY + at);
        let frame = Frame { time, src, dst, id: i as u16, dscp: 0, ecn: 0, ttl: 64, payload };
        let (mut bytes, _) = frame.headers().unwrap();
        bytes.extend(head);
        bytes.resize(28 + len as usize, 0);
        file.write_packet(time, &bytes).unwrap();
    }
    let reader = CaptureReader::from_reader(Box::new(Cursor::new(file.finish().unwrap())), "-").unwrap();
    let tracked = track_capture_with_udp(reader, TrackerOptions::default(), None, &mut |_, _| {});
    let info = capture_info(tracked.file, &tracked.totals);
    let flows = diagnose_udp(&tracked.udp, &info).0;
    flows.iter().for_each(|f| {
        println!("{} {} {:?} {:?} {:?}", f.from, f.protocol, f.rate_mbps, f.spin_rtt_ms, f.limiter)
    });
    flows
}

fn flow_from(flows: &[UdpFlowDiagnosis], end: usize) -> &UdpFlowDiagnosis {
    let from = if end == CLIENT { "10.0.0.1:40000" } else { "10.0.0.2:4433" };
    flows.iter().find(|f| f.from == from).unwrap()
}

/// A long header (RFC 9000 section 17.2) with both connection IDs. In version 1, `kind` 0 is an Initial
/// packet.
fn long_header(kind: u8, version: u32, destination: &[u8], source: &[u8]) -> Vec<u8> {
    let mut b = vec![0xc0 | kind << 4];
    b.extend(version.to_be_bytes());
    for id in [destination, source] {
        b.push(id.len() as u8);
        b.extend(id);
    }
    b
}

/// The handshake of a client at the capture point, 40 ms to the server and back.
fn handshake(version: u32) -> Vec<Datagram> {
    let ms = 1_000_000;
    let initial = if version == 0x6b33_43cf { 1 } else { 0 };
    vec![
        (0, CLIENT, long_header(initial, version, &[1, 2, 3, 4, 5, 6, 7, 8], &[9, 9]), 1200),
        (40 * ms, SERVER, long_header(initial, version, &[9, 9], &[7; 4]), 1200),
        (40 * ms + 300_000, CLIENT, long_header(initial, version, &[7; 4], &[9, 9]), 1200),
    ]
}

/// Use of the spin bit.
#[derive(Clone, Copy, PartialEq)]
enum Spin {
    Spins,
    Off,
    /// A random value in each packet.
    Random,
}

/// Ten seconds of an upload through a link of `rate` bytes per second, captured at the client. The window
/// grows by a packet per round trip and is halved at a queue of 80 ms, so RTTs follow the flow's own backlog.
fn upload(rate: f64, spin: Spin) -> Vec<Datagram> {
    const SIZE: f64 = 1228.0;
    let base = 0.04;
    let mut out = handshake(1);
    let mut chance = Stream::new(3, "spin");
    let (mut window, mut leaves) = (10.0f64, 0.0f64);
    // The arrival of each packet's ACK in seconds, and each packet's spin bit.
    let (mut acks, mut spins): (Vec<f64>, Vec<bool>) = (Vec::new(), Vec::new());
    let (mut now, mut acked, mut slow) = (0.1f64, 0usize, true);
    loop {
        // Send while the window allows it, else wait for the next ACK.
        if ((acks.len() - acked) as f64) < window {
            leaves = leaves.max(now) + SIZE / rate;
            // The client inverts the bit received last (RFC 9000 section 17.4).
            let wave = acked.checked_sub(1).is_some_and(|i| !spins[i]);
            let bit = match spin {
                Spin::Spins => wave,
                Spin::Off => false,
                Spin::Random => chance.chance(0.5),
            };
            out.push(((now * 1e9) as u64, CLIENT, vec![0x40 | u8::from(bit) << 5, 7, 7, 7, 7], 1200));
            acks.push(leaves + base);
            spins.push(bit);
            if leaves - now > 0.08 {
                (window, slow) = ((window * 0.5).max(2.0), false);
                // Packets beyond the new window drain first.
                leaves = leaves.min(now + 0.08);
            }
            now += 20e-6;
        } else {
            now = now.max(acks[acked]);
            window += if slow { 1.0 } else { 1.0 / window };
            let bit = if spin == Spin::Random { chance.chance(0.5) } else { spins[acked] };
            out.push(((now * 1e9) as u64, SERVER, vec![0x40 | u8::from(bit) << 5, 1, 1, 1, 1], 30));
            acked += 1;
        }
        if now > 10.0 {
            return out;
        }
    }
}

#[test]
fn the_spin_bit_shows_a_full_link_without_its_losses() {
    for rate in [0.5e6, 2.5e6] {
        let flows = diagnose(upload(rate, Spin::Spins));
        let f = flow_from(&flows, CLIENT);
        let quic = f.quic.as_ref().unwrap();
        assert_eq!((f.protocol.as_str(), quic.version.as_str(), quic.spin), ("quic", "1", SpinBit::Spins));
        assert_eq!((quic.destination_id.as_str(), quic.source_id.as_str()), ("0102030405060708", "0909"));
        assert!(quic.from_client && !quic.retried);
        assert!((quic.to_server_ms.unwrap() - 40.0).abs() < 0.01 && quic.to_client_ms.unwrap() < 0.31);
        assert_eq!((f.loss, f.lost_packets), (UdpLoss::NotVisible, None));
        let rtt = f.spin_rtt_ms.unwrap();
        assert!(rtt.min > 39.0 && rtt.max > 100.0 && rtt.max < 180.0, "{rtt:?}");
        let limiter = f.limiter.as_ref().unwrap();
        assert_eq!((limiter.kind, limiter.before_capture), (LimiterKind::Bottleneck, false));
        let error = limiter.rate_mbps / (rate * 8e-6) - 1.0;
        assert!(error.abs() < 0.03, "{error}");
        assert!((limiter.queue_ms.unwrap() - 80.0).abs() < 25.0, "{:?}", limiter.queue_ms);
    }
}

#[test]
fn without_a_spinning_bit_no_rtt_and_no_limiter_are_reported() {
    for (spin, expected) in [(Spin::Off, SpinBit::Disabled), (Spin::Random, SpinBit::Unknown)] {
        let flows = diagnose(upload(1e6, spin));
        for end in [CLIENT, SERVER] {
            let f = flow_from(&flows, end);
            assert_eq!(f.quic.as_ref().unwrap().spin, expected);
            assert_eq!((f.spin_rtt_ms, &f.limiter, f.lost_packets), (None, &None, None));
        }
    }
}

/// A flow sends a constant 2 Mbit/s while other flows fill and empty a queue of 60 ms.
#[test]
fn a_queue_filled_by_other_flows_is_not_a_link_at_the_flows_rate() {
    let mut datagrams = handshake(1);
    let (mut bit, mut flipped_at) = (false, 0.0);
    for i in 0..2_000 {
        let now = 0.1 + f64::from(i) * 0.005;
        let wait = 0.06 * (now * std::f64::consts::TAU / 4.0).sin().max(0.0);
        if now - flipped_at > 0.04 + wait {
            (bit, flipped_at) = (!bit, now);
        }
        datagrams.push(((now * 1e9) as u64, CLIENT, vec![0x40 | u8::from(bit) << 5, 1, 2, 3, 4], 1200));
    }
    let flows = diagnose(datagrams);
    let f = flow_from(&flows, CLIENT);
    assert!(f.spin_rtt_ms.unwrap().max > 80.0, "its RTTs rise: {:?}", f.spin_rtt_ms);
    assert_eq!(f.limiter, None);
}

#[test]
fn version_2_is_quic_and_short_headers_alone_are_not() {
    let flows = diagnose(handshake(0x6b33_43cf));
    assert_eq!(flow_from(&flows, CLIENT).quic.as_ref().unwrap().version, "6b3343cf");
    assert!(flow_from(&flows, CLIENT).quic.as_ref().unwrap().handshake_rtt_ms.is_some());
    let short = |i: u64| (i * 1_000_000, CLIENT, vec![0x40, 1, 2, 3, 4], 1200);
    assert_eq!(flow_from(&diagnose((0..200).map(short).collect()), CLIENT).protocol, "udp");
    // An Initial retransmitted after a second: it is ambiguous which one was answered.
    let mut repeated = handshake(1);
    repeated.iter_mut().skip(1).for_each(|d| d.0 += 1_000_000_000);
    repeated.push((1_000_000_000, CLIENT, repeated[0].2.clone(), 1200));
    assert_eq!(flow_from(&diagnose(repeated), CLIENT).quic.as_ref().unwrap().to_server_ms, None);
}

/// RFC 3550 section 5.1: version 2, payload type, sequence number, timestamp, SSRC.
fn rtp(number: u16, stamp: u32) -> Vec<u8> {
    let mut b = vec![0x80, 96];
    b.extend(number.to_be_bytes());
    b.extend(stamp.to_be_bytes());
    b.extend(0xdead_beefu32.to_be_bytes());
    b
}

#[test]
fn rtp_shows_loss_reordering_and_jitter_as_rfc_3550_counts_them() {
    // Packets of 20 ms of speech at 8 kHz. Every second one is 4 ms late; sequence numbers wrap around. 50
    // are lost, one is duplicated, one is reordered.
    let mut datagrams = Vec::new();
    for i in 0..1_000u32 {
        let (number, late) = ((65_000 + i) as u16, u64::from(i % 2) * 4_000_000);
        let packet = (u64::from(i) * 20_000_000 + late, CLIENT, rtp(number, i.wrapping_mul(160)), 172);
        if i % 20 == 7 {
            continue;
        }
        if i == 500 {
            datagrams.push((packet.0 + 1_000_000, packet.1, packet.2.clone(), packet.3));
        }
        datagrams.push(packet);
    }
    let at = datagrams.iter().position(|d| d.2 == rtp((65_000 + 300) as u16, 300 * 160)).unwrap();
    datagrams[at].0 += 25_000_000;
    let flows = diagnose(datagrams);
    let f = flow_from(&flows, CLIENT);
    let r = f.rtp.unwrap();
    assert_eq!((f.protocol.as_str(), f.loss, f.lost_packets), ("rtp", UdpLoss::BeforeCapture, Some(50)));
    assert_eq!((r.ssrc, r.payload_type, r.packets), (0xdead_beef, 96, 951));
    assert_eq!((r.lost, r.reordered, r.duplicates), (50, 1, 1));
    assert_eq!(r.clock_hz, Some(8_000.0));
    // |D| is 4 ms for each pair except across a loss, so J approaches 4 ms (RFC 3550 appendix A.8).
    let jitter = r.jitter_ms.unwrap();
    assert!((3.4..=4.0).contains(&jitter), "{jitter}");
}

/// Video frames leave as bursts through a policer of 4 Mbit/s and 30 kB.
#[test]
fn rtp_sequence_numbers_reveal_a_policer() {
    let (rate, burst) = (500_000.0, 30_000.0);
    let (mut level, mut last, mut number, mut datagrams) = (0.0f64, 0.0f64, 0u16, Vec::new());
    let mut chance = Stream::new(5, "frames");
    let mut lost = 0u64;
    for frame in 0..900u32 {
        // Twelve to thirty packets per frame, 5.1 Mbit/s on average.
        let packets = 12 + chance.below(19);
        for i in 0..packets {
            let now = f64::from(frame) / 25.0 + i as f64 * 0.2e-3;
            level = (level - (now - last) * rate).max(0.0);
            last = now;
            number = number.wrapping_add(1);
            if level + 1228.0 > burst {
                lost += 1;
                continue;
            }
            level += 1228.0;
            datagrams.push(((now * 1e9) as u64, CLIENT, rtp(number, frame * 3_600), 1200));
        }
    }
    let flows = diagnose(datagrams);
    let f = flow_from(&flows, CLIENT);
    // Losses at the very end are not visible, since no packet follows them.
    assert!(lost - f.lost_packets.unwrap() < 30 && lost > 500, "{lost} {:?}", f.lost_packets);
    assert_eq!(f.rtp.unwrap().clock_hz, Some(90_000.0));
    let limiter = f.limiter.as_ref().unwrap();
    assert_eq!((limiter.kind, limiter.before_capture), (LimiterKind::Policer, true));
    let error = limiter.rate_mbps / (rate * 8e-6) - 1.0;
    assert!(error.abs() < 0.05, "{error}");
    assert!((limiter.burst_bytes.unwrap() / burst - 1.0).abs() < 0.1, "{:?}", limiter.burst_bytes);
}

#[test]
fn random_bytes_with_an_rtp_version_are_not_rtp() {
    let mut chance = Stream::new(1, "noise");
    let noise = |i: u64| {
        let mut b = rtp(chance.below(65_536) as u16, chance.below(1 << 32) as u32);
        b[1] = chance.below(64) as u8;
        (i * 5_000_000, CLIENT, b, 300)
    };
    let flows = diagnose((0..400).map(noise).collect());
    let f = flow_from(&flows, CLIENT);
    assert_eq!((f.protocol.as_str(), f.lost_packets, &f.limiter), ("udp", None, &None));
    // 328 IP bytes every 5 ms.
    assert!((f.rate_mbps / (328.0 * 8e-6 / 0.005) - 1.0).abs() < 0.01, "{}", f.rate_mbps);
    assert!(f.over_time.iter().all(|r| (r.mbps / f.rate_mbps - 1.0).abs() < 0.5));
    let bytes: f64 = f.over_time.iter().map(|r| r.mbps * r.width_s / 8e-6).sum();
    assert!((bytes - f.ip_bytes as f64).abs() < 1.0, "{bytes} {}", f.ip_bytes);
}
