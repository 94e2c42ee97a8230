//! The end of a connection: FIN in each direction (RFC 9293 section 3.6), or RST.

use crate::pair::*;
use transport::{Flags, Profile, Segment, Stack};
use units::{Span, Stream};

fn close(pair: &mut Pair, client: bool) {
    let now = pair.now;
    pair.act(client, |tcp, out| tcp.close(now, out));
}

/// Segments with a FIN from the client: first byte, payload, and whether they have PSH.
fn fins(pair: &Pair) -> Vec<(u64, u32, bool)> {
    let fins = pair.log.iter().filter(|s| s.forward && s.segment.flags.has(Flags::FIN));
    fins.map(|s| (s.segment.seq, s.segment.len, s.segment.flags.has(Flags::PSH))).collect()
}

/// FIN is sent with the last data if that has not been sent, otherwise alone (`tcp_send_fin`).
#[test]
fn the_fin_is_sent_with_the_last_data_or_alone() {
    let mut pair = Pair::new("reno").sending(12 * MSS);
    close(&mut pair, true);
    pair.run(RTT * 3);
    assert_eq!(fins(&pair), [(11 * MSS, MSS as u32, true)]);
    assert!(pair.server.rx.is_finished() && pair.client.tx.is_finished());
    assert_eq!((pair.server.rx.copied, pair.client.tx.unacked()), (12 * MSS, 0));

    let mut pair = Pair::new("reno").sending(3 * MSS);
    pair.run(RTT * 3);
    close(&mut pair, true);
    close(&mut pair, true);
    pair.run(RTT * 3);
    assert_eq!(fins(&pair), [(3 * MSS, 0, false)]);
    assert_eq!((pair.server.rx.is_finished(), pair.server.rx.copied), (true, 3 * MSS));
}

/// One end closes and continues to read (RFC 9293 section 3.6.1); its later writes are not sent. The second
/// end's FIN is acknowledged at once, that of the first, which data in the other direction may follow, after
/// the ACK delay (`tcp_fin`).
#[test]
fn a_half_closed_connection_carries_data_in_the_other_direction() {
    let mut pair = Pair::new("cubic").sending(3 * MSS);
    pair.run(RTT * 3);
    let closed = pair.now;
    close(&mut pair, true);
    pair.write(MSS);
    pair.run(RTT * 2);
    let delay = pair.acks().find(|s| s.segment.ack == 3 * MSS + 1).expect("acknowledged").at.since(closed);
    assert!(delay >= RTT / 2 + ms(40) && delay < RTT / 2 + ms(50), "{delay}");
    assert!(!pair.client.is_closed() && !pair.server.is_closed());
    pair.act(false, |tcp, out| tcp.write(closed + RTT * 2, 200 * MSS, false, out));
    pair.run(RTT * 10);
    assert_eq!((pair.client.rx.copied, pair.server.rx.copied), (200 * MSS, 3 * MSS));
    let closed = pair.now;
    close(&mut pair, false);
    pair.run(RTT + ms(1));
    assert!(pair.client.is_closed() && pair.server.is_closed());
    let last = pair.log.iter().rev().find(|s| s.forward).expect("the last ACK");
    assert!(last.at.since(closed) < RTT / 2 + ms(1));
    assert_eq!(pair.client.next_wake().or(pair.server.next_wake()), None, "no timer is armed");
}

/// Both ends close at the same time.
#[test]
fn both_may_close_at_once() {
    let mut pair = Pair::new("reno").sending(3 * MSS);
    pair.run(RTT * 3);
    close(&mut pair, true);
    close(&mut pair, false);
    pair.run(RTT + ms(1));
    assert!(pair.client.is_closed() && pair.server.is_closed());
}

/// A lost FIN is recovered by a tail loss probe (RFC 8985 section 7), together with the data it was sent
/// with. A FIN behind a lost packet is SACKed, and the stream ends only when that packet has arrived.
#[test]
fn a_lost_fin_is_retransmitted() {
    for (bytes, lost, ends) in
        [(12 * MSS, 12, true), (12 * MSS, 11, false), (11 * MSS + 100, 12, true), (13 * MSS + 7, 13, false)]
    {
        let mut pair = Pair::new("reno");
        pair.wire(move |s| if s.forward && s.number == lost { Fate::Lost } else { Fate::Arrive });
        let mut pair = pair.sending(bytes);
        close(&mut pair, true); // the window admits ten packets
        pair.run(RTT * 3 / 2 + ms(2));
        assert!(!fins(&pair).is_empty() && !pair.server.rx.is_finished());
        pair.run(Span::from_secs(2));
        assert!(pair.server.rx.is_finished() && pair.client.tx.is_finished());
        assert_eq!(pair.server.rx.copied, bytes);
        let stats = pair.client.tx.stats;
        assert_eq!((stats.timeouts, stats.retransmitted), (0, 1), "{lost}");
        assert_eq!(pair.resent()[0].segment.flags.has(Flags::FIN), ends);
    }
    // A FIN alone, with nothing else outstanding.
    let mut pair = Pair::new("reno").sending(20 * MSS);
    pair.finish();
    let mut first = true;
    pair.wire(move |s| {
        let lost = s.segment.flags.has(Flags::FIN) && std::mem::take(&mut first);
        if lost { Fate::Lost } else { Fate::Arrive }
    });
    close(&mut pair, true);
    pair.run(Span::from_secs(1));
    assert_eq!((fins(&pair).len(), pair.client.tx.is_finished()), (2, true));
}

/// A closed window blocks data, and the FIN behind it; a FIN without data needs no window.
#[test]
fn a_fin_waits_behind_data_only() {
    let receiver = Stack { receive_window: Some(units::Bytes::new(20_000)), ..Stack::default() };
    let mut pair = Pair::with("reno", &Stack::default(), &receiver);
    pair.server.rx.auto_read = false;
    let mut pair = pair.sending(40_000);
    close(&mut pair, true);
    pair.run(Span::from_secs(3));
    assert!(fins(&pair).is_empty() && !pair.server.rx.is_finished());
    let mut read = 0;
    while !pair.server.rx.is_finished() || pair.server.rx.readable() > 0 {
        let (now, n) = (pair.now, pair.server.rx.readable());
        pair.act(false, |tcp, out| tcp.read(now, n, out));
        read += n;
        pair.run(ms(300));
        assert!(pair.now < at(60_000), "{read}");
    }
    assert_eq!(read, 40_000);
}

/// With any loss, duplication and reordering, both ends close eventually, and no end receives extra bytes.
#[test]
fn every_stack_closes_on_bad_paths() {
    for (i, profile) in [Profile::Linux, Profile::Rfc, Profile::Windows].into_iter().enumerate() {
        for sack in [true, false] {
            let stack = Stack { profile, sack: Some(sack), ..Stack::default() };
            let mut pair = Pair::with("cubic", &stack, &stack);
            let mut s = Stream::new(i as u64, "closing");
            pair.wire(move |_| match s.below(20) {
                0 | 1 => Fate::Lost,
                2 => Fate::Twice,
                3..5 => Fate::Late(Span::from_nanos(s.below(100_000_000))),
                _ => Fate::Arrive,
            });
            let mut pair = pair.sending(50 * MSS + 7);
            close(&mut pair, true);
            while !pair.server.rx.is_finished() {
                pair.step();
            }
            let now = pair.now;
            pair.act(false, |tcp, out| tcp.write(now, 30 * MSS, true, out));
            close(&mut pair, false);
            while !pair.client.is_closed() || !pair.server.is_closed() {
                pair.step();
                assert!(pair.now < at(600_000), "{stack:?}");
            }
            assert_eq!((pair.server.rx.copied, pair.client.rx.copied), (50 * MSS + 7, 30 * MSS), "{stack:?}");
        }
    }
}

/// A RST ends the connection at once; a segment in flight to the end that sent the RST is answered by another
/// RST.
#[test]
fn a_reset_ends_the_connection() {
    let mut pair = Pair::new("reno").sending(100 * MSS);
    pair.run(RTT);
    let now = pair.now;
    pair.act(false, |tcp, out| tcp.reset(now, out));
    assert!(pair.server.is_reset() && !pair.client.is_reset());
    pair.run(RTT);
    assert!(pair.client.is_reset());
    assert_eq!(pair.client.next_wake().or(pair.server.next_wake()), None);
    let resets = pair.log.iter().filter(|s| s.segment.flags.has(Flags::RST));
    assert!(resets.clone().all(|s| !s.forward) && resets.count() > 1);
}

/// A RST that could have been guessed is challenged, and ignored outside of the window (RFC 5961 section
/// 3.2). A RST in answer to a SYN ends the attempt.
#[test]
fn a_reset_needs_the_expected_sequence_number() {
    let mut pair = Pair::new("reno").sending(3 * MSS);
    pair.run(RTT * 3);
    let rst = |seq, ack| Segment { seq, ack, flags: Flags::RST.with(Flags::ACK), ..Segment::BLANK };
    let answers = |pair: &mut Pair, seq| {
        let (now, mut out) = (pair.now, Vec::new());
        pair.server.handle_segment(now, &rst(seq, 0), &mut out);
        (out.len(), pair.server.is_reset())
    };
    assert_eq!(answers(&mut pair, 3 * MSS + 1000), (1, false));
    assert_eq!(answers(&mut pair, 1 << 30), (0, false));
    assert_eq!(answers(&mut pair, 3 * MSS), (0, true));
    for (ack, refused) in [(0, true), (5, false)] {
        let (mut client, mut out) = (tcp(&Stack::default(), "reno"), Vec::new());
        client.connect(at(0), &mut out);
        client.handle_segment(at(50), &rst(0, ack), &mut out);
        assert_eq!((client.is_reset(), client.next_wake().is_none()), (refused, refused));
    }
}
