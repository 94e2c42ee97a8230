//! ACKs of the receiving half, and the growth of its window.

use crate::pair::*;
use transport::{Flags, Profile, Segment, Stack};
use units::{Bytes, Span, Time};

/// Linux acknowledges the first sixteen segments individually (`TCP_MAX_QUICKACKS`), then every second one;
/// RFC 5681 section 4.2 every second one from the start.
#[test]
fn acks_for_every_second_segment() {
    for (profile, quick) in [(Profile::Linux, 16), (Profile::Rfc, 0)] {
        let stack = Stack { profile, receive_window: Some(units::Bytes::new(1 << 20)), ..Stack::default() };
        let mut pair = Pair::with("reno", &stack, &stack);
        pair.gap = Span::from_micros(100); // the reader keeps up
        let mut pair = pair.sending(100 * MSS);
        pair.finish();
        let acks = pair.acks().count() as f64;
        let packets = pair.data().count() as f64;
        let expect = quick as f64 + (packets - quick as f64) / 2.0;
        assert!((acks - expect).abs() <= 2.0, "{profile:?}: {acks} ACKs, not {expect}");
    }
}

/// The ACK of a single segment is delayed by 200 ms (RFC 1122 section 4.2.3.2: less than 500). In Linux it is
/// sent when the reader has read the end of a write (`tcp_measure_rcv_mss`, 6.7), and at once for a marked
/// segment, since the sender's window may be one packet (`tcp_ecn_check_ce`).
#[test]
fn the_ack_of_a_single_segment_is_delayed() {
    for (profile, mark, wait) in
        [(Profile::Linux, false, 0), (Profile::Linux, true, 0), (Profile::Rfc, false, 200)]
    {
        let window = Some(units::Bytes::new(1 << 20));
        let stack = Stack { profile, ecn: Some(true), receive_window: window, ..Stack::default() };
        let mut pair = Pair::with("reno", &stack, &stack).sending(100 * MSS);
        pair.finish();
        let begin = pair.now;
        pair.wire(move |s| if mark && s.forward { Fate::Marked } else { Fate::Arrive });
        pair.write(MSS);
        pair.finish();
        let took = pair.now.since(begin);
        assert!(took >= RTT + ms(wait) && took < RTT + ms(wait + 1), "{profile:?}: {took}");
    }
}

/// An odd segment within a write has no PSH: its ACK is delayed by 40 ms, until a second segment arrives.
#[test]
fn the_ack_of_an_odd_segment_waits_for_another() {
    let window = Some(units::Bytes::new(1 << 20));
    let stack = Stack { receive_window: window, tso: Some(false), ..Stack::default() };
    let mut pair = Pair::with("reno", &stack, &stack).sending(100 * MSS);
    pair.finish();
    let begin = pair.now;
    // Three of four segments arrive; the fourth, which ends the write, does not.
    let last = pair.data().count() as u64 + 4;
    pair.wire(move |s| if s.forward && s.number == last { Fate::Lost } else { Fate::Arrive });
    pair.write(4 * MSS);
    pair.run(RTT + ms(60));
    let third = pair.acks().find(|s| s.segment.ack >= 103 * MSS).expect("acknowledged").at.since(begin);
    assert!(third >= RTT / 2 + ms(40) && third < RTT / 2 + ms(42), "{third}");
}

/// Dynamic right-sizing needs the RTT, which it also has without timestamps: the time in which a window's
/// worth of data arrives. The window grows beyond its initial 64 kB.
#[test]
fn the_window_opens_with_and_without_timestamps() {
    for timestamps in [true, false] {
        let stack = Stack { timestamps: Some(timestamps), ..Stack::default() };
        let mut pair = Pair::with("cubic", &stack, &stack).sending(u32::MAX as u64);
        pair.run(Span::from_secs(3));
        let window = pair.log.iter().rev().find(|s| !s.forward).map(|s| s.segment.window);
        assert!(window.is_some_and(|w| w > 1_000_000), "timestamps {timestamps}: {window:?}");
    }
}

/// Out-of-order segments and segments that fill a gap are acknowledged at once (RFC 5681 section 4.2).
#[test]
fn gaps_are_reported_at_once() {
    let mut pair = Pair::with("reno", &Stack::default(), &Stack::default());
    pair.wire(lose(&[50]));
    let mut pair = pair.sending(200 * MSS);
    pair.finish();
    let (lost, next) = (49 * MSS, 50 * MSS);
    let gap = pair.acks().find(|s| s.segment.sacks > 0).unwrap();
    assert_eq!(gap.segment.sack_ranges().next(), Some((next, next + MSS)));
    let filled = pair.acks().find(|s| s.segment.ack > lost).unwrap();
    let resent = pair.resent()[0].at;
    assert!(filled.at.since(resent) <= RTT / 2 + ms(1));
    assert!(filled.segment.ack > next, "with all data held behind it");
}

/// PAWS (RFC 7323 section 5): packet 3 of ten is lost, packet 8 late. The retransmission of 3 has a newer
/// timestamp in order, so the original of 8, which arrives later, is rejected, and its retransmission is not
/// a duplicate. Without timestamps the original is accepted, and a D-SACK reports the retransmission.
#[test]
fn data_overtaken_by_a_newer_timestamp_is_rejected() {
    for timestamps in [true, false] {
        let stack = Stack { timestamps: Some(timestamps), ..Stack::default() };
        let mut pair = Pair::with("reno", &stack, &stack).sending(20 * MSS);
        pair.finish();
        let before = pair.data().count() as u64;
        pair.wire(move |s| match s.number - before.min(s.number) {
            3 if s.forward => Fate::Lost,
            8 if s.forward => Fate::Late(ms(60)),
            12 if s.forward => Fate::Late(ms(40)), // the retransmission of 8, after that of 3
            _ => Fate::Arrive,
        });
        pair.write(10 * MSS);
        pair.finish();
        pair.run(RTT * 4);
        let dsacks = pair.acks().filter(|s| s.segment.sacks > 0 && s.segment.sack[0].1 <= 0).count();
        assert_eq!(dsacks, usize::from(!timestamps), "timestamps {timestamps}");
        assert_eq!(pair.server.rx.copied, 30 * MSS);
    }
}

/// Data that the receiver holds arrives again within a larger segment, in order or out of order: a D-SACK
/// reports it (RFC 2883 section 4; `tcp_ofo_queue`, `tcp_data_queue_ofo`).
#[test]
fn duplicates_of_held_data_are_reported() {
    let segment = |seq: u64, len: u32| Segment {
        seq,
        len,
        ack: 0,
        window: 1 << 20,
        ts_val: 60,
        flags: Flags::ACK,
        ..Segment::BLANK
    };
    // Held data, the arriving segment, and the D-SACK: the first held range, to the segment's end if that is
    // in order.
    for (held, (seq, len), expect) in [
        (vec![(1000, 500)], (0, 1448), Some((1000, 1448))),
        (vec![(1000, 500)], (0, 1000), None),
        (vec![(100, 100), (1000, 1000)], (0, 1448), Some((100, 1448))),
        (vec![(2000, 1000)], (2500, 1000), Some((2500, 3000))),
        (vec![(2000, 1000)], (1500, 1000), Some((2000, 2500))),
        (vec![(2000, 100), (3000, 100)], (2000, 1448), Some((2000, 2100))),
        (vec![(2000, 1000)], (2200, 100), Some((2200, 2300))),
    ] {
        let mut pair = Pair::new("reno");
        pair.connect();
        pair.run(RTT);
        let mut out = Vec::new();
        for (seq, len) in held.iter().copied().chain([(seq, len)]) {
            out.clear();
            pair.server.handle_segment(pair.now, &segment(seq, len), &mut out);
            pair.server.check();
        }
        let ack = out.first().expect("the first 16 segments are acknowledged immediately");
        let (start, end) = ack.sack_ranges().next().unwrap_or_default();
        let block = (start < ack.ack || ack.sacks > 1).then_some((start, end)).filter(|_| ack.sacks > 0);
        assert_eq!(block, expect, "{held:?}, then {seq}+{len}");
    }
}

/// SACKs are compressed to one per 5 % of the RTT that the receiver has measured, at most 1 ms. Without
/// timestamps and with all data out of order it has no RTT, and only the timer's slack of 100 µs passes
/// (`__tcp_ack_snd_check`, by `rcv_rtt_est` and not by `srtt_us` alone).
#[test]
fn sack_compression_depends_on_a_known_round_trip() {
    for (timestamps, expect) in [(true, 1100), (false, 100)] {
        let stack = Stack {
            timestamps: Some(timestamps),
            initial_window: Some(200),
            tso: Some(false),
            ..Stack::default()
        };
        let mut pair = Pair::with("reno", &stack, &stack);
        pair.gap = Span::from_micros(20);
        pair.wire(lose(&[1]));
        let mut pair = pair.sending(200 * MSS);
        pair.run(RTT / 2 + ms(4));
        let times: Vec<Time> = pair.acks().map(|s| s.at).collect();
        let longest = times.windows(2).map(|w| w[1].since(w[0])).max().unwrap();
        let expect = Span::from_micros(expect);
        assert!(longest >= expect && longest <= expect + pair.gap, "timestamps {timestamps}: {longest}");
    }
}

/// The initial window is half of the initial buffer (`tcp_rmem[1]`, `scaling_ratio`), limited by the field of
/// a SYN, and grows with the first data.
#[test]
fn the_window_opens_faster_with_a_larger_initial_buffer() {
    let mut after_three = Vec::new();
    for (kib, first) in [(32, 16 << 10), (128, 65_536), (1024, 65_536)] {
        let stack = Stack { initial_receive_buffer: Some(Bytes::new(kib << 10)), ..Stack::default() };
        let mut pair = Pair::with("reno", &Stack::default(), &stack).sending(u32::MAX as u64);
        let window = |pair: &Pair| pair.log.iter().rev().find(|s| !s.forward).unwrap().segment.window;
        assert_eq!(window(&pair), first, "{kib} KiB");
        pair.run(RTT * 3);
        after_three.push(window(&pair));
    }
    assert!(after_three.is_sorted_by(|a, b| 3 * a < 2 * b), "{after_three:?}");
}
