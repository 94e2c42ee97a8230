//! Losses detected by duplicate ACKs and SACKs, reordering, and undone reductions.

use crate::pair::*;
use transport::{Profile, Stack};
use units::Span;

fn rfc(sack: bool) -> Stack {
    Stack { profile: Profile::Rfc, sack: Some(sack), ..Stack::default() }
}

fn no_sack() -> Stack {
    Stack { sack: Some(false), ..Stack::default() }
}

/// One loss costs half of the window and one retransmission, but no timeout (RFC 5681 section 3.2).
#[test]
fn one_loss_is_repaired_in_one_round_trip() {
    for stack in [Stack::default(), rfc(true), rfc(false), no_sack()] {
        let mut pair = Pair::with("reno", &stack, &stack);
        pair.wire(lose(&[50]));
        let mut pair = pair.sending(200 * MSS);
        let mut before = 0;
        while pair.client.tx.stats.recoveries == 0 {
            before = pair.cwnd();
            pair.step();
        }
        // The last ACKs before the loss may have opened the window.
        let half = pair.client.tx.w.ssthresh;
        assert!((before / 2..=before / 2 + 1).contains(&half), "{before} fell to {half}");
        pair.finish();
        let resent = pair.resent();
        assert_eq!((resent.len(), pair.client.tx.stats.timeouts), (1, 0), "{stack:?}");
        let lost = pair.data().find(|s| s.number == 50).unwrap();
        assert_eq!(resent[0].segment.seq, lost.segment.seq);
        assert!(resent[0].at.since(lost.at) < RTT + ms(1));
        assert_eq!(pair.server.rx.copied, pair.client.tx.s.snd_nxt);
    }
}

/// The third duplicate ACK triggers the retransmission of the lost packet, and slow start from one packet to
/// half of the previous window (Jacobson 1988).
#[test]
fn tahoe_slow_starts_after_a_fast_retransmission() {
    for stack in [Stack::default(), rfc(true), rfc(false), no_sack()] {
        let mut pair = Pair::with("tahoe", &stack, &stack);
        pair.wire(lose(&[50]));
        let mut pair = pair.sending(400 * MSS);
        let mut before = 0;
        while pair.client.tx.stats.recoveries == 0 {
            before = pair.cwnd();
            pair.step();
        }
        let tx = &pair.client.tx;
        assert_eq!((tx.w.cwnd, tx.state_name()), (1, "loss"), "{stack:?}");
        assert!((before / 2..=before / 2 + 1).contains(&tx.w.ssthresh), "{stack:?}: {before}");
        let (fell, half) = (pair.now, tx.w.ssthresh as u64);
        // Only the lost packet is sent until it is acknowledged, an RTT later.
        pair.run(RTT - ms(1));
        let since = |pair: &Pair| pair.data().filter(|s| s.at >= fell).count() as u64;
        assert_eq!((since(&pair), pair.resent().len()), (1, 1), "{stack:?}");
        // Slow start then doubles the window per round, up to ssthresh.
        let mut rounds = Vec::new();
        for _ in 0..6 {
            let before = since(&pair);
            pair.run(RTT);
            rounds.push(since(&pair) - before);
        }
        assert_eq!(rounds[0], 2, "{stack:?}: {rounds:?}");
        assert!(rounds.windows(2).all(|w| w[1] <= 2 * w[0] + 1), "{stack:?}: {rounds:?}");
        assert!(rounds[5] >= half && rounds[5] <= half + 4, "{stack:?}: {rounds:?}, ssthresh {half}");
        pair.finish();
        let stats = pair.client.tx.stats;
        assert_eq!((stats.recoveries, stats.timeouts, pair.resent().len()), (1, 0, 1), "{stack:?}");
    }
}

/// Without SACK, Tahoe retransmits packets that had arrived; with SACK only the lost ones (Fall and Floyd
/// 1996, section 2).
#[test]
fn tahoe_retransmits_what_is_not_sacked() {
    for (stack, exact) in
        [(rfc(false), false), (no_sack(), false), (rfc(true), true), (Stack::default(), true)]
    {
        let mut pair = Pair::with("tahoe", &stack, &stack);
        pair.wire(lose(&[50, 52, 54, 56]));
        let mut pair = pair.sending(300 * MSS);
        pair.finish();
        let stats = pair.client.tx.stats;
        assert_eq!((stats.recoveries, stats.timeouts), (1, 0), "{stack:?}");
        let resent = pair.resent().len();
        assert!(if exact { resent == 4 } else { resent > 4 }, "{stack:?}: {resent}");
    }
}

/// An ACK that covers a packet and reports packets after the loss of the next one is not a sign of
/// reordering: the loss is established by three SACKed packets, without waiting a quarter RTT (RFC 8985
/// section 6.2 step 4). Which packets share an ACK depends on whether n is odd or even.
#[test]
fn a_shared_ack_is_not_mistaken_for_reordering() {
    for n in 55..65u64 {
        let mut pair = Pair::new("reno");
        pair.wire(move |s| if s.forward && s.number == n { Fate::Lost } else { Fate::Arrive });
        let mut pair = pair.sending(200 * MSS);
        pair.finish();
        let lost = pair.data().find(|s| s.number == n).unwrap();
        let resent = pair.resent();
        assert_eq!(resent.len(), 1);
        assert!(resent[0].at.since(lost.at) < RTT + ms(5), "packet {n}: {}", resent[0].at.since(lost.at));
    }
}

/// Without SACK, each partial ACK reveals one more loss, one per RTT (RFC 6582 section 3.2). With SACK (RFC
/// 6675), all lost packets are retransmitted in the first round.
#[test]
fn newreno_repairs_one_loss_per_round_trip_and_sack_all_at_once() {
    for (stack, rounds) in [(rfc(false), 4), (no_sack(), 4), (rfc(true), 1), (Stack::default(), 1)] {
        let mut pair = Pair::with("reno", &stack, &stack);
        pair.wire(lose(&[50, 52, 54, 56]));
        let mut pair = pair.sending(300 * MSS);
        pair.finish();
        let resent = pair.resent();
        assert_eq!((resent.len(), pair.client.tx.stats.timeouts), (4, 0), "{stack:?}");
        assert_eq!(pair.client.tx.stats.recoveries, 1, "one reduction");
        let took = resent[3].at.since(resent[0].at);
        assert!(took < RTT * rounds + ms(1) && took >= RTT * (rounds - 1), "{stack:?}: {took}");
    }
}

/// Every packet counts as delivered once. Without SACK, duplicate ACKs stand for packets, and those for new
/// data are forgotten when recovery ends (as in Linux), so a few count twice.
#[test]
fn delivered_counts_each_packet_once() {
    for stack in [Stack::default(), no_sack(), rfc(true), rfc(false)] {
        let mut pair = Pair::with("reno", &stack, &stack);
        pair.wire(lose(&[20, 50, 51, 90]));
        let mut pair = pair.sending(300 * MSS);
        pair.finish();
        let mss = pair.client.tx.s.mss as u64;
        let packets = (300 * MSS).div_ceil(mss);
        let delivered = pair.client.tx.s.delivered - 1; // the SYN
        let most = if stack.sack == Some(false) { packets * 6 / 5 } else { packets };
        assert!((packets..=most).contains(&delivered), "{delivered} of {packets}; {stack:?}");
    }
}

/// The first two duplicate ACKs release new packets, the third the lost one (RFC 3042).
#[test]
fn limited_transmit() {
    let mut pair = Pair::with("reno", &rfc(true), &rfc(true));
    pair.wire(lose(&[1]));
    let stack = Stack { initial_window: Some(4), ..rfc(true) };
    pair.client = tcp(&stack, "reno");
    let mut pair = pair.sending(20 * MSS);
    pair.run(RTT + ms(1));
    let numbers: Vec<(u64, bool)> = pair.data().map(|s| (s.number, s.again)).collect();
    assert_eq!(numbers[4..7], [(5, false), (6, false), (7, true)]);
}

/// A packet that is late by more than a quarter RTT counts as lost, one that is less late does not, unless
/// three others have shown it lost before (RFC 8985 section 6.2).
#[test]
fn reordering_within_the_window_costs_nothing() {
    // Reordering is detected: half an RTT late, an unnecessary retransmission, undone.
    let mut pair = Pair::new("reno");
    pair.wire(|s| if s.forward && s.number == 40 { Fate::Late(RTT / 2) } else { Fate::Arrive });
    let mut pair = pair.sending(u32::MAX as u64);
    pair.run(RTT * 6);
    let stats = pair.client.tx.stats;
    assert_eq!((stats.retransmitted, stats.undone, stats.timeouts), (1, 1, 0));
    // From now on, RACK waits for a quarter RTT.
    let next = pair.data().count() as u64 + 20;
    pair.wire(move |s| if s.forward && s.number == next { Fate::Late(RTT / 5) } else { Fate::Arrive });
    pair.run(RTT * 4);
    assert_eq!(pair.client.tx.stats.retransmitted, 1);
}

/// The ACK's timestamp (RFC 3522) or, without timestamps, a D-SACK (RFC 2883) shows that the original
/// arrived, and the window is restored.
#[test]
fn a_spurious_reduction_is_undone() {
    for timestamps in [true, false] {
        let stack = Stack { timestamps: Some(timestamps), ..Stack::default() };
        let mut pair = Pair::with("cubic", &stack, &stack);
        pair.wire(|s| if s.forward && s.number == 40 { Fate::Late(RTT / 2) } else { Fate::Arrive });
        let mut pair = pair.sending(u32::MAX as u64);
        while pair.client.tx.stats.recoveries == 0 {
            pair.step();
        }
        let before = pair.client.tx.w.prior_cwnd;
        assert!(pair.client.tx.w.ssthresh < before);
        while pair.client.tx.stats.undone == 0 {
            pair.step();
        }
        assert!(pair.cwnd() >= before, "{} < {before}", pair.cwnd());
        assert!(pair.client.tx.w.ssthresh > 1 << 20, "ssthresh is restored");
        assert_eq!(pair.client.tx.stats.timeouts, 0);
    }
}

/// Duplication by the network is not an unnecessary retransmission: the reduction for a genuine loss stays,
/// and RACK's window does not widen (`dsack_dups` above `total_retrans`).
#[test]
fn duplicates_of_the_network_undo_nothing() {
    // On a wire without serialisation time, many packets are sent at the same time, and RACK cannot order
    // them.
    for gap in [10, 0] {
        let mut pair = Pair::new("reno");
        pair.gap = Span::from_micros(gap);
        pair.wire(|s| match s.number {
            50 if s.forward => Fate::Lost,
            _ if s.forward => Fate::Twice,
            _ => Fate::Arrive,
        });
        let mut pair = pair.sending(300 * MSS);
        pair.finish();
        let stats = pair.client.tx.stats;
        assert_eq!((stats.retransmitted, stats.recoveries, stats.undone), (1, 1, 0));
        assert!(pair.client.tx.w.ssthresh < 100);
        assert_eq!(pair.server.rx.copied, 300 * MSS);
    }
}

/// RACK detects the loss of a retransmission without a timeout (RFC 8985 section 4); RFC 6675 alone must wait
/// for the timeout.
#[test]
fn rack_detects_a_lost_retransmission() {
    for (stack, timeouts) in [(Stack::default(), 0), (rfc(true), 1)] {
        let mut pair = Pair::with("reno", &stack, &stack);
        let mut lost = 0;
        pair.wire(move |s| {
            let mss = s.segment.len as u64;
            if s.forward && s.segment.len > 0 && s.segment.seq == 49 * mss && lost < 2 {
                lost += 1;
                return Fate::Lost;
            }
            Fate::Arrive
        });
        let mut pair = pair.sending(400 * MSS);
        pair.finish();
        assert_eq!(pair.client.tx.stats.timeouts, timeouts, "{stack:?}");
        assert_eq!(pair.server.rx.copied, 400 * MSS);
    }
}

/// While the window decreases from 2 s to s, one packet is sent for every two delivered; at the end it is
/// ssthresh (RFC 6937 section 3).
#[test]
fn the_window_decreases_in_proportion_to_delivery() {
    let mut pair = Pair::new("reno");
    pair.wire(lose(&[200]));
    let mut pair = pair.sending(u32::MAX as u64);
    while pair.client.tx.stats.recoveries == 0 {
        pair.step();
    }
    let (begin, prior, sent) = (pair.now, pair.client.tx.w.prior_cwnd, pair.data().count());
    while pair.client.tx.state_name() == "recovery" {
        pair.step();
    }
    assert!(pair.now.since(begin) <= RTT + ms(2));
    assert_eq!(pair.cwnd(), prior / 2);
    let sent = (pair.data().count() - sent) as f64;
    assert!((sent / prior as f64 - 0.5).abs() < 0.03, "{sent} of {prior}");
}

/// One reduction per RTT for any number of marks, which are echoed until CWR arrives; nothing is
/// retransmitted (RFC 3168 section 6.1).
#[test]
fn a_mark_is_echoed_and_halves_the_window_once() {
    for (profile, first) in [(Profile::Linux, 60), (Profile::Linux, 61), (Profile::Rfc, 60)] {
        let stack = Stack { ecn: Some(true), profile, ..Stack::default() };
        let mut pair = Pair::with("reno", &stack, &stack);
        let marked = first..first + 4;
        pair.wire(move |s| if s.forward && marked.contains(&s.number) { Fate::Marked } else { Fate::Arrive });
        let mut pair = pair.sending(u32::MAX as u64);
        while pair.client.tx.w.ssthresh == u32::MAX {
            pair.step();
        }
        let (when, prior) = (pair.now, pair.client.tx.w.prior_cwnd);
        if profile == Profile::Rfc {
            assert_eq!(pair.cwnd(), prior / 2, "at once");
        }
        pair.run(RTT * 2 + ms(1));
        assert!((prior / 2..prior / 2 + 3).contains(&pair.cwnd()), "{prior} to {}", pair.cwnd());
        let stats = pair.client.tx.stats;
        assert_eq!((stats.retransmitted, stats.recoveries), (0, 0));
        let cwr: Vec<_> = pair.data().filter(|s| s.segment.flags.has(transport::Flags::CWR)).collect();
        assert_eq!((cwr.len(), cwr[0].at >= when), (1, true));
        let echoes: Vec<_> = pair.acks().filter(|s| s.segment.flags.has(transport::Flags::ECE)).collect();
        let marked = pair.data().find(|s| s.number == first).unwrap();
        assert!(echoes[0].at.since(marked.at) < RTT / 2 + ms(1));
        assert!(echoes.iter().all(|e| e.at <= cwr[0].at + RTT / 2 + ms(1)), "until CWR arrives");
        assert!(pair.data().all(|s| s.segment.ect), "new data is ECN-capable");
        assert!(pair.acks().all(|s| !s.segment.ect), "ACKs are not");
    }
}

/// Half of the packets are delayed by up to an RTT in both directions: nothing is lost, and nothing stalls.
#[test]
fn a_path_that_reorders_everything_still_delivers() {
    for stack in [Stack::default(), no_sack(), rfc(true), rfc(false)] {
        let mut pair = Pair::with("cubic", &stack, &stack);
        let mut stream = units::Stream::new(3, "reorder");
        pair.wire(move |_| Fate::Late(Span::from_nanos(stream.below(RTT.as_nanos()))));
        let mut pair = pair.sending(1000 * MSS);
        let took = pair.finish();
        assert_eq!(pair.server.rx.copied, 1000 * MSS);
        assert!(took < Span::from_secs(60), "{stack:?}: {took}");
    }
}

/// Packets 60 and 61 of 70 are lost and retransmitted at the same time, as on a wire without serialisation
/// time a round is acknowledged at once. Packet 60 is lost again, 61 arrives. Its SACK, an RTT later, reveals
/// the loss of 60, which is retransmitted for the second time at once and not after a timeout
/// (`tcp_rack_detect_loss`, where `tcp_skb_sent_after` orders transmissions of the same time).
#[test]
fn a_retransmission_is_lost_while_one_of_the_same_time_arrives() {
    let mut pair = Pair::new("reno");
    pair.gap = Span::ZERO;
    let (lost, mut times) = (59 * MSS, 0);
    pair.wire(move |s| {
        times += (s.forward && s.segment.len > 0 && s.segment.seq == lost) as u32;
        let again = s.segment.seq == lost && times == 2;
        if s.forward && (s.number == 60 || s.number == 61 || again) { Fate::Lost } else { Fate::Arrive }
    });
    let mut pair = pair.sending(70 * MSS);
    pair.finish();
    let again = pair.resent();
    let packets: Vec<u64> = again.iter().map(|s| s.segment.seq / MSS + 1).collect();
    assert_eq!((packets, pair.client.tx.stats.timeouts), (vec![60, 61, 60], 0));
    assert_eq!(again[0].at, again[1].at);
    // The receiver compresses its SACKs: 1.1 ms.
    assert!(again[2].at.since(again[0].at) < RTT + ms(2));
}

/// The last packet of a write has PSH, also when retransmitted, since the flag belongs to the packet
/// (`tcp_mark_push` sets it in the queue); so the reader acknowledges it at once.
#[test]
fn a_retransmitted_packet_keeps_psh() {
    let mut pair = Pair::new("reno").sending(20 * MSS);
    pair.finish();
    let before = pair.data().count() as u64;
    pair.wire(move |s| {
        if s.forward && [4, 10].contains(&s.number.wrapping_sub(before)) { Fate::Lost } else { Fate::Arrive }
    });
    pair.write(10 * MSS);
    pair.finish();
    let pushed = |s: &Seen| s.segment.flags.has(transport::Flags::PSH);
    let again: Vec<(u64, bool)> = pair.resent().iter().map(|s| (s.segment.seq / MSS, pushed(s))).collect();
    assert_eq!(again, [(23, false), (29, true)]);
}
