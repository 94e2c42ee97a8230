//! UDP flows, byte by byte: QUIC by its long header and its spin bit, RTP by its numbers, and what is not
//! said of them.

use capture::{CaptureReader, Frame, Payload, PcapWriter, UdpFrame};
use diagnosis::{capture_info, diagnose_udp};
use result::diagnosis::{LimiterKind, SpinBit, UdpFlowDiagnosis, UdpLoss};
use std::io::Cursor;
use std::net::Ipv4Addr;
use track::{TrackerOptions, track_datagrams_too};
use units::{Stream, Time};

const CLIENT: usize = 0;
const SERVER: usize = 1;
/// 2023-11-14, ns.
const TODAY: u64 = 1_700_000_000_000_000_000;

/// A datagram: when (ns), from which end, its first bytes, how many in all.
type Datagram = (u64, usize, Vec<u8>, u32);

fn told(mut datagrams: Vec<Datagram>) -> Vec<UdpFlowDiagnosis> {
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
    let all = track_datagrams_too(reader, TrackerOptions::default(), None, &mut |_, _| {});
    let info = capture_info(all.file, &all.totals);
    let flows = diagnose_udp(&all.udp, &info).0;
    flows.iter().for_each(|f| {
        println!("{} {} {:?} {:?} {:?}", f.from, f.protocol, f.rate_mbps, f.spin_rtt_ms, f.limiter)
    });
    flows
}

fn of(flows: &[UdpFlowDiagnosis], end: usize) -> &UdpFlowDiagnosis {
    let from = if end == CLIENT { "10.0.0.1:40000" } else { "10.0.0.2:4433" };
    flows.iter().find(|f| f.from == from).unwrap()
}

/// RFC 9000 section 17.2.2: a long header of version 1, `kind` 0 an Initial, 2 a handshake packet, with both
/// connection IDs.
fn long(kind: u8, version: u32, destination: &[u8], source: &[u8]) -> Vec<u8> {
    let mut b = vec![0xc0 | kind << 4];
    b.extend(version.to_be_bytes());
    for id in [destination, source] {
        b.push(id.len() as u8);
        b.extend(id);
    }
    b
}

/// The handshake of a client at the capture, 40 ms to the server and back.
fn handshake(version: u32) -> Vec<Datagram> {
    let ms = 1_000_000;
    let initial = if version == 0x6b33_43cf { 1 } else { 0 };
    vec![
        (0, CLIENT, long(initial, version, &[1, 2, 3, 4, 5, 6, 7, 8], &[9, 9]), 1200),
        (40 * ms, SERVER, long(initial, version, &[9, 9], &[7; 4]), 1200),
        (40 * ms + 300_000, CLIENT, long(initial, version, &[7; 4], &[9, 9]), 1200),
    ]
}

/// How the spin bit is set.
#[derive(Clone, Copy, PartialEq)]
enum Spin {
    Spins,
    Off,
    Drawn,
}

/// Ten seconds of a client that uploads through a link of `rate` bytes a second, its window growing by a
/// packet a round trip and halved when its queue is 80 ms long: RTTs rise and fall with its own backlog.
/// Captured at the client.
fn upload(rate: f64, spin: Spin) -> Vec<Datagram> {
    const SIZE: f64 = 1228.0;
    let base = 0.04;
    let mut out = handshake(1);
    let mut chance = Stream::new(3, "spin");
    let (mut window, mut leaves) = (10.0f64, 0.0f64);
    // When the ACK of each packet comes, and the spin bit of each.
    let (mut acks, mut spins): (Vec<f64>, Vec<bool>) = (Vec::new(), Vec::new());
    let (mut now, mut acked, mut slow) = (0.1f64, 0usize, true);
    loop {
        // Sends what the window allows; else waits for the next ACK.
        if ((acks.len() - acked) as f64) < window {
            leaves = leaves.max(now) + SIZE / rate;
            // The client sends the opposite of what came back last (RFC 9000 section 17.4).
            let wave = acked.checked_sub(1).is_some_and(|i| !spins[i]);
            let bit = match spin {
                Spin::Spins => wave,
                Spin::Off => false,
                Spin::Drawn => chance.chance(0.5),
            };
            out.push(((now * 1e9) as u64, CLIENT, vec![0x40 | u8::from(bit) << 5, 7, 7, 7, 7], 1200));
            acks.push(leaves + base);
            spins.push(bit);
            if leaves - now > 0.08 {
                (window, slow) = ((window * 0.5).max(2.0), false);
                // What is on its way beyond the new window leaves first.
                leaves = leaves.min(now + 0.08);
            }
            now += 20e-6;
        } else {
            now = now.max(acks[acked]);
            window += if slow { 1.0 } else { 1.0 / window };
            let bit = if spin == Spin::Drawn { chance.chance(0.5) } else { spins[acked] };
            out.push(((now * 1e9) as u64, SERVER, vec![0x40 | u8::from(bit) << 5, 1, 1, 1, 1], 30));
            acked += 1;
        }
        if now > 10.0 {
            return out;
        }
    }
}

#[test]
fn a_full_link_shows_by_the_spin_bit_and_its_losses_do_not() {
    for rate in [0.5e6, 2.5e6] {
        let flows = told(upload(rate, Spin::Spins));
        let f = of(&flows, CLIENT);
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
        let off = limiter.rate_mbps / (rate * 8e-6) - 1.0;
        assert!(off.abs() < 0.03, "{off}");
        assert!((limiter.queue_ms.unwrap() - 80.0).abs() < 25.0, "{:?}", limiter.queue_ms);
    }
}

#[test]
fn a_bit_that_does_not_spin_tells_no_round_trip_and_no_limiter() {
    for (spin, said) in [(Spin::Off, SpinBit::Disabled), (Spin::Drawn, SpinBit::Unknown)] {
        let flows = told(upload(1e6, spin));
        for end in [CLIENT, SERVER] {
            let f = of(&flows, end);
            assert_eq!(f.quic.as_ref().unwrap().spin, said);
            assert_eq!((f.spin_rtt_ms, &f.limiter, f.lost_packets), (None, &None, None));
        }
    }
}

/// A flow that sends 2 Mbit/s whatever happens, while others fill and empty a queue of 60 ms.
#[test]
fn a_queue_that_others_fill_is_no_link_of_ones_own_rate() {
    let mut all = handshake(1);
    let (mut bit, mut turned) = (false, 0.0);
    for i in 0..2_000 {
        let now = 0.1 + f64::from(i) * 0.005;
        let wait = 0.06 * (now * std::f64::consts::TAU / 4.0).sin().max(0.0);
        if now - turned > 0.04 + wait {
            (bit, turned) = (!bit, now);
        }
        all.push(((now * 1e9) as u64, CLIENT, vec![0x40 | u8::from(bit) << 5, 1, 2, 3, 4], 1200));
    }
    let flows = told(all);
    let f = of(&flows, CLIENT);
    assert!(f.spin_rtt_ms.unwrap().max > 80.0, "its RTTs rise: {:?}", f.spin_rtt_ms);
    assert_eq!(f.limiter, None);
}

#[test]
fn version_2_is_quic_too_and_short_headers_alone_are_not() {
    let flows = told(handshake(0x6b33_43cf));
    assert_eq!(of(&flows, CLIENT).quic.as_ref().unwrap().version, "6b3343cf");
    assert!(of(&flows, CLIENT).quic.as_ref().unwrap().handshake_rtt_ms.is_some());
    let short = |i: u64| (i * 1_000_000, CLIENT, vec![0x40, 1, 2, 3, 4], 1200);
    assert_eq!(of(&told((0..200).map(short).collect()), CLIENT).protocol, "udp");
    // An Initial that was sent again after a second: which one was answered is not known.
    let mut again = handshake(1);
    again.iter_mut().skip(1).for_each(|d| d.0 += 1_000_000_000);
    again.push((1_000_000_000, CLIENT, again[0].2.clone(), 1200));
    assert_eq!(of(&told(again), CLIENT).quic.as_ref().unwrap().to_server_ms, None);
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
fn rtp_tells_loss_reordering_and_jitter_as_the_rfc_counts_them() {
    // 20 ms of speech at 8 kHz each; every second one comes 4 ms late, numbers wrap around. 50 lost, one
    // comes twice, one late.
    let mut all = Vec::new();
    for i in 0..1_000u32 {
        let (number, late) = ((65_000 + i) as u16, u64::from(i % 2) * 4_000_000);
        let packet = (u64::from(i) * 20_000_000 + late, CLIENT, rtp(number, i.wrapping_mul(160)), 172);
        if i % 20 == 7 {
            continue;
        }
        if i == 500 {
            all.push((packet.0 + 1_000_000, packet.1, packet.2.clone(), packet.3));
        }
        all.push(packet);
    }
    let at = all.iter().position(|d| d.2 == rtp((65_000 + 300) as u16, 300 * 160)).unwrap();
    all[at].0 += 25_000_000;
    let flows = told(all);
    let f = of(&flows, CLIENT);
    let r = f.rtp.unwrap();
    assert_eq!((f.protocol.as_str(), f.loss, f.lost_packets), ("rtp", UdpLoss::BeforeCapture, Some(50)));
    assert_eq!((r.ssrc, r.payload_type, r.packets), (0xdead_beef, 96, 951));
    assert_eq!((r.lost, r.reordered, r.duplicates), (50, 1, 1));
    assert_eq!(r.clock_hz, Some(8_000.0));
    // |D| is 4 ms for each pair but those over a hole: J comes to nearly that (appendix A.8).
    let jitter = r.jitter_ms.unwrap();
    assert!((3.4..=4.0).contains(&jitter), "{jitter}");
}

/// Video whose frames leave as bursts, through a bucket of 30 kB that fills at 4 Mbit/s.
#[test]
fn a_policer_is_found_by_the_numbers_of_rtp() {
    let (rate, burst) = (500_000.0, 30_000.0);
    let (mut level, mut last, mut number, mut all) = (0.0f64, 0.0f64, 0u16, Vec::new());
    let mut chance = Stream::new(5, "frames");
    let mut lost = 0u64;
    for frame in 0..900u32 {
        // Of twelve to thirty packets, 5.1 Mbit/s on average.
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
            all.push(((now * 1e9) as u64, CLIENT, rtp(number, frame * 3_600), 1200));
        }
    }
    let flows = told(all);
    let f = of(&flows, CLIENT);
    // What was lost at the very end shows by nothing behind it.
    assert!(lost - f.lost_packets.unwrap() < 30 && lost > 500, "{lost} {:?}", f.lost_packets);
    assert_eq!(f.rtp.unwrap().clock_hz, Some(90_000.0));
    let limiter = f.limiter.as_ref().unwrap();
    assert_eq!((limiter.kind, limiter.before_capture), (LimiterKind::Policer, true));
    let off = limiter.rate_mbps / (rate * 8e-6) - 1.0;
    assert!(off.abs() < 0.05, "{off}");
    assert!((limiter.burst_bytes.unwrap() / burst - 1.0).abs() < 0.1, "{:?}", limiter.burst_bytes);
}

#[test]
fn what_only_looks_like_rtp_is_not() {
    let mut chance = Stream::new(1, "noise");
    let noise = |i: u64| {
        let mut b = rtp(chance.below(65_536) as u16, chance.below(1 << 32) as u32);
        b[1] = chance.below(64) as u8;
        (i * 5_000_000, CLIENT, b, 300)
    };
    let flows = told((0..400).map(noise).collect());
    let f = of(&flows, CLIENT);
    assert_eq!((f.protocol.as_str(), f.lost_packets, &f.limiter), ("udp", None, &None));
    // 328 IP bytes each 5 ms.
    assert!((f.rate_mbps / (328.0 * 8e-6 / 0.005) - 1.0).abs() < 0.01, "{}", f.rate_mbps);
    assert!(f.over_time.iter().all(|r| (r.mbps / f.rate_mbps - 1.0).abs() < 0.5));
    let bytes: f64 = f.over_time.iter().map(|r| r.mbps * r.width_s / 8e-6).sum();
    assert!((bytes - f.ip_bytes as f64).abs() < 1.0, "{bytes} {}", f.ip_bytes);
}
