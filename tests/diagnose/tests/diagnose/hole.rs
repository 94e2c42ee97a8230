//! A path MTU that falls in the midst of a connection, and nobody says so: told from an outage by what still
//! passes.

#[path = "../../../../crates/engine/transport/tests/transport/pair.rs"]
#[allow(dead_code)] // this test uses its part
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

/// The path carries packets of this size from then on.
const FALLS: u64 = 2_000;
const CARRIES: u32 = 1_200;

fn scenario() -> Scenario {
    let text = "[links.l]\nbetween = [\"a\", \"b\"]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\ncount = 2";
    Experiment::parse("t.toml", text, &[]).expect("parses").variants.remove(0).scenario
}

/// What a capture at the client shows of a pair, as connection `n`: what it sends, and what arrives.
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

/// What is said of the client's flow among these packets.
fn said(mut packets: Vec<TcpPacket>, port: u16) -> FlowDiagnosis {
    packets.sort_by_key(|p| p.time);
    let mut tracker = Tracker::new(TrackerOptions::default());
    tracker.packets(&packets);
    let flows = Judge::said(tracker).flows;
    flows.into_iter().find(|f| f.from.ends_with(&format!(":{port}"))).expect("the client's flow")
}

fn share(f: &FlowDiagnosis, cause: Cause) -> f64 {
    f.causes.iter().find(|c| c.cause == cause).map_or(0.0, |c| c.share)
}

fn falls(s: &Seen) -> Fate {
    match s.forward && s.at >= at(FALLS) && s.segment.ip_bytes() > CARRIES {
        true => Fate::Lost,
        false => Fate::Arrive,
    }
}

fn pair(probing: MtuProbing) -> Pair {
    let client = Stack { mtu_probing: Some(probing), ..Stack::default() };
    let mut pair = Pair::with("cubic", &client, &Stack::default());
    // 10 Mbit/s or so.
    pair.gap = Span::from_micros(1_200);
    pair
}

fn nothing(_: &Seen) -> bool {
    false
}

#[test]
fn a_sender_that_finds_out_was_in_a_black_hole() {
    let mut p = pair(MtuProbing::OnBlackhole);
    p.wire(falls);
    p.connect();
    p.write(20_000_000);
    p.run(ms(12_000));
    let f = said(captured(&p, 0, nothing), 40_000);
    println!("{:?} {:?}", f.causes, f.measures);
    assert!(share(&f, Cause::BlackHole) > 0.2, "{:?}", f.causes);
    assert_eq!(share(&f, Cause::Outage), 0.0, "{:?}", f.causes);
    assert_eq!(f.measures.mss_before_bytes, Some(1448));
}

/// Messages of three segments, the last of them small: that one arrives.
#[test]
fn a_sender_whose_small_segments_arrive_is_in_a_black_hole() {
    let mut p = pair(MtuProbing::Off);
    p.wire(falls);
    p.connect();
    for _ in 0..110 {
        p.write(3_000);
        p.run(ms(100));
    }
    let f = said(captured(&p, 0, nothing), 40_000);
    println!("{:?} {:?}", f.causes, f.measures);
    assert_eq!(f.cause, Cause::BlackHole, "{:?}", f.causes);
    assert!(share(&f, Cause::BlackHole) > 0.6 && share(&f, Cause::Outage) == 0.0, "{:?}", f.causes);
}

/// The receiver goes on to send, and gets its ACKs.
#[test]
fn a_sender_whose_acks_arrive_is_in_a_black_hole() {
    let f = both_ways(falls);
    assert_eq!(f.cause, Cause::BlackHole, "{:?}", f.causes);
    assert!(share(&f, Cause::BlackHole) > 0.6 && share(&f, Cause::Outage) == 0.0, "{:?}", f.causes);
}

/// A bulk upload, and every 200 ms a little of the receiver.
fn both_ways(wire: fn(&Seen) -> Fate) -> FlowDiagnosis {
    let mut p = pair(MtuProbing::Off);
    p.wire(wire);
    p.connect();
    p.write(20_000_000);
    for _ in 0..60 {
        let now = p.now;
        p.act(false, |tcp, out| tcp.write(now, 300, true, out));
        p.run(ms(200));
    }
    let f = said(captured(&p, 0, |s| wire(s) == Fate::Lost), 40_000);
    println!("{:?} {:?}", f.causes, f.measures);
    f
}

/// Nothing passes for a while, or nothing of the sender: no black hole, whatever the receiver sends.
#[test]
fn a_path_that_is_gone_is_an_outage() {
    fn gone(s: &Seen) -> bool {
        s.at >= at(FALLS) && s.at < at(FALLS + 5_000)
    }
    let all = both_ways(|s| if gone(s) { Fate::Lost } else { Fate::Arrive });
    assert!(share(&all, Cause::Outage) > 0.3 && share(&all, Cause::BlackHole) == 0.0, "{:?}", all.causes);
    let one = both_ways(|s| if s.forward && gone(s) { Fate::Lost } else { Fate::Arrive });
    assert_eq!(share(&one, Cause::BlackHole), 0.0, "{:?}", one.causes);
    // With small messages.
    let mut p = pair(MtuProbing::OnBlackhole);
    p.wire(|s| if gone(s) { Fate::Lost } else { Fate::Arrive });
    p.connect();
    for _ in 0..110 {
        p.write(3_000);
        p.run(ms(100));
    }
    let f = said(captured(&p, 0, gone), 40_000);
    println!("{:?} {:?}", f.causes, f.measures);
    assert_eq!(share(&f, Cause::BlackHole), 0.0, "{:?}", f.causes);
}

/// A search for the path's MTU through a window that fills no queue: all that is lost is what it tried (RFC
/// 4821 section 7.6.1: that is no sign of congestion).
#[test]
fn a_segment_that_was_tried_and_lost_is_no_random_loss() {
    let client = Stack { mtu_probing: Some(MtuProbing::OnBlackhole), ..Stack::default() };
    let server = Stack { receive_window: Some(units::Bytes::new(50_000)), ..Stack::default() };
    let mut p = Pair::with("cubic", &client, &server);
    p.wire(|s| if s.segment.ip_bytes() > 1_476 { Fate::Lost } else { Fate::Arrive });
    p.connect();
    p.write(8_000_000);
    p.run(ms(15_000));
    assert_eq!(p.client.tx.s.mss, 1421);
    let f = said(captured(&p, 0, nothing), 40_000);
    println!("{:?} {:?}", f.causes, f.measures);
    assert_eq!(f.measures.mss_bytes, 1421);
    let lost = share(&f, Cause::RandomLoss) + share(&f, Cause::Congestion) + share(&f, Cause::Policed);
    assert_eq!(lost, 0.0, "{:?}", f.causes);
    assert_eq!(f.cause, Cause::ReceiveWindow, "{:?}", f.causes);
}

/// Nothing of an upload shows what it is; another flow's small packets do.
#[test]
fn another_flow_shows_that_small_packets_pass() {
    let mut upload = pair(MtuProbing::Off);
    upload.wire(falls);
    upload.connect();
    upload.write(20_000_000);
    upload.run(ms(12_000));
    let alone = said(captured(&upload, 0, nothing), 40_000);
    assert_eq!(share(&alone, Cause::BlackHole), 0.0, "nothing tells: {:?}", alone.causes);
    let beside = |bytes: u64| {
        let mut p = pair(MtuProbing::Off);
        p.connect();
        for _ in 0..110 {
            p.write(bytes);
            p.run(ms(100));
        }
        let mut packets = captured(&p, 1, nothing);
        packets.extend(captured(&upload, 0, nothing));
        said(packets, 40_000)
    };
    let f = beside(200);
    assert!(share(&f, Cause::BlackHole) > 0.6 && share(&f, Cause::Outage) == 0.0, "{:?}", f.causes);
    let f = beside(1_448);
    assert_eq!(share(&f, Cause::BlackHole), 0.0, "full ones pass: {:?}", f.causes);
}
