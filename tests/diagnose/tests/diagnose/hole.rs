//! The path MTU falls during a connection without an ICMP message. Small packets that still pass distinguish
//! the black hole from an outage.

#[path = "../../../../crates/engine/transport/tests/transport/pair.rs"]
#[allow(dead_code)] // only part of the fixture is used here
mod pair;

use capture::TcpPacket;
use diagnose_test::judge::Judge;
use pair::{Fate, Pair, Seen, at, ms};
use path::{Ecn, Packet};
use result::{Cause, FlowDiagnosis};
use scenario::{Experiment, Scenario};
use sim::wire::Encoder;
use track::{Tracker, TrackerOptions};
use transport::{MtuProbing, Stack};
use units::Span;

/// When the path MTU falls, ms.
const MTU_FALLS_MS: u64 = 2_000;
/// Path MTU after that, bytes.
const REDUCED_MTU: u32 = 1_200;

fn scenario() -> Scenario {
    let text = "[links.l]\nbetween = [\"a\", \"b\"]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\ncount = 2";
    Experiment::parse("t.toml", text, &[]).expect("parses").variants.remove(0).scenario
}

/// Returns the packets of connection `n` that a capture at the client shows: those that the client sends, and
/// those of the server that are not lost.
fn captured(pair: &Pair, n: u32, lost: impl Fn(&Seen) -> bool) -> Vec<TcpPacket> {
    let scenario = scenario();
    let encoder = Encoder::new(&scenario);
    let mut out: Vec<TcpPacket> = Vec::new();
    for (id, seen) in pair.log.iter().enumerate().filter(|(_, s)| s.forward || !lost(s)) {
        let packet = Packet {
            id: id as u64,
            size: seen.segment.ip_bytes(),
            overhead: 0,
            flow: 2 * n + u32::from(!seen.forward),
            dscp: 0,
            ecn: Ecn::NotEct,
            fragment: None,
            body: seen.segment.clone(),
        };
        let (from, to) = if seen.forward { (0, 1) } else { (1, 0) };
        let now = if seen.forward { seen.at } else { seen.at + pair::RTT / 2 };
        out.extend(encoder.frame(now, &packet, from, to).and_then(|f| f.seen()));
    }
    out.sort_by_key(|p| p.time);
    out
}

/// Diagnoses the flow of the client's `port`.
fn diagnose(mut packets: Vec<TcpPacket>, port: u16) -> FlowDiagnosis {
    packets.sort_by_key(|p| p.time);
    let mut tracker = Tracker::new(TrackerOptions::default());
    tracker.packets(&packets);
    let flows = Judge::diagnose_tracker(tracker).flows;
    flows.into_iter().find(|f| f.from.ends_with(&format!(":{port}"))).expect("the client's flow")
}

fn share(f: &FlowDiagnosis, cause: Cause) -> f64 {
    f.causes.iter().find(|c| c.cause == cause).map_or(0.0, |c| c.share)
}

/// Drops the client's packets that exceed the reduced path MTU.
fn drop_large(s: &Seen) -> Fate {
    match s.forward && s.at >= at(MTU_FALLS_MS) && s.segment.ip_bytes() > REDUCED_MTU {
        true => Fate::Lost,
        false => Fate::Arrive,
    }
}

fn pair(probing: MtuProbing) -> Pair {
    let client = Stack { mtu_probing: Some(probing), ..Stack::default() };
    let mut pair = Pair::with("cubic", &client, &Stack::default());
    // About 10 Mbit/s.
    pair.gap = Span::from_micros(1_200);
    pair
}

fn nothing(_: &Seen) -> bool {
    false
}

#[test]
fn a_sender_whose_mtu_probing_recovers_was_in_a_black_hole() {
    let mut p = pair(MtuProbing::OnBlackhole);
    p.wire(drop_large);
    p.connect();
    p.write(20_000_000);
    p.run(ms(12_000));
    let f = diagnose(captured(&p, 0, nothing), 40_000);
    println!("{:?} {:?}", f.causes, f.measures);
    assert!(share(&f, Cause::BlackHole) > 0.2, "{:?}", f.causes);
    assert_eq!(share(&f, Cause::Outage), 0.0, "{:?}", f.causes);
    assert_eq!(f.measures.mss_before_bytes, Some(1448));
}

/// Messages of three segments; only the small last one arrives.
#[test]
fn a_sender_whose_small_segments_arrive_is_in_a_black_hole() {
    let mut p = pair(MtuProbing::Off);
    p.wire(drop_large);
    p.connect();
    for _ in 0..110 {
        p.write(3_000);
        p.run(ms(100));
    }
    let f = diagnose(captured(&p, 0, nothing), 40_000);
    println!("{:?} {:?}", f.causes, f.measures);
    assert_eq!(f.cause, Cause::BlackHole, "{:?}", f.causes);
    assert!(share(&f, Cause::BlackHole) > 0.6 && share(&f, Cause::Outage) == 0.0, "{:?}", f.causes);
}

/// The receiver also sends data, and the client's ACKs reach it.
#[test]
fn a_sender_whose_pure_acks_arrive_is_in_a_black_hole() {
    let f = two_way_transfer(drop_large);
    assert_eq!(f.cause, Cause::BlackHole, "{:?}", f.causes);
    assert!(share(&f, Cause::BlackHole) > 0.6 && share(&f, Cause::Outage) == 0.0, "{:?}", f.causes);
}

/// A bulk upload while the receiver sends 300 bytes every 200 ms.
fn two_way_transfer(wire: fn(&Seen) -> Fate) -> FlowDiagnosis {
    let mut p = pair(MtuProbing::Off);
    p.wire(wire);
    p.connect();
    p.write(20_000_000);
    for _ in 0..60 {
        let now = p.now;
        p.act(false, |tcp, out| tcp.write(now, 300, true, out));
        p.run(ms(200));
    }
    let f = diagnose(captured(&p, 0, |s| wire(s) == Fate::Lost), 40_000);
    println!("{:?} {:?}", f.causes, f.measures);
    f
}

/// For five seconds the path drops all packets, or all packets of the sender, whatever their size.
#[test]
fn a_path_that_drops_every_size_is_not_a_black_hole() {
    fn in_outage(s: &Seen) -> bool {
        s.at >= at(MTU_FALLS_MS) && s.at < at(MTU_FALLS_MS + 5_000)
    }
    let all = two_way_transfer(|s| if in_outage(s) { Fate::Lost } else { Fate::Arrive });
    assert!(share(&all, Cause::Outage) > 0.3 && share(&all, Cause::BlackHole) == 0.0, "{:?}", all.causes);
    let one = two_way_transfer(|s| if s.forward && in_outage(s) { Fate::Lost } else { Fate::Arrive });
    assert_eq!(share(&one, Cause::BlackHole), 0.0, "{:?}", one.causes);
    // The same with small messages.
    let mut p = pair(MtuProbing::OnBlackhole);
    p.wire(|s| if in_outage(s) { Fate::Lost } else { Fate::Arrive });
    p.connect();
    for _ in 0..110 {
        p.write(3_000);
        p.run(ms(100));
    }
    let f = diagnose(captured(&p, 0, in_outage), 40_000);
    println!("{:?} {:?}", f.causes, f.measures);
    assert_eq!(share(&f, Cause::BlackHole), 0.0, "{:?}", f.causes);
}

/// MTU probing through a window that fills no queue. Only probes are lost, which is not a sign of congestion
/// (RFC 4821 section 7.6.1).
#[test]
fn a_lost_mtu_probe_is_not_a_loss_of_the_path() {
    let client = Stack { mtu_probing: Some(MtuProbing::OnBlackhole), ..Stack::default() };
    let server = Stack { receive_window: Some(units::Bytes::new(50_000)), ..Stack::default() };
    let mut p = Pair::with("cubic", &client, &server);
    p.wire(|s| if s.segment.ip_bytes() > 1_476 { Fate::Lost } else { Fate::Arrive });
    p.connect();
    p.write(8_000_000);
    p.run(ms(15_000));
    assert_eq!(p.client.tx.s.mss, 1421);
    let f = diagnose(captured(&p, 0, nothing), 40_000);
    println!("{:?} {:?}", f.causes, f.measures);
    assert_eq!(f.measures.mss_bytes, 1421);
    let lost = share(&f, Cause::RandomLoss) + share(&f, Cause::Congestion) + share(&f, Cause::Policed);
    assert_eq!(lost, 0.0, "{:?}", f.causes);
    assert_eq!(f.cause, Cause::ReceiveWindow, "{:?}", f.causes);
}

/// An upload of full segments alone cannot show a black hole; small packets of another flow can.
#[test]
fn small_packets_of_another_flow_reveal_a_black_hole() {
    let mut upload = pair(MtuProbing::Off);
    upload.wire(drop_large);
    upload.connect();
    upload.write(20_000_000);
    upload.run(ms(12_000));
    let alone = diagnose(captured(&upload, 0, nothing), 40_000);
    assert_eq!(share(&alone, Cause::BlackHole), 0.0, "no small packets: {:?}", alone.causes);
    let with_other_flow = |bytes: u64| {
        let mut p = pair(MtuProbing::Off);
        p.connect();
        for _ in 0..110 {
            p.write(bytes);
            p.run(ms(100));
        }
        let mut packets = captured(&p, 1, nothing);
        packets.extend(captured(&upload, 0, nothing));
        diagnose(packets, 40_000)
    };
    let f = with_other_flow(200);
    assert!(share(&f, Cause::BlackHole) > 0.6 && share(&f, Cause::Outage) == 0.0, "{:?}", f.causes);
    let f = with_other_flow(1_448);
    assert_eq!(share(&f, Cause::BlackHole), 0.0, "full packets pass: {:?}", f.causes);
}
