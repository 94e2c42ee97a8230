//! Artefacts of captures: duplicate records, clock jumps, and segments of a size that the SYNs do not
//! announce.

use crate::talk::{CLIENT, MSS, SERVER, Talk};
use result::Cause;
use units::Span;

fn bulk() -> Talk {
    let mut t = Talk::opened(30_000);
    t.windows(100_000, 60, 20, 30_000);
    t
}

/// A mirror port records each packet on ingress and, routed, on egress 5 to 19 ms later, possibly after its
/// ACK.
#[test]
fn a_packet_mirrored_twice_is_not_a_retransmission() {
    for hops in [0, 1] {
        let mut t = bulk();
        let twice: Vec<_> = t
            .packets
            .iter()
            .enumerate()
            .map(|(i, p)| {
                let mut p = *p;
                p.time += Span::from_micros(5_000 + (i as u64 * 7919) % 14_000);
                p.ttl -= hops;
                p
            })
            .collect();
        t.packets.extend(twice);
        let f = t.client();
        let m = &f.measures;
        assert_eq!((m.retransmitted_packets, m.lost_up, m.lost_down, m.data_packets), (0, 0, 0, 1200));
        assert!(f.notes.contains(&"duplicate-records".into()));
        assert_eq!(t.diagnose().capture.duplicate_records as usize, t.packets.len() / 2);
    }
}

/// A retransmission differs from a duplicate record in its IP identification, if in nothing else.
#[test]
fn a_retransmission_is_not_a_duplicate_record() {
    let mut t = bulk();
    let at = 2_000_000;
    for i in 0..10 {
        t.data(at + i * 20, CLIENT, MSS, false);
    }
    for i in 0..10 {
        t.retransmit(at + 300_000 + i * 20, CLIENT, 10 * MSS, MSS);
    }
    t.ack(at + 330_000, SERVER);
    assert_eq!(t.client().measures.retransmitted_packets, 10);
}

/// Segments of 1392 bytes with timestamps, at an announced MSS of 1392: the sender does not subtract the
/// options. 1380 bytes is what a sender that does would send.
#[test]
fn a_segment_as_large_as_the_announced_mss_is_one_packet() {
    for size in [1392, 1380] {
        let mut t = Talk::default();
        t.open(30_000, [Some(7); 2], [1392; 2]);
        for round in 0..40u64 {
            for i in 0..20 {
                t.data(100_000 + round * 30_000 + i * 20, CLIENT, size, false);
            }
            t.ack(100_000 + round * 30_000 + 29_900, SERVER);
        }
        let m = t.client().measures;
        assert_eq!((m.data_packets, m.mss_bytes), (800, size), "{size}");
    }
}

/// The capture's clock is set from 1970 to today during a transfer, or by a minute, while the sender's clock
/// (TCP timestamps) runs on.
#[test]
fn a_forward_jump_of_the_capture_clock_is_not_a_pause() {
    for jump in [1_700_000_000, 60] {
        let mut t = bulk();
        t.packets.iter_mut().skip(700).for_each(|p| p.time += Span::from_secs(jump));
        let d = t.diagnose();
        let f = t.client();
        assert!(f.duration_s < 3.0, "{}", f.duration_s);
        assert_eq!(f.share(Cause::Outage), 0.0, "{:?}", f.causes);
        assert_eq!(d.capture.forward_jumps, 1);
        assert!(d.capture.max_forward_s.is_some_and(|s| (s - jump as f64).abs() < 1.0));
    }
}

/// A connection that is silent for a minute by both clocks did pause.
#[test]
fn a_pause_is_not_a_clock_jump() {
    let mut t = bulk();
    t.windows(62_000_000, 20, 20, 30_000);
    let (d, f) = (t.diagnose(), t.client());
    assert_eq!((d.capture.forward_jumps, f.cause), (0, Cause::Application));
}
