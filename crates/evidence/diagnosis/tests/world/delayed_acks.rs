//! ACKs that a receiver delays (RFC 1122 section 4.2.3.2), and senders that wait for them (RFC 896, Nagle).

use crate::talk::{CLIENT, MSS, SERVER, Talk, client, read};
use crate::tshark;
use result::change::ChangeKind;
use result::diagnosis::ProofKind;
use result::{Cause, FlowDiagnosis};

const RTT: u64 = 30_000;

/// Writes `segments` full segments each `every` µs. Every second segment is acknowledged at once; an odd last
/// one after `delay` µs.
fn writes(segments: u64, every: u64, delay: u64, count: u64) -> Talk {
    let mut t = Talk::opened(RTT);
    for n in 0..count {
        let at = 100_000 + n * every;
        for i in 0..segments {
            t.data(at + i * 20, CLIENT, MSS, i + 1 == segments);
        }
        for i in (1..segments).step_by(2) {
            t.ack_but(at + RTT + i * 20, SERVER, (segments - 1 - i) as u32 * MSS);
        }
        if segments % 2 == 1 {
            t.ack(at + RTT + delay + segments * 20, SERVER);
        }
    }
    t
}

#[test]
fn delayed_acks_are_not_taken_for_a_queue() {
    for segments in [1, 3, 5] {
        for (delay, every) in [(40_000, 100_000), (40_000, 75_000), (200_000, 300_000), (200_000, 231_000)] {
            let t = writes(segments, every, delay, 200);
            let d = t.diagnose();
            let f = client(&d);
            assert!(d.limiters.is_empty(), "{segments} {delay} {every}: {:?} {:?}", f.causes, d.limiters);
            let queue = f.share(Cause::Shaped) + f.share(Cause::Bottleneck) + f.share(Cause::AckPath);
            assert_eq!(queue, 0.0, "{segments} {delay} {every}: {:?}", f.causes);
        }
    }
}

/// Two writes per message, of 100 and 300 bytes. The second leaves when the first is acknowledged, `delay` µs
/// after its arrival.
fn nagle_writes(delay: u64, capture_at_receiver: bool) -> Talk {
    let mut t = Talk { timestamps: false, ..Talk::default() };
    t.open(RTT, [Some(7); 2], [1460; 2]);
    let before_capture = if capture_at_receiver { RTT } else { 0 };
    if capture_at_receiver {
        // The SYN, the SYN/ACK at once, and the ACK a round trip later.
        t.packets[1].time = t.packets[0].time + units::Span::from_micros(20);
        t.packets[2].time = t.packets[1].time + units::Span::from_micros(RTT);
    }
    let mut at = 100_000;
    for _ in 0..60 {
        t.data(at, CLIENT, 100, true);
        let acked = at + (RTT - before_capture) + delay;
        t.ack(acked, SERVER);
        t.data(acked + before_capture + 50, CLIENT, 300, true);
        t.ack(acked + before_capture + 50 + (RTT - before_capture) + delay, SERVER);
        at += 1_000_000;
    }
    t
}

fn assert_nagle(f: &FlowDiagnosis) {
    let share = f.share(Cause::Nagle);
    assert!(share > 0.05 && f.measures.held_segments >= 50, "{:?} {:?}", f.causes, f.measures);
}

#[test]
fn a_small_segment_that_waits_for_a_delayed_ack_is_held_by_nagle() {
    for delay in [40_000, 200_000] {
        for at_receiver in [false, true] {
            let t = nagle_writes(delay, at_receiver);
            let file = t.pcap(|_| true);
            let d = read(file.clone());
            let f = client(&d);
            assert_nagle(&f);
            let each = f.measures.held_s * 1e3 / f.measures.held_segments as f64;
            let wait = (RTT + delay) as f64 * 1e-3;
            assert!((each - wait).abs() < 2.0, "{each} ms, expected {wait}, {delay} {at_receiver}");
            assert!(d.limiters.is_empty(), "{:?}", d.limiters);
            let proof = f.proofs.iter().find(|p| p.cause == Some(Cause::Nagle)).expect("a proof");
            assert_eq!((proof.kind, proof.total), (ProofKind::Held, f.measures.held_segments));
            assert_eq!(proof.packets[0], 6, "SYN, SYN/ACK, ACK, 100 bytes, their ACK, 300 bytes");
            if tshark::is_installed("a_small_segment_that_waits_for_a_delayed_ack_is_held_by_nagle") {
                assert!(tshark::check_proofs(&file, &d) > 0);
            }
        }
    }
}

/// Messages of a segment and a half are sent back to back: nearly all of the time is spent waiting for ACKs.
#[test]
fn messages_of_a_segment_and_a_half_are_limited_by_nagle() {
    let mut t = Talk::opened(RTT);
    let mut at = 100_000;
    for _ in 0..100 {
        t.data(at, CLIENT, MSS, false);
        t.ack(at + RTT + 40_000, SERVER);
        t.data(at + RTT + 40_050, CLIENT, 700, true);
        // The response carries the ACK.
        t.acked[SERVER] = t.sent[CLIENT];
        t.data(at + 2 * RTT + 41_000, SERVER, 50, true);
        at += 2 * RTT + 41_100;
    }
    let f = client(&t.diagnose());
    assert_eq!(f.cause, Cause::Nagle, "{:?}", f.causes);
    let kinds: Vec<ChangeKind> = f.remedies.iter().map(|r| r.kind).collect();
    assert_eq!(kinds, [ChangeKind::WriteAtOnce, ChangeKind::NoDelay]);
}

/// Immediate ACKs hold no segment back, and neither do delayed ACKs of writes that follow a clock.
#[test]
fn no_segment_is_held_without_a_wait_for_a_delayed_ack() {
    // Request and response, with the ACK in the response; the server takes 60 ms.
    let mut t = Talk::opened(RTT);
    for n in 0..100u64 {
        let at = 100_000 + n * 100_000;
        t.data(at, CLIENT, 200, true);
        t.acked[SERVER] = t.sent[CLIENT];
        t.data(at + RTT + 60_000, SERVER, 500, true);
        t.acked[CLIENT] = t.sent[SERVER];
    }
    assert_eq!(t.client().measures.held_segments, 0);
    // A small write each 200 ms, acknowledged 40 ms late, long before the next write.
    let mut t = Talk::opened(RTT);
    for n in 0..100u64 {
        t.data(100_000 + n * 200_000, CLIENT, 200, true);
        t.ack(100_000 + n * 200_000 + RTT + 40_000, SERVER);
    }
    assert_eq!(t.client().measures.held_segments, 0);
    // Each small write is acknowledged at once, and the next follows its ACK.
    let mut t = Talk::opened(RTT);
    for n in 0..100u64 {
        t.data(100_000 + n * (RTT + 50), CLIENT, 200, true);
        t.ack(100_000 + n * (RTT + 50) + RTT, SERVER);
    }
    assert_eq!(t.client().measures.held_segments, 0);
}

/// Segments that leave `gaps` µs after one another. The receiver acknowledges every second one at once, and a
/// lone one after `delay` µs.
fn receiver(gaps: impl Iterator<Item = u64>, delay: u64, len: u32) -> Talk {
    let mut t = Talk::opened(RTT);
    let mut at = 100_000;
    // Arrival of the segment that is not yet acknowledged.
    let mut waiting: Option<u64> = None;
    for gap in gaps {
        at += gap;
        t.data(at, CLIENT, len, false);
        let arrives = at + RTT / 2;
        waiting = match waiting {
            Some(since) if arrives < since + delay => {
                t.ack(arrives + RTT / 2, SERVER);
                None
            }
            // The delayed-ACK timer fired before this segment arrived.
            Some(since) => {
                t.ack_but(since + delay + RTT / 2, SERVER, len);
                Some(arrives)
            }
            None => Some(arrives),
        };
    }
    t
}

/// An ACK waits for the second segment or for the timer, regardless of the spacing of the segments.
#[test]
fn an_ack_that_waits_for_a_second_segment_is_not_taken_for_a_queue() {
    let mut seed = 12_345u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    for delay in [40_000, 200_000] {
        for gap in [5_000u64, 10_000, 20_000, 35_000, 60_000, 120_000, 250_000] {
            let even: Vec<u64> = vec![gap; 600];
            let any: Vec<u64> = (0..600).map(|_| random() % (2 * gap)).collect();
            let sevens: Vec<u64> = (0..600).map(|i| if i % 7 == 0 { 7 * gap } else { 30 }).collect();
            let bursts: Vec<u64> = (0..600).map(|_| if random() % 4 == 0 { 4 * gap } else { 30 }).collect();
            for (gaps, len) in [(&even, MSS), (&even, 600), (&any, MSS), (&sevens, MSS), (&bursts, MSS)] {
                let d = receiver(gaps.iter().copied(), delay, len).diagnose();
                let f = client(&d);
                let queue = f.share(Cause::Shaped) + f.share(Cause::Bottleneck) + f.share(Cause::Congestion);
                assert!(queue < 0.02 && d.limiters.is_empty(), "{delay} {gap} {len}: {:?}", f.causes);
            }
        }
    }
}
