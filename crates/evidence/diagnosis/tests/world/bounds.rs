//! What a cause says of a flow is so, or it is not said.

use crate::talk::{CLIENT, MSS, SERVER, Talk};
use result::Cause;

/// When an ACK passes, what it acknowledges, and what it sacks.
type AckOf = (u64, u32, Option<(u32, u32)>);

/// A handshake of 137 ms, and 1.8 s of others' packets in the queue from then on; now and then one is lost.
#[test]
fn a_queue_that_always_stands_is_no_random_loss() {
    let mut t = Talk::opened(137_000);
    let rtt = 1_800_000;
    let mut at = 200_000;
    for round in 0..40u64 {
        for i in 0..20 {
            t.data(at + i * 60_000, CLIENT, MSS, false);
        }
        if round % 8 == 3 {
            // The tenth is lost, and sent again when three duplicate ACKs tell.
            let lost = 10 * MSS;
            for i in 0..9 {
                t.ack_but(at + rtt + i * 60_000, SERVER, (19 - i as u32) * MSS);
            }
            for i in 11..20u64 {
                t.ack_but(at + rtt + i * 60_000, SERVER, 11 * MSS);
            }
            t.again(at + rtt + 14 * 60_000, CLIENT, lost + MSS, MSS);
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

/// A needless retransmission is no loss.
#[test]
fn without_a_loss_nothing_is_held_back_by_one() {
    let mut t = Talk::opened(30_000);
    let at = t.windows(100_000, 20, 20, 30_000);
    // A probe of the tail that the ACK crossed.
    t.data(at, CLIENT, MSS, false);
    t.again(at + 29_000, CLIENT, MSS, MSS);
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

/// Writes of 64 kB that leave paced at 20 Mbit/s, the last segment of each not full; one packet in 300 is
/// lost, and the sender goes on as before, as BBR does.
#[test]
fn losses_that_a_sender_does_not_answer_do_not_hold_it_back() {
    let mut t = Talk::opened(40_000);
    t.window[SERVER] = 8_192;
    let mut pending: Vec<(u64, u32, bool)> = Vec::new();
    let (mut n, mut holes): (u64, Vec<(u64, u32)>) = (0, Vec::new());
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
    // The receiver acknowledges what is in order; a hole is filled 42 ms after it was made, and arrives 20 ms
    // later.
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
    let mut acks: Vec<AckOf> = Vec::new();
    let mut sent = 1u32;
    for (at, what, x) in events {
        if what == 0 {
            t.data(at, CLIENT, x, x != MSS);
            sent += x;
            let arrives = at + 40_000;
            let open = holes.iter().find(|(made, hole)| *hole < sent && arrives < made + 82_000);
            match open {
                Some(&(_, hole)) if hole + MSS >= sent => {}
                Some(&(_, hole)) => acks.push((arrives, hole, Some((hole + MSS, sent)))),
                None => acks.push((arrives, sent, None)),
            }
        } else {
            let back = sent - x;
            t.again(at, CLIENT, back, MSS);
            repaired.push((x, at));
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
