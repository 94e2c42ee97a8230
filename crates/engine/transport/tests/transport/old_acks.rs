//! ACKs that arrive after one with a higher number (`old_ack` in `tcp_ack`).

use crate::pair::*;
use transport::{Flags, Segment, Stack};

/// An ACK of `ack` packets with one SACK block, also in packets.
fn ack(pair: &Pair, ack: u64, (start, end): (i32, i32)) -> Segment {
    let mss = MSS as i32;
    Segment {
        seq: pair.server.tx.s.snd_nxt,
        ack: ack * MSS,
        window: 1 << 20,
        // At least as recent as the last timestamp from the peer, as otherwise PAWS rejects it.
        ts_val: (pair.now.as_nanos() / 1_000_000) as u32 + 1,
        flags: Flags::ACK,
        sack: [(start * mss, end * mss), (0, 0), (0, 0), (0, 0)],
        sacks: 1,
        ..Segment::BLANK
    }
}

/// Ten packets are in flight and the window is full. A delayed ACK of two packets arrives after one of three,
/// and reports another packet by SACK: one packet less is in flight, so a new one is sent, as in Linux every
/// ACK is followed by `tcp_data_snd_check`.
#[test]
fn a_packet_sacked_by_an_old_ack_makes_room_for_another() {
    let mut pair = Pair::new("reno");
    // The test sends the ACKs instead of the server.
    pair.wire(|s| if s.forward || s.segment.flags.has(Flags::SYN) { Fate::Arrive } else { Fate::Lost });
    let mut pair = pair.sending(100 * MSS);
    pair.run(ms(30));
    assert_eq!(pair.data().count(), 10);
    let mut sent = Vec::new();
    for (number, block) in [(3, (2, 3)), (2, (5, 6))] {
        let (now, seg) = (pair.now, ack(&pair, number, block));
        let before = pair.data().count();
        pair.act(true, |tcp, out| tcp.handle_segment(now, &seg, out));
        sent.push(pair.data().count() - before);
        assert_eq!(pair.client.tx.s.snd_una, 3 * MSS);
        assert_eq!(pair.client.tx.in_flight(), pair.cwnd());
    }
    // Four packets delivered in slow start open the window by as many; then one more is sent.
    assert_eq!(sent, [8, 1]);
}

/// With a timestamp that is older by more than the tolerance of 1 ms, the ACK is rejected with its SACK
/// blocks, and answered at most once in half a second (RFC 7323 section 5.3; `tcp_disordered_ack_check`).
#[test]
fn an_old_ack_with_an_old_timestamp_is_rejected() {
    let mut pair = Pair::new("reno");
    pair.wire(|s| if s.forward || s.segment.flags.has(Flags::SYN) { Fate::Arrive } else { Fate::Lost });
    let mut pair = pair.sending(100 * MSS);
    pair.run(ms(30));
    let (now, seg) = (pair.now, ack(&pair, 3, (2, 3)));
    pair.act(true, |tcp, out| tcp.handle_segment(now, &seg, out));
    let state = pair.client.info();
    let mut answers = Vec::new();
    for wait in [0, 100, 600] {
        let now = pair.now + ms(wait);
        let mut seg = ack(&pair, 2, (5, 6));
        seg.ts_val = seg.ts_val.saturating_sub(2).max(1);
        let mut out = Vec::new();
        pair.client.handle_segment(now, &seg, &mut out);
        answers.push(out.iter().filter(|s| s.len == 0).count());
        assert_eq!(pair.client.info(), state);
    }
    assert_eq!(answers, [1, 0, 1]);
}

/// Packet 65 of 70 is 40 ms late and is retransmitted unnecessarily. The D-SACK that reports this is
/// overtaken by the ACK of everything sent, and still undoes the reduction (`tcp_try_undo_dsack`).
#[test]
fn a_late_dsack_undoes_a_reduction_when_all_is_acknowledged() {
    let stack = Stack { timestamps: Some(false), ..Stack::default() };
    let mut pair = Pair::with("reno", &stack, &stack);
    pair.wire(|s| match s.number {
        65 if s.forward => Fate::Late(ms(40)),
        0 if s.segment.sacks > 0 && s.segment.sack[0].1 <= 0 => Fate::Late(ms(100)),
        _ => Fate::Arrive,
    });
    let mut pair = pair.sending(70 * 1460);
    while pair.client.tx.stats.recoveries == 0 {
        pair.step();
    }
    let before = pair.client.tx.w.prior_cwnd;
    pair.run(ms(2));
    pair.write(10 * 1460);
    pair.finish();
    assert_eq!((pair.client.tx.stats.undone, pair.client.tx.in_flight()), (0, 0));
    assert!(pair.cwnd() < before, "reduced");
    pair.run(ms(200));
    assert_eq!(pair.client.tx.stats.undone, 1);
    assert!(pair.cwnd() >= before && pair.client.tx.w.ssthresh == u32::MAX, "{} < {before}", pair.cwnd());
}
