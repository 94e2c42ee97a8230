//! A cause is not reported where a plain fact of the flow rules it out.

use crate::talk::{CLIENT, MSS, SERVER, Talk};
use result::Cause;

/// Time of an ACK in µs, its acknowledgement number, and its SACK block.
type Ack = (u64, u32, Option<(u32, u32)>);

/// The handshake takes 137 ms; from then on other flows keep 1.8 s of packets in the queue. Some rounds lose
/// a packet.
#[test]
fn losses_at_a_standing_queue_are_not_random_loss() {
    let mut t = Talk::opened(137_000);
    let rtt = 1_800_000;
    let mut at = 200_000;
    for round in 0..40u64 {
        for i in 0..20 {
            t.data(at + i * 60_000, CLIENT, MSS, false);
        }
        if round % 8 == 3 {
            // The tenth segment is lost, and retransmitted after three duplicate ACKs.
            let lost = 10 * MSS;
            for i in 0..9 {
                t.ack_but(at + rtt + i * 60_000, SERVER, (19 - i as u32) * MSS);
            }
            for i in 11..20u64 {
                t.ack_but(at + rtt + i * 60_000, SERVER, 11 * MSS);
            }
            t.retransmit(at + rtt + 14 * 60_000, CLIENT, lost + MSS, MSS);
            t.ack(at + 2 * rtt + 14 * 60_000, SERVER);
            at += 2 * rtt + 15 * 60_000;
        } else {
            for i in (1..20).step_by(2) {
                t.ack_but(at + rtt + i * 60_000, SERVER, (19 - i as u32) * MSS);
            }
            at += rtt;
        }
    }
    let f = t.client();
    assert!(matches!(f.cause, Cause::Bottleneck | Cause::Congestion), "{:?}", f.causes);
    assert!(f.share(Cause::RandomLoss) < 0.1, "{:?}", f.causes);
}

/// A spurious retransmission is not a loss.
#[test]
fn a_spurious_retransmission_is_not_a_loss() {
    let mut t = Talk::opened(30_000);
    let at = t.windows(100_000, 20, 20, 30_000);
    // A tail loss probe that crosses the ACK on the path.
    t.data(at, CLIENT, MSS, false);
    t.retransmit(at + 29_000, CLIENT, MSS, MSS);
    t.ack(at + 30_000, SERVER);
    t.windows(at + 60_000, 60, 20, 30_000);
    let f = t.client();
    assert_eq!(
        (f.measures.lost_up + f.measures.lost_down, f.share(Cause::RandomLoss)),
        (0, 0.0),
        "{:?}",
        f.causes
    );
}

/// Writes of 64 kB are paced at 20 Mbit/s, and the last segment of each write is partial. One packet in 300
/// is lost, and the sender keeps its rate, as BBR does.
#[test]
fn losses_that_do_not_slow_the_sender_are_not_the_cause() {
    let mut t = Talk::opened(40_000);
    t.window[SERVER] = 8_192;
    let mut pending: Vec<(u64, u32, bool)> = Vec::new();
    let (mut n, mut holes): (u64, Vec<(u64, u32)>) = (0, Vec::new());
    // Time, kind (0: new data, 1: retransmission), and length or sequence number.
    let mut events: Vec<(u64, u8, u32)> = Vec::new();
    let mut seq = 1u32;
    for write in 0..200u64 {
        let start = 100_000 + write * 60_000;
        for i in 0..45u64 {
            let len = if i == 44 { 1000 } else { MSS };
            let at = start + i * 600;
            n += 1;
            let lost = n % 300 == 150;
            pending.push((at, len, lost));
            if lost {
                holes.push((at, seq));
            }
            seq += len;
        }
    }
    // The receiver acknowledges data in order. A hole is retransmitted 42 ms after its loss, and the ACK of
    // that comes 40 ms later.
    let mut end = 1u32;
    for (at, len, lost) in &pending {
        events.push((*at, 0, *len));
        end += len;
        if *lost {
            events.push((at + 42_000, 1, end - len));
        }
    }
    events.sort_unstable();
    let mut repaired: Vec<(u32, u64)> = Vec::new();
    let mut acks: Vec<Ack> = Vec::new();
    let mut sent = 1u32;
    for (at, kind, value) in events {
        if kind == 0 {
            t.data(at, CLIENT, value, value != MSS);
            sent += value;
            let acked_at = at + 40_000;
            let open = holes.iter().find(|(made, hole)| *hole < sent && acked_at < made + 82_000);
            match open {
                Some(&(_, hole)) if hole + MSS >= sent => {}
                Some(&(_, hole)) => acks.push((acked_at, hole, Some((hole + MSS, sent)))),
                None => acks.push((acked_at, sent, None)),
            }
        } else {
            let back = sent - value;
            t.retransmit(at, CLIENT, back, MSS);
            repaired.push((value, at));
        }
    }
    for (at, ack, sack) in acks {
        let mut p = t.packet(at, SERVER);
        p.ack = p.ack.wrapping_add(ack - 1);
        if let Some((a, b)) = sack {
            let first = t.packets[0].seq;
            (p.options.sack[0], p.options.sacks) = ((first + a, first + b), 1);
        }
        t.packets.push(p);
    }
    let f = t.client();
    assert!(f.measures.lost_down > 20, "{:?}", f.measures);
    assert_eq!(f.cause, Cause::Application, "{:?}", f.causes);
}
